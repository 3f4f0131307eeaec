//! Staging areas: files brought in beside what a shell has for it, and swept out among many and among few.

mod areas;
mod copies;
mod sources;

pub(crate) use areas::SweepBed;
pub(crate) use copies::StageBed;
