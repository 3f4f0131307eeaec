//! Looking leaves no trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bygone_core::{Boundary, Care, Clock, PageRequest, Target};
use bygone_files::stage::{Stage, StageError};

use super::{Scene, put, put_persistent, secs};

type Listing = BTreeMap<PathBuf, (u64, SystemTime, Vec<u8>)>;

/// Every path below, with its size, when it was last written, and its content; but for the memory that connections of one
/// process share, where each of them has a place to read from.
fn listing(dir: &Path) -> Listing {
    let mut found = Listing::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let content = if meta.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        if meta.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        if path.ends_with("manifest.db-shm") {
            continue;
        }
        found.insert(path, (meta.len(), meta.modified().unwrap(), content));
    }
    found
}

/// Surveys without opening; the answers are those of the rows.
async fn look(scene: &Scene, total: u64, bygone: u64) {
    let before = listing(&scene.dir());
    let inspection = Stage::inspect(scene.dir()).unwrap();
    assert_eq!(inspection.metrics().unwrap().total_count, total);
    let (next, more) = inspection.next_to_end(10, &*scene.clock).unwrap();
    assert!(next.len() as u64 <= total && !more, "{next:?}");
    let mut target = inspection.target("p", "s");
    let boundary = Boundary::at(scene.clock.now());
    let survey = target.survey(boundary).await.unwrap();
    assert_eq!(survey.bygone, Some(bygone));
    assert_eq!(survey.oldest.is_some(), bygone > 0);
    assert!(target.holds_at_least(total).await.unwrap() && !target.holds_at_least(total + 1).await.unwrap());
    let request = PageRequest { boundary, cursor: None, limit: 10, care: Care::Swift };
    assert!(target.page(request).await.is_err(), "it cannot be swept");
    drop((target, inspection));
    let after = listing(&scene.dir());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "nothing was made or removed");
    let changed: Vec<_> = after.iter().filter(|(path, what)| before[*path] != **what).map(|(path, _)| path).collect();
    assert!(changed.is_empty(), "nothing was changed or touched: {changed:?}");
}

#[tokio::test]
async fn an_area_at_rest_and_one_in_use_are_looked_at_without_a_trace() {
    let scene = Scene::new();
    let stage = scene.open();
    put(&stage, "a", 10);
    put_persistent(&stage, "b");
    scene.advance(secs(60));
    look(&scene, 2, 1).await;
    drop(stage);
    look(&scene, 2, 1).await;
}

#[tokio::test]
async fn what_a_crash_left_is_looked_at_without_mending_it() {
    let scene = Scene::new();
    let stage = scene.open();
    put(&stage, "a", 10);
    put(&stage, "b", 1_000);
    scene.advance(secs(60));
    // A copy of an area in use is what a crash leaves: a log, and a session that nobody holds.
    let image = Scene::new();
    super::model::copy(&scene.dir(), &image.dir());
    let image = Scene { clock: std::sync::Arc::clone(&scene.clock), ..image };
    look(&image, 2, 1).await;
    assert!(image.open().opened_with().unwrap().after_crash);
}

#[test]
fn what_ends_next_is_told_in_its_order_and_no_further_than_asked() {
    let scene = Scene::new();
    let stage = scene.open();
    for (name, ttl) in [("c", 300), ("a", 10), ("b", 200)] {
        put(&stage, name, ttl);
    }
    put_persistent(&stage, "d");
    scene.advance(secs(60));
    let inspection = Stage::inspect(scene.dir()).unwrap();
    let names = |limit| {
        let (next, more) = inspection.next_to_end(limit, &*scene.clock).unwrap();
        (next.iter().map(|one| one.name.to_string()).collect::<Vec<_>>(), more)
    };
    let text = |names: &[&str]| names.iter().map(|name| format!("{name}.txt")).collect::<Vec<_>>();
    assert_eq!(names(10), (text(&["a", "b", "c"]), false), "what is over and not swept comes first, what stays never");
    assert_eq!(names(3), (text(&["a", "b", "c"]), false));
    assert_eq!(names(2), (text(&["a", "b"]), true));
    assert_eq!(names(0), (text(&[]), true));
    let (next, _) = inspection.next_to_end(1, &*scene.clock).unwrap();
    let expected = scene.clock.now() - jiff::SignedDuration::from_secs(50);
    assert_eq!((next[0].deadline, next[0].held), (expected, false));
}

#[test]
fn what_is_no_area_is_not_made_one() {
    let scene = Scene::new();
    assert!(matches!(Stage::inspect(scene.dir()), Err(StageError::Open { .. })));
    std::fs::create_dir(scene.dir()).unwrap();
    assert!(matches!(Stage::inspect(scene.dir()), Err(StageError::NoArea(_))));
    assert_eq!(std::fs::read_dir(scene.dir()).unwrap().count(), 0);
}
