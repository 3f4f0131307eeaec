//! What is refused before anything is touched, with the key that it is about and what to do.

use std::fs;
use std::os::unix::fs::symlink;

use bygone_core::{ErrorKind, TargetError};
use bygone_files::tree::{TreePolicy, TreeTarget};
use jiff::SignedDuration;

use super::scene::{Scene, old};

fn refused(policy: TreePolicy) -> (ErrorKind, Option<&'static str>) {
    let error: TargetError = TreeTarget::bind(policy).expect_err("the policy is refused");
    assert!(error.help().is_some(), "there is a remedy: {error}");
    (error.kind(), error.key())
}

#[test]
fn policies_that_say_nothing_or_nonsense() {
    let scene = Scene::new();
    let policy = scene.policy();
    let unfit = |key| (ErrorKind::Unfit, Some(key));
    assert_eq!(refused(TreePolicy { keep: None, ..policy.clone() }), unfit("keep"));
    assert_eq!(refused(TreePolicy { keep: Some(SignedDuration::from_nanos(-1)), ..policy.clone() }), unfit("keep"));
    assert_eq!(refused(TreePolicy { min_depth: 0, ..policy.clone() }), unfit("min_depth"));
    assert_eq!(refused(TreePolicy { include: vec!["a[".into()], ..policy.clone() }), unfit("include"));
    assert_eq!(refused(TreePolicy { exclude: vec!["/abs".into()], ..policy.clone() }), unfit("exclude"));
    for path in ["../beside", "/etc", "a/../../b"] {
        assert_eq!(refused(TreePolicy { path: Some(path.into()), ..policy.clone() }), unfit("path"), "{path}");
    }
}

#[test]
fn roots_that_are_none() {
    let scene = Scene::new();
    scene.file("file", old());
    fs::create_dir(scene.path("directory")).unwrap();
    symlink("directory", scene.path("link")).unwrap();
    let at = |root| TreePolicy { root, ..scene.policy() };
    assert_eq!(refused(at(scene.path("absent"))), (ErrorKind::Unreachable, Some("source")));
    assert_eq!(refused(at(scene.path("file"))), (ErrorKind::Unfit, Some("source")));
    assert_eq!(refused(at(scene.path("link"))), (ErrorKind::Unfit, Some("source")));
    for root in ["/", "//", "/..", "/proc/.."] {
        assert_eq!(refused(at(root.into())), (ErrorKind::Unfit, Some("source")), "{root}");
    }
    let below = |path: &str| TreePolicy { path: Some(path.into()), ..scene.policy() };
    assert_eq!(refused(below("link")), (ErrorKind::Unfit, Some("path")));
    assert_eq!(refused(below("absent")), (ErrorKind::Unreachable, Some("path")));
    assert_eq!(scene.texts(), ["directory/", "file", "link"]);
    assert!(TreeTarget::bind(below("directory")).is_ok());
}
