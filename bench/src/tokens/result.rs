//! What a case came to.

use super::case::Case;
use super::series::Contender;
use crate::report::{self, Comparison, thousands};

const BENCH: &str = "tokens";

/// All contenders of one case; ours is the first.
pub(crate) struct CaseResult {
    case: Case,
    contenders: Vec<Contender>,
}

impl CaseResult {
    pub(crate) fn new(case: Case, contenders: Vec<Contender>) -> Self {
        Self { case, contenders }
    }

    fn peers(&self) -> impl Iterator<Item = (&Contender, Comparison)> {
        let (ours, peers) = self.contenders.split_at(1);
        peers.iter().zip(ours.iter().cycle()).map(|(peer, ours)| {
            let (rates, unit) = ((ours.rate(), peer.rate()), self.case.work.unit());
            (peer, Comparison::of_rates(BENCH, &self.case.title(), peer.name, unit, rates, peer.bar))
        })
    }

    /// One for each peer.
    pub(crate) fn comparisons(&self) -> Vec<Comparison> {
        self.peers().map(|(_, comparison)| comparison).collect()
    }

    fn table_rows(&self) -> Vec<Vec<String>> {
        let unit = self.case.work.unit();
        let ours = self.contenders.first().map(|ours| {
            vec![
                self.case.title(),
                format!("**{}**", ours.name),
                format!("**{}** {unit}", thousands(ours.rate())),
                String::new(),
                String::new(),
                String::new(),
            ]
        });
        let peers = self.peers().map(|(peer, comparison)| {
            vec![
                String::new(),
                peer.name.to_owned(),
                format!("{} {unit}", thousands(peer.rate())),
                format!("{:.2}x", comparison.ratio),
                peer.bar.map(|bar| format!(">= {bar}x")).unwrap_or_default(),
                comparison.verdict().to_owned(),
            ]
        });
        ours.into_iter().chain(peers).collect()
    }
}

/// Prints the table, and how many bars are met.
pub(crate) fn print(results: &[CaseResult]) {
    let rows: Vec<Vec<String>> = results.iter().flat_map(CaseResult::table_rows).collect();
    report::print_table(&["case", "how", "rate", "bygone is", "bar", ""], &rows);
    report::print_verdict(&results.iter().flat_map(CaseResult::comparisons).collect::<Vec<_>>());
}
