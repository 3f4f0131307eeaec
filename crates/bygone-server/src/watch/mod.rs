//! Watching over policies: what a person should look at, and the numbers that machines look at.

mod ahead;
mod alarm;
mod lately;
mod meter;

pub(crate) use ahead::{Ahead, Next};
pub(crate) use alarm::alarms_of;
pub use alarm::{Alarm, AlarmKind, AlarmRules};
pub(crate) use lately::{Lately, RUNS_KEPT};
pub(crate) use meter::{Meter, Standing};
