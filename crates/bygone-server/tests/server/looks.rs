//! Looking costs a source little, however many look.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bygone_core::{Clock, ManualClock};
use bygone_server::{AlarmRules, Daemon, Ledger, NotTold};
use futures_util::future::join_all;
use jiff::Timestamp;

use crate::shelves::{Shelves, shelf};

const SECOND: Duration = Duration::from_secs(1);

/// A clock that a test moves, and that lets nobody's time run out.
#[derive(Debug)]
struct Patient(ManualClock);

impl Clock for Patient {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

fn noon() -> ManualClock {
    ManualClock::at("2026-11-18T12:00:00Z".parse().unwrap())
}

/// A daemon that nobody runs.
async fn daemon(estate: Shelves, clock: Arc<dyn Clock>) -> (Daemon, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("ledger.db"), Arc::clone(&clock)).await.unwrap();
    let daemon = Daemon::new(Arc::new(estate), ledger, clock, AlarmRules::default()).await.unwrap();
    (daemon, directory)
}

#[tokio::test]
async fn a_storm_of_questions_is_one_question() {
    for is_fallen in [false, true] {
        let p = shelf(1);
        let estate = Shelves::new(&[("a-p", &p, None), ("b-q", &p, None)]);
        let estate = if is_fallen { estate.fallen() } else { estate };
        let looks = Arc::clone(&estate.looks);
        let clock = Arc::new(Patient(noon()));
        let (daemon, _directory) = daemon(estate, clock.clone()).await;
        let taken = || looks.taken.load(Ordering::Acquire);
        let storm = async || join_all((0..50).map(|_| daemon.inspect("a"))).await;
        assert!(storm().await.iter().all(|told| told.is_err() == is_fallen));
        assert_eq!(taken(), 1, "one at a time, and the others have its answer");
        clock.0.advance(9 * SECOND);
        storm().await;
        assert_eq!(taken(), 1, "it is good for some seconds");
        clock.0.advance(2 * SECOND);
        storm().await;
        assert_eq!(taken(), 2);
        let _ = (daemon.inspect("b").await, daemon.explain("a-p").await, daemon.explain("a-p").await);
        assert_eq!(taken(), 4, "another source and another question are asked by themselves");
        let anew = Shelves::new(&[("a-p", &p, None)]);
        let looks_anew = Arc::clone(&anew.looks);
        daemon.replace(Arc::new(anew));
        daemon.inspect("a").await.unwrap();
        assert_eq!(
            (taken(), looks_anew.taken.load(Ordering::Acquire)),
            (4, 1),
            "an answer of another configuration is none"
        );
    }
}

#[tokio::test]
async fn a_source_is_asked_one_question_at_a_time() {
    let p = shelf(1);
    let estate = Shelves::new(&[("a-p", &p, None), ("a-q", &p, None), ("a-r", &p, None)]);
    let looks = Arc::clone(&estate.looks);
    let (daemon, _directory) = daemon(estate, Arc::new(Patient(noon()))).await;
    let explain = join_all(["a-p", "a-q", "a-r"].map(|policy| daemon.explain(policy)));
    let (inspected, explained) = tokio::join!(daemon.inspect("a"), explain);
    assert!(inspected.is_ok() && explained.iter().all(Result::is_ok));
    assert_eq!((looks.taken.load(Ordering::Acquire), looks.at_once.load(Ordering::Acquire)), (4, 1));
}

#[tokio::test]
async fn a_source_that_hangs_is_not_waited_for() {
    let p = shelf(1);
    let estate = Shelves::new(&[("a-p", &p, None)]);
    estate.looks.is_hung.store(true, Ordering::Release);
    let clock = Arc::new(noon());
    let (daemon, _directory) = daemon(estate, clock.clone()).await;
    let message = "the source did not answer within 8 s".to_owned();
    let before = clock.elapsed();
    assert_eq!(daemon.inspect("a").await, Err(NotTold::Unanswered { message, help: None }));
    assert_eq!(clock.elapsed(), before + 8 * SECOND);
    assert_eq!(daemon.inspect("b").await, Err(NotTold::NoSuchSource("b".to_owned())));
    assert_eq!(daemon.explain("b").await, Err(NotTold::NoSuchPolicy("b".to_owned())));
}
