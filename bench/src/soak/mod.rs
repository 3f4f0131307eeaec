//! A soak: the real daemon beside writers and faults, for an hour.
//!
//! Tests show that a promise is kept where somebody thought that it might break. What nobody thought of shows in time:
//! memory that is not given back, a handle a day, a sweep that never comes back after the third restart of a server. So
//! `bygone serve` runs here with a configuration file over a PostgreSQL server, a SQLite file, a lease store, a staging area
//! and a directory tree, while writers write, somebody scrapes, and faults happen by chance from a seed. There is no peer;
//! the bars are the promises.

mod api;
mod book;
mod chance;
mod configuration;
mod daemon;
mod fault;
mod history;
mod pace;
mod part;
mod picture;
mod record;
mod site;
mod storm;
mod verdict;
mod watch;
mod writers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::CancellationToken;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use self::book::{Book, Finding};
use self::chance::Chance;
use self::daemon::Daemon;
use self::history::Run;
use self::pace::Pace;
use self::part::Part;
use self::record::{Record, Seen, Who};
use self::site::Site;
use self::storm::Storm;
use self::verdict::Verdict;
use self::writers::{Looker, Party, Writer};
use crate::account::Account;
use crate::failure::{Failure, with_causes};
use crate::{Common, output, own_program, report};

const BENCH: &str = "soak";
/// How often writers write.
const BEAT: Duration = Duration::from_millis(500);
/// The stream of chance that faults come from.
const FAULTS: u64 = 1_000;

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How long it takes, two at least; the last minute is a quiet one.
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u64,
    /// What decides which faults come when.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Keeps all that was measured in this file, as JSON.
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Draws memory, handles, lag and faults over time into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What is known when everything is over.
struct Ended {
    seen: Seen,
    runs: Vec<Run>,
    listed: Vec<String>,
    findings: Vec<(Arc<Book>, Finding)>,
    /// Whether there was time for all that is due to go.
    was_quiet: bool,
}

/// Runs the soak and says what is to be said of it. Ctrl-C ends the storm, and again the quiet time.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let pace = if common.quick { Pace::quick() } else { Pace::of_minutes(options.minutes) };
    let program = own_program::build()?;
    let record = Arc::new(Record::new());
    let site = Arc::new(Site::new(pace).await?);
    // Areas and stores are made before anybody sweeps them.
    let parties = writers::all(&site, &record, pace, options.seed).await?;
    let daemon = Daemon::start(&program, &site, &record).await?;
    let chance = Chance::new(options.seed, FAULTS);
    let mut storm = Storm::new(daemon, &site, &record, chance, pace);
    let ended = live(&mut storm, parties).await?;
    let verdicts = verdicts(&ended, pace);
    tell(&ended, &verdicts, common)?;
    if let Some(file) = &options.series {
        std::fs::write(file, serde_json::to_vec(&ended.seen)?)?;
    }
    if let Some(file) = &options.plot {
        picture::picture(&ended.seen).write(file)?;
    }
    let reasons: Vec<String> = verdicts.iter().flat_map(Verdict::reasons).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let evidence = std::env::temp_dir().join(format!("bygone-soak-{}", std::process::id()));
    site.save_evidence(&evidence)?;
    let reasons = reasons.join("\n");
    Err(format!(
        "seed {}: promises were broken\n{reasons}\nlog and history are in {}",
        options.seed,
        evidence.display()
    )
    .into())
}

/// From the first item to the last look.
async fn live(storm: &mut Storm, parties: Vec<Party>) -> Result<Ended, Failure> {
    let (site, record, pace) = (Arc::clone(&storm.site), Arc::clone(&storm.record), storm.pace);
    let [calm, stop, over] = [(); 3].map(|()| CancellationToken::new());
    let interrupts = tokio::spawn(interrupted([stop.clone(), over.clone()]));
    let (mut writing, mut looking) = (Vec::new(), Vec::new());
    for party in parties {
        writing.push(tokio::spawn(write_again(party.writer, party.book.part(), Arc::clone(&record), calm.clone())));
        looking.push(tokio::spawn(watch::look_again(party.book, party.looker, Arc::clone(&record), over.clone())));
    }
    let watching = [
        tokio::spawn(watch::measure(Arc::clone(&site), Arc::clone(&record), over.clone())),
        tokio::spawn(watch::ask_again(site.port, Arc::clone(&record), calm.clone(), over.clone())),
    ];
    if let Err(error) = storm.rage(&stop).await {
        record.seen().broken.push(with_causes(&*error));
    }
    calm.cancel();
    join(writing).await?;
    output::talk(&format!("{:>5} s  quiet", record.at().as_secs()));
    let was_quiet = tokio::select! {
        () = over.cancelled() => false,
        () = record.sleep(pace.quiet) => true,
    };
    over.cancel();
    join(watching).await?;
    let mut findings = Vec::new();
    for (book, mut looker) in join(looking).await? {
        let finding = last_look(&book, &mut *looker, &record).await;
        findings.push((book, finding));
    }
    interrupts.abort();
    let listed = history::listed(site.port).await;
    let listed = noted(&record, listed);
    let ended = storm.daemon.end().await;
    noted(&record, ended);
    Ok(Ended { runs: history::runs(&site.ledger(), &record)?, seen: record.take(), listed, findings, was_quiet })
}

