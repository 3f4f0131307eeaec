//! Caps: the oldest go until the rest fits, and no more.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use bygone_core::{Care, Target};
use bygone_files::tree::TreePolicy;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::scene::{Scene, bind, boundary, page, seed, set_stamps, stamp, young};

/// A policy that removes by caps alone.
fn capped(scene: &Scene) -> TreePolicy {
    TreePolicy { keep: None, ..scene.policy() }
}

#[tokio::test]
async fn the_oldest_go_until_the_count_fits() {
    let scene = Scene::new();
    for n in 0..50_i128 {
        scene.file(&format!("d{}/{n:02}", n % 3), stamp(n * 1_000));
    }
    let report = scene.sweep(TreePolicy { max_count: Some(20), ..capped(&scene) }).await;
    assert_eq!(report.tally.removed, 30);
    let left: Vec<_> = scene.texts().into_iter().filter_map(|name| name.rsplit_once('/')?.1.parse().ok()).collect();
    let mut left: Vec<u32> = left;
    left.sort_unstable();
    assert_eq!(left, (30..50).collect::<Vec<u32>>());
}

#[tokio::test]
async fn within_its_caps_nothing_goes() {
    let scene = Scene::new();
    for n in 0..10 {
        scene.file(&format!("{n}"), young());
    }
    let policy = TreePolicy { max_count: Some(10), max_bytes: Some(1 << 40), min_free: Some(1), ..capped(&scene) };
    let report = scene.sweep(policy).await;
    assert_eq!((report.tally.examined, scene.texts().len()), (0, 10));
}

#[tokio::test]
async fn what_age_removes_counts_for_the_caps_and_stamps_in_the_future_stay() {
    let scene = Scene::new();
    for n in 0..10 {
        scene.file(&format!("aged-{n}"), stamp(-1_000 - n));
        scene.file(&format!("young-{n}"), stamp(1_000 + n));
    }
    let later = boundary().instant() + jiff::SignedDuration::from_secs(5);
    scene.file("future-1", later);
    scene.file("future-2", later);
    // Twelve are left after age: five too many, of which none from the future goes.
    let report = scene.sweep(TreePolicy { max_count: Some(7), ..scene.policy() }).await;
    assert_eq!(report.tally.removed, 15);
    assert_eq!(scene.texts(), ["future-1", "future-2", "young-5", "young-6", "young-7", "young-8", "young-9"]);
    let report = scene.sweep(TreePolicy { max_count: Some(0), ..scene.policy() }).await;
    assert_eq!((report.tally.removed, scene.texts().len()), (5, 2), "{report:?}");
}

#[tokio::test]
async fn only_what_the_globs_cover_counts_and_goes() {
    let scene = Scene::new();
    for n in 0..5 {
        scene.file(&format!("{n}.tmp"), stamp(n));
        scene.file(&format!("{n}.txt"), stamp(-n));
    }
    let policy = TreePolicy { max_count: Some(3), include: vec!["*.tmp".into()], ..capped(&scene) };
    scene.sweep(policy).await;
    assert_eq!(scene.texts(), ["0.txt", "1.txt", "2.tmp", "2.txt", "3.tmp", "3.txt", "4.tmp", "4.txt"]);
}

#[tokio::test]
async fn what_was_touched_after_the_survey_is_not_taken_by_a_cap() {
    let scene = Scene::new();
    for n in 0..10 {
        scene.file(&format!("{n}"), stamp(n));
    }
    let mut target = bind(TreePolicy { max_count: Some(6), ..capped(&scene) });
    assert_eq!(target.survey(boundary()).await.unwrap().bygone, Some(4));
    scene.stamp("2", young());
    scene.file("late-and-old", stamp(-5));
    let swept = page(&mut target, None, 100, Care::Swift).await;
    assert!(scene.texts().contains(&"2".to_owned()));
    assert!(swept.tally.removed <= 4, "no more than the survey said: {swept:?}");
    assert!((4..10).all(|n| scene.texts().contains(&n.to_string())), "{:?}", scene.texts());
}

