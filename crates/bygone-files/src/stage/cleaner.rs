//! Cleaning up: now, or on a timer, by the engine.
//!
//! Nothing depends on when it runs: what is past its time is absent to everybody, swept or not. It gives the space back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, CancellationToken, Consent, Job, Observer, Outcome, PolicyReport, Report, Sweep};
use jiff::SignedDuration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::error::StageError;
use super::stage::Stage;

/// How often the cleaner runs.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);

/// When and how to clean up.
#[derive(Clone)]
pub struct CleanerConfig {
    /// How long to wait before the first cleanup, and after each one.
    pub interval: Duration,
    /// The bounds of a cleanup.
    pub budget: Budget,
    /// Told of every page and every report.
    pub observer: Arc<dyn Observer>,
}

impl Default for CleanerConfig {
    fn default() -> Self {
        Self { interval: DEFAULT_INTERVAL, budget: Budget::default(), observer: Arc::new(()) }
    }
}

impl fmt::Debug for CleanerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CleanerConfig").field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// A cleaner at work. Dropped, it ends after the page it is at; [`stop`](Self::stop) also waits for that.
#[derive(Debug)]
pub struct Cleaner {
    work: Arc<Work>,
    task: JoinHandle<()>,
}

impl Cleaner {
    /// Starts cleaning after one interval; an interval of zero is taken for the default. Needs a Tokio runtime around it.
    pub fn start(stage: &Stage, mut config: CleanerConfig) -> Self {
        if config.interval.is_zero() {
            config.interval = DEFAULT_INTERVAL;
        }
        let (cancel, turn) = (CancellationToken::new(), Mutex::new(()));
        let work = Arc::new(Work { stage: stage.clone(), config, cancel, turn });
        let task = tokio::spawn(Arc::clone(&work).run());
        Self { work, task }
    }

    /// Cleans up now, whatever the timer says. Where a cleanup is under way, after that one.
    pub async fn clean_now(&self) -> PolicyReport {
        self.work.clean().await
    }

    /// Ends it: a cleanup that is under way ends after its page.
    pub async fn stop(mut self) {
        self.work.cancel.cancel();
        // Whether it ended by itself or by a panic: it has ended.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        self.work.cancel.cancel();
    }
}

#[derive(Debug)]
struct Work {
    stage: Stage,
    config: CleanerConfig,
    cancel: CancellationToken,
    /// Held for the whole of a cleanup, so that no two overlap.
    turn: Mutex<()>,
}

impl Work {
    async fn run(self: Arc<Self>) {
        let clock = Arc::clone(&self.stage.shared.options.clock);
        loop {
            tokio::select! {
                () = self.cancel.cancelled() => return,
                () = clock.sleep(self.config.interval) => {}
            }
            self.clean().await;
            self.look_for_orphans().await;
        }
    }

    async fn clean(&self) -> PolicyReport {
        let _turn = self.turn.lock().await;
        let Work { stage, config, cancel, .. } = self;
        let (budget, observer) = (config.budget.clone(), Arc::clone(&config.observer));
        let mut report = stage.cleanup(SignedDuration::ZERO, budget, observer, cancel.clone()).await;
        report.policies.swap_remove(0)
    }

    /// Files without an entry that were too young when the area was opened.
    async fn look_for_orphans(&self) {
        if !self.stage.shared.orphans_are_due() {
            return;
        }
        let stage = self.stage.clone();
        match tokio::task::spawn_blocking(move || stage.reconcile()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "orphans cannot be looked for"),
            Err(error) => tracing::warn!(%error, "orphans cannot be looked for"),
        }
    }
}

impl Stage {
    /// One sweep of the area, by its own clock. What is staged expires: that most of it is past its time is no reason to
    /// stop. Files stay for `keep` after their deadline, absent as they are.
    pub async fn cleanup(
        &self,
        keep: SignedDuration,
        budget: Budget,
        observer: Arc<dyn Observer>,
        cancel: CancellationToken,
    ) -> Report {
        let clock = Arc::clone(&self.shared.options.clock);
        let boundary = Boundary::at(clock.now());
        let target = self.target("cleanup", "stage").keeping(keep);
        let job = Job::new(Box::new(target), budget).with_consent(Consent::Released);
        Sweep::new(clock, boundary).observed_by(observer).cancelled_by(cancel).run(vec![job]).await
    }

    /// Removes everything that is past its time now, held by nobody and not persistent, and says what it did. What could
    /// not be deleted is counted as a conflict, and tried again by the next cleanup.
    pub fn force_cleanup(&self) -> Result<PolicyReport, StageError> {
        let sweep = || -> Result<PolicyReport, std::io::Error> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (budget, cancel) = (Budget::default(), CancellationToken::new());
            let mut report = runtime.block_on(self.cleanup(SignedDuration::ZERO, budget, Arc::new(()), cancel));
            Ok(report.policies.swap_remove(0))
        };
        // On a thread of its own: the caller's may be inside a runtime, which must not be blocked on.
        let swept = std::thread::scope(|scope| scope.spawn(sweep).join());
        let report = match swept {
            Ok(Ok(report)) => report,
            Ok(Err(error)) => return Err(StageError::Cleanup(error.to_string())),
            Err(_) => return Err(StageError::Cleanup("the engine panicked".into())),
        };
        match (report.outcome, &report.error) {
            (Outcome::Complete, None) => Ok(report),
            (_, error) => Err(StageError::Cleanup(error.clone().unwrap_or_else(|| report.outcome.as_str().into()))),
        }
    }
}
