//! The cleaner on its timer.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, Outcome};
use bygone_files::stage::{Cleaner, CleanerConfig, DEFAULT_INTERVAL, Stage, StageOptions};
use bygone_testkit::StandingClock;
use bygone_testkit::wait::Wait;

use super::{Scene, id_of, put, put_persistent, secs};

struct Timed {
    scene: Scene,
    clock: Arc<StandingClock>,
    stage: Stage,
}

impl Timed {
    fn new() -> Self {
        let scene = Scene::new();
        let clock = Arc::new(StandingClock::at(scene.clock.now()));
        let options = StageOptions { clock: Arc::<StandingClock>::clone(&clock), ..scene.options() };
        let stage = Stage::open(scene.dir(), options).unwrap();
        Self { scene, clock, stage }
    }

    /// Waits until the cleaner has gone to sleep so often.
    async fn asleep(&self, times: usize) {
        let mut wait = Wait::up_to(secs(30));
        while self.clock.sleeps() < times {
            assert!(wait.again().await, "the cleaner does not go to sleep");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_minute_what_is_past_its_time_goes() {
    let timed = Timed::new();
    assert_eq!(DEFAULT_INTERVAL, secs(60));
    let (short, long, kept) =
        (put(&timed.stage, "short", 30), put(&timed.stage, "long", 90), put_persistent(&timed.stage, "kept"));
    let cleaner = Cleaner::start(&timed.stage, CleanerConfig::default());
    timed.asleep(1).await;
    timed.clock.advance(secs(59));
    assert!(short.path.exists(), "not before the minute is over");
    timed.clock.advance(secs(1));
    timed.asleep(2).await;
    assert!(!short.path.exists() && long.path.exists() && kept.path.exists());
    timed.clock.advance(secs(60));
    timed.asleep(3).await;
    assert!(!long.path.exists() && kept.path.exists());
    assert_eq!(timed.scene.heard.cleaned_names(), ["short.txt", "long.txt"]);
    cleaner.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_cleans_when_asked_and_ends_when_told() {
    let timed = Timed::new();
    let config = CleanerConfig { interval: secs(1_000_000), ..CleanerConfig::default() };
    let cleaner = Cleaner::start(&timed.stage, config);
    put(&timed.stage, "x", 1);
    timed.asleep(1).await;
    timed.clock.advance(secs(5));
    let report = cleaner.clean_now().await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 1));
    cleaner.stop().await;
    let attachment = put(&timed.stage, "y", 1);
    timed.clock.advance(Duration::from_secs(10_000_000));
    assert!(attachment.path.exists(), "nobody cleans any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_that_were_too_young_go_in_time() {
    let timed = Timed::new();
    let orphan = timed.scene.dir().join(id_of(b"orphan").to_string());
    std::fs::create_dir(&orphan).unwrap();
    std::fs::write(orphan.join("file"), "orphan").unwrap();
    assert_eq!(timed.stage.reconcile().unwrap().orphans_young, 1);
    let cleaner = Cleaner::start(&timed.stage, CleanerConfig { interval: secs(1_900), ..CleanerConfig::default() });
    timed.asleep(1).await;
    timed.clock.advance(secs(1_900));
    timed.asleep(2).await;
    assert!(orphan.exists(), "within the hour");
    timed.clock.advance(secs(1_900));
    timed.asleep(3).await;
    assert!(!orphan.exists());
    cleaner.stop().await;
}

#[test]
fn a_cleanup_can_be_forced_from_inside_a_runtime() {
    let scene = Scene::new();
    let stage = scene.open();
    put(&stage, "x", 1);
    scene.advance(secs(5));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(async { stage.force_cleanup().unwrap().tally.removed }), 1);
}
