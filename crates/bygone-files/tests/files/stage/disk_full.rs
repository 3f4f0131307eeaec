//! A file system that fills up while something is staged.

use std::path::Path;
use std::process::Command;

use bygone_files::stage::{Content, Put, Quota, Shortage, Stage, StageError, StageOptions};

use super::{Scene, assert_whole, recount, secs};

const MOUNTED: &str = "BYGONE_STAGE_SMALL_DISK";

/// Runs this very test again in a mount namespace of its own, with a small file system mounted on `dir`. Nothing is
/// mounted for anybody else, and the mount ends with the process.
fn on_a_small_disk(test: &str, size: &str) {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size="$1",mode=700 none "$2" && shift 2 && exec "$@""#;
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let output = command
        .args(["--mount", "sh", "-c", script, "sh", size])
        .arg(dir.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MOUNTED, dir.path())
        .output()
        .expect("this test needs `unshare`, and root or user namespaces");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "on a small disk (this needs root or user namespaces):\n{said}");
}

fn pattern(n: u8, length: usize) -> Vec<u8> {
    vec![n; length]
}

fn put(stage: &Stage, n: u8, length: usize) -> Result<(), StageError> {
    stage.put(Content::reader(&*pattern(n, length)), &Put::named(n.to_string()).ttl(secs(10))).map(|_| ())
}

#[test]
fn a_full_disk_is_an_error_of_its_own_and_leaves_nothing_half_visible() {
    let Ok(small) = std::env::var(MOUNTED) else {
        return on_a_small_disk(
            "stage::disk_full::a_full_disk_is_an_error_of_its_own_and_leaves_nothing_half_visible",
            "1m",
        );
    };
    let dir = Path::new(&small).join("area");
    let scene = Scene::new();
    let stage = Stage::open(&dir, scene.options()).unwrap();
    put(&stage, 0, 10_000).unwrap();
    // Content that does not fit, by itself and among others.
    for length in [1_000_000, 2_000_000] {
        let error = put(&stage, 1, length).unwrap_err();
        assert!(matches!(error, StageError::DiskFull), "{error:?}");
        assert_eq!((recount(&dir).files.len(), recount(&dir).temporaries), (1, 0), "nothing is half-visible");
    }
    // Small ones until nothing fits, the manifest neither.
    let mut staged = 1;
    let error = loop {
        match put(&stage, staged, 6_000) {
            Ok(()) => staged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StageError::DiskFull), "{error:?}");
    assert!(staged > 10);
    assert_eq!((recount(&dir).entries.len(), recount(&dir).temporaries), (usize::from(staged), 0));
    assert_whole(&dir);
    // Sweeping a full disk works: the files go before the manifest is written.
    scene.advance(secs(60));
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, u64::from(staged));
    put(&stage, 1, 100_000).unwrap();
    assert_whole(&dir);
}

#[test]
fn a_batch_on_a_full_disk_keeps_what_fits() {
    let Ok(small) = std::env::var(MOUNTED) else {
        return on_a_small_disk("stage::disk_full::a_batch_on_a_full_disk_keeps_what_fits", "1m");
    };
    let dir = Path::new(&small).join("area");
    let stage = Stage::open(&dir, Scene::new().options()).unwrap();
    let contents: Vec<_> = (0..40).map(|n| pattern(n, 30_000)).collect();
    let answers: Vec<_> =
        stage.put_all(contents.iter().map(|content| (Content::reader(&**content), Put::named("x")))).collect();
    let staged = answers.iter().filter(|answer| answer.is_ok()).count();
    let failed = |error: &StageError| matches!(error, StageError::DiskFull | StageError::Batch);
    assert!(answers.iter().all(|answer| answer.as_ref().err().is_none_or(failed)), "{answers:?}");
    assert!(staged < 40, "not all of it fits");
    assert_eq!((recount(&dir).files.len(), recount(&dir).temporaries), (staged, 0));
    assert_whole(&dir);
}

#[test]
fn a_batch_that_cannot_be_recorded_leaves_nothing() {
    let Ok(small) = std::env::var(MOUNTED) else {
        return on_a_small_disk("stage::disk_full::a_batch_that_cannot_be_recorded_leaves_nothing", "2m");
    };
    let dir = Path::new(&small).join("area");
    let stage = Stage::open(&dir, Scene::new().options()).unwrap();
    put(&stage, 255, 10).unwrap();
    // Room for a hundred files of a page each, and not for what the manifest says of them.
    let free = rustix::fs::statvfs(Path::new(&small)).unwrap();
    let filler = usize::try_from(free.f_bavail * free.f_frsize).unwrap() - 104 * 4_096;
    std::fs::write(Path::new(&small).join("filler"), vec![0; filler]).unwrap();
    let contents: Vec<_> = (0..100).map(|n| pattern(n, 100)).collect();
    let batch = || contents.iter().map(|content| (Content::reader(&**content), Put::named("x")));
    let answers: Vec<_> = stage.put_all(batch()).collect();
    let failed = answers.iter().filter(|answer| matches!(answer, Err(StageError::DiskFull | StageError::Batch)));
    assert_eq!(failed.count(), 100, "{answers:?}");
    assert_eq!((recount(&dir).entries.len(), recount(&dir).files.len(), recount(&dir).temporaries), (1, 1, 0));
    assert_whole(&dir);
    std::fs::remove_file(Path::new(&small).join("filler")).unwrap();
    assert!(stage.put_all(batch()).all(|answer| answer.is_ok()));
    assert_whole(&dir);
}

#[test]
fn space_that_others_need_is_made_by_sweeping() {
    let Ok(small) = std::env::var(MOUNTED) else {
        return on_a_small_disk("stage::disk_full::space_that_others_need_is_made_by_sweeping", "4m");
    };
    let dir = Path::new(&small).join("area");
    let scene = Scene::new();
    let quota = Quota { min_free: Some(1 << 20), ..Quota::default() };
    let stage = Stage::open(&dir, StageOptions { quota, ..scene.options() }).unwrap();
    let source = scene.temporary.path().join("source");
    let put = |n: u8| {
        std::fs::write(&source, pattern(n, 1_100_000)).unwrap();
        stage.put(Content::file(&source), &Put::named(n.to_string()).ttl(secs(10))).map(|_| ())
    };
    put(1).unwrap();
    put(2).unwrap();
    let error = put(3).unwrap_err();
    assert!(matches!(error, StageError::Full(Shortage::Free { .. })), "{error:?}");
    assert_eq!(recount(&dir).files.len(), 2, "what lives is not let go of");
    scene.advance(secs(60));
    put(3).unwrap();
    assert!(scene.heard.cleaned_names().len() == 1, "as much goes as is needed");
    assert_whole(&dir);
}
