//! Policies run when their time comes, one sweep of a source at a time, and the history tells of each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bygone_core::memory::Shelf;
use bygone_core::{CancellationToken, Clock, Schedule, SystemClock};
use bygone_server::{AlarmRules, Daemon, Estate, Happening, Ledger, NotStarted, Past, Wanted, What};
use tokio::task::JoinHandle;

use crate::shelves::{Shelves, shelf};

pub(crate) struct Running {
    pub(crate) daemon: Daemon,
    stop: CancellationToken,
    run: JoinHandle<()>,
    directory: tempfile::TempDir,
}

impl Running {
    pub(crate) async fn over(estate: Arc<dyn Estate>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let ledger = Ledger::open(&directory.path().join("ledger.db"), Arc::clone(&clock)).await.unwrap();
        let daemon = Daemon::new(estate, ledger, clock, AlarmRules::default()).await.unwrap();
        Self::of(daemon, directory)
    }

    pub(crate) fn of(daemon: Daemon, directory: tempfile::TempDir) -> Self {
        let stop = CancellationToken::new();
        let run = tokio::spawn({
            let (daemon, stop) = (daemon.clone(), stop.clone());
            async move { daemon.run(stop).await }
        });
        Self { daemon, stop, run, directory }
    }

    /// Ends it, and leaves its history.
    pub(crate) async fn leave(self) -> tempfile::TempDir {
        self.stop.cancel();
        self.run.await.unwrap();
        self.directory
    }

    /// Sweeps a policy, and waits for the end.
    pub(crate) async fn swept(&self, policy: &str) {
        let mut watched = self.daemon.watch();
        let sweep = self.sweep(policy).await.unwrap();
        let is_end =
            |happening: &Happening| happening.sweep == sweep && matches!(happening.what, What::SweepEnded { .. });
        while !is_end(&watched.recv().await.unwrap()) {}
    }

    pub(crate) async fn end(self) -> Vec<Past> {
        self.stop.cancel();
        self.run.await.unwrap();
        self.daemon.ledger().list(Wanted { before: None, policy: None, limit: 1_000 }).await.unwrap()
    }

    /// Its lanes are opened when it runs.
    async fn sweep(&self, policy: &str) -> Result<uuid::Uuid, NotStarted> {
        loop {
            match self.daemon.sweep(vec![policy.to_owned()], BTreeMap::new()).await {
                Err(NotStarted::Ending) => tokio::task::yield_now().await,
                answer => return answer,
            }
        }
    }
}

fn often() -> Schedule {
    Schedule::every(Duration::from_millis(20)).unwrap()
}

async fn is_empty(shelf: &Shelf) {
    while shelf.keys() != ["alive"] {
        tokio::task::yield_now().await;
    }
}

async fn happens(
    watcher: &mut tokio::sync::broadcast::Receiver<Happening>,
    is_it: impl Fn(&What) -> bool,
) -> Happening {
    loop {
        let happening = watcher.recv().await.unwrap();
        if is_it(&happening.what) {
            return happening;
        }
    }
}

#[tokio::test]
async fn a_policy_runs_when_its_time_comes_again_and_again() {
    let (p, unscheduled) = (shelf(10), shelf(10));
    let running =
        Running::over(Arc::new(Shelves::new(&[("a-p", &p, Some(often())), ("a-q", &unscheduled, None)]))).await;
    is_empty(&p).await;
    let mut watcher = running.daemon.watch();
    // The first may be the one that emptied it.
    happens(&mut watcher, |what| matches!(what, What::SweepEnded { .. })).await;
    happens(&mut watcher, |what| matches!(what, What::SweepEnded { .. })).await;
    let history = running.end().await;
    assert!(history.len() >= 2, "{history:?}");
    assert!(history.iter().all(|past| past.cause == "schedule" && past.policies == ["a-p"] && past.ended.is_some()));
    assert_eq!(history.iter().map(|past| past.removed).sum::<u64>(), 10);
    assert_eq!(unscheduled.keys().len(), 11, "nobody asked for it");
}

#[tokio::test]
async fn somebody_may_ask_for_a_sweep_and_watch_it() {
    let p = shelf(10);
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &p, None)]).slowly())).await;
    let mut watcher = running.daemon.watch();
    let sweep = running.sweep("a-p").await.unwrap();
    let page = happens(&mut watcher, |what| matches!(what, What::Page { .. })).await;
    assert_eq!((page.sweep, page.policy.as_deref()), (sweep, Some("a-p")));
    let ended = happens(&mut watcher, |what| matches!(what, What::SweepEnded { .. })).await;
    assert_eq!(ended.what, What::SweepEnded { outcome: "complete" });
    assert_eq!(p.keys(), ["alive"]);
    let history = running.end().await;
    assert_eq!((history.len(), history[0].sweep, history[0].cause.as_str()), (1, sweep, "request"));
}

