//! The daemon of bygone: it runs policies when their time comes, keeps the history of what it did, and lets people see it.
//!
//! What it runs is an [`Estate`]: whoever reads a configuration hands it one. When a policy's time comes, the [`Daemon`] takes
//! the turn of its source, binds what is due, sweeps it with the engine of `bygone-core`, and writes it into the [`Ledger`].

mod daemon;
mod estate;
pub mod http;
mod inspection;
pub mod leases;
mod ledger;
pub mod stages;
mod watch;

pub use daemon::{
    ClosedGate, Configuration, Daemon, Happening, NotStarted, NotTold, Rejected, RestartNeeded, RunningPolicy,
    RunningSweep, TurnHolder, TurnSeen, What,
};
pub use estate::{Absent, Bound, Estate, NoLeases, PolicyCard, SourceCard, StageArea, Staged};
pub use inspection::{
    Amount, Coverage, EndingHour, Explanation, Finding, Inspection, LeaseInspection, NamespaceLeases, SourceKind,
    StageInspection, StagedFile, UncoveredTable,
};
pub use ledger::{Cause, DayCount, Ledger, LedgerError, Past, PastRun, Run, Standing, Trouble, Wanted};
pub use watch::{Alarm, AlarmKind, AlarmRules};
