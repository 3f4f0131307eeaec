//! The `bygone` program: arguments to configuration, configuration to targets, targets to the engine.

mod assembly;
mod check;
mod cli;
mod config;
mod demo;
mod exit;
mod grants;
mod guard;
mod history;
mod index;
mod init;
mod lease;
mod log;
mod meaning;
mod output;
mod packs;
mod plan;
mod problem;
mod queue;
mod remote;
mod serve;
mod signals;
mod stage;
mod status;
mod store;
mod sweep;
mod tokens;
mod txn;

use std::process::ExitCode;
use std::sync::Arc;

use bygone_core::{Clock, SystemClock};
use clap::{CommandFactory, Parser};
use miette::Diagnostic;

use crate::cli::{Cli, Global, Verb};
use crate::config::ProcessEnv;
use crate::exit::Exit;
use crate::log::Log;
use crate::problem::Problem;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Help and version are answers, not mistakes.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            return exit.code().into();
        }
    };
    let _log = Log::start(&cli.verb);
    let exit = run(cli).unwrap_or_else(Problem::show);
    let exit = if output::is_lost() { exit.graver(Exit::Failed) } else { exit };
    exit.code().into()
}

fn run(cli: Cli) -> Result<Exit, Problem> {
    match cli.verb {
        Verb::Packs(flags) => packs::verb::run(cli.global.format, &flags)?,
        Verb::Schema => output::data(format!("{:#}", config::json_schema())),
        Verb::Tokens(flags) => tokens::run(cli.global.format, flags)?,
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "bygone", &mut script);
            output::data(String::from_utf8_lossy(&script));
        }
        Verb::Man => output::data(manual()?),
        verb => return runtime()?.block_on(run_async(&cli.global, verb)),
    }
    Ok(Exit::Done)
}

/// The page of the program, and behind it those of its verbs, which it refers to.
fn manual() -> Result<String, Problem> {
    let mut program = Cli::command();
    program.build();
    let mut pages = Vec::new();
    let verbs = program.get_subcommands().flat_map(|verb| std::iter::once(verb).chain(verb.get_subcommands()));
    for command in std::iter::once(&program).chain(verbs) {
        clap_mangen::Man::new(command.clone())
            .source(concat!("bygone ", env!("CARGO_PKG_VERSION")))
            .render(&mut pages)
            .map_err(|error| Problem::failed(format!("cannot write the manual page: {error}")))?;
    }
    Ok(String::from_utf8_lossy(&pages).into_owned())
}

fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Problem::failed(format!("cannot start: {error}")))
}

async fn run_async(global: &Global, verb: Verb) -> Result<Exit, Problem> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    // Steps of a store have no pages to wait for: a signal ends them as it ends any program.
    match &verb {
        Verb::Lease(flags) => return Box::pin(lease::run(global, flags, &clock)).await,
        Verb::Queue(flags) => return Box::pin(queue::run(global, flags, &clock)).await,
        Verb::Txn(flags) => return Box::pin(txn::run(global, flags, &clock)).await,
        _ => {}
    }
    let cancel =
        signals::cancellation().map_err(|error| Problem::failed(format!("cannot listen to signals: {error}")))?;
    match &verb {
        Verb::Demo(flags) => return demo::run(flags, &clock, cancel).await,
        Verb::Init(flags) => {
            return signals::unless_cancelled(&cancel, Box::pin(init::run(global, flags, &clock))).await;
        }
        Verb::Stage(flags) => return stage::run(global, flags, &clock, cancel).await,
        Verb::History(flags) => {
            return signals::unless_cancelled(&cancel, history::run(global, flags, &clock)).await;
        }
        Verb::Status(flags @ cli::Status { daemon: Some(daemon), .. }) => {
            return signals::unless_cancelled(&cancel, status::of_daemon(global, flags, daemon, &clock)).await;
        }
        _ => {}
    }
    let config = match config::load(&global.config, &ProcessEnv) {
        Ok(config) => config,
        // A file that only proposes policies is as good as it can be.
        Err(error) if error.is_only_empty() && matches!(verb, Verb::Check) => return check::nothing(global),
        Err(error) => {
            show(error);
            return Ok(Exit::Config);
        }
    };
    match verb {
        Verb::Check => signals::unless_cancelled(&cancel, Box::pin(check::run(global, &config, &clock))).await,
        Verb::Plan(flags) => signals::unless_cancelled(&cancel, plan::run(global, &flags, &config, &clock)).await,
        Verb::Guard(flags) => {
            signals::unless_cancelled(&cancel, Box::pin(guard::run(global, &flags, &config, &clock))).await
        }
        Verb::Grants(flags) => signals::unless_cancelled(&cancel, grants::run(global, &flags, &config, &clock)).await,
        Verb::Index(flags) => {
            signals::unless_cancelled(&cancel, Box::pin(index::run(global, &flags, &config, &clock))).await
        }
        Verb::Status(flags) => {
            signals::unless_cancelled(&cancel, Box::pin(status::run(global, &flags, &config, &clock))).await
        }
        Verb::Sweep(flags) => sweep::run(global, &flags, &config, &clock, cancel).await,
        Verb::Serve(flags) => Box::pin(serve::run(global, &flags, config, &clock, cancel)).await,
        Verb::Demo(_)
        | Verb::History(_)
        | Verb::Init(_)
        | Verb::Lease(_)
        | Verb::Packs(_)
        | Verb::Queue(_)
        | Verb::Schema
        | Verb::Stage(_)
        | Verb::Tokens(_)
        | Verb::Txn(_)
        | Verb::Completions { .. }
        | Verb::Man => Ok(Exit::Done),
    }
}

fn show(diagnostic: impl Diagnostic + Send + Sync + 'static) {
    output::diagnostic(&miette::Report::new(diagnostic));
}
