//! `newest`, `per` and `by`: how many rows stay whatever their age.

use super::error::{Code, Findings, Problem};
use super::model::Newest;
use super::names;
use super::resolve::plain_name;
use super::values::{Located, Text};

/// The rule that was meant. That `per` and `by` do not stand alone was seen
/// when they were read.
pub(super) fn resolve(
    newest: Option<Located<u64>>,
    per: Option<Located<Vec<Text>>>,
    by: Option<Text>,
    findings: &mut Findings,
) -> Option<Newest> {
    let per = per.map(|list| names::columns("per", list, findings));
    let by = by.map(|text| plain_name("by", text, findings));
    let Located { value: rows, span } = newest?;
    if rows == 0 {
        let problem = Problem::new(Code::BadValue, "`newest` must be at least 1")
            .label("would keep none")
            .help("write how many rows to keep; to remove rows by age alone, write `deadline` and `keep` instead");
        findings.add(span, problem);
        return None;
    }
    Some(Newest { rows, per: per.flatten().unwrap_or_default(), by: by.flatten() })
}
