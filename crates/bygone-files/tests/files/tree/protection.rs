//! What others use stays, whatever its age.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Care, ManualClock, Outcome, PolicyReport};
use bygone_files::TURN_FILE;
use bygone_files::tree::{TreePolicy, TreeTarget};
use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};

use super::scene::{Holder, Scene, old, page, set_immutable, set_stamps};

async fn sweep(scene: &Scene) -> PolicyReport {
    scene.sweep(TreePolicy { empty_dirs: true, ..scene.policy() }).await
}

#[tokio::test]
async fn a_file_that_another_process_has_locked_stays() {
    let scene = Scene::new();
    let file = File::open(scene.file("d/locked", old())).unwrap();
    scene.file("d/free", old());
    flock(&file, FlockOperation::LockShared).unwrap();
    let holder = Holder::of(file);
    let report = sweep(&scene).await;
    assert_eq!(scene.texts(), ["d/", "d/locked"]);
    assert_eq!((report.tally.removed, report.tally.kept_back.locked), (1, 1), "{report:?}");
    assert!(report.lag_seconds >= 60, "what is held is the lag: {report:?}");
    drop(holder);
    assert_eq!(sweep(&scene).await.tally.removed, 1);
}

/// A daemon makes it in the directory and has it locked while it sweeps: it would be kept back, and the lag, for ever.
#[tokio::test]
async fn what_turns_are_taken_by_is_no_item() {
    let scene = Scene::new();
    let file = File::open(scene.file(TURN_FILE, old())).unwrap();
    scene.file(&format!("d/{TURN_FILE}"), old());
    scene.file("free", old());
    flock(&file, FlockOperation::LockExclusive).unwrap();
    let _holder = Holder::of(file);
    let report = sweep(&scene).await;
    assert_eq!(scene.texts(), [TURN_FILE, "d/", &format!("d/{TURN_FILE}")]);
    assert_eq!((report.tally.examined, report.tally.removed, report.tally.kept_back.total()), (1, 1, 0), "{report:?}");
    assert_eq!(report.lag_seconds, 0, "{report:?}");
    let capped = scene.sweep(TreePolicy { max_count: Some(0), ..scene.policy() }).await;
    assert_eq!(
        (capped.tally.removed, capped.tally.kept_back.total()),
        (0, 0),
        "nor does it count for a limit: {capped:?}"
    );
}

#[tokio::test]
async fn a_file_that_another_process_has_open_stays() {
    let scene = Scene::new();
    let holder = Holder::of(File::open(scene.file("open", old())).unwrap());
    scene.file("free", old());
    let report = sweep(&scene).await;
    assert_eq!(scene.texts(), ["open"]);
    assert_eq!((report.tally.removed, report.tally.kept_back.locked), (1, 1));
    drop(holder);
    assert_eq!(sweep(&scene).await.tally.removed, 1);
}

/// What is in use is read once a second. Within it a lock protects, since it is tried; an open file alone does not.
#[tokio::test]
async fn a_lock_protects_at_once_and_an_open_file_within_a_second() {
    let scene = Scene::new();
    for n in 0..40 {
        scene.file(&format!("{n}"), old());
    }
    let clock = Arc::new(ManualClock::at(old()));
    let mut target = TreeTarget::bind_by(scene.policy(), Arc::<ManualClock>::clone(&clock)).unwrap();
    let first = page(&mut target, None, 10, Care::Swift).await;
    let open: Vec<_> = scene.texts().iter().map(|name| File::open(scene.path(name)).unwrap()).collect();
    for file in &open {
        flock(file, FlockOperation::LockShared).unwrap();
    }
    let second = page(&mut target, first.next.as_ref(), 28, Care::Swift).await;
    assert_eq!((second.tally.removed, second.tally.kept_back.locked), (0, 28), "{second:?}");
    for file in &open {
        flock(file, FlockOperation::Unlock).unwrap();
    }
    let third = page(&mut target, second.next.as_ref(), 1, Care::Swift).await;
    assert_eq!(third.tally.removed, 1, "that it is open is not known yet");
    clock.advance(Duration::from_secs(1));
    let fourth = page(&mut target, third.next.as_ref(), 10, Care::Swift).await;
    assert_eq!((fourth.tally.removed, fourth.tally.kept_back.locked, fourth.next), (0, 1, None));
    drop(open);
    assert_eq!(sweep(&scene).await.tally.removed, 29);
}

