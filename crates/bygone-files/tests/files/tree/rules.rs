//! Which files a policy names, one rule a test.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use bygone_core::{Boundary, Brake, Budget, Care, Consent, Job, Outcome, Sweep, SystemClock, Target};
use bygone_files::tree::{Age, TreePolicy};
use jiff::{SignedDuration, Timestamp};

use super::scene::{KEEP, Scene, bind, boundary, old, page, set_stamps, stamp, young};

#[tokio::test]
async fn the_boundary_is_strict_to_the_nanosecond() {
    let scene = Scene::new();
    for (name, nanos) in [("before", -1), ("at", 0), ("after", 1), ("long-before", -10_i128.pow(18))] {
        scene.file(name, stamp(nanos));
    }
    scene.file("in-the-future", boundary().instant() + SignedDuration::from_hours(24));
    let report = scene.sweep(scene.policy()).await;
    assert_eq!(scene.texts(), ["after", "at", "in-the-future"]);
    assert_eq!((report.tally.removed, report.outcome), (2, Outcome::Complete));
}

#[tokio::test]
async fn each_age_reads_its_own_stamp() {
    let scene = Scene::new();
    set_stamps(&scene.file("read-long-ago", old()), old(), young());
    set_stamps(&scene.file("written-long-ago", old()), young(), old());
    scene.sweep(TreePolicy { age: Age::Accessed, ..scene.policy() }).await;
    assert_eq!(scene.texts(), ["written-long-ago"]);
    scene.sweep(scene.policy()).await;
    assert!(scene.texts().is_empty());
}

/// The times of change and of birth cannot be set, so the boundary is laid around them instead.
#[tokio::test]
async fn changed_and_born_are_the_systems_own_times() {
    let scene = Scene::new();
    let path = scene.file("file", old());
    let found = path.symlink_metadata().unwrap();
    let changed = i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
    let born = Timestamp::try_from(found.created().unwrap()).unwrap().as_nanosecond();
    for (age, at) in [(Age::Changed, changed), (Age::Born, born)] {
        let second = 1_000_000_000;
        for (boundary, left) in [(at - second, 1), (at + second, 0)] {
            scene.file("file", old());
            let policy = TreePolicy { age, keep: Some(SignedDuration::ZERO), ..scene.policy() };
            let boundary = Boundary::at(Timestamp::from_nanosecond(boundary).unwrap());
            let survey = bind(policy).survey(boundary).await.unwrap();
            assert_eq!(survey.bygone, Some(1 - left), "{age:?}");
        }
    }
}

#[tokio::test]
async fn links_go_themselves_and_what_they_point_at_stays() {
    let scene = Scene::new();
    let outside = scene.outside("precious");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), b"precious").unwrap();
    set_stamps(&outside.join("file"), old(), old());
    for (name, to) in [("to-file", outside.join("file")), ("to-directory", outside.clone()), ("dangling", "no".into())]
    {
        symlink(to, scene.path(name)).unwrap();
        scene.stamp(name, old());
    }
    symlink(&outside, scene.path("young-link")).unwrap();
    scene.stamp("young-link", young());
    let report = scene.sweep(scene.policy()).await;
    assert_eq!(scene.texts(), ["young-link"]);
    assert_eq!(report.tally.removed, 3);
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"precious");
}

#[tokio::test]
async fn globs_choose_and_an_excluded_directory_is_not_entered() {
    let scene = Scene::new();
    for name in ["a.tmp", "a.txt", "d/b.tmp", "d/keep.tmp", "cache/c.tmp", "spool/deep/e.tmp"] {
        scene.file(name, old());
    }
    let globs = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
    let policy = TreePolicy {
        include: globs(&["**/*.tmp"]),
        exclude: globs(&["**/keep.*", "cache", "spool/**"]),
        ..scene.policy()
    };
    scene.sweep(policy).await;
    let left = ["a.txt", "cache/", "cache/c.tmp", "d/", "d/keep.tmp", "spool/", "spool/deep/", "spool/deep/e.tmp"];
    assert_eq!(scene.texts(), left);
}

#[tokio::test]
async fn min_depth_spares_what_stands_above_it() {
    let scene = Scene::new();
    for name in ["one", "d/two", "d/e/three"] {
        scene.file(name, old());
    }
    scene.sweep(TreePolicy { min_depth: 3, ..scene.policy() }).await;
    assert_eq!(scene.texts(), ["d/", "d/e/", "d/two", "one"]);
    scene.sweep(TreePolicy { min_depth: 2, ..scene.policy() }).await;
    assert_eq!(scene.texts(), ["d/", "d/e/", "one"]);
}

#[tokio::test]
async fn a_path_narrows_the_sweep_to_a_part_of_the_source() {
    let scene = Scene::new();
    scene.file("a/b/in", old());
    scene.file("a/out", old());
    scene.sweep(TreePolicy { path: Some("a/b".into()), ..scene.policy() }).await;
    assert_eq!(scene.texts(), ["a/", "a/b/", "a/out"]);
}

#[tokio::test]
async fn empty_dirs_go_children_first_by_the_age_they_had() {
    let scene = Scene::new();
    scene.file("a/b/c/file", old());
    scene.directory("empty", old());
    scene.directory("young", young());
    scene.file("mixed/young-file", young());
    scene.file("around/young-directory/file", old());
    for name in ["a/b/c", "a/b", "a", "mixed", "around"] {
        scene.stamp(name, old());
    }
    scene.stamp("around/young-directory", young());
    scene.stamp("around", old());
    let mut target = bind(TreePolicy { empty_dirs: true, ..scene.policy() });
    let survey = target.survey(boundary()).await.unwrap();
    assert_eq!(survey.bygone, Some(2 + 4), "two files, a/b/c, a/b, a and empty: {survey:?}");
    let report = scene.sweep(TreePolicy { empty_dirs: true, ..scene.policy() }).await;
    let left = ["around/", "around/young-directory/", "mixed/", "mixed/young-file", "young/"];
    assert_eq!(scene.texts(), left);
    assert_eq!(report.tally.removed, 6);
}

