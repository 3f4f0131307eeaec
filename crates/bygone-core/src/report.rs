//! What a sweep did, in the stable shape that the command line prints and the API returns.

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::{ErrorKind, Outcome, SweepOutcome, Tally};

/// The report of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The sweep's own name, ordered by time.
    pub sweep: Uuid,
    /// The boundary that every policy compared with.
    #[serde(serialize_with = "instant")]
    pub boundary: Timestamp,
    /// How it ended.
    pub outcome: SweepOutcome,
    /// Each policy, in the order they ran.
    pub policies: Vec<PolicyReport>,
}

/// One policy's part of a sweep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyReport {
    /// The policy.
    pub policy: String,
    /// Its source.
    pub source: String,
    /// Why its run ended.
    pub outcome: Outcome,
    /// What it did.
    #[serde(flatten)]
    pub tally: Tally,
    /// Pages committed.
    pub pages: u64,
    /// Requests made to the source.
    pub requests: u64,
    /// How long it took.
    pub elapsed_ms: u64,
    /// How long the oldest bygone item still there has been so.
    pub lag_seconds: u64,
    /// The gate that stopped it, and why; left out where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// What a person should know about these numbers.
    pub warnings: Vec<String>,
    /// How many items were bygone when it began, where that is known; for the history, not for the report.
    #[serde(skip)]
    pub bygone: Option<u64>,
    /// What kind of thing went wrong; for exit codes, not for the report.
    #[serde(skip)]
    pub error_kind: Option<ErrorKind>,
}

/// An instant as reports write it: UTC, always with six digits.
pub fn format_instant(at: Timestamp) -> String {
    format!("{at:.6}")
}

fn instant<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_instant(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_fields_of_its_contract() {
        let report = Report {
            sweep: Uuid::nil(),
            boundary: "2026-11-15T12:00:00Z".parse().unwrap(),
            outcome: SweepOutcome::Complete,
            policies: vec![PolicyReport {
                policy: "p".into(),
                source: "s".into(),
                outcome: Outcome::BudgetItems,
                tally: Tally::removed(3),
                pages: 1,
                requests: 2,
                elapsed_ms: 41,
                lag_seconds: 0,
                stopped_by: None,
                error: None,
                help: None,
                warnings: vec![],
                bygone: Some(3),
                error_kind: None,
            }],
        };
        let expected = serde_json::json!({
            "sweep": "00000000-0000-0000-0000-000000000000", "boundary": "2026-11-15T12:00:00.000000Z", "outcome": "complete",
            "policies": [{ "policy": "p", "source": "s", "outcome": "budget_items",
                "examined": 3, "removed": 3, "cleared": 0,
                "kept_back": { "referenced": 0, "locked": 0, "unreadable": 0, "conflict": 0 },
                "children": {}, "bytes": null, "pages": 1, "requests": 2, "elapsed_ms": 41, "lag_seconds": 0,
                "error": null, "help": null, "warnings": [] }] });
        assert_eq!(serde_json::to_value(&report).unwrap(), expected);
        let read: Report = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), expected);
    }
}