#[tokio::test]
async fn a_program_that_runs_stays() {
    let scene = Scene::new();
    let program = scene.path("program");
    fs::copy(which("sleep"), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    set_stamps(&program, old(), old());
    let running = Holder(Command::new(&program).arg("600").spawn().unwrap());
    let report = sweep(&scene).await;
    assert_eq!((scene.texts(), report.tally.kept_back.locked), (vec!["program".to_owned()], 1));
    drop(running);
    assert_eq!(sweep(&scene).await.tally.removed, 1);
}

fn which(program: &str) -> std::path::PathBuf {
    let found = ["/bin", "/usr/bin"].map(|directory| Path::new(directory).join(program));
    found.into_iter().find(|path| path.exists()).unwrap()
}

#[tokio::test]
async fn a_locked_directory_stays_with_all_that_it_holds() {
    let scene = Scene::new();
    scene.file("mine/deep/file", old());
    scene.file("free/file", old());
    for name in ["mine/deep", "mine", "free"] {
        scene.stamp(name, old());
    }
    for lock in [FlockOperation::LockShared, FlockOperation::LockExclusive] {
        let handle = File::open(scene.path("mine")).unwrap();
        flock(&handle, lock).unwrap();
        let report = sweep(&scene).await;
        assert_eq!(scene.texts(), ["mine/", "mine/deep/", "mine/deep/file"]);
        assert_eq!((report.tally.kept_back.locked, report.outcome), (1, Outcome::Complete), "{report:?}");
    }
    assert_eq!(sweep(&scene).await.tally.removed, 3, "free again");
}

#[tokio::test]
async fn a_directory_that_is_locked_between_pages_is_left_alone_from_then_on() {
    let scene = Scene::new();
    for n in 0..40 {
        scene.file(&format!("d/{n}"), old());
    }
    let mut target = scene.target();
    let first = page(&mut target, None, 10, Care::Swift).await;
    // The sweep holds no lock while it waits: this one is had at once.
    let handle = File::open(scene.path("d")).unwrap();
    flock(&handle, FlockOperation::NonBlockingLockExclusive).unwrap();
    let rest = page(&mut target, first.next.as_ref(), 100, Care::Swift).await;
    assert_eq!((first.tally.removed, rest.tally.removed, rest.tally.kept_back.locked), (10, 0, 30));
    assert_eq!(scene.texts().len(), 31);
}

#[tokio::test]
async fn sockets_stay_while_somebody_is_bound_to_them() {
    let scene = Scene::new();
    let listener = UnixListener::bind(scene.path("alive")).unwrap();
    drop(UnixListener::bind(scene.path("dead")).unwrap());
    scene.stamp("alive", old());
    scene.stamp("dead", old());
    let report = sweep(&scene).await;
    assert_eq!((scene.texts(), report.tally.kept_back.locked), (vec!["alive".to_owned()], 1));
    drop(listener);
    assert_eq!(sweep(&scene).await.tally.removed, 1);
}

#[tokio::test]
async fn pipes_go_and_files_with_the_sticky_bit_stay() {
    let scene = Scene::new();
    mknodat(CWD, scene.path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    scene.stamp("pipe", old());
    let kept = scene.file("kept", old());
    fs::set_permissions(&kept, Permissions::from_mode(0o1644)).unwrap();
    let report = sweep(&scene).await;
    assert_eq!((scene.texts(), report.tally.removed), (vec!["kept".to_owned()], 1));
    assert_eq!(report.tally.kept_back.locked, 1);
}

/// Device nodes need root to be made; one that everybody has stands in for it elsewhere.
#[tokio::test]
async fn device_nodes_are_left_alone() {
    let scene = Scene::new();
    let device = rustix::fs::makedev(1, 3);
    let made = mknodat(CWD, scene.path("null"), FileType::CharacterDevice, Mode::RUSR, device);
    if made.is_ok() {
        scene.stamp("null", old());
        let report = sweep(&scene).await;
        assert_eq!((scene.texts(), report.tally.examined), (vec!["null".to_owned()], 0));
    } else {
        assert!(!rustix::process::geteuid().is_root(), "root can make device nodes: {made:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_removed_is_a_conflict_and_the_others_go() {
    let scene = Scene::new();
    scene.file("d/a", old());
    let stuck = scene.file("d/stuck", old());
    scene.file("d/z", old());
    scene.stamp("d", old());
    let own = scene.path("d/own");
    if !set_immutable(&stuck, true) {
        fs::create_dir(&own).unwrap();
        fs::rename(&stuck, own.join("stuck")).unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o500)).unwrap();
    }
    let report = sweep(&scene).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (2, 1), "{report:?}");
    assert!(scene.texts().last().unwrap().ends_with("stuck"));
    if own.exists() {
        fs::set_permissions(&own, Permissions::from_mode(0o700)).unwrap();
    }
}

#[tokio::test]
async fn all_names_of_a_file_go_in_one_sweep_by_two_hands() {
    let scene = Scene::new();
    let path = scene.file("first", old());
    for n in 0..3_000 {
        fs::hard_link(&path, scene.path(&format!("{n}"))).unwrap();
    }
    let report = sweep(&scene).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.total()), (3_001, 0), "{report:?}");
    assert!(scene.texts().is_empty());
}
