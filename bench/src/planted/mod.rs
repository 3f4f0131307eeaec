//! Bugs that somebody could make, planted one by one: each must be caught by the tests that are named beside it.
//!
//! A test that passes says little until it has been seen to fail. So every promise has mistakes that would break it, in
//! `bench/planted.toml`, and this puts them one after another into a copy of the repository and runs nothing but the tests
//! that should mind. A bug that none of them notices fails the run, and so does one that does not compile or whose test
//! is not there any more.

mod ground;
mod table;
mod trial;

#[cfg(test)]
mod promises;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bygone_core::CancellationToken;
use clap::Args;
use serde::Serialize;

use self::ground::Ground;
use self::table::{Bug, Entry, Feature, Place, Table, TestName, top};
use self::trial::Verdict;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::{Common, output, report};

/// Which bugs.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Plants this one only; may be repeated. Otherwise all of them, or with --quick the first.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// What became of a bug.
#[derive(Debug)]
enum Fate {
    /// Each of its tests failed; what the first of them said.
    Caught(String),
    /// This test passed with the bug in it.
    Missed(TestName),
    /// Nothing can be said, and why.
    Unclear(String),
    /// Somebody ended the run.
    Stopped,
}

/// A line for machines.
#[derive(Serialize)]
struct Line<'a> {
    bench: &'static str,
    case: &'a str,
    promise: &'a str,
    caught: bool,
    said: &'a str,
    seconds: f64,
}

/// A bug and what became of it.
struct Finding {
    name: String,
    promise: String,
    fate: Fate,
    time: Duration,
}

/// Plants the bugs one after another and prints what became of each. Ctrl-C ends it, and takes the copy away.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let table = chosen(Table::read(&top())?, options, &common)?;
    let stop = CancellationToken::new();
    let interrupted = tokio::spawn(interrupt(stop.clone()));
    let named = table.bugs.iter().flat_map(|bug| bug.tests.iter().cloned()).collect();
    let mut trials = Trials { ground: Ground::copy_of(&top())?, stop, named, without_bugs: BTreeMap::new() };
    let all = table.entries().count();
    let mut findings: Vec<Finding> = Vec::new();
    for entry in table.entries() {
        let watch = Stopwatch::start();
        let (name, promise, fate) = match entry {
            Entry::Bug(bug) => (&bug.name, &bug.promise, trials.plant(bug).await?),
            Entry::Feature(feature) => (&feature.name, &feature.promise, trials.find(feature).await?),
        };
        let is_stopped = matches!(fate, Fate::Stopped);
        let finding = Finding { name: name.clone(), promise: promise.clone(), fate, time: watch.time() };
        finding.tell(&common, findings.len() + 1, all);
        findings.push(finding);
        if is_stopped {
            break;
        }
    }
    drop(trials);
    interrupted.abort();
    conclude(&findings, all, &common)
}

/// The bugs that are asked for.
fn chosen(mut table: Table, options: &Options, common: &Common) -> Result<Table, Failure> {
    if let Some(name) = options.only.iter().find(|name| !table.entries().any(|entry| entry.name() == **name)) {
        return Err(format!("no bug is called `{name}`").into());
    }
    if !options.only.is_empty() {
        table.bugs.retain(|bug| options.only.contains(&bug.name));
        table.features.retain(|feature| options.only.contains(&feature.name));
    } else if common.quick {
        table.bugs.truncate(1);
        table.features.clear();
    }
    Ok(table)
}

async fn interrupt(stop: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        output::talk("stopping");
        stop.cancel();
    }
}

/// The ground, and what is known of the tests that run on it.
struct Trials {
    ground: Ground,
    stop: CancellationToken,
    /// All that are named.
    named: BTreeSet<TestName>,
    /// How they went without a bug: those that fail anyway prove nothing.
    without_bugs: BTreeMap<TestName, Verdict>,
}

impl Trials {
    /// Runs tests, place by place.
    async fn run(&self, tests: &[TestName]) -> Result<Vec<(TestName, Verdict)>, Failure> {
        let mut places: BTreeMap<&Place, Vec<&TestName>> = BTreeMap::new();
        for test in tests {
            places.entry(&test.place).or_default().push(test);
        }
        let mut all = Vec::new();
        for (place, tests) in places {
            let verdicts = trial::run(&self.ground, place, &tests, &self.stop).await?;
            all.extend(tests.into_iter().cloned().zip(verdicts));
        }
        Ok(all)
    }

