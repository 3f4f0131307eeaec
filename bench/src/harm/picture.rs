//! Harm as a plot, made of the comparisons alone: how many rows went, and how much of the foreground that cost.

use std::collections::BTreeMap;

use super::result::{ASKED_FOR, ROWS_BY, TPS_BESIDE};
use crate::plot::{Axis, Line, Plot};
use crate::report::Comparison;

/// A dot for everybody who removed rows; `None` where nobody did.
pub(crate) fn picture(comparisons: &[Comparison]) -> Option<(String, Plot)> {
    let mut rows = BTreeMap::<&str, f64>::new();
    for line in comparisons {
        if let Some(ours) = line.case.strip_prefix(ROWS_BY) {
            rows.insert(ours, line.ours);
            if line.peer != ASKED_FOR {
                rows.insert(&line.peer, line.theirs);
            }
        }
    }
    let dot = |line: &Comparison| {
        let name = line.case.strip_prefix(TPS_BESIDE)?;
        let lost = ((1.0 - line.ratio) * 100.0).max(0.0);
        Some(Line { name: name.to_owned(), points: vec![(lost, *rows.get(name)?)] })
    };
    let lines: Vec<Line> = comparisons.iter().filter_map(dot).collect();
    let plot = Plot {
        title: "Rows removed, and what that costs those who work beside it".to_owned(),
        x: Axis::linear("percent of the foreground's transactions that are lost"),
        y: Axis::linear("rows removed a second"),
        lines,
    };
    (!plot.lines.is_empty()).then(|| ("harm.svg".to_owned(), plot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_dot() {
        let tps = |name: &str, tps| {
            Comparison::of_rates("harm", &format!("{TPS_BESIDE}{name}"), "alone", "tps", (tps, 1_000.0), None)
        };
        let rows = Comparison::of_rates("harm", &format!("{ROWS_BY}bygone"), "a loop", "rows/s", (900.0, 50.0), None);
        let (name, plot) = picture(&[tps("bygone", 750.0), tps("a loop", 1_010.0), rows]).unwrap();
        assert_eq!(name, "harm.svg");
        let seen: Vec<(&str, f64, f64)> =
            plot.lines.iter().map(|line| (line.name.as_str(), line.points[0].0, line.points[0].1)).collect();
        assert_eq!(seen, [("bygone", 25.0, 900.0), ("a loop", 0.0, 50.0)]);
        assert!(picture(&[]).is_none());
    }
}
