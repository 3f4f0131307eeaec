//! Case after case, and a look at what they were about: chance must not go dull.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

use bygone_testkit::Kind;

use crate::judge::About;
use crate::play::Ground;
use crate::shrink::shrink;
use crate::{generate, story, try_case};

/// The seed of `./test`, where nobody names one.
const SEED: u64 = 2_026;
/// So many cases of a long run are told of at once.
const CASES_PER_LINE: u64 = 1_000;

/// Which cases are played.
struct Which {
    seed: u64,
    one: Option<u64>,
    end: Option<u64>,
}

impl Which {
    fn from_environment(cases: u64) -> Self {
        let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
        let unbounded = std::env::var("BYGONE_ORACLE_CASES").is_ok_and(|text| text == "unbounded");
        let end = if unbounded { None } else { Some(number("BYGONE_ORACLE_CASES").unwrap_or(cases)) };
        let other = || if unbounded { RandomState::new().hash_one("seed") } else { SEED };
        Self { seed: number("BYGONE_TEST_SEED").unwrap_or_else(other), one: number("BYGONE_ORACLE_CASE"), end }
    }
}

/// Plays the cases of an engine.
pub(crate) async fn run(kind: Kind, cases: u64) {
    let Which { seed, one, end } = Which::from_environment(cases);
    println!("BYGONE_TEST_SEED={seed}");
    let mut ground = Ground::new(kind).await;
    let mut counts = Counts::default();
    let numbers = one.map_or(0..end.unwrap_or(u64::MAX), |one| one..one + 1);
    for number in numbers {
        let case = generate::case(kind, seed, number);
        match try_case(&mut ground, &case).await {
            Ok(about) => counts.add(about),
            Err(wrong) => {
                let (case, wrong) = shrink(&mut ground, case, wrong).await;
                let (told, again) = (story::story(&case), story::command(kind, seed, number));
                panic!("{}\n{told}\n{}\n\nagain: {again}\n", wrong.what, wrong.story);
            }
        }
        if end.is_none() && (number + 1) % CASES_PER_LINE == 0 {
            println!("{} {counts:?}", crate::name(kind));
        }
    }
    println!("{} {counts:?}", crate::name(kind));
    if one.is_none() && counts.cases >= 100 {
        counts.check(kind);
    }
}

/// How many cases were about what.
#[derive(Debug, Default)]
struct Counts {
    cases: u64,
    about: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn add(&mut self, about: About) {
        self.cases += 1;
        for word in about {
            *self.about.entry(word).or_default() += 1;
        }
    }

    /// The shares, in percent, that there must be of each.
    fn check(&self, kind: Kind) {
        for (what, least, most) in [
            ("worked", 85, 100),
            ("removed", 70, 100),
            ("cleared", 15, 100),
            ("children", 6, 100),
            ("referenced", 12, 100),
            ("conflict", 7, 100),
            ("unreadable", 50, 100),
            ("cascaded", 2, 100),
            ("emptied", 3, 100),
            ("freed", 3, 100),
            ("refused", 2, 12),
            ("open", 0, 5),
        ] {
            let share = self.about.get(what).copied().unwrap_or(0) * 100 / self.cases;
            assert!((least..=most).contains(&share), "{}: {share} % {what}, not {least} to {most}", crate::name(kind));
        }
    }
}
