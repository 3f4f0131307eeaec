//! What happens during a sweep, told as it happens: progress bars, logs, metrics and benchmarks listen here.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::{Care, PolicyReport, Report, Survey, Tally, TargetError};

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A sweep begins.
    SweepStarted {
        /// Its name.
        sweep: Uuid,
        /// Its boundary.
        boundary: Timestamp,
        /// How many policies it has.
        policies: usize,
    },
    /// A policy was surveyed and goes on to its first page.
    PolicyStarted {
        /// The policy.
        policy: &'a str,
        /// What the survey found.
        survey: &'a Survey,
    },
    /// A page is committed.
    PageSwept {
        /// The policy.
        policy: &'a str,
        /// What the page did.
        page: &'a Tally,
        /// How it went about it.
        care: Care,
        /// How long it took.
        time: Duration,
    },
    /// Something was counted that only this kind of target has.
    Counted {
        /// The policy.
        policy: &'a str,
        /// What, in a word for programs.
        what: &'static str,
        /// How often.
        count: u64,
    },
    /// A page failed and will be tried otherwise.
    PageFailed {
        /// The policy.
        policy: &'a str,
        /// Why.
        error: &'a TargetError,
        /// The most items it would have examined.
        limit: u64,
    },
    /// A policy's run ended. It may run again, where other policies have freed items of it.
    PolicyEnded {
        /// Its part of the report.
        report: &'a PolicyReport,
    },
    /// The sweep ended.
    SweepEnded {
        /// All of the report.
        report: &'a Report,
    },
}

/// Listens to a sweep. Called between pages: be quick.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn on(&self, event: &Event<'_>);
}

/// Listens to nothing.
impl Observer for () {
    fn on(&self, _event: &Event<'_>) {}
}
