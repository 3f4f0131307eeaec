//! The daemon of bygone: it runs policies when their time comes, keeps the history of what it did, and lets people see it.
//!
//! What it runs is an [`Estate`]: whoever reads a configuration hands it one. When a policy's time comes, the [`Daemon`] takes
//! the turn of its source, binds what is due, sweeps it with the engine of `bygone-core`, and writes it into the [`Ledger`].

mod daemon;
mod estate;
pub mod http;
mod ledger;
mod watch;

pub use daemon::{Daemon, Happening, NotStarted, RunningPolicy, RunningSweep, What};
pub use estate::{Bound, Estate, PolicyCard};
pub use ledger::{Cause, DayCount, Ledger, LedgerError, Past, PastRun, Run, Standing, Trouble, Wanted};
pub use watch::{Alarm, AlarmKind, AlarmRules};
