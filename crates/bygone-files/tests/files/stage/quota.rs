//! Quotas: what is refused, what is let go of, and what never is.

use std::io::{self, Read};

use bygone_files::stage::{Content, Put, Quota, Shortage, Stage, StageError, StageOptions, Ttl, WhenFull};

use super::{Scene, assert_whole, put, put_persistent, secs};

fn open(scene: &Scene, quota: Quota) -> Stage {
    Stage::open(scene.dir(), StageOptions { quota, ..scene.options() }).unwrap()
}

fn bytes(max_bytes: u64, when_full: WhenFull) -> Quota {
    Quota { max_bytes: Some(max_bytes), when_full, ..Quota::default() }
}

fn try_put(stage: &Stage, text: &str, ttl: u64) -> Result<(), StageError> {
    stage.put(Content::reader(text.as_bytes()), &Put::named(format!("{text}.txt")).ttl(secs(ttl))).map(|_| ())
}

fn names(scene: &Scene) -> Vec<String> {
    scene.recount().entries.into_keys().collect()
}

#[test]
fn refusing_says_what_is_full_and_by_how_much() {
    let scene = Scene::new();
    let stage = open(&scene, bytes(10, WhenFull::Refuse));
    put(&stage, "12345", 100);
    put(&stage, "1234", 100);
    let error = try_put(&stage, "xy", 100).unwrap_err();
    let shortage = Shortage::Bytes { needed: 2, available: 1, max_bytes: 10 };
    assert!(matches!(error, StageError::Full(short) if short == shortage), "{error}");
    put(&stage, "x", 100);
    put(&stage, "12345", 100);
    assert_eq!(names(&scene), ["1234.txt", "12345.txt", "x.txt"], "and a restage needs no room");
    assert_eq!(scene.recount().temporaries, 0);
    let count = open(&scene, Quota { max_count: Some(3), ..Quota::default() });
    let error = try_put(&count, "y", 100).unwrap_err();
    assert!(matches!(error, StageError::Full(Shortage::Count { max_count: 3 })), "{error}");
    assert_whole(&scene.dir());
}

#[test]
fn what_is_past_its_time_makes_room_unless_it_is_held() {
    let scene = Scene::new();
    let stage = open(&scene, bytes(10, WhenFull::Refuse));
    let held = put(&stage, "held", 1);
    let _hold = stage.hold(&held.id, secs(1_000)).unwrap().unwrap();
    put(&stage, "old", 1);
    put(&stage, "new", 100);
    scene.advance(secs(60));
    put(&stage, "abc", 100);
    assert_eq!(names(&scene), ["abc.txt", "held.txt", "new.txt"]);
    assert_eq!(scene.heard.cleaned_names(), ["old.txt"]);
    assert!(try_put(&stage, "d", 100).is_err());
    assert_whole(&scene.dir());
}

#[test]
fn evicting_takes_the_soonest_first_and_spares_the_persistent_the_held_and_the_lasting() {
    let scene = Scene::new();
    let stage = open(&scene, bytes(30, WhenFull::Evict));
    put_persistent(&stage, "keep5");
    let held = put(&stage, "held5", 1);
    let _hold = stage.hold(&held.id, secs(1_000)).unwrap().unwrap();
    stage.put(Content::reader(&b"last5"[..]), &Put::named("last5.txt").ttl(Ttl::Forever)).unwrap();
    for (text, ttl) in [("third", 300), ("first", 100), ("secnd", 200)] {
        put(&stage, text, ttl);
    }
    put(&stage, "sevenxx", 400);
    assert_eq!(names(&scene), ["held5.txt", "keep5.txt", "last5.txt", "sevenxx.txt", "third.txt"]);
    assert_eq!(scene.heard.cleaned_names(), ["first.txt", "secnd.txt"], "each is announced");
    // 15 of 30 bytes can never go: 16 do not fit, and nothing is let go of in vain.
    let error = try_put(&stage, "sixteen bytes...", 400).unwrap_err();
    let shortage = Shortage::Bytes { needed: 16, available: 15, max_bytes: 30 };
    assert!(matches!(error, StageError::Full(short) if short == shortage), "{error}");
    assert_eq!(scene.heard.cleaned_names().len(), 2);
    put(&stage, "fifteen bytes..", 400);
    assert_eq!(
        names(&scene),
        ["fifteen bytes..txt", "held5.txt", "keep5.txt", "last5.txt"].map(|n| n.replace("..txt", "...txt"))
    );
    assert_whole(&scene.dir());
}

#[test]
fn a_batch_makes_room_too() {
    let scene = Scene::new();
    let quota = Quota { max_count: Some(10), when_full: WhenFull::Evict, ..Quota::default() };
    let stage = open(&scene, quota);
    let texts: Vec<String> = (0..25).map(|n| format!("{n:02}")).collect();
    let contents = texts
        .iter()
        .zip(1..)
        .map(|(text, n)| (Content::reader(text.as_bytes()), Put::named(text.as_str()).ttl(secs(n * 10))));
    assert!(stage.put_all(contents).all(|answer| answer.is_ok()));
    assert_eq!(names(&scene), texts[15..]);
    assert_eq!(scene.heard.cleaned_names(), texts[..15]);
    assert_whole(&scene.dir());
}

#[test]
fn an_endless_reader_ends_at_the_quota() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len() as u64;
            assert!(self.0 < 4 << 20, "read far beyond the quota");
            Ok(buffer.len())
        }
    }
    let scene = Scene::new();
    let stage = open(&scene, bytes(1 << 20, WhenFull::Evict));
    put(&stage, "stays", 100);
    let error = stage.put(Content::reader(Endless(0)), &Put::default()).unwrap_err();
    assert!(matches!(error, StageError::Full(Shortage::Bytes { .. })), "{error}");
    assert_eq!((names(&scene), scene.recount().temporaries), (vec!["stays.txt".to_owned()], 0));
}

#[test]
fn what_others_need_of_the_file_system_is_left_to_them() {
    let scene = Scene::new();
    let stage = open(&scene, Quota { min_free: Some(u64::MAX / 2), ..Quota::default() });
    let error = try_put(&stage, "x", 100).unwrap_err();
    assert!(matches!(error, StageError::Full(Shortage::Free { .. })), "{error}");
    assert_eq!(scene.recount().temporaries, 0);
    put(&open(&scene, Quota { min_free: Some(1), ..Quota::default() }), "x", 100);
}

#[test]
fn what_cannot_be_deleted_makes_no_room() {
    let scene = Scene::new();
    let stage = open(&scene, bytes(10, WhenFull::Evict));
    let stuck = put(&stage, "stuck", 1);
    std::fs::remove_file(&stuck.path).unwrap();
    std::fs::create_dir(&stuck.path).unwrap();
    put(&stage, "other", 100);
    put(&stage, "third", 200);
    assert_eq!(names(&scene), ["stuck.txt", "third.txt"], "it is passed over");
    let error = try_put(&stage, "eightlen", 300).unwrap_err();
    assert!(matches!(error, StageError::Full(Shortage::Bytes { .. })), "{error}");
    assert!(!scene.heard.cleaned_names().contains(&"stuck.txt".to_owned()));
}
