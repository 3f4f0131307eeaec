//! Holds: a reader in one place delays the sweeper in another.

use bygone_files::stage::StageError;

use super::{Scene, put, secs};

#[test]
fn a_held_file_stays_past_its_deadline_and_is_absent_all_the_same() {
    let scene = Scene::new();
    let (reader, sweeper) = (scene.open(), scene.open());
    let attachment = put(&reader, "held", 10);
    let other = put(&reader, "other", 10);
    let hold = reader.hold(&attachment.id, secs(100)).unwrap().unwrap();
    scene.advance(secs(60));
    let report = sweeper.force_cleanup().unwrap();
    assert_eq!((report.tally.removed, report.tally.kept_back.locked), (1, 1));
    assert!(attachment.path.exists() && !other.path.exists());
    assert_eq!(reader.get(&attachment.id).unwrap(), None, "absent for new readers");
    assert!(reader.hold(&attachment.id, secs(1)).unwrap().is_none(), "and cannot be held anew");
    hold.release().unwrap();
    assert_eq!(sweeper.force_cleanup().unwrap().tally.removed, 1);
    assert_eq!(scene.recount().files.len(), 0);
}

#[test]
fn a_hold_ends_by_itself_strictly_after_its_end() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "held", 1);
    let mut hold = stage.hold(&attachment.id, secs(100)).unwrap().unwrap();
    scene.advance(secs(100));
    assert_eq!(stage.force_cleanup().unwrap().tally.kept_back.locked, 1, "on its very end it holds");
    scene.advance(secs(1));
    assert!(matches!(hold.extend(secs(100)), Err(StageError::HoldEnded(_))));
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, 1);
    assert!(matches!(hold.extend(secs(100)), Err(StageError::HoldEnded(_))));
}

#[test]
fn a_hold_can_be_extended_and_is_never_shortened() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "held", 1);
    let mut hold = stage.hold(&attachment.id, secs(50)).unwrap().unwrap();
    let first = hold.until();
    hold.extend(secs(1)).unwrap();
    assert_eq!(hold.until(), first);
    scene.advance(secs(40));
    hold.extend(secs(50)).unwrap();
    scene.advance(secs(45));
    assert_eq!(stage.force_cleanup().unwrap().tally.kept_back.locked, 1);
    drop(hold);
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, 1, "a dropped hold is released");
}

#[test]
fn what_is_held_is_neither_removed_nor_reset() {
    let scene = Scene::new();
    let stage = scene.open();
    let (attachment, free) = (put(&stage, "held", 100), put(&stage, "free", 100));
    let hold = stage.hold(&attachment.id, secs(10)).unwrap().unwrap();
    let second = stage.hold(&attachment.id, secs(10)).unwrap().unwrap();
    assert!(matches!(stage.remove(&attachment.id), Err(StageError::Held(id)) if id == attachment.id));
    let report = stage.reset().unwrap();
    assert_eq!((report.removed, report.held), (1, 1));
    assert!(attachment.path.exists() && !free.path.exists());
    hold.release().unwrap();
    assert!(matches!(stage.remove(&attachment.id), Err(StageError::Held(_))), "the second hold counts as much");
    second.release().unwrap();
    assert!(stage.remove(&attachment.id).unwrap());
}

#[test]
fn holds_are_forgotten_once_they_ended() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "held", 100);
    for _ in 0..3 {
        std::mem::forget(stage.hold(&attachment.id, secs(5)).unwrap());
    }
    let holds =
        || -> i64 { super::database(&scene.dir()).query_row("SELECT count(*) FROM holds", [], |r| r.get(0)).unwrap() };
    assert_eq!(holds(), 3);
    scene.advance(secs(10));
    stage.force_cleanup().unwrap();
    assert_eq!(holds(), 0);
    assert!(stage.get(&attachment.id).unwrap().is_some());
}
