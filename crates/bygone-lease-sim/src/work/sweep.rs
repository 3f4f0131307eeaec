//! Sweeping, which most processes do all the time, and some while nobody uses the store.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Job, Outcome, Sweep};
use bygone_lease::{Error, Idle, IdleOptions, IdleSweeper, LeaseTarget, Swept};
use tokio_util::sync::CancellationToken;

use crate::process::Life;

impl Life {
    pub(crate) async fn sweep_for_ever(self) {
        while !self.world.is_over() {
            self.rest_between_sweeps().await;
            self.sweep().await;
        }
    }

    async fn rest_between_sweeps(&self) {
        let most = if self.world.is_night() { 40 * 60_000 } else { 15_000 };
        self.world.sleep_millis(self.world.below(most)).await;
    }

    /// Sweeps what nobody comes back for, a little at a time, while this process does nothing else.
    pub(crate) async fn sweep_when_idle(self) {
        let millis = |most| Duration::from_millis(self.world.below(most));
        let options = IdleOptions {
            grace: millis(50),
            operations_max: 1 + self.world.below(100),
            run_time: millis(60_000),
            entry_pause: millis(5),
            ..IdleOptions::default()
        };
        let sweeper = IdleSweeper::new(&self.store, options);
        while !self.world.is_over() {
            self.rest_between_sweeps().await;
            let how = match sweeper.look(Arc::new(()), CancellationToken::new()).await {
                Ok(Idle::Busy) => "busy",
                Ok(Idle::NothingDue) => "nothing due",
                Ok(Idle::SweptByAnother) => "swept by another",
                Ok(Idle::Swept { ended, .. }) => ended.as_str(),
                Err(error) => Error::code(&error),
            };
            self.world.answered(self.number, "idle sweep", "", how);
        }
    }

    /// Sweeps all three kinds. True when all of them came to their end.
    pub(crate) async fn sweep(&self) -> bool {
        let boundary = Boundary::at(self.clock.now());
        let job = |swept| Job::new(Box::new(LeaseTarget::new(swept, "p", "s", &self.store)) as _, Budget::default());
        let jobs = [Swept::Transactions, Swept::Leases, Swept::Decisions].map(job);
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let report = Sweep::new(clock, boundary).run(jobs.into()).await;
        let is_complete = report.policies.iter().all(|policy| policy.outcome == Outcome::Complete);
        let removed: u64 = report.policies.iter().map(|policy| policy.tally.removed).sum();
        let how = match (is_complete, removed) {
            (false, _) => "not complete",
            (true, 0) => "nothing due",
            (true, _) => "ok",
        };
        self.world.answered(self.number, "sweep", "", how);
        is_complete
    }
}
