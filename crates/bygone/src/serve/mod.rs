//! `bygone serve`: the daemon.

mod api;
mod areas;
mod estate;
mod history;
mod inspect;
mod restart;
mod served;
pub(crate) mod state;
mod systemd;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{CancellationToken, Clock};
use bygone_server::Daemon;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use self::estate::times_of;
pub(crate) use self::served::Served;
use crate::cli::{self, Global};
use crate::config::{self, Config, ProcessEnv, Serve};
use crate::exit::Exit;
use crate::output;
use crate::problem::{self, Problem};

/// How often the file is looked at for changes.
const LOOK_AT_FILE: Duration = Duration::from_secs(2);
/// What is said where the file cannot be used.
const STAYS: &str = "the configuration cannot be used as it is: the one before stays in force";

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
    let started = config.serve.clone();
    let served = Served::begin(config, flags.state.as_deref(), &flags.listen, clock, &stop).await?;
    announce(&served);
    systemd::ready(&served.began_with().status());
    tokio::select! {
        watched = watch(global, flags, &started, &served, clock) => watched?,
        () = systemd::keep_alive(served.daemon(), &**clock) => {}
        () = stop.cancelled() => {}
    }
    systemd::stopping();
    served.end().await
}

fn announce(served: &Served) {
    let (estate, places) = (served.began_with(), served.places());
    output::talk(format!("serving: {}; the history is in {}", estate.status(), served.ledger().display()));
    if !places.is_empty() {
        output::talk(format!("answering on {places}"));
    }
    let idle = estate.idle();
    if !idle.is_empty() {
        output::talk(format!("without a `schedule` or `every`, and so never run by themselves: {}", idle.join(", ")));
    }
}

/// Takes over what the file says when it has changed, or when SIGHUP says that it has. Does not end.
async fn watch(
    global: &Global,
    flags: &cli::Serve,
    started: &Serve,
    served: &Served,
    clock: &Arc<dyn Clock>,
) -> Result<(), Problem> {
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
            let status = match take_over(global, served, clock) {
                Ok((status, serve)) => {
                    output::talk(format!("the configuration was read anew: {status}"));
                    tell_restart(served.daemon(), restart::keys_awaiting(started, &serve, !flags.listen.is_empty()));
                    status
                }
                Err(diagnostic) => {
                    served.daemon().reject(diagnostic);
                    STAYS.to_owned()
                }
            };
            systemd::ready(&status);
        }
    }
}

/// Goes on with what the file says now. What is wrong with it is told, as the log has it, and the old one stands.
fn take_over(global: &Global, served: &Served, clock: &Arc<dyn Clock>) -> Result<(String, Serve), String> {
    systemd::reloading();
    let config = config::load(&global.config, &ProcessEnv).map_err(|error| {
        let diagnostic = problem::plain(&error);
        crate::show(error);
        output::talk(STAYS);
        diagnostic
    })?;
    let serve = config.serve.clone();
    let estate = served.estate(config, clock).map_err(|problem| {
        let diagnostic = problem::plain(&problem);
        problem.show();
        diagnostic
    })?;
    let status = estate.status();
    estate.take_over();
    served.daemon().replace(Arc::new(estate));
    Ok((status, serve))
}

/// Whoever changed `[serve]` is told that nothing has come of it yet.
fn tell_restart(daemon: &Daemon, keys: Vec<&'static str>) {
    if !keys.is_empty() {
        output::talk(format!(
            "`[serve]` says something else than when the daemon was started: {}; restart it",
            keys.join(", ")
        ));
    }
    daemon.await_restart(keys);
}
