//! The simulation of leases, played for longer than the tests have time for.
//!
//! There is no peer here, and no bar but one: every promise is kept, in as many operations as were asked for. The figure is
//! how many operations of the simulation a second of real time has.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_lease_sim::{Report, Settings, play_while};
use clap::Args;

use crate::account::Account;
use crate::failure::Failure;
use crate::report::Comparison;
use crate::stopwatch::{Stopwatch, rate};
use crate::{Common, output, report};

const BENCH: &str = "sim";
const OPERATIONS: u64 = 10_000_000;
const OPERATIONS_QUICK: u64 = 200_000;

/// Which run of the simulation.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Operations that are answered before everything is settled; by default ten million.
    #[arg(long, value_name = "N")]
    operations: Option<u64>,
    /// What decides everything. The same seed plays the same way again.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Operations whose answers kept every promise, beside those that were asked for; and the time that passed in them, beside
/// the time that it took.
fn comparisons(settings: Settings, report: &Report, time: Duration) -> Vec<Comparison> {
    let case = format!("seed {}", settings.seed);
    let operations = (float(report.operations), float(settings.operations));
    let seconds = (report.simulated.as_secs_f64(), time.as_secs_f64());
    vec![
        Comparison::of_rates(BENCH, &case, "asked for, every promise kept", "operations", operations, Some(1.0)),
        Comparison::of_rates(BENCH, &case, "real time", "s", seconds, None),
    ]
}

/// Plays the simulation and prints how it went. Ctrl-C ends it between two steps, with the report so far.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let default = if common.quick { OPERATIONS_QUICK } else { OPERATIONS };
    let settings = Settings { seed: options.seed, operations: options.operations.unwrap_or(default) };
    let (done, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (tells, asks) = (Arc::clone(&done), Arc::clone(&stop));
    let watch = Stopwatch::start();
    let mut played = tokio::task::spawn_blocking(move || {
        play_while(settings, |operations| {
            tells.store(operations, Ordering::Relaxed);
            if asks.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    let clock = SystemClock::new();
    let is_watched = std::io::stderr().is_terminal();
    let ended = loop {
        tokio::select! {
            ended = &mut played => break ended?,
            heard = tokio::signal::ctrl_c() => {
                heard?;
                stop.store(true, Ordering::Relaxed);
            }
            () = clock.sleep(Duration::from_secs(2)) => {
                if is_watched {
                    let done = done.load(Ordering::Relaxed);
                    output::talk(&format!("{} of {} operations", grouped(done), grouped(settings.operations)));
                }
            }
        }
    };
    let time = watch.time();
    let report = ended?;
    let operations_per_second = rate(report.operations, time).round();
    let mut account = Account::new(common);
    account.add(comparisons(settings, &report, time))?;
    if !account.close(&[])? {
        return Ok(());
    }
    print(&report);
    let ending = if report.is_stopped { "Stopped: no promise was broken so far." } else { "Every promise was kept." };
    output::data(&format!(
        "\n{ending} {} operations in {:.1} s, {} a second; trace {:016x}.",
        grouped(report.operations),
        time.as_secs_f64(),
        report::thousands(operations_per_second),
        report.trace
    ));
    Ok(())
}

fn print(report: &Report) {
    let row = |what: &str, count: u64| vec![what.to_owned(), grouped(count)];
    let mut rows = vec![
        row("requests to the store", report.requests),
        row("hours simulated", report.simulated.as_secs() / 3_600),
        row("answers held against one order of calls", report.linearized),
    ];
    rows.extend(report.faults.iter().map(|(fault, count)| row(&format!("fault: {fault}"), *count)));
    let mut operations = BTreeMap::<&str, u64>::new();
    for (answer, count) in &report.answers {
        *operations.entry(answer.split(": ").next().unwrap_or(answer)).or_default() += count;
    }
    rows.extend(operations.into_iter().map(|(name, count)| row(name, count)));
    report::print_table(&["what", "times"], &rows);
}

fn grouped(count: u64) -> String {
    report::thousands(float(count))
}

#[expect(clippy::cast_precision_loss, reason = "a count to be read by people")]
fn float(count: u64) -> f64 {
    count as f64
}