#[tokio::test]
async fn what_cannot_be_swept_is_told_at_once() {
    let (p, q) = (shelf(1), shelf(1));
    let estate = Arc::new(Shelves::new(&[("a-p", &p, None), ("b-q", &q, None)]));
    let running = Running::over(Arc::clone(&estate) as Arc<_>).await;
    assert_eq!(running.sweep("a-x").await, Err(NotStarted::NoSuchPolicy("a-x".into())));
    let both = running.daemon.sweep(vec!["a-p".into(), "b-q".into()], BTreeMap::new()).await;
    assert_eq!(both, Err(NotStarted::SeveralSources));
    assert_eq!(running.daemon.sweep(Vec::new(), BTreeMap::new()).await, Err(NotStarted::SeveralSources));
    estate.turn.is_theirs.store(true, Ordering::Release);
    assert_eq!(running.sweep("a-p").await, Err(NotStarted::SweptByAnother));
    assert_eq!(p.keys().len(), 2);
    assert_eq!(running.end().await, []);
}

/// A lock that lets both in: being the only sweeper is an economy, and nothing else.
#[tokio::test]
async fn two_daemons_that_both_have_the_turn_remove_each_item_once() {
    let p = shelf(60);
    let sides = || Running::over(Arc::new(Shelves::new(&[("a-p", &p, Some(often()))]).slowly()));
    let (one, other) = (sides().await, sides().await);
    let mut watchers = [one.daemon.watch(), other.daemon.watch()];
    for watcher in &mut watchers {
        happens(watcher, |what| matches!(what, What::Page { .. })).await;
    }
    is_empty(&p).await;
    let history = [one.end().await, other.end().await];
    let removed = history.each_ref().map(|history| history.iter().map(|past| past.removed).sum::<u64>());
    assert_eq!(removed.iter().sum::<u64>(), 60, "{history:?}");
    assert!(removed.iter().all(|removed| *removed > 0), "both were at it: {removed:?}");
    assert_eq!(p.keys(), ["alive"]);
}

#[tokio::test]
async fn a_turn_that_is_lost_stops_the_run_before_its_next_page() {
    let p = shelf(1_000);
    let estate = Arc::new(Shelves::new(&[("a-p", &p, None)]).slowly());
    let running = Running::over(Arc::clone(&estate) as Arc<_>).await;
    let mut watcher = running.daemon.watch();
    running.sweep("a-p").await.unwrap();
    happens(&mut watcher, |what| matches!(what, What::Page { .. })).await;
    estate.turn.is_lost.store(true, Ordering::Release);
    let ended = happens(&mut watcher, |what| matches!(what, What::PolicyEnded { .. })).await;
    assert_eq!(ended.what, What::PolicyEnded { outcome: "held" });
    assert!(p.keys().len() > 900);
    running.end().await;
    let (taken, given_back) = (&estate.turn.taken, &estate.turn.given_back);
    assert_eq!((taken.load(Ordering::Acquire), given_back.load(Ordering::Acquire)), (1, 1));
}

#[tokio::test]
async fn a_pause_stops_a_run_and_keeps_the_next_from_beginning() {
    let p = shelf(1_000);
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &p, None)]).slowly())).await;
    let mut watcher = running.daemon.watch();
    running.sweep("a-p").await.unwrap();
    happens(&mut watcher, |what| matches!(what, What::Page { .. })).await;
    running.daemon.pause(Some("a-p")).await.unwrap();
    let ended = happens(&mut watcher, |what| matches!(what, What::PolicyEnded { .. })).await;
    assert_eq!(ended.what, What::PolicyEnded { outcome: "held" });
    let left = p.keys().len();
    for (pause, why) in [(Some("a-p"), "the policy is paused"), (None, "everything is paused")] {
        running.daemon.pause(pause).await.unwrap();
        assert_eq!(running.daemon.held("a-p"), Some(why));
        running.sweep("a-p").await.unwrap();
        happens(&mut watcher, |what| matches!(what, What::SweepEnded { .. })).await;
        assert_eq!(p.keys().len(), left);
    }
    running.daemon.resume(None).await.unwrap();
    assert_eq!(running.daemon.held("a-p"), Some("the policy is paused"));
    running.daemon.resume(Some("a-p")).await.unwrap();
    running.sweep("a-p").await.unwrap();
    is_empty(&p).await;
    running.end().await;
}

