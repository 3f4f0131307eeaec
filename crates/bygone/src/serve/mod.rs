//! `bygone serve`: the daemon.

mod api;
mod estate;
mod state;
mod systemd;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{CancellationToken, Clock};
use bygone_server::{AlarmRules, Daemon, Ledger, http};
use tokio::signal::unix::{SignalKind, signal};

use self::estate::Configured;
use self::state::State;
use crate::cli::{self, Global};
use crate::config::{self, Config, ProcessEnv};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// How often the file is looked at for changes.
const LOOK_AT_FILE: Duration = Duration::from_secs(2);
/// What is said where the file cannot be used.
const STAYS: &str = "the configuration cannot be used as it is: the one before stays in force";
/// The longest that pages under way may take when the daemon is to end.
const END_WITHIN: Duration = Duration::from_secs(60);

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Serve,
    config: Config,
    clock: &Arc<dyn Clock>,
    stop: CancellationToken,
) -> Result<Exit, Problem> {
    if global.now.is_some() {
        return Err(Problem::usage("a daemon has no `--now`: it goes by the clock", "leave it out"));
    }
    let state = State::open(flags.state.as_deref())?;
    let ledger = Ledger::open(&state.ledger(), Arc::clone(clock)).await;
    let ledger = ledger.map_err(|error| Problem::failed(error.to_string()))?;
    let serve = config.serve.clone();
    let estate = Arc::new(Configured::new(config, clock)?);
    let listeners = api::listen(&serve, &flags.listen).await?;
    announce(&estate, &state, &api::told(&serve, &listeners));
    let status = estate.status();
    let daemon = Daemon::new(estate, ledger, Arc::clone(clock), AlarmRules::default()).await;
    let daemon = daemon.map_err(|error| Problem::failed(error.to_string()))?;
    let mut running = tokio::spawn({
        let (daemon, stop) = (daemon.clone(), stop.clone());
        async move { daemon.run(stop).await }
    });
    let answering = tokio::spawn(http::serve(listeners, daemon.clone(), api::settings(&serve), stop.clone()));
    systemd::ready(&status);
    tokio::select! {
        watched = watch(global, &daemon, clock) => watched?,
        () = systemd::keep_alive(&daemon, &**clock) => {}
        () = stop.cancelled() => {}
    }
    systemd::stopping();
    let ended = async { tokio::join!(&mut running, answering) };
    match tokio::time::timeout(END_WITHIN, ended).await {
        Ok(_) => Ok(Exit::Done),
        Err(_) => Err(Problem::failed(format!("pages were still under way after {} s", END_WITHIN.as_secs()))),
    }
}

fn announce(estate: &Configured, state: &State, places: &str) {
    output::talk(format!("serving: {}; the history is in {}", estate.status(), state.ledger().display()));
    if !places.is_empty() {
        output::talk(format!("answering on {places}"));
    }
    let idle = estate.idle();
    if !idle.is_empty() {
        output::talk(format!("without a `schedule` or `every`, and so never run by themselves: {}", idle.join(", ")));
    }
}

/// Takes over what the file says when it has changed, or when SIGHUP says that it has. Does not end.
async fn watch(global: &Global, daemon: &Daemon, clock: &Arc<dyn Clock>) -> Result<(), Problem> {
    let deaf = |error: std::io::Error| Problem::failed(format!("cannot listen to signals: {error}"));
    let mut hangup = signal(SignalKind::hangup()).map_err(deaf)?;
    let mut seen = std::fs::read(&global.config).ok();
    loop {
        let is_told = tokio::select! {
            _ = hangup.recv() => true,
            () = clock.sleep(LOOK_AT_FILE) => false,
        };
        let now = std::fs::read(&global.config).ok();
        // A file that is being replaced may be missing for a moment.
        if is_told || (now.is_some() && now != seen) {
            seen = now;
            reload(global, daemon, clock);
        }
    }
}

/// What is wrong with a new file is told, and the old one stands.
fn reload(global: &Global, daemon: &Daemon, clock: &Arc<dyn Clock>) {
    systemd::reloading();
    let status = match config::load(&global.config, &ProcessEnv) {
        Ok(config) => match Configured::new(config, clock) {
            Ok(estate) => {
                let status = estate.status();
                daemon.replace(Arc::new(estate));
                output::talk(format!("the configuration was read anew: {status}"));
                status
            }
            Err(problem) => {
                problem.show();
                STAYS.to_owned()
            }
        },
        Err(error) => {
            crate::show(error);
            output::talk(STAYS);
            STAYS.to_owned()
        }
    };
    systemd::ready(&status);
}
