//! A plan, for people.

use super::{grouped, in_a_line, table, with_bytes};
use crate::plan::{Plan, PlannedAction, PolicyPlan};

/// The plan as a table, with what to look at below it.
pub(crate) fn render(plan: &Plan) -> String {
    let mut rows = table(&["policy", "place", "would remove", "oldest deadline", "walk", "index", "about"]);
    for policy in &plan.policies {
        let none = || "–".to_owned();
        let one_line = |name: &str| in_a_line(name).into_owned();
        rows.add_row([
            policy.policy.clone(),
            policy.table.as_deref().or(policy.path.as_deref()).map_or_else(none, one_line),
            would_remove(policy),
            policy.oldest.as_deref().map_or_else(none, |oldest| oldest.replace(".000000Z", "Z")),
            policy.walk.clone().unwrap_or_else(none),
            policy.index.as_deref().map_or_else(none, one_line),
            policy.estimated_seconds.map_or_else(none, |seconds| format!("{} s", grouped(seconds))),
        ]);
    }
    let mut lines = vec![rows.to_string()];
    for policy in &plan.policies {
        lines.extend(remarks(policy).into_iter().map(|remark| format!("{}: {}", policy.policy, in_a_line(&remark))));
    }
    let removes = plan.policies.iter().filter(|policy| policy.action == PlannedAction::Remove);
    let total: u64 = removes.filter_map(|policy| policy.would_remove).sum();
    lines.push(format!("{} would be removed, boundary {}; nothing was written", grouped(total), plan.boundary));
    lines.join("\n")
}

fn would_remove(policy: &PolicyPlan) -> String {
    match (&policy.error, policy.would_remove) {
        (Some(_), _) => policy.outcome.as_str().to_owned(),
        (None, None) => "unknown".to_owned(),
        (None, Some(items)) if policy.brake.is_some() => {
            format!("{} (brake)", with_bytes(items, policy.bytes))
        }
        (None, Some(items)) if policy.action == PlannedAction::Change => format!("{} (changed)", grouped(items)),
        (None, Some(items)) => with_bytes(items, policy.bytes),
    }
}

fn remarks(policy: &PolicyPlan) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(walk), Some(why)) = (&policy.walk, &policy.why) {
        lines.push(format!("walks by {walk}: {why}"));
    }
    if !policy.partitions.is_empty() {
        lines.push(format!("partitions that go as a whole: {}", policy.partitions.join(", ")));
    }
    if !policy.children.is_empty() {
        lines.push(format!("rows of {} go along, in that order", policy.children.join(", ")));
    }
    if policy.unreadable > 0 {
        lines.push(format!("{} items have no deadline that can be read; they stay", grouped(policy.unreadable)));
    }
    lines.extend(policy.brake.iter().map(|why| format!("the brake would hold: {why}")));
    lines.extend(policy.warnings.iter().cloned());
    lines
}