#[tokio::test]
async fn without_a_survey_the_caps_take_nothing() {
    let scene = Scene::new();
    scene.file("a", young());
    let mut target = bind(TreePolicy { max_count: Some(0), ..capped(&scene) });
    assert_eq!(page(&mut target, None, 100, Care::Swift).await.tally.examined, 0);
    assert_eq!(scene.texts(), ["a"]);
}

#[tokio::test]
async fn min_free_takes_until_so_much_would_be_free() {
    let scene = Scene::new();
    let mut bytes = Vec::new();
    for n in 0..8 {
        let path = scene.path(&format!("{n}"));
        fs::write(&path, vec![1; 1 << 20]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        set_stamps(&path, young(), stamp(n));
        bytes.push(path.symlink_metadata().unwrap().blocks() * 512);
    }
    let state = rustix::fs::statvfs(scene.root()).unwrap();
    // Others write to the same disk, so more is asked for than can be had: all go, and no error comes of it.
    let enough = state.f_bavail * state.f_frsize + (1 << 40);
    let report = scene.sweep(TreePolicy { min_free: Some(enough), ..capped(&scene) }).await;
    assert_eq!(report.tally.bytes, Some(bytes.iter().sum()));
    assert!(scene.texts().is_empty());
}

#[tokio::test]
async fn empty_dirs_go_that_are_older_than_all_that_the_caps_leave() {
    let scene = Scene::new();
    scene.file("a/1", stamp(1));
    scene.file("b/2", stamp(2));
    scene.file("c/9", stamp(9));
    scene.stamp("a", stamp(-50));
    scene.stamp("b", stamp(50));
    let policy = TreePolicy { max_count: Some(1), empty_dirs: true, ..capped(&scene) };
    scene.sweep(policy).await;
    assert_eq!(scene.texts(), ["b/", "c/", "c/9"], "b is younger than the file that the cap leaves");
}

/// Random stamps, with many alike, and random sizes: compared with sorting.
#[tokio::test]
async fn random_caps_are_what_sorting_says() {
    let mut random = StdRng::seed_from_u64(seed());
    for round in 0..30 {
        let scene = Scene::new();
        let mut files = BTreeMap::new();
        for n in 0..random.random_range(1..60) {
            let at: i128 = random.random_range(0..if round % 2 == 0 { 6 } else { 3_000_000_000 });
            let path = scene.path(&format!("{n}"));
            fs::write(&path, vec![1; random.random_range(0..40_000)]).unwrap();
            fs::File::open(&path).unwrap().sync_all().unwrap();
            set_stamps(&path, young(), stamp(at));
            files.insert(format!("{n}"), (at, path.symlink_metadata().unwrap().blocks() * 512));
        }
        let total: u64 = files.values().map(|(_, bytes)| bytes).sum();
        let max_count = random.random_bool(0.6).then(|| random.random_range(0..70_u64));
        let max_bytes = (max_count.is_none() || random.random_bool(0.6)).then(|| random.random_range(0..=total));
        scene.sweep(TreePolicy { max_count, max_bytes, ..capped(&scene) }).await;
        let left = scene.texts();
        let (stay, gone): (Vec<_>, Vec<_>) = files.iter().partition(|(name, _)| left.contains(name));
        let stays: u64 = stay.iter().map(|(_, (_, bytes))| bytes).sum();
        let fits = |count: usize, bytes: u64| {
            max_count.is_none_or(|most| count as u64 <= most) && max_bytes.is_none_or(|most| bytes <= most)
        };
        assert!(fits(stay.len(), stays), "what stays fits: {max_count:?} {max_bytes:?} {files:?} {left:?}");
        let youngest_gone = gone.iter().map(|(_, (at, _))| *at).max();
        let oldest_left = stay.iter().map(|(_, (at, _))| *at).min();
        assert!(youngest_gone.is_none() || oldest_left.is_none() || youngest_gone <= oldest_left, "oldest first");
        // Of those of the last stamp, at least one was needed.
        let last = gone.iter().filter(|(_, (at, _))| Some(*at) == youngest_gone);
        let needed = last.clone().any(|(_, (_, bytes))| !fits(stay.len() + 1, stays + bytes));
        assert!(gone.is_empty() || needed, "no more than needed: {max_count:?} {max_bytes:?} {files:?} {left:?}");
    }
}
