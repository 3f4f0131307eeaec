//! What policies over lease stores say.

use jiff::SignedDuration;

use super::error::{Code, Findings, Problem};
use super::model::Leases;
use super::policy::RawPolicy;

/// How long the record of a key stays where the file does not say.
const KEEP: SignedDuration = SignedDuration::from_hours(24);
/// It holds the last fencing token, so it outlives any correction of a clock.
const KEEP_MIN: SignedDuration = SignedDuration::from_hours(1);

/// What a policy says of a lease store.
pub(super) fn resolve(raw: &RawPolicy, findings: &mut Findings) -> Option<Leases> {
    let Some(keep) = raw.keep else { return Some(Leases { keep: KEEP }) };
    if keep.value < KEEP_MIN {
        let problem = Problem::new(Code::BadValue, "the record of a key must stay for an hour at least")
            .label("too short")
            .help("it holds the last fencing token, which must outlive wrong clocks: write \"1h\" or more, or leave it out");
        findings.add(keep.span, problem);
        return None;
    }
    Some(Leases { keep: keep.value })
}
