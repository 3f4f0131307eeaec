//! Growth as plots, made of the comparisons alone, so that results that were kept can be drawn again.

use std::collections::BTreeMap;

use super::case::Kind;
use super::result::MEMORY;
use crate::plot::{Axis, Line, Plot};
use crate::report::Comparison;

/// Lines by the name of their database.
type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// A plot of time and one of memory for whatever grew, each with the name of its file.
pub(crate) fn pictures(comparisons: &[Comparison]) -> Vec<(String, Plot)> {
    let mut all = Vec::new();
    for kind in [Kind::Backlog, Kind::Live, Kind::Policies] {
        let (mut times, mut peaks) = (Lines::new(), Lines::new());
        for line in comparisons {
            let Some((engine, size)) = place(&line.case, kind) else { continue };
            let (lines, value) = match &*line.unit {
                MEMORY => (&mut peaks, line.ours),
                _ => (&mut times, kind.seconds(line.ours, size)),
            };
            lines.entry(engine.to_owned()).or_default().push((size, value));
        }
        let (what, along) = match kind {
            Kind::Backlog => ("the backlog grows", "rows that are due"),
            Kind::Live => ("the rows that live grow", "rows that live, beside 10,000 that are due"),
            Kind::Policies => ("policies grow in number", "policies"),
        };
        let plot = |title: String, y, lines: Lines| Plot { title, x: Axis::log(along), y, lines: named(lines) };
        let name = kind.as_str();
        // Time that grows as what is due does is a straight line where both axes are logarithmic.
        let time = if kind == Kind::Live { Axis::linear("seconds") } else { Axis::log("seconds") };
        if !times.is_empty() {
            all.push((format!("growth-{name}-time.svg"), plot(format!("Time of a sweep as {what}"), time, times)));
        }
        if !peaks.is_empty() {
            let title = format!("Peak memory of a sweep as {what}");
            all.push((format!("growth-{name}-memory.svg"), plot(title, Axis::linear("MiB"), peaks)));
        }
    }
    all
}

/// The database and the size of a case of this kind.
fn place(case: &str, kind: Kind) -> Option<(&str, f64)> {
    let mut parts = case.split('/');
    let (engine, of, size) = (parts.next()?, parts.next()?, parts.next()?);
    if of == kind.as_str() { Some((engine, size.parse().ok()?)) } else { None }
}

fn named(lines: Lines) -> Vec<Line> {
    let name = |engine: &str| match engine {
        "postgres" => "PostgreSQL".to_owned(),
        "sqlite" => "SQLite".to_owned(),
        other => other.to_owned(),
    };
    lines.into_iter().map(|(engine, points)| Line { name: name(&engine), points }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_made_of_what_was_compared() {
        let line = |case: &str, unit: &'static str, ours| {
            Comparison::of_costs("growth", case, "at 10000", unit, (ours, 1.0), None)
        };
        let lines = [
            line("postgres/backlog/10000", "µs/row", 5.0),
            line("postgres/backlog/10000", MEMORY, 20.0),
            line("postgres/backlog/100000", "µs/row", 1.5),
            line("sqlite/backlog/10000", "µs/row", 8.0),
            line("postgres/live/100000", "ms", 80.0),
        ];
        let drawn = pictures(&lines);
        let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["growth-backlog-time.svg", "growth-backlog-memory.svg", "growth-live-time.svg"]);
        let close = |seen: &[(f64, f64)], expected: &[(f64, f64)]| {
            seen.len() == expected.len()
                && seen.iter().zip(expected).all(|(a, b)| (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9)
        };
        let times = &drawn[0].1.lines;
        assert_eq!(times.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["PostgreSQL", "SQLite"]);
        assert!(close(&times[0].points, &[(10_000.0, 0.05), (100_000.0, 0.15)]), "{times:?}");
        assert!(close(&drawn[2].1.lines[0].points, &[(100_000.0, 0.08)]));
    }
}
