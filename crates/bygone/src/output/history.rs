//! Past sweeps, for people.

use bygone_core::format_instant;
use bygone_server::Past;
use uuid::Uuid;

use super::report::time;
use super::{grouped, table};

/// The sweeps as a table, and how to see those before.
pub(crate) fn render(sweeps: &[Past], next_before: Option<Uuid>) -> String {
    if sweeps.is_empty() {
        return "no sweeps".to_owned();
    }
    let mut rows = table(&["sweep", "began", "took", "by", "outcome", "removed", "policies"]);
    for past in sweeps {
        let took = past.ended.and_then(|ended| u64::try_from(ended.duration_since(past.began).as_millis()).ok());
        rows.add_row([
            past.sweep.to_string(),
            format_instant(past.began),
            took.map_or_else(|| "–".to_owned(), time),
            past.cause.clone(),
            past.outcome.clone().unwrap_or_else(|| "running".to_owned()),
            grouped(past.removed),
            past.policies.join(", "),
        ]);
    }
    match next_before {
        Some(before) => format!("{rows}\nthere are more: --before {before}"),
        None => rows.to_string(),
    }
}
