//! What the turns of one case came to: medians, waits, ratios, and which bars are met.

use super::Contender;
use crate::report::{self, Comparison, thousands};

/// The columns of the table.
const HEADERS: [&str; 7] = ["case", "how", "rate", "p50 / p99 ms", "bygone is", "bar", ""];

/// All contenders of one case.
pub(crate) struct Race {
    pub(crate) bench: &'static str,
    pub(crate) case: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) ours: Contender,
    /// Each with the least multiple of it that ours must reach; `None` where it runs only to be seen.
    pub(crate) peers: Vec<(Contender, Option<f64>)>,
}

impl Race {
    fn compared(&self) -> impl Iterator<Item = (&Contender, Comparison)> {
        self.peers.iter().map(|(peer, bar)| {
            let rates = (self.ours.rate(), peer.rate());
            (peer, Comparison::of_rates(self.bench, self.case, peer.name, self.unit, rates, *bar))
        })
    }

    /// One for each peer.
    pub(crate) fn comparisons(&self) -> Vec<Comparison> {
        self.compared().map(|(_, comparison)| comparison).collect()
    }

    fn table_rows(&self) -> Vec<Vec<String>> {
        let unit = self.unit;
        let wait = |contender: &Contender| format!("{:.2} / {:.2}", contender.wait_ms(50), contender.wait_ms(99));
        let ours = vec![
            self.case.to_owned(),
            format!("**{}**", self.ours.name),
            format!("**{}** {unit}", thousands(self.ours.rate())),
            wait(&self.ours),
            String::new(),
            String::new(),
            String::new(),
        ];
        let peers = self.compared().map(|(peer, comparison)| {
            vec![
                String::new(),
                peer.name.to_owned(),
                format!("{} {unit}", thousands(peer.rate())),
                wait(peer),
                format!("{:.2}x", comparison.ratio),
                comparison.bar.map(|bar| format!(">= {bar}x")).unwrap_or_default(),
                comparison.verdict().to_owned(),
            ]
        });
        std::iter::once(ours).chain(peers).collect()
    }
}

/// What ours alone came to, beside a rate that is asked for.
pub(crate) struct Alone {
    pub(crate) bench: &'static str,
    pub(crate) case: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) rate: f64,
    pub(crate) rate_min: f64,
}

impl Alone {
    /// Ours beside what is asked for.
    pub(crate) fn comparison(&self) -> Comparison {
        let rates = (self.rate, self.rate_min);
        Comparison::of_rates(self.bench, self.case, "what is asked for", self.unit, rates, Some(1.0))
    }

    fn table_row(&self) -> Vec<String> {
        let comparison = self.comparison();
        vec![
            self.case.to_owned(),
            "**bygone**".to_owned(),
            format!("**{}** {}", thousands(self.rate), self.unit),
            String::new(),
            format!("{:.2}x", comparison.ratio),
            format!(">= {} {}", thousands(self.rate_min), self.unit),
            comparison.verdict().to_owned(),
        ]
    }
}

/// Prints the table, and how many bars are met.
pub(crate) fn print(races: &[Race], alone: &[Alone]) {
    let rows = races.iter().flat_map(Race::table_rows).chain(alone.iter().map(Alone::table_row));
    report::print_table(&HEADERS, &rows.collect::<Vec<_>>());
    report::print_verdict(&comparisons(races, alone));
}

/// All that were made.
pub(crate) fn comparisons(races: &[Race], alone: &[Alone]) -> Vec<Comparison> {
    races.iter().flat_map(Race::comparisons).chain(alone.iter().map(Alone::comparison)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &'static str, rates: &[f64]) -> Contender {
        Contender { rates: rates.to_vec(), ..Contender::new(name, Vec::new()) }
    }

    #[test]
    fn medians_are_compared_with_each_peer_and_its_bar() {
        let race = Race {
            bench: "leases",
            case: "cycle/64",
            unit: "cycles/s",
            ours: contender("bygone", &[40.0, 50.0, 1.0]),
            peers: vec![(contender("Redis", &[20.0, 999.0, 20.0]), Some(2.0)), (contender("etcd", &[50.0]), None)],
        };
        let alone = Alone { bench: "leases", case: "sweep", unit: "leases/s", rate: 19_900.0, rate_min: 20_000.0 };
        let seen: Vec<_> =
            comparisons(&[race], &[alone]).iter().map(|line| (line.peer.clone(), line.ratio, line.met())).collect();
        let line = |peer: &str, ratio, met| (peer.to_owned(), ratio, met);
        let asked = line("what is asked for", 0.995, Some(false));
        assert_eq!(seen, [line("Redis", 2.0, Some(true)), line("etcd", 0.8, None), asked]);
    }
}
