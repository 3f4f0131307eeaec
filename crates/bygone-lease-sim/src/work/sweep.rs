//! Sweeping, which every process does all the time.

use std::sync::Arc;

use bygone_core::{Boundary, Budget, Clock, Job, Outcome, Sweep};
use bygone_lease::{LeaseTarget, Swept};

use crate::process::Life;

impl Life {
    pub(crate) async fn sweep_for_ever(self) {
        while !self.world.is_over() {
            let most = if self.world.is_night() { 20 * 60_000 } else { 10_000 };
            self.world.sleep_millis(self.world.below(most)).await;
            self.sweep().await;
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
