//! The report of a sweep, for people.

use bygone_core::{PolicyReport, Report, format_instant};

use super::{grouped, table, with_bytes};

/// The report as a table with a closing line.
pub(crate) fn render(report: &Report) -> String {
    let mut rows = table(&["policy", "outcome", "removed", "kept back", "pages", "time", "lag"]);
    for policy in &report.policies {
        rows.add_row([
            policy.policy.clone(),
            policy.outcome.as_str().to_owned(),
            with_bytes(policy.tally.removed, policy.tally.bytes),
            kept_back(policy),
            grouped(policy.pages),
            time(policy.elapsed_ms),
            if policy.lag_seconds == 0 { "–".to_owned() } else { time(policy.lag_seconds.saturating_mul(1000)) },
        ]);
    }
    let removed: u64 = report.policies.iter().map(|policy| policy.tally.removed).sum();
    let elapsed: u64 = report.policies.iter().map(|policy| policy.elapsed_ms).sum();
    format!(
        "{rows}\n{}: {} removed in {}, boundary {}",
        report.outcome.as_str(),
        grouped(removed),
        time(elapsed),
        format_instant(report.boundary)
    )
}

fn kept_back(policy: &PolicyReport) -> String {
    let kept = &policy.tally.kept_back;
    let parts = [
        ("referenced", kept.referenced),
        ("locked", kept.locked),
        ("unreadable", kept.unreadable),
        ("conflict", kept.conflict),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!("{} {reason}", grouped(*count)))
        .collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

/// Milliseconds for people.
pub(super) fn time(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..=119 => format!("{seconds}.{} s", millis % 1000 / 100),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_short() {
        for (millis, text) in
            [(41, "41 ms"), (1_250, "1.2 s"), (125_000, "2 min"), (86_400_000, "24 h"), (864_000_000, "10 d")]
        {
            assert_eq!(time(millis), text);
        }
    }
}
