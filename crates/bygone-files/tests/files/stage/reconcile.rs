//! Opening makes the manifest and the files agree again, and touches nothing that is not ours.

use std::fs;
use std::time::Duration;

use bygone_files::stage::{Reconcile, ReconcileReport, Stage, StageOptions};

use super::{Scene, assert_whole, id_of, put, put_persistent, secs};

/// A directory as a crash between placing and recording leaves it.
fn plant_orphan(scene: &Scene, text: &str) -> std::path::PathBuf {
    let directory = scene.dir().join(id_of(text.as_bytes()).to_string());
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("orphan.txt"), text).unwrap();
    directory
}

#[test]
fn entries_without_a_file_are_forgotten_and_told() {
    let scene = Scene::new();
    let (stays, gone, kept) = {
        let stage = scene.open();
        (put(&stage, "stays", 100), put(&stage, "gone", 100), put_persistent(&stage, "kept"))
    };
    fs::remove_file(&gone.path).unwrap();
    fs::remove_dir_all(kept.path.parent().unwrap()).unwrap();
    let stage = scene.open();
    let report = *stage.opened_with().unwrap();
    assert_eq!((report.entries, report.missing, report.missing_persistent, report.empty_removed), (3, 2, 1, 1));
    assert_eq!(scene.recount().files, [stays.path]);
    assert_eq!(stage.reconcile().unwrap(), ReconcileReport { entries: 1, ..ReconcileReport::default() });
    assert_whole(&scene.dir());
}

#[test]
fn orphans_go_after_their_grace_and_not_before() {
    let scene = Scene::new();
    let kept = put(&scene.open(), "kept", 1_000_000);
    let orphan = plant_orphan(&scene, "orphan");
    let empty = scene.dir().join(id_of(b"empty").to_string());
    fs::create_dir(&empty).unwrap();
    let stage = scene.open();
    let report = *stage.opened_with().unwrap();
    assert_eq!((report.orphans_young, report.orphans_removed, report.empty_removed), (1, 0, 1));
    assert!(orphan.exists() && !empty.exists());
    scene.advance(secs(3_590));
    assert_eq!(stage.reconcile().unwrap().orphans_young, 1, "still within the hour");
    scene.advance(secs(20));
    assert_eq!(stage.reconcile().unwrap().orphans_removed, 1);
    assert_eq!(scene.recount().files, [kept.path]);
    assert_whole(&scene.dir());
}

#[test]
fn a_restage_adopts_an_orphan() {
    let scene = Scene::new();
    let stage = scene.open();
    let orphan = plant_orphan(&scene, "orphan");
    let attachment = put(&stage, "orphan", 100);
    assert!(!attachment.cached);
    scene.advance(secs(7_200));
    assert!(orphan.exists());
    put(&stage, "orphan", 100);
    assert_eq!(stage.reconcile().unwrap().orphans_removed, 0);
    assert_eq!(fs::read(&attachment.path).unwrap(), b"orphan");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let scene = Scene::new();
    drop(scene.open());
    let outside = scene.temporary.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("canary"), "alive").unwrap();
    fs::write(scene.dir().join("notes.txt"), "mine").unwrap();
    fs::create_dir(scene.dir().join("folder")).unwrap();
    std::os::unix::fs::symlink(&outside, scene.dir().join(id_of(b"link").to_string())).unwrap();
    let deep = scene.dir().join(id_of(b"deep").to_string());
    fs::create_dir_all(deep.join("inside")).unwrap();
    fs::write(deep.join("inside/file"), "deep").unwrap();
    fs::write(scene.dir().join(id_of(b"file").to_string()), "a file").unwrap();
    scene.advance(Duration::from_secs(1_000_000));
    let stage = scene.open();
    let report = *stage.opened_with().unwrap();
    assert_eq!(report, ReconcileReport { foreign: 5, ..ReconcileReport::default() });
    assert_eq!(fs::read(outside.join("canary")).unwrap(), b"alive");
    assert_eq!(fs::read(deep.join("inside/file")).unwrap(), b"deep");
    assert_eq!(fs::read_dir(scene.dir()).unwrap().count(), 6);
}

#[test]
fn after_a_clean_end_opening_looks_at_nothing_if_so_asked() {
    let scene = Scene::new();
    let options = || StageOptions { reconcile: Reconcile::AfterCrash, ..scene.options() };
    drop(Stage::open(scene.dir(), options()).unwrap());
    plant_orphan(&scene, "orphan");
    assert_eq!(Stage::open(scene.dir(), options()).unwrap().opened_with(), None);
    // The file of a session that nobody locks is what a killed process leaves.
    let session = scene.dir().join(".bygone/sessions").join("0".repeat(32));
    fs::write(&session, "").unwrap();
    let temporary = scene.dir().join(".bygone/tmp").join(format!("{}.7", "0".repeat(32)));
    fs::write(&temporary, "half").unwrap();
    let stage = Stage::open(scene.dir(), options()).unwrap();
    let report = *stage.opened_with().unwrap();
    assert!(report.after_crash);
    assert_eq!((report.temporaries_removed, report.orphans_young), (1, 1));
    assert!(!session.exists() && !temporary.exists());
    drop(stage);
    assert_eq!(Stage::open(scene.dir(), options()).unwrap().opened_with(), None);
}

#[test]
fn temporaries_of_the_living_are_left_alone() {
    struct Slow<'a>(&'a Scene, bool);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.1 {
                return Ok(0);
            }
            self.1 = true;
            // In the middle of staging, somebody else opens the area and looks through all of it.
            let report = *self.0.open().opened_with().unwrap();
            assert_eq!((report.temporaries_removed, report.after_crash), (0, false));
            assert_eq!(self.0.recount().temporaries, 1);
            buffer[..4].copy_from_slice(b"slow");
            Ok(4)
        }
    }
    let scene = Scene::new();
    let stage = scene.open();
    let content = bygone_files::stage::Content::reader(Slow(&scene, false));
    let attachment = stage.put(content, &bygone_files::stage::Put::default()).unwrap();
    assert_eq!(fs::read(attachment.path).unwrap(), b"slow");
    assert_eq!(scene.recount().temporaries, 0);
}