/// What went wrong is one more thing that is told in the end.
fn noted<T: Default>(record: &Record, done: Result<T, Failure>) -> T {
    done.unwrap_or_else(|error| {
        record.seen().broken.push(with_causes(&*error));
        T::default()
    })
}

async fn last_look(book: &Book, looker: &mut dyn Looker, record: &Record) -> Finding {
    noted(record, watch::look(book, looker, record).await)
}

async fn join<T>(tasks: impl IntoIterator<Item = JoinHandle<T>>) -> Result<Vec<T>, Failure> {
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await?);
    }
    Ok(done)
}

/// Ends one thing after another, whenever somebody asks for an end.
async fn interrupted(ends: [CancellationToken; 2]) -> Result<(), Failure> {
    let mut told = signal(SignalKind::terminate())?;
    for end in ends {
        tokio::select! {
            heard = tokio::signal::ctrl_c() => heard?,
            _ = told.recv() => {}
        }
        end.cancel();
    }
    Ok(())
}

async fn write_again(mut writer: Box<dyn Writer>, part: Part, record: Arc<Record>, calm: CancellationToken) {
    while !calm.is_cancelled() {
        let from = record.at();
        if let Err(error) = writer.write().await {
            record.trouble(Who::Writer(part), from, with_causes(&*error));
        }
        tokio::select! {
            () = calm.cancelled() => {}
            () = record.sleep(BEAT) => {}
        }
    }
}

fn verdicts(ended: &Ended, pace: Pace) -> Vec<Verdict> {
    let Ended { seen, runs, listed, findings, was_quiet } = ended;
    let mut verdicts: Vec<Verdict> = Part::ALL.into_iter().map(|part| verdict::early(part, seen)).collect();
    if *was_quiet {
        let left = findings.iter().map(|(book, found)| verdict::left(book.part(), found.overdue, found.strangers));
        verdicts.extend(left);
    }
    verdicts.extend(verdict::growth(&seen.samples, pace.warm_up));
    verdicts.extend(verdict::ledger(seen));
    for part in Part::ALL {
        verdicts.push(verdict::lag(part, &seen.lags, &seen.disturbances, pace));
        verdicts.push(verdict::told_lag(part, &seen.told, &seen.disturbances, pace));
    }
    // Of a lease store more is removed than its writers know of: entries of its index.
    let counted = findings.iter().filter(|(book, _)| book.part().policy() != Part::Leases.policy());
    let gone: BTreeMap<_, _> = counted.map(|(book, _)| (book.part().policy(), book.written_and_gone().1)).collect();
    verdicts.push(verdict::failures(runs, &seen.disturbances));
    verdicts.push(verdict::interruptions(runs, &seen.disturbances));
    verdicts.push(verdict::history(runs, listed, &gone));
    verdicts.push(verdict::troubles(seen));
    verdicts.push(verdict::unwatched(seen));
    verdicts.push(Verdict::none("tokens", "fencing tokens that went back", "tokens", seen.tokens_back.clone()));
    verdicts.push(Verdict::none("daemon", "did not come, stay or go as told", "times", seen.broken.clone()));
    verdicts
}

fn tell(ended: &Ended, verdicts: &[Verdict], common: Common) -> Result<(), Failure> {
    let comparisons: Vec<_> = verdicts.iter().map(Verdict::comparison).collect();
    let mut account = Account::new(common);
    account.add(comparisons.clone())?;
    if !account.close(&[])? {
        return Ok(());
    }
    report::print_table(&["what", "times"], &tally(ended));
    output::data("");
    let rows: Vec<Vec<String>> = comparisons
        .iter()
        .map(|line| {
            let amount = |value: f64| format!("{} {}", report::thousands(value), line.unit);
            vec![
                line.case.clone(),
                line.peer.clone(),
                amount(line.ours),
                amount(line.theirs),
                line.verdict().to_owned(),
            ]
        })
        .collect();
    report::print_table(&["case", "what", "seen", "at most", ""], &rows);
    report::print_verdict(&comparisons);
    Ok(())
}

/// What happened, in numbers.
fn tally(ended: &Ended) -> Vec<Vec<String>> {
    let Ended { seen, runs, findings, .. } = ended;
    let count = |what: String, times: u64| vec![what, times.to_string()];
    let of = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut faults = BTreeMap::<&str, u64>::new();
    for disturbance in &seen.disturbances {
        *faults.entry(disturbance.fault.name()).or_default() += 1;
    }
    let mut rows: Vec<Vec<String>> =
        faults.into_iter().map(|(fault, times)| count(format!("fault: {fault}"), times)).collect();
    for (book, _) in findings {
        let (written, gone) = book.written_and_gone();
        rows.push(count(format!("{} written", book.part().name()), written));
        rows.push(count(format!("{} gone in time", book.part().name()), gone));
    }
    let mut outcomes = BTreeMap::<&str, u64>::new();
    for run in runs {
        *outcomes.entry(run.outcome.as_deref().unwrap_or("open")).or_default() += 1;
    }
    rows.extend(outcomes.into_iter().map(|(outcome, times)| count(format!("runs: {outcome}"), times)));
    rows.push(count("looks at a whole part".to_owned(), seen.looks));
    rows.push(count("answers of the daemon".to_owned(), seen.answers));
    rows.push(count("troubles of neighbours, with a fault or without".to_owned(), of(seen.troubles.len())));
    rows
}
