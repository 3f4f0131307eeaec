//! What it comes to: how much of the foreground was left, and how many rows that was worth.

use super::contender::Contender;
use super::series::Harm;
use crate::report::{self, Comparison, thousands};
use crate::statistics::median;

const BENCH: &str = "harm";
/// What cases are called, before the name of whoever removes.
pub(super) const TPS_BESIDE: &str = "tps beside ";
pub(super) const ROWS_BY: &str = "rows by ";
/// A bar that no peer has set.
pub(super) const ASKED_FOR: &str = "what is asked for";
/// Of the foreground's transactions alone: the least that must be left beside a polite sweep.
const POLITE_TPS_MIN: f64 = 0.9;
/// Of the p99 alone: 1.25 times as long at the most.
const POLITE_P99_MIN: f64 = 0.8;
/// The least that a polite sweep must remove a second.
const POLITE_ROWS_MIN: f64 = 50_000.0;
/// At equal harm: the least multiple of the peer's loop.
const EQUAL_HARM_MIN: f64 = 5.0;
/// Less harm than this cannot be told from none.
const HARM_PERCENT_MIN: f64 = 1.0;

/// The medians of a contender's rounds.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    contender: Contender,
    /// Alone and beside it.
    tps: (f64, f64),
    p50_ms: (f64, f64),
    p99_ms: (f64, f64),
    /// Of alone.
    tps_share: f64,
    p99_share: f64,
    rows: f64,
}

impl Measured {
    pub(super) fn new(contender: Contender, rounds: &[Harm]) -> Self {
        let of = |figure: &dyn Fn(&Harm) -> f64| median(&rounds.iter().map(figure).collect::<Vec<_>>());
        Self {
            contender,
            tps: (of(&|harm| harm.alone.tps), of(&|harm| harm.beside.tps)),
            p50_ms: (of(&|harm| harm.alone.p50_ms), of(&|harm| harm.beside.p50_ms)),
            p99_ms: (of(&|harm| harm.alone.p99_ms), of(&|harm| harm.beside.p99_ms)),
            tps_share: of(&|harm| harm.beside.tps / harm.alone.tps),
            p99_share: of(&|harm| harm.alone.p99_ms / harm.beside.p99_ms),
            rows: of(&|harm| harm.rows),
        }
    }

    /// The share of the foreground that was lost, in percent.
    fn harm_percent(&self) -> f64 {
        ((1.0 - self.tps_share) * 100.0).max(0.0)
    }

    fn rows_per_percent(&self) -> f64 {
        self.rows / self.harm_percent().max(HARM_PERCENT_MIN)
    }

    fn is_polite(&self) -> bool {
        matches!(self.contender, Contender::Polite(_))
    }

    /// The foreground beside it, and alone. The ratio is the median of the rounds' own.
    fn foreground(&self) -> Vec<Comparison> {
        let case = |what: &str| format!("{what}{}", self.contender.name());
        let bar = |least| self.is_polite().then_some(least);
        let (tps, p50, p99) = (swapped(self.tps), swapped(self.p50_ms), swapped(self.p99_ms));
        vec![
            Comparison {
                ratio: rounded(self.tps_share),
                ..Comparison::of_rates(BENCH, &case(TPS_BESIDE), "alone", "tps", tps, bar(POLITE_TPS_MIN))
            },
            Comparison::of_costs(BENCH, &case("p50 beside "), "alone", "ms", p50, None),
            Comparison {
                ratio: rounded(self.p99_share),
                ..Comparison::of_costs(BENCH, &case("p99 beside "), "alone", "ms", p99, bar(POLITE_P99_MIN))
            },
        ]
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.contender.name(),
            thousands(self.rows),
            format!("{} of {}", thousands(self.tps.1), thousands(self.tps.0)),
            format!("{:.2}x", self.tps_share),
            format!("{:.2}, alone {:.2}", self.p50_ms.1, self.p50_ms.0),
            format!("{:.2}, alone {:.2}", self.p99_ms.1, self.p99_ms.0),
            format!("{:.2}x", 1.0 / self.p99_share),
            thousands(self.rows_per_percent()),
        ]
    }
}

fn swapped((alone, beside): (f64, f64)) -> (f64, f64) {
    (beside, alone)
}

fn rounded(ratio: f64) -> f64 {
    (ratio * 1_000.0).round() / 1_000.0
}

/// How many rows ours removes for so much harm: the best on straight lines between what was seen, where doing nothing has done
/// no harm. Who works half of the time does half of both. Beyond the most harm that it did nothing more is claimed.
fn rows_at(harm: f64, ours: &[&Measured]) -> f64 {
    let seen: Vec<(f64, f64)> =
        [(0.0, 0.0)].into_iter().chain(ours.iter().map(|one| (one.harm_percent(), one.rows))).collect();
    let within = seen.iter().filter(|(at, _)| *at <= harm).map(|(_, rows)| *rows);
    let pairs = seen.iter().flat_map(|low| seen.iter().map(move |high| (*low, *high)));
    let between = pairs
        .filter(|(low, high)| low.0 <= harm && harm < high.0)
        .map(|(low, high)| low.1 + (high.1 - low.1) * (harm - low.0) / (high.0 - low.0));
    within.chain(between).fold(0.0, f64::max)
}

