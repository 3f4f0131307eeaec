//! How policies stand, for people.

use bygone_core::format_instant;
use bygone_server::Standing;

use super::report::time;
use super::{grouped, in_a_line, table};
use crate::status::{PolicyStatus, Status};

/// The policies as a table, with what holds them below it.
pub(crate) fn render(status: &Status) -> String {
    let mut rows = table(&["policy", "source", "backlog", "lag", "last run", "removed", "next run"]);
    for policy in &status.policies {
        rows.add_row([
            policy.policy.clone(),
            policy.source.clone(),
            backlog(policy),
            if policy.lag_seconds == 0 { none() } else { time(policy.lag_seconds.saturating_mul(1_000)) },
            policy.last.as_ref().map_or_else(none, last),
            policy.last.as_ref().map_or_else(none, |last| grouped(last.removed)),
            policy.next_run.as_deref().map_or_else(none, |next| next.replace(".000000Z", "Z")),
        ]);
    }
    let mut lines = vec![rows.to_string()];
    for policy in &status.policies {
        let held = policy.held.clone();
        let brake = policy.brake.as_ref().map(|why| format!("the brake would hold: {why}"));
        lines.extend(held.into_iter().chain(brake).map(|remark| format!("{}: {}", policy.policy, in_a_line(&remark))));
    }
    lines.push(format!("boundary {}; nothing was written", status.boundary));
    lines.join("\n")
}

fn none() -> String {
    "–".to_owned()
}

fn backlog(policy: &PolicyStatus) -> String {
    match (&policy.error, policy.backlog) {
        (Some(_), _) => "failed".to_owned(),
        (None, None) => "unknown".to_owned(),
        (None, Some(items)) => grouped(items),
    }
}

fn last(standing: &Standing) -> String {
    let outcome = standing.outcome.as_deref().unwrap_or("unknown");
    match standing.ended {
        Some(ended) => format!("{outcome}, {}", format_instant(ended).replace(".000000Z", "Z")),
        None => outcome.to_owned(),
    }
}
