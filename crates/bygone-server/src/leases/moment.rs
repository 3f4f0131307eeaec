//! Times, as people and programs read them.

use bygone_lease::Moment;
use jiff::Timestamp;
use serde::Serializer;

/// A moment of a store. One that no calendar has is the last that it has.
pub(super) fn instant(moment: Moment) -> Timestamp {
    moment.timestamp().unwrap_or(Timestamp::MAX)
}

/// With all three digits, so that texts sort as instants do.
pub(super) fn millis<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.3}"))
}

/// The same where there may be none.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
pub(super) fn millis_if_any<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => millis(at, serializer),
        None => serializer.serialize_none(),
    }
}
