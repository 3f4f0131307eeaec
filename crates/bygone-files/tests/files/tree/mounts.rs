//! Other file systems, and other mounts of the same, are not entered.
//!
//! Mounting needs rights, and a machine should not see the mounts of a test. So the test runs itself once more in a mount
//! namespace of its own, in a user namespace too where it is not root.

use std::path::Path;
use std::process::Command;

use bygone_core::Target;
use bygone_files::tree::TreePolicy;

use super::scene::{Scene, bind, boundary, old};

const INSIDE: &str = "BYGONE_TEST_OWN_MOUNTS";

fn mount(arguments: &[&str], at: &Path) {
    let status = Command::new("mount").args(arguments).arg(at).status().unwrap();
    assert!(status.success(), "mount {arguments:?} {}", at.display());
}

#[tokio::test]
async fn mount_points_are_not_entered() {
    if std::env::var_os(INSIDE).is_none() {
        let mut again = Command::new("unshare");
        again.args(["--mount", "--propagation", "private"]);
        if !rustix::process::geteuid().is_root() {
            again.args(["--user", "--map-root-user"]);
        }
        again.arg(std::env::current_exe().unwrap()).args(["--exact", "tree::mounts::mount_points_are_not_entered"]);
        let done = again.arg("--nocapture").env(INSIDE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    let scene = Scene::new();
    let beside = scene.outside("beside");
    std::fs::create_dir(&beside).unwrap();
    for name in ["other", "same"] {
        scene.directory(name, old());
    }
    mount(&["-t", "tmpfs", "tmpfs"], &scene.path("other"));
    mount(&["--bind", beside.to_str().unwrap()], &scene.path("same"));
    let one = scene.outside("one");
    std::fs::write(&one, b"one").unwrap();
    super::scene::set_stamps(&one, old(), old());
    scene.file("one", old());
    mount(&["--bind", one.to_str().unwrap()], &scene.path("one"));
    for name in ["other/file", "same/file", "other/d/file", "free/file"] {
        scene.file(name, old());
    }
    for name in ["other/d", "other", "same", "free"] {
        scene.stamp(name, old());
    }
    let policy = TreePolicy { empty_dirs: true, ..scene.policy() };
    let survey = bind(policy.clone()).survey(boundary()).await.unwrap();
    assert!(survey.warnings.iter().any(|text| text.contains("mount point")), "{survey:?}");
    let report = scene.sweep(policy).await;
    let left = ["one", "other/", "other/d/", "other/d/file", "other/file", "same/", "same/file"];
    assert_eq!(scene.texts(), left, "{report:?}");
    assert_eq!(
        (report.tally.removed, report.tally.kept_back.conflict),
        (2, 1),
        "the file mounted on is busy: {report:?}"
    );
    assert_eq!(std::fs::read(&one).unwrap(), b"one");
    for name in ["one", "same", "other"] {
        assert!(Command::new("umount").arg(scene.path(name)).status().unwrap().success());
    }
}
