//! Trees that are deep, wide, interrupted or gone.

use std::fs;

use bygone_core::{Budget, Care, Outcome, Target};
use bygone_files::tree::TreePolicy;
use bygone_testkit::conformance::sweep;
use futures_util::FutureExt;

use super::scene::{Scene, bind, boundary, old, page, young};

#[tokio::test]
async fn a_thousand_levels_are_swept_as_deep_as_handles_reach() {
    let scene = Scene::new();
    let at = |depth: usize| "d/".repeat(depth) + "file";
    fs::create_dir_all(scene.path(&"d/".repeat(1_000))).unwrap();
    for depth in [0, 100, 256, 257, 1_000] {
        scene.file(&at(depth), old());
    }
    let policy = TreePolicy { empty_dirs: true, ..scene.policy() };
    let survey = bind(policy.clone()).survey(boundary()).await.unwrap();
    assert_eq!(survey.bygone, Some(3));
    assert!(survey.warnings.iter().any(|text| text.contains("deeper than 256")), "{survey:?}");
    let report = scene.sweep(policy).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (3, 1), "{report:?}");
    let exists = |depth| scene.path(&at(depth)).exists();
    assert_eq!([0, 100, 256, 257, 1_000].map(exists), [false, false, false, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_names_in_one_directory() {
    let scene = Scene::large();
    for n in 0..100_000 {
        let path = scene.path(&format!("{n}"));
        fs::File::create_new(&path).unwrap();
        let at = if n % 2 == 0 { old() } else { young() };
        super::scene::set_stamps(&path, at, at);
    }
    let report = scene.sweep(scene.policy()).await;
    assert_eq!((report.tally.removed, report.outcome), (50_000, Outcome::Complete));
    let left = scene.texts();
    assert_eq!(left.len(), 50_000);
    assert!(left.iter().all(|name| name.parse::<u32>().unwrap() % 2 == 1));
}

#[tokio::test]
async fn a_budget_is_exact_among_many_that_stay() {
    let scene = Scene::large();
    for n in 0..3_000 {
        scene.file(&format!("d{}/{n}", n % 7), if n % 10 == 0 { old() } else { young() });
    }
    let budget = Budget { items: Some(17), ..Budget::default() };
    let report = sweep(Box::new(scene.target()), boundary(), budget).await;
    assert_eq!((report.tally.examined, report.tally.removed, report.outcome), (17, 17, Outcome::BudgetItems));
    assert_eq!(scene.texts().len(), 3_000 + 7 - 17);
    let report = scene.sweep(scene.policy()).await;
    assert_eq!((report.tally.removed, scene.texts().len()), (300 - 17, 2_700 + 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_caller_goes_away_does_not_lose_the_walk() {
    let scene = Scene::large();
    for n in 0..5_000 {
        scene.file(&format!("d{}/{n}", n % 5), old());
    }
    let mut target = scene.target();
    let first = page(&mut target, None, 1_000, Care::Swift).await;
    let mut cursor = first.next;
    // Polled once, which sends it on its way, and dropped.
    let dropped = page(&mut target, cursor.as_ref(), 1_000, Care::Swift).now_or_never();
    let mut removed = first.tally.removed + dropped.as_ref().map_or(0, |page| page.tally.removed);
    let mut pages = 0;
    while let Some(place) = cursor {
        let next = page(&mut target, Some(&place), 1_000, Care::Swift).await;
        (removed, pages, cursor) = (removed + next.tally.removed, pages + 1, next.next);
    }
    assert!(scene.texts().iter().all(|name| name.ends_with('/')), "nothing was left behind");
    assert!((4_000..=5_000).contains(&removed), "the page that nobody waited for is not counted again: {removed}");
    assert!(pages <= 4, "the walk went on where it was: {pages} pages");
}

#[tokio::test]
async fn a_tree_that_vanishes_under_the_walk_is_no_error() {
    let scene = Scene::large();
    for n in 0..6_000 {
        scene.file(&format!("d{}/{n}", n % 5), old());
    }
    let mut target = bind(TreePolicy { empty_dirs: true, ..scene.policy() });
    target.survey(boundary()).await.unwrap();
    let first = page(&mut target, None, 1_000, Care::Swift).await;
    fs::remove_dir_all(scene.root()).unwrap();
    let mut cursor = first.next;
    while let Some(place) = cursor {
        let next = page(&mut target, Some(&place), 1_000, Care::Swift).await;
        assert_eq!(next.tally.examined, 0, "nobody counts what others removed: {next:?}");
        cursor = next.next;
    }
    target.settle().await.unwrap();
    assert_eq!(target.survey(boundary()).await.unwrap().bygone, Some(0));
    fs::create_dir(scene.root()).unwrap();
}

#[tokio::test]
async fn a_directory_that_was_moved_out_takes_its_files_with_it() {
    let scene = Scene::new();
    for n in 0..2_000 {
        scene.file(&format!("a/b/{n}"), old());
    }
    let mut target = scene.target();
    let first = page(&mut target, None, 100, Care::Swift).await;
    fs::rename(scene.path("a"), scene.outside("saved")).unwrap();
    let mut cursor = first.next;
    while let Some(place) = cursor {
        let next = page(&mut target, Some(&place), 1_000, Care::Swift).await;
        assert_eq!(next.tally.removed, 0, "what was saved is not removed: {next:?}");
        cursor = next.next;
    }
    assert_eq!(fs::read_dir(scene.outside("saved/b")).unwrap().count(), 1_900);
}
