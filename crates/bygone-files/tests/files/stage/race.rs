//! Restage against sweep: the race that loses live data where it is lost at all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bygone_core::Clock;
use bygone_files::stage::{Attachment, Content, Put, Stage};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Scene, assert_whole, id_of, seed};

const OPERATIONS: u64 = 100_000;
/// Where the machine gives the sweepers little of its time, it takes more operations until so much was swept.
const SWEPT_MIN: u64 = 1_000;
const OPERATIONS_MAX: u64 = 20 * OPERATIONS;
const STAGERS: u64 = 6;
const SWEEPERS: u64 = 2;
const CONTENTS: u8 = 24;

fn content(n: u8) -> Vec<u8> {
    vec![b'a' + n; 50]
}

/// How far the race has come.
#[derive(Default)]
struct Progress {
    operations: AtomicU64,
    swept: AtomicU64,
}

impl Progress {
    /// Counts one more operation, if it still goes on.
    fn goes_on(&self) -> bool {
        let operations = self.operations.fetch_add(1, Ordering::Relaxed);
        let is_short = self.swept.load(Ordering::Relaxed) <= SWEPT_MIN;
        operations < OPERATIONS || is_short && operations < OPERATIONS_MAX
    }
}

/// A returned path must lead to the content, if the deadline has not passed by the time the look is over: the clock never
/// goes back, so at the time of the look it had not passed either.
fn check(scene: &Scene, attachment: &Attachment, expected: &[u8]) -> bool {
    let seen = std::fs::read(&attachment.path);
    let now = scene.clock.now();
    let is_due = attachment.deadline.is_some_and(|deadline| deadline < now);
    match seen {
        Ok(seen) => assert_eq!(seen, expected, "the content is what its id says"),
        Err(error) => assert!(is_due, "{error}: {attachment:?} is missing at {now}"),
    }
    !is_due
}

fn stage_and_look(scene: &Scene, stage: &Stage, seed: u64, progress: &Progress) -> u64 {
    let mut random = StdRng::seed_from_u64(seed);
    let mut checked = 0;
    while progress.goes_on() {
        let content = content(random.random_range(0..CONTENTS));
        let ttl = Duration::from_micros(random.random_range(0..400));
        let attachment = match random.random_range(0..10) {
            0..6 => Some(stage.put(Content::reader(&*content), &Put::named("f").ttl(ttl)).unwrap()),
            6..8 => stage.get(&id_of(&content)).unwrap(),
            _ => stage.touch(&id_of(&content), Some(ttl.into())).unwrap(),
        };
        if let Some(attachment) = attachment {
            checked += u64::from(check(scene, &attachment, &content));
        }
        scene.clock.advance(Duration::from_micros(random.random_range(0..20)));
    }
    checked
}

fn sweep(stage: &Stage, progress: &Progress) {
    while progress.goes_on() {
        progress.swept.fetch_add(stage.force_cleanup().unwrap().tally.removed, Ordering::Relaxed);
    }
}

#[test]
fn no_returned_path_is_missing_before_its_deadline() {
    let (seed, scene) = (seed(), Scene::in_memory());
    // Half of the threads share a handle; the others have the area open a second time, as another process would.
    let handles = [scene.open(), scene.open()];
    let progress = Progress::default();
    let checked: u64 = std::thread::scope(|scope| {
        let (scene, handles, progress) = (&scene, &handles, &progress);
        let handle = |n: u64| &handles[usize::from(n % 2 == 1)];
        let stagers: Vec<_> = (0..STAGERS)
            .map(|n| scope.spawn(move || stage_and_look(scene, handle(n), seed.wrapping_add(n), progress)))
            .collect();
        for n in 0..SWEEPERS {
            scope.spawn(move || sweep(handle(n), progress));
        }
        stagers.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let removed = progress.swept.into_inner();
    println!("{checked} paths were looked at before their deadline; {removed} attachments were swept");
    assert!(checked > 10_000 && removed > SWEPT_MIN, "the race took place: {checked} checked, {removed} swept");
    assert_eq!(scene.recount().temporaries, 0);
    assert_whole(&scene.dir());
    scene.advance(Duration::from_secs(10));
    handles[0].force_cleanup().unwrap();
    assert_eq!(scene.recount().files.len(), 0);
    let (staged, cleaned) = (scene.heard.staged.lock().unwrap(), scene.heard.cleaned.lock().unwrap());
    let copies = staged.iter().filter(|staged| !staged.cached).count();
    assert_eq!(copies, cleaned.len(), "every copy was cleaned once");
}
