//! What a bench says in the end: a line of JSON per comparison for machines, or a table for people.
//!
//! The table is Markdown, so that docs/benchmarks.md can take it over as it is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::output;

/// Ours beside one peer, or beside a limit that we set ourselves.
///
/// `ratio` always says how many times better ours is: more rows in the same time, or less time for the same. A bar
/// is met when `ratio >= bar`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comparison {
    /// The bench.
    pub(crate) bench: Cow<'static, str>,
    /// The data it ran on.
    pub(crate) case: String,
    /// What ours is compared with.
    pub(crate) peer: String,
    /// Our figure.
    pub(crate) ours: f64,
    /// The peer's.
    pub(crate) theirs: f64,
    /// What both are measured in.
    pub(crate) unit: Cow<'static, str>,
    /// How many times better ours is.
    pub(crate) ratio: f64,
    /// The least that it must be.
    pub(crate) bar: Option<f64>,
}

impl Comparison {
    /// More is better.
    pub(crate) fn of_rates(
        bench: &'static str,
        case: &str,
        peer: &str,
        unit: &'static str,
        (ours, theirs): (f64, f64),
        bar: Option<f64>,
    ) -> Self {
        let ratio = rounded(ours / theirs, 3);
        let (ours, theirs) = (ours.round(), theirs.round());
        let (case, peer) = (case.to_owned(), peer.to_owned());
        Self { bench: bench.into(), case, peer, ours, theirs, unit: unit.into(), ratio, bar }
    }

    /// A time that must stay within a limit.
    pub(crate) fn within_ms(bench: &'static str, case: &str, what: &str, ours: f64, limit: f64) -> Self {
        Self::at_most(bench, case, what, "ms", ours, limit)
    }

    /// An amount that must stay within a limit, which may be nothing at all.
    pub(crate) fn at_most(
        bench: &'static str,
        case: &str,
        what: &str,
        unit: &'static str,
        ours: f64,
        limit: f64,
    ) -> Self {
        Self::of_costs(bench, case, what, unit, (ours, limit), Some(1.0))
    }

    /// Less is better: a time, or memory.
    pub(crate) fn of_costs(
        bench: &'static str,
        case: &str,
        peer: &str,
        unit: &'static str,
        (ours, theirs): (f64, f64),
        bar: Option<f64>,
    ) -> Self {
        // Nothing has no ratio.
        let ratio = if ours > 0.0 { rounded(theirs / ours, 3) } else { 1.0 };
        let (ours, theirs) = (rounded(ours, 3), rounded(theirs, 3));
        let (case, peer) = (case.to_owned(), peer.to_owned());
        Self { bench: bench.into(), case, peer, ours, theirs, unit: unit.into(), ratio, bar }
    }

    /// Whether the bar is met; `None` where there is none.
    pub(crate) fn met(&self) -> Option<bool> {
        self.bar.map(|bar| self.ratio >= bar)
    }

    /// The word for the table.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.met() {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "",
        }
    }
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// Prints a table.
pub(crate) fn print_table(headers: &[&str], rows: &[Vec<String>]) {
    for line in table(headers, rows) {
        output::data(&line);
    }
}

/// The lines of a Markdown table whose columns line up, so that it can be read as it is, too.
pub(crate) fn table(headers: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain([headers[at].chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<usize> = (0..headers.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} ")).collect();
        format!("|{}|", padded.join("|"))
    };
    let dashes: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
    let body = rows.iter().map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    [line(headers), format!("|{}|", dashes.join("|"))].into_iter().chain(body).collect()
}

/// The columns of a table of comparisons.
pub(crate) const COMPARISON_HEADERS: [&str; 6] = ["case", "beside", "ours", "theirs", "ours is", "bar"];

/// A line of such a table.
pub(crate) fn comparison_row(line: &Comparison) -> Vec<String> {
    let [ours, theirs] = [line.ours, line.theirs].map(|figure| format!("{} {}", figure_of(figure), line.unit));
    let bar = line.bar.map_or_else(|| "–".to_owned(), |bar| format!("≥ {bar}x: {}", line.verdict()));
    vec![line.case.clone(), line.peer.clone(), ours, theirs, format!("{:.2}x", line.ratio), bar]
}

/// Prints every comparison that has a bar, in a table of its own.
pub(crate) fn print_bars(comparisons: &[Comparison]) {
    let rows: Vec<Vec<String>> = comparisons.iter().filter(|line| line.bar.is_some()).map(comparison_row).collect();
    output::data("");
    print_table(&COMPARISON_HEADERS, &rows);
}

/// Prints how many bars are met.
pub(crate) fn print_verdict(comparisons: &[Comparison]) {
    let verdicts: Vec<bool> = comparisons.iter().filter_map(Comparison::met).collect();
    let met = verdicts.iter().filter(|met| **met).count();
    output::data(&format!("\n{met} of {} bars met.", verdicts.len()));
}

/// A figure with as many digits as say something.
pub(crate) fn figure_of(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        thousands(value)
    }
}

/// A whole number with its thousands apart.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_fields_of_its_contract() {
        let line = Comparison::of_rates("rows", "postgres/append", "one DELETE", "rows/s", (1.0e6, 1.1e6), Some(0.9));
        let expected = serde_json::json!({ "bench": "rows", "case": "postgres/append", "peer": "one DELETE",
            "ours": 1.0e6, "theirs": 1.1e6, "unit": "rows/s", "ratio": 0.909, "bar": 0.9 });
        assert_eq!(serde_json::to_value(&line).unwrap(), expected);
        assert_eq!(line.met(), Some(true));
    }

    #[test]
    fn a_time_within_its_limit_is_better_than_it() {
        assert_eq!(Comparison::within_ms("rows", "c", "page p99", 25.0, 50.0).met(), Some(true));
        assert_eq!(Comparison::within_ms("rows", "c", "page p99", 50.1, 50.0).met(), Some(false));
    }

    #[test]
    fn nothing_is_within_every_limit_and_anything_is_beyond_nothing() {
        assert_eq!(Comparison::at_most("soak", "c", "early", "items", 0.0, 0.0).met(), Some(true));
        assert_eq!(Comparison::at_most("soak", "c", "early", "items", 1.0, 0.0).met(), Some(false));
        assert_eq!(Comparison::at_most("soak", "c", "lag", "s", 2.0, 5.0).met(), Some(true));
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(thousands(999.4), "999");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }
}