#[tokio::test]
async fn without_the_word_directories_stay() {
    let scene = Scene::new();
    scene.file("a/b/file", old());
    scene.directory("empty", old());
    scene.sweep(scene.policy()).await;
    assert_eq!(scene.texts(), ["a/", "a/b/", "empty/"]);
}

#[tokio::test]
async fn a_survey_writes_nothing() {
    let scene = Scene::new();
    let mut paths = vec![scene.root().to_owned()];
    for (name, at) in [("d/e/old", old()), ("d/young", young()), ("top", old())] {
        paths.push(scene.file(name, at));
    }
    paths.extend(["d/e", "d"].map(|name| scene.path(name)));
    // Far enough in the past that a read would move the time of access.
    for path in &paths {
        set_stamps(path, stamp(-10_i128.pow(17)), stamp(-10_i128.pow(16)));
    }
    let state = |path: &std::path::PathBuf| {
        let found = path.symlink_metadata().unwrap();
        let times =
            [found.atime(), found.atime_nsec(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        (path.clone(), times, found.len(), found.nlink())
    };
    let before: Vec<_> = paths.iter().map(state).collect();
    let policy = TreePolicy { empty_dirs: true, max_count: Some(1), ..scene.policy() };
    let mut target = bind(policy);
    let survey = target.survey(boundary()).await.unwrap();
    target.lag(boundary()).await.unwrap();
    target.holds_at_least(3).await.unwrap();
    assert_eq!(survey.oldest, Some(stamp(-10_i128.pow(16))));
    assert_eq!(paths.iter().map(state).collect::<Vec<_>>(), before);
}

#[tokio::test]
async fn bytes_are_those_of_the_last_name_and_the_plan_says_the_same() {
    let scene = Scene::new();
    let (one, two) = (scene.path("d/one"), scene.path("two"));
    scene.file("d/one", old());
    fs::write(&one, vec![7; 100_000]).unwrap();
    fs::hard_link(&one, &two).unwrap();
    let shared = scene.path("shared");
    fs::write(&shared, vec![7; 50_000]).unwrap();
    fs::hard_link(&shared, scene.outside("its-other-name")).unwrap();
    scene.stamp("two", old());
    scene.stamp("shared", old());
    let allocated = one.symlink_metadata().unwrap().blocks() * 512;
    let survey = scene.target().survey(boundary()).await.unwrap();
    assert_eq!((survey.bygone, survey.bytes), (Some(3), Some(allocated)));
    let report = scene.sweep(scene.policy()).await;
    assert_eq!((report.tally.removed, report.tally.bytes), (3, Some(allocated)), "{report:?}");
    assert_eq!(scene.texts(), ["d/"]);
    assert_eq!(fs::read(scene.outside("its-other-name")).unwrap().len(), 50_000);
}

#[tokio::test]
async fn what_was_touched_after_the_survey_stays() {
    let scene = Scene::new();
    for n in 0..100 {
        scene.file(&format!("f{n:02}"), old());
    }
    let mut target = scene.target();
    assert_eq!(target.survey(boundary()).await.unwrap().bygone, Some(100));
    scene.stamp("f42", young());
    let swept = page(&mut target, None, 1_000, Care::Swift).await;
    assert_eq!((swept.tally.removed, scene.texts()), (99, vec!["f42".to_owned()]));
}

#[tokio::test]
async fn the_brake_holds_before_anything_is_touched() {
    let scene = Scene::new();
    for n in 0..1_200 {
        scene.file(&format!("{n}"), old());
    }
    let job = Job::new(Box::new(scene.target()), Budget::default()).with_consent(Consent::Brake(Brake::default()));
    let report = Sweep::new(std::sync::Arc::new(SystemClock::new()), boundary()).run(vec![job]).await;
    assert_eq!(report.policies[0].outcome, Outcome::Refused);
    assert_eq!(scene.texts().len(), 1_200);
}

#[tokio::test]
async fn one_item_is_kept_back_as_a_conflict_where_the_engine_says_so() {
    let scene = Scene::new();
    scene.file("a", old());
    scene.file("b", old());
    let mut target = scene.target();
    let swept = page(&mut target, None, 1, Care::KeepBack).await;
    assert_eq!((swept.tally.examined, swept.tally.kept_back.conflict), (1, 1));
    assert_eq!(scene.texts(), ["a", "b"]);
    let rest = page(&mut target, swept.next.as_ref(), 10, Care::Careful).await;
    assert_eq!((rest.tally.removed, rest.next), (1, None), "only the other one is left to examine");
}

#[tokio::test]
async fn lag_is_the_age_of_the_oldest_that_is_left() {
    let scene = Scene::new();
    scene.file("a", stamp(-90_000_000_000));
    scene.file("b", stamp(-30_000_000_000));
    let lag = scene.target().lag(boundary()).await.unwrap();
    assert_eq!(lag, Some(SignedDuration::from_secs(90)));
    scene.sweep(scene.policy()).await;
    assert_eq!(scene.target().lag(boundary()).await.unwrap(), None);
    assert_eq!(KEEP, SignedDuration::from_hours(1));
}