    /// Why tests prove nothing, if so: they fail without a bug. Those of a place are all run as soon as one is asked for.
    async fn unsound(&mut self, tests: &[TestName]) -> Result<Option<Fate>, Failure> {
        let is_new = |test: &&TestName| !self.without_bugs.contains_key(*test);
        let places: BTreeSet<&Place> = tests.iter().filter(is_new).map(|test| &test.place).collect();
        let new: Vec<TestName> = self.named.iter().filter(|test| places.contains(&test.place)).cloned().collect();
        let verdicts = self.run(&new).await?;
        self.without_bugs.extend(verdicts);
        let verdicts = tests.iter().filter_map(|test| Some((test, self.without_bugs.get(test)?)));
        let mut fates = verdicts.filter_map(|(test, verdict)| match verdict {
            Verdict::Passed => None,
            Verdict::Stopped => Some(Fate::Stopped),
            Verdict::NotThere => Some(Fate::Unclear(format!("there is no test `{test}`"))),
            Verdict::NotBuilt(why) => Some(Fate::Unclear(format!("`{test}` is not built: {why}"))),
            Verdict::Failed(why) => Some(Fate::Unclear(format!("`{test}` fails without the bug: {why}"))),
        });
        Ok(fates.next())
    }

    /// Puts a bug in, runs its tests, and takes it out.
    async fn plant(&mut self, bug: &Bug) -> Result<Fate, Failure> {
        if let Some(fate) = self.unsound(&bug.tests).await? {
            return Ok(fate);
        }
        let planted = self.ground.plant(bug)?;
        let verdicts = self.run(&bug.tests).await;
        planted.pull()?;
        Ok(judge(verdicts?))
    }

    /// Whether a bug is found that its test plants by itself.
    async fn find(&self, feature: &Feature) -> Result<Fate, Failure> {
        let verdicts = self.run(std::slice::from_ref(&feature.test)).await?;
        Ok(match verdicts.into_iter().next() {
            Some((_, Verdict::Passed)) => Fate::Caught("its test plants it, and finds it".to_owned()),
            Some((test, Verdict::Failed(_))) => Fate::Missed(test),
            verdict => judge(verdict),
        })
    }
}

/// Whether each test minds.
fn judge(verdicts: impl IntoIterator<Item = (TestName, Verdict)>) -> Fate {
    let mut first = None;
    for (test, verdict) in verdicts {
        match verdict {
            Verdict::Failed(why) => first = first.or(Some(why)),
            Verdict::Passed => return Fate::Missed(test),
            Verdict::NotBuilt(why) => return Fate::Unclear(why),
            Verdict::NotThere => return Fate::Unclear(format!("there is no test `{test}`")),
            Verdict::Stopped => return Fate::Stopped,
        }
    }
    first.map_or_else(|| Fate::Unclear("no test is named".to_owned()), Fate::Caught)
}

impl Finding {
    fn is_stopped(&self) -> bool {
        matches!(self.fate, Fate::Stopped)
    }

    fn is_caught(&self) -> bool {
        matches!(self.fate, Fate::Caught(_))
    }

    fn said(&self) -> String {
        match &self.fate {
            Fate::Caught(said) => said.clone(),
            Fate::Missed(test) => format!("`{test}` does not mind"),
            Fate::Unclear(why) => why.clone(),
            Fate::Stopped => "stopped".to_owned(),
        }
    }

    fn verdict(&self) -> &'static str {
        match self.fate {
            Fate::Caught(_) => "caught",
            Fate::Missed(_) => "**missed**",
            Fate::Unclear(_) => "**unclear**",
            Fate::Stopped => "stopped",
        }
    }

    /// Tells whoever watches; machines get their line at once, so that a long run can be followed.
    fn tell(&self, common: &Common, number: usize, all: usize) {
        let (said, seconds) = (self.said(), self.time.as_secs_f64());
        output::talk(&format!("{number} of {all}: {}: {}, {seconds:.0} s: {said}", self.name, self.verdict()));
        if !common.json || self.is_stopped() {
            return;
        }
        let (case, promise, caught) = (&*self.name, &*self.promise, self.is_caught());
        let line = Line { bench: "planted", case, promise, caught, said: &said, seconds: seconds.round() };
        if let Ok(line) = serde_json::to_string(&line) {
            output::data(&line);
        }
    }
}

/// The table, and whether every bug was caught.
fn conclude(findings: &[Finding], all: usize, common: &Common) -> Result<(), Failure> {
    if !common.json {
        let cell = |text: &str| text.replace('|', "\\|");
        let row = |finding: &Finding| {
            vec![cell(&finding.name), cell(&finding.promise), finding.verdict().to_owned(), cell(&finding.said())]
        };
        report::print_table(&["bug", "breaks", "", "what was said"], &findings.iter().map(row).collect::<Vec<_>>());
    }
    let caught = findings.iter().filter(|finding| finding.is_caught()).count();
    if findings.last().is_some_and(Finding::is_stopped) {
        return Err(format!("stopped: {caught} of {all} bugs were caught so far").into());
    }
    if caught < all {
        return Err(format!("{} of {all} bugs were not caught", all - caught).into());
    }
    output::talk(&format!("each of {all} bugs was caught"));
    Ok(())
}
