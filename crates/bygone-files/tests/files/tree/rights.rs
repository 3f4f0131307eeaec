//! What a user who is not root can and cannot remove. Root runs the test once more as nobody.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use bygone_core::{ErrorKind, Target};
use bygone_files::tree::{TreePolicy, TreeTarget};

use super::scene::{Scene, bind, boundary, old};

#[tokio::test]
async fn what_may_not_be_read_is_kept_back_or_removed_by_name() {
    if rustix::process::geteuid().is_root() {
        // A copy where nobody can reach it: the one at hand may stand in somebody's home.
        let reachable = tempfile::tempdir().unwrap();
        fs::set_permissions(reachable.path(), Permissions::from_mode(0o755)).unwrap();
        let program = reachable.path().join("tests");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut again = Command::new("setpriv");
        again.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
        again.args(["--exact", "tree::rights::what_may_not_be_read_is_kept_back_or_removed_by_name", "--nocapture"]);
        let done = again.current_dir(reachable.path()).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    let scene = Scene::new();
    let mode = |name: &str, mode: u32| fs::set_permissions(scene.path(name), Permissions::from_mode(mode)).unwrap();
    for name in ["unreadable-file", "closed/file", "fixed/file", "free/file"] {
        scene.file(name, old());
    }
    mode("unreadable-file", 0o000);
    mode("closed", 0o000);
    mode("fixed", 0o500);
    let survey = bind(scene.policy()).survey(boundary()).await.unwrap();
    assert!(survey.warnings.iter().any(|text| text.contains("closed")), "{survey:?}");
    let report = scene.sweep(scene.policy()).await;
    // One directory that cannot be read, and one file that cannot be taken out of its directory.
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (2, 2), "{report:?}");
    let denied = TreeTarget::bind(TreePolicy { path: Some("closed".into()), ..scene.policy() }).unwrap_err();
    assert_eq!((denied.kind(), denied.key()), (ErrorKind::Denied, Some("path")));
    mode("closed", 0o700);
    mode("fixed", 0o700);
    assert_eq!(scene.texts(), ["closed/", "closed/file", "fixed/", "fixed/file", "free/"]);
}
