//! What a case came to: medians, ratios, and which bars are met.

use std::time::Duration;

use super::case::{Case, Contender};
use super::series::Run;
use crate::output;
use crate::report::{self, Comparison, thousands};
use crate::statistics::{longest_ms, median, percentile_ms};
use crate::stopwatch::rate;

/// All runs of one contender.
#[derive(Debug)]
pub(crate) struct Measured {
    contender: Contender,
    rates: Vec<f64>,
    /// The steps of all runs together: one run alone has too few for a percentile.
    pages: Vec<Duration>,
}

impl Measured {
    /// None yet.
    pub(crate) fn new(contender: Contender) -> Self {
        Self { contender, rates: Vec::new(), pages: Vec::new() }
    }

    /// One more run that removed `rows` rows.
    pub(crate) fn add(&mut self, rows: u64, run: Run) {
        self.rates.push(rate(rows, run.time));
        self.pages.extend(run.pages);
    }

    fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// `12.3 / 20.1 / 25.0`: p50, p99 and the longest.
    fn page_times(&self) -> String {
        let times = [percentile_ms(&self.pages, 50), percentile_ms(&self.pages, 99), longest_ms(&self.pages)];
        match times {
            [Some(p50), Some(p99), Some(longest)] => format!("{p50:.1} / {p99:.1} / {longest:.1}"),
            _ => "–".to_owned(),
        }
    }
}

/// All contenders on one dataset.
#[derive(Debug)]
pub(crate) struct CaseResult {
    case: Case,
    measured: Vec<Measured>,
    plan: String,
    remarks: Vec<String>,
}

impl CaseResult {
    pub(crate) fn new(case: Case, measured: Vec<Measured>, plan: String, remarks: Vec<String>) -> Self {
        Self { case, measured, plan, remarks }
    }

    fn of(&self, contender: Contender) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.contender == contender)
    }

    fn comparison(&self, peer: Contender, bar: Option<f64>) -> Option<Comparison> {
        let (ours, theirs) = (self.of(Contender::Bygone)?, self.of(peer)?);
        Some(Comparison::of_rates(
            self.case.bench,
            &self.case.title(),
            peer.name(),
            "rows/s",
            (ours.rate(), theirs.rate()),
            bar,
        ))
    }

    fn page_comparison(&self) -> Option<Comparison> {
        let p99 = percentile_ms(&self.of(Contender::Bygone)?.pages, 99)?;
        Some(Comparison::within_ms(
            self.case.bench,
            &self.case.title(),
            "page p99 limit",
            p99,
            self.case.page_p99_ms_max,
        ))
    }

    /// One for each peer that ran, and one for the page time.
    pub(crate) fn comparisons(&self) -> Vec<Comparison> {
        let peers = self.case.bars.iter().filter_map(|bar| self.comparison(bar.peer, bar.ratio_min));
        peers.chain(self.page_comparison()).collect()
    }

    fn table_rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for (at, bar) in self.case.bars.iter().enumerate() {
            let title = if at == 0 { self.case.title() } else { String::new() };
            let mut row = vec![title, bar.peer.name().to_owned()];
            match (self.of(bar.peer), self.comparison(bar.peer, bar.ratio_min)) {
                (Some(peer), Some(comparison)) => row.extend([
                    thousands(peer.rate()),
                    format!("{:.2}x", comparison.ratio),
                    bar.ratio_min.map(|ratio| format!(">= {ratio}x")).unwrap_or_default(),
                    comparison.verdict().to_owned(),
                    peer.page_times(),
                ]),
                _ => row.extend(["skipped", "", "", "", ""].map(str::to_owned)),
            }
            rows.push(row);
        }
        if let (Some(ours), Some(pages)) = (self.of(Contender::Bygone), self.page_comparison()) {
            rows.push(vec![
                String::new(),
                format!("**{}**", Contender::Bygone.name()),
                format!("**{}**", thousands(ours.rate())),
                String::new(),
                format!("p99 <= {:.0} ms", self.case.page_p99_ms_max),
                pages.verdict().to_owned(),
                ours.page_times(),
            ]);
        }
        rows
    }
}

/// Prints the table, how each case was walked, and how many bars are met.
pub(crate) fn print(results: &[CaseResult]) {
    let headers = ["case", "how", "rows/s", "bygone is", "bar", "", "page p50 / p99 / max ms"];
    let rows: Vec<Vec<String>> = results.iter().flat_map(CaseResult::table_rows).collect();
    report::print_table(&headers, &rows);
    output::data("");
    for result in results {
        output::data(&format!("- {}: {}", result.case.title(), result.plan));
        for remark in &result.remarks {
            output::data(&format!("- {}: {remark}", result.case.title()));
        }
    }
    report::print_verdict(&results.iter().flat_map(CaseResult::comparisons).collect::<Vec<_>>());
}
