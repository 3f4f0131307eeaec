//! Which directories become an area, and whose.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use bygone_files::stage::{Stage, StageError, StageOptions};

use super::{Scene, assert_whole, database, put, put_persistent, secs};

#[test]
fn everything_survives_a_restart() {
    let scene = Scene::new();
    let (short, kept) = {
        let stage = scene.open();
        (put(&stage, "short", 100), put_persistent(&stage, "kept"))
    };
    assert!(fs::read_dir(scene.dir().join(".bygone/sessions")).unwrap().next().is_none(), "closed cleanly");
    let stage = scene.open();
    assert_eq!(stage.get(&short.id).unwrap().unwrap().deadline, short.deadline);
    assert!(stage.get(&kept.id).unwrap().unwrap().persist);
    scene.advance(secs(200));
    drop(stage);
    let stage = scene.open();
    assert_eq!(stage.get(&short.id).unwrap(), None, "time passes while nobody looks");
    assert!(short.path.exists(), "and opening sweeps nothing that has an entry");
    assert_eq!(stage.metrics().unwrap().total_count, 2);
    assert_whole(&scene.dir());
}

#[test]
fn two_may_share_a_directory() {
    let scene = Scene::new();
    let (one, two) = (scene.open(), scene.open());
    let attachment = put(&one, "shared", 100);
    assert_eq!(two.get(&attachment.id).unwrap().unwrap().path, attachment.path);
    assert!(put(&two, "shared", 1).cached);
    drop(one);
    assert!(two.get(&attachment.id).unwrap().is_some());
    scene.advance(secs(200));
    assert_eq!(two.force_cleanup().unwrap().tally.removed, 1);
}

const NEIGHBOUR: &str = "BYGONE_STAGE_NEIGHBOUR";

/// What another process does with the same area: looks for what is there, stages something, and closes.
#[test]
fn neighbour() {
    let Ok(dir) = std::env::var(NEIGHBOUR) else { return };
    let stage = Stage::open(dir, StageOptions::default()).unwrap();
    let names: Vec<_> = stage.list().map(|attachment| attachment.unwrap().name.to_string()).collect();
    println!("\nfound {}", names.len());
    put(&stage, &format!("neighbour {}", names.len()), 1_000);
}

/// Two handles of one process must not cost it the locks that keep other processes from putting the log away.
#[test]
fn two_processes_may_share_a_directory() {
    let scene = Scene::new();
    let (one, two) = (scene.open(), scene.open());
    let visit = |expected: usize| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stage::opening::neighbour", "--nocapture"])
            .env(NEIGHBOUR, scene.dir())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(&format!("found {expected}\n")), "{expected} are there: {said}");
    };
    put(&one, "first", 1_000);
    visit(1);
    put(&two, "third", 1_000);
    visit(3);
    put(&one, "fifth", 1_000);
    drop((one, two));
    visit(5);
    assert_whole(&scene.dir());
}

#[test]
fn a_foreign_directory_is_not_adopted() {
    let scene = Scene::new();
    fs::create_dir(scene.dir()).unwrap();
    fs::set_permissions(scene.dir(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(scene.dir().join("precious"), "x").unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Foreign(_)), "{refused}");
    assert_eq!(fs::read_dir(scene.dir()).unwrap().count(), 1, "nothing was made in it");
    fs::remove_file(scene.dir().join("precious")).unwrap();
    put(&scene.open(), "an empty one is", 1);
}

#[test]
fn the_parent_must_exist() {
    let scene = Scene::new();
    let refused = Stage::open(scene.dir().join("a/b"), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Open { action: "make", .. }), "{refused}");
}

#[test]
fn links_are_not_followed() {
    let scene = Scene::new();
    let elsewhere = scene.temporary.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, scene.dir()).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::NotADirectory(_)), "{refused}");
    fs::remove_file(scene.dir()).unwrap();
    drop(scene.open());
    let own = scene.dir().join(".bygone");
    fs::rename(&own, elsewhere.join("own")).unwrap();
    symlink(elsewhere.join("own"), &own).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::NotADirectory(_)), "{refused}");
}

#[test]
fn a_manifest_behind_a_link_is_not_opened() {
    let scene = Scene::new();
    drop(scene.open());
    let manifest = scene.dir().join(".bygone/manifest.db");
    let elsewhere = scene.temporary.path().join("elsewhere.db");
    fs::rename(&manifest, &elsewhere).unwrap();
    symlink(&elsewhere, &manifest).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Manifest { action: "open", .. }), "{refused}");
}

#[test]
fn a_directory_that_others_may_write_is_refused() {
    let scene = Scene::new();
    drop(scene.open());
    for mode in [0o720, 0o702, 0o777] {
        fs::set_permissions(scene.dir(), fs::Permissions::from_mode(mode)).unwrap();
        let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
        assert!(matches!(refused, StageError::Mode { .. }), "{refused}");
    }
    fs::set_permissions(scene.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    drop(scene.open());
}

#[test]
fn a_directory_of_somebody_else_is_refused() {
    let scene = Scene::new();
    drop(scene.open());
    // Root gives its directory away; everybody else tries one that is root's.
    let dir = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(scene.dir(), Some(12_345), None).unwrap();
        scene.dir()
    } else {
        "/usr".into()
    };
    let refused = Stage::open(dir, scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Owner { .. }), "{refused}");
}

#[test]
fn a_manifest_of_a_later_version_or_another_program_is_refused() {
    let scene = Scene::new();
    let kept = put_persistent(&scene.open(), "kept");
    database(&scene.dir()).pragma_update(None, "user_version", 2).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Newer { found: 2, known: 1 }), "{refused}");
    database(&scene.dir()).pragma_update(None, "application_id", 7).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Damaged { .. }), "{refused}");
    assert!(kept.path.exists());
}

#[test]
fn a_damaged_manifest_removes_nothing() {
    let scene = Scene::new();
    let kept = put(&scene.open(), "kept", 1);
    scene.advance(secs(1_000_000));
    let manifest = scene.dir().join(".bygone/manifest.db");
    let whole = fs::read(&manifest).unwrap();
    fs::write(&manifest, vec![b'x'; 8_192]).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).unwrap_err();
    assert!(matches!(refused, StageError::Damaged { .. }), "{refused}");
    // The tables are there, and their pages are not.
    let mut torn = whole.clone();
    torn[8_192..].fill(0xff);
    fs::write(&manifest, torn).unwrap();
    let refused = Stage::open(scene.dir(), scene.options()).and_then(|stage| stage.force_cleanup().map(|_| ()));
    assert!(refused.is_err());
    assert!(kept.path.exists());
    fs::write(&manifest, whole).unwrap();
    assert_eq!(scene.open().force_cleanup().unwrap().tally.removed, 1);
}

#[test]
fn a_name_that_somebody_wrote_into_the_manifest_leads_nowhere() {
    let scene = Scene::new();
    let canary = scene.temporary.path().join("canary");
    fs::write(&canary, "alive").unwrap();
    let stage = scene.open();
    let attachment = put(&stage, "x", 1);
    database(&scene.dir()).execute("UPDATE entries SET name = '../../canary'", []).unwrap();
    assert!(matches!(stage.get(&attachment.id), Err(StageError::Damaged { .. })));
    scene.advance(secs(10));
    assert!(stage.force_cleanup().is_err());
    assert!(stage.reset().is_err());
    assert_eq!(fs::read(&canary).unwrap(), b"alive");
}
