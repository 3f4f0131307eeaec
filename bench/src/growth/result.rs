//! What growth came to: each size beside a smaller one.

use super::case::Case;
use super::program::Effort;
use crate::output;
use crate::report::{self, Comparison, figure_of, thousands};
use crate::statistics::median;

const BENCH: &str = "growth";
/// What memory is measured in.
pub(super) const MEMORY: &str = "MiB";

/// The medians of a case, a size each.
pub(super) struct Grown {
    case: Case,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    size: u64,
    seconds: f64,
    peak_mib: f64,
}

impl Grown {
    /// The efforts of each size.
    pub(super) fn new(case: Case, efforts: &[Vec<Effort>]) -> Self {
        let of =
            |efforts: &[Effort], figure: fn(&Effort) -> f64| median(&efforts.iter().map(figure).collect::<Vec<_>>());
        let point = |(size, efforts): (&u64, &Vec<Effort>)| Point {
            size: *size,
            seconds: of(efforts, |effort| effort.time.as_secs_f64()),
            peak_mib: of(efforts, |effort| effort.peak_mib),
        };
        let points = case.sizes.iter().zip(efforts).map(point).collect();
        Self { case, points }
    }

    fn title(&self, size: u64) -> String {
        format!("{}/{}/{size}", self.case.engine.as_str(), self.case.kind.as_str())
    }

    fn compared(
        &self,
        point: Point,
        base: u64,
        unit: &'static str,
        most: Option<f64>,
        of: &dyn Fn(Point) -> f64,
    ) -> Option<Comparison> {
        let base = self.points.iter().find(|point| point.size == base)?;
        let is_largest = self.case.sizes.last() == Some(&point.size);
        let bar = most.filter(|_| is_largest).map(|most| (1_000.0 / most).floor() / 1_000.0);
        let costs = (of(point), of(*base));
        Some(Comparison::of_costs(BENCH, &self.title(point.size), &format!("at {}", base.size), unit, costs, bar))
    }

    fn time(&self, point: Point) -> Option<Comparison> {
        let kind = self.case.kind;
        let cost = |point: Point| kind.cost(point.seconds, float(point.size));
        self.compared(point, self.case.time_base, kind.unit(), Some(self.case.time_max), &cost)
    }

    fn memory(&self, point: Point) -> Option<Comparison> {
        self.compared(point, self.case.memory_base(), MEMORY, self.case.memory_max, &|point| point.peak_mib)
    }

    /// Time and memory of each size; the bars are for the largest.
    pub(super) fn comparisons(&self) -> Vec<Comparison> {
        self.points.iter().flat_map(|point| [self.time(*point), self.memory(*point)]).flatten().collect()
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |point: &Point| {
            let cost = self.case.kind.cost(point.seconds, float(point.size));
            vec![
                format!("{}/{}", self.case.engine.as_str(), self.case.kind.as_str()),
                thousands(float(point.size)),
                format!("{:.3}", point.seconds),
                format!("{} {}", figure_of(cost), self.case.kind.unit()),
                format!("{:.1}", point.peak_mib),
            ]
        };
        self.points.iter().map(row).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below what a float counts exactly")]
fn float(size: u64) -> f64 {
    size as f64
}

/// Prints what was measured, and which bars are met.
pub(super) fn print(all: &[Grown]) {
    let rows: Vec<Vec<String>> = all.iter().flat_map(Grown::rows).collect();
    report::print_table(&["case", "size", "s", "time", "peak MiB"], &rows);
    let comparisons: Vec<Comparison> = all.iter().flat_map(Grown::comparisons).collect();
    output::data("");
    report::print_bars(&comparisons);
    report::print_verdict(&comparisons);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::case;
    use super::*;

    fn grown(times_ms: [u64; 4], peaks: [f64; 4]) -> Vec<Comparison> {
        let case = case::all(false).remove(0);
        let effort = |(time, peak_mib): (u64, f64)| {
            let usual = Effort { time: Duration::from_millis(time), peak_mib, removed: 0 };
            vec![usual, Effort { time: usual.time * 9, ..usual }, usual]
        };
        let efforts: Vec<Vec<Effort>> = times_ms.into_iter().zip(peaks).map(effort).collect();
        Grown::new(case, &efforts).comparisons()
    }

    fn bars(lines: &[Comparison]) -> Vec<(&str, &str, bool)> {
        lines.iter().filter_map(|line| Some((line.case.as_str(), line.peer.as_str(), line.met()?))).collect()
    }

    #[test]
    fn the_largest_is_held_against_the_bars() {
        let largest = "postgres/backlog/10000000";
        let flat = grown([60, 100, 1_000, 15_000], [20.0, 20.0, 21.0, 26.0]);
        assert_eq!(bars(&flat), [(largest, "at 100000", true), (largest, "at 10000", true)]);
        assert_eq!(flat.len(), 8, "a line for time and one for memory, of each size");
        let grows = grown([60, 100, 1_000, 15_100], [20.0, 20.0, 21.0, 26.1]);
        assert_eq!(bars(&grows), [(largest, "at 100000", false), (largest, "at 10000", false)]);
    }
}