#[tokio::test]
async fn the_end_of_the_daemon_ends_a_run_between_pages_and_the_history_says_so() {
    let p = shelf(1_000);
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &p, None)]).slowly())).await;
    let mut watcher = running.daemon.watch();
    running.sweep("a-p").await.unwrap();
    happens(&mut watcher, |what| matches!(what, What::Page { .. })).await;
    let daemon = running.daemon.clone();
    let history = running.end().await;
    let left = u64::try_from(p.keys().len()).unwrap();
    assert_eq!((history[0].outcome.as_deref(), history[0].removed), (Some("partial"), 1_001 - left));
    assert!(left > 900);
    let late = daemon.sweep(vec!["a-p".into()], BTreeMap::new()).await;
    assert_eq!(late, Err(NotStarted::Ending));
}

#[tokio::test]
async fn another_estate_takes_over_and_what_runs_ends_under_the_old_one() {
    let (p, q) = (shelf(50), shelf(10));
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &p, None)]).slowly())).await;
    let mut watcher = running.daemon.watch();
    running.sweep("a-p").await.unwrap();
    happens(&mut watcher, |what| matches!(what, What::Page { .. })).await;
    running.daemon.replace(Arc::new(Shelves::new(&[("b-q", &q, Some(often()))])));
    is_empty(&q).await;
    is_empty(&p).await;
    assert_eq!(running.sweep("a-p").await, Err(NotStarted::NoSuchPolicy("a-p".into())));
    running.end().await;
}

#[tokio::test]
async fn who_does_not_wait_for_the_answer_gets_no_sweep() {
    let (p, q) = (shelf(50), shelf(5));
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &p, None), ("a-q", &q, None)]).slowly())).await;
    running.sweep("a-p").await.unwrap();
    let mut asked = Box::pin(running.daemon.sweep(vec!["a-q".into()], BTreeMap::new()));
    tokio::select! {
        biased;
        answer = &mut asked => panic!("the lane was busy: {answer:?}"),
        () = std::future::ready(()) => drop(asked),
    }
    // Behind it in the lane.
    running.sweep("a-p").await.unwrap();
    assert_eq!((p.keys().len(), q.keys().len()), (1, 6));
    assert_eq!(running.end().await.len(), 2);
}

#[tokio::test]
async fn who_leaves_while_it_begins_has_it_end_before_its_first_page() {
    let p = shelf(5);
    let estate = Arc::new(Shelves::new(&[("a-p", &p, None)]));
    let running = Running::over(Arc::clone(&estate) as Arc<_>).await;
    estate.turn.is_slow.store(true, Ordering::Release);
    let mut watcher = running.daemon.watch();
    let asked = running.sweep("a-p");
    let is_beginning = async {
        while estate.turn.asked.load(Ordering::Acquire) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = asked => panic!("nobody has the turn yet: {answer:?}"),
        () = is_beginning => {}
    }
    estate.turn.is_slow.store(false, Ordering::Release);
    happens(&mut watcher, |what| matches!(what, What::SweepEnded { .. })).await;
    assert_eq!(p.keys().len(), 6);
    assert_eq!(running.end().await[0].outcome.as_deref(), Some("partial"), "it is told of all the same");
}

#[tokio::test]
async fn who_comes_in_the_middle_is_told_what_was_and_hears_the_rest_once() {
    let p = shelf(60);
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &p, None)]).slowly())).await;
    let mut watcher = running.daemon.watch();
    let sweep = running.sweep("a-p").await.unwrap();
    happens(&mut watcher, |what| matches!(what, What::Page { so_far, .. } if so_far.removed == 20)).await;
    let (so_far, mut rest) = running.daemon.attend(sweep).unwrap();
    let policy = &so_far.policies[0];
    assert_eq!((policy.policy.as_str(), policy.outcome, policy.so_far.removed), ("a-p", None, policy.pages));
    assert_eq!(policy.backlog, Some(60 - policy.pages));
    let mut removed = policy.so_far.removed;
    loop {
        match rest.recv().await.unwrap().what {
            What::Page { so_far, .. } => {
                removed += 1;
                assert_eq!(so_far.removed, removed);
            }
            What::PolicyEnded { .. } => {}
            ended => break assert_eq!(ended, What::SweepEnded { outcome: "complete" }),
        }
    }
    assert_eq!(removed, 60);
    assert!(running.daemon.attend(sweep).is_none());
    assert!(
        running.daemon.ledger().report(sweep).await.unwrap().is_some(),
        "those who hear of the end find the report"
    );
    assert_eq!(running.daemon.ledger().standing("a-p").await.unwrap().backlog, Some(0));
    assert!(running.daemon.is_running());
    let daemon = running.daemon.clone();
    running.end().await;
    assert!(!daemon.is_running());
}
