//! What a case came to: medians, ratios, and which bars are met.

use super::case::{Bar, Case, Contender};
use super::effort::Effort;
use crate::output;
use crate::report::{self, Comparison, thousands};
use crate::statistics::median;
use crate::stopwatch::rate;

const BENCH: &str = "files";

/// All turns of one contender.
#[derive(Debug)]
pub(crate) struct Measured {
    contender: Contender,
    rates: Vec<f64>,
    times: Vec<f64>,
    cpus: Vec<f64>,
}

impl Measured {
    /// None yet.
    pub(crate) fn new(contender: Contender) -> Self {
        Self { contender, rates: Vec::new(), times: Vec::new(), cpus: Vec::new() }
    }

    /// One more, that did so much.
    pub(crate) fn add(&mut self, amount: u64, effort: Effort) {
        self.rates.push(rate(amount, effort.time));
        self.times.push(effort.time.as_secs_f64());
        self.cpus.push(effort.cpu.as_secs_f64());
    }

    fn rate(&self) -> f64 {
        median(&self.rates)
    }
}

/// All contenders of one case.
#[derive(Debug)]
pub(crate) struct CaseResult {
    case: Case,
    measured: Vec<Measured>,
    conditions: String,
}

impl CaseResult {
    pub(crate) fn new(case: Case, measured: Vec<Measured>, conditions: String) -> Self {
        Self { case, measured, conditions }
    }

    fn of(&self, contender: Contender) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.contender == contender)
    }

    fn comparison(&self, bar: &Bar) -> Option<Comparison> {
        let rates = (self.of(bar.ours)?.rate(), self.of(bar.peer)?.rate());
        let (title, peer, unit) = (self.case.title(bar), bar.peer.name(), self.case.unit());
        Some(Comparison::of_rates(BENCH, &title, peer, unit, rates, bar.ratio_min))
    }

    /// One for each bar.
    pub(crate) fn comparisons(&self) -> Vec<Comparison> {
        self.case.bars.iter().filter_map(|bar| self.comparison(bar)).collect()
    }

    fn table_rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for (at, measured) in self.measured.iter().enumerate() {
            let contender = measured.contender;
            // Beside several of ours the ratio stands in the peer's line, which one of ours it is for is in the bars.
            let bars = self.case.bars.iter().filter(|bar| bar.peer == contender);
            let compared: Vec<Comparison> = bars.filter_map(|bar| self.comparison(bar)).collect();
            let joined =
                |text: &dyn Fn(&Comparison) -> String| compared.iter().map(text).collect::<Vec<_>>().join(", ");
            let name = contender.name();
            let rate = format!("{} {}", thousands(measured.rate()), self.case.unit());
            let bold = |text: String| if contender.is_ours() { format!("**{text}**") } else { text };
            rows.push(vec![
                if at == 0 { self.case.as_str() } else { String::new() },
                bold(name.to_owned()),
                bold(rate),
                format!("{:.2}", median(&measured.times)),
                format!("{:.2}", median(&measured.cpus)),
                joined(&|comparison| format!("{:.2}x", comparison.ratio)),
                joined(&|comparison| comparison.bar.map(|bar| format!(">= {bar}x")).unwrap_or_default()),
                joined(&|comparison| comparison.verdict().to_owned()),
            ]);
        }
        rows
    }
}

/// Prints the table, the conditions of each case, and how many bars are met.
pub(crate) fn print(results: &[CaseResult]) {
    let headers = ["case", "how", "rate", "s", "processor s", "bygone is", "bar", ""];
    let rows: Vec<Vec<String>> = results.iter().flat_map(CaseResult::table_rows).collect();
    report::print_table(&headers, &rows);
    output::data("");
    for result in results {
        output::data(&format!("- {}: {}", result.case.as_str(), result.conditions));
    }
    report::print_verdict(&results.iter().flat_map(CaseResult::comparisons).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::case;
    use super::*;

    #[test]
    fn each_bar_is_a_comparison_of_medians() {
        let case = case::all(false).remove(0);
        let amount = case.amount();
        let mut measured: Vec<Measured> = case.contenders().into_iter().map(Measured::new).collect();
        for (at, measured) in measured.iter_mut().enumerate() {
            for disturbed in [1, 1, 50] {
                let time = Duration::from_secs((at as u64 + 1) * disturbed);
                measured.add(amount, Effort { time, cpu: time });
            }
        }
        let result = CaseResult::new(case, measured, String::new());
        let seen: Vec<(String, String, f64, Option<bool>)> = result
            .comparisons()
            .into_iter()
            .map(|line| (line.case.clone(), line.peer.clone(), line.ratio, line.met()))
            .collect();
        let line = |peer: &str, ratio, met| ("tree/half-due".to_owned(), peer.to_owned(), ratio, Some(met));
        let expected =
            [line("find -delete", 2.0, true), line("tmpreaper", 3.0, true), line("systemd-tmpfiles", 4.0, true)];
        assert_eq!(seen, expected);
    }
}