/// All comparisons.
pub(super) fn comparisons(all: &[Measured]) -> Vec<Comparison> {
    let of = |wanted: Contender| all.iter().find(|one| one.contender == wanted);
    let ours: Vec<&Measured> = all.iter().filter(|one| one.is_polite() || one.contender == Contender::Bygone).collect();
    let mut lines: Vec<Comparison> = all.iter().flat_map(Measured::foreground).collect();
    for polite in all.iter().filter(|one| one.is_polite()) {
        let (case, rows) = (format!("{ROWS_BY}{}", polite.contender.name()), (polite.rows, POLITE_ROWS_MIN));
        lines.push(Comparison::of_rates(BENCH, &case, ASKED_FOR, "rows/s", rows, Some(1.0)));
    }
    for peer in [Contender::OneDelete, Contender::PeerLoop].into_iter().filter_map(of) {
        let name = peer.contender.name();
        for one in &ours {
            let (case, worth) = (one.contender.name(), (one.rows_per_percent(), peer.rows_per_percent()));
            let rows = (one.rows, peer.rows);
            lines.push(Comparison::of_rates(BENCH, &format!("{ROWS_BY}{case}"), &name, "rows/s", rows, None));
            let case = format!("rows for a percent of the foreground by {case}");
            lines.push(Comparison::of_rates(BENCH, &case, &name, "rows/s", worth, None));
        }
        let bar = (peer.contender == Contender::PeerLoop).then_some(EQUAL_HARM_MIN);
        let rows = (rows_at(peer.harm_percent(), &ours), peer.rows);
        lines.push(Comparison::of_rates(BENCH, "rows at equal harm", &name, "rows/s", rows, bar));
    }
    lines
}

/// Prints the table, and which bars are met.
pub(super) fn print(all: &[Measured]) {
    let headers =
        ["beside", "rows/s", "tps", "of alone", "p50 ms", "p99 ms", "of alone", "rows/s for 1 % of the foreground"];
    report::print_table(&headers, &all.iter().map(Measured::row).collect::<Vec<_>>());
    let comparisons = comparisons(all);
    report::print_bars(&comparisons);
    report::print_verdict(&comparisons);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::contender::Pace;
    use super::super::foreground::Load;
    use super::*;

    const POLITE: Contender = Contender::Polite(Pace { page_time: Duration::from_millis(10), duty_percent: 20 });

    fn measured(contender: Contender, tps_share: f64, p99_ms: f64, rows: f64) -> Measured {
        let load = |tps, p99_ms| Load { tps, p50_ms: 1.0, p99_ms };
        let harm = |tps| Harm { alone: load(1_000.0, 4.0), beside: load(tps, p99_ms), rows };
        // A disturbed round does not count.
        Measured::new(contender, &[harm(1_000.0 * tps_share), harm(1_000.0 * tps_share), harm(1.0)])
    }

    #[test]
    fn bars_are_held_against_medians() {
        let all = [
            measured(Contender::PeerLoop, 0.8, 6.0, 40_000.0),
            measured(Contender::Bygone, 0.75, 6.0, 400_000.0),
            measured(POLITE, 0.95, 5.0, 60_000.0),
        ];
        let lines = comparisons(&all);
        let bars: Vec<(&str, &str, f64, bool)> = lines
            .iter()
            .filter_map(|line| Some((line.case.as_str(), line.peer.as_str(), line.ratio, line.met()?)))
            .collect();
        let polite = "bygone polite (10 ms, 20 %)";
        let [tps, p99, rows] = ["tps beside", "p99 beside", "rows by"].map(|what| format!("{what} {polite}"));
        // Four fifths of the harm of full speed, for four fifths of its rows: 320,000.
        let expected = [
            (tps.as_str(), "alone", 0.95, true),
            (p99.as_str(), "alone", 0.8, true),
            (rows.as_str(), "what is asked for", 1.2, true),
            ("rows at equal harm", "the peer's loop", 8.0, true),
        ];
        assert_eq!(bars, expected);
        assert!((all[0].rows_per_percent() - 2_000.0).abs() < 1e-6, "{:?}", all[0]);
    }

    #[test]
    fn no_more_rows_are_claimed_than_were_seen() {
        let full = measured(Contender::Bygone, 0.9, 5.0, 300_000.0);
        assert!((rows_at(50.0, &[&full]) - 300_000.0).abs() < 1e-6);
        assert!((rows_at(5.0, &[&full]) - 150_000.0).abs() < 1e-3);
        assert!(rows_at(0.0, &[&full]).abs() < 1e-6);
    }
}
