//! The living demo: a daemon with its console, and a world in which things appear and expire.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{CancellationToken, Clock, format_instant};
use bygone_server::http::Address;
use bygone_server::{Happening, What};
use tokio::sync::broadcast;

use super::auth_server::AuthServer;
use super::broken;
use super::files::Files;
use super::leases::Leases;
use crate::config::Config;
use crate::output;
use crate::problem::Problem;
use crate::serve::Served;

/// How often something appears.
const BEAT: Duration = Duration::from_secs(2);
/// Any port that is free.
const ANYWHERE: &str = "127.0.0.1:0";

/// Whoever makes what expires.
pub(super) struct Living<'a> {
    pub(super) server: &'a AuthServer,
    pub(super) files: &'a Files,
    pub(super) leases: &'a Leases,
}

/// Lets things appear and expire under a daemon, until somebody stops it.
pub(super) async fn run(
    all: &Living<'_>,
    config: Config,
    place: &Path,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Result<(), Problem> {
    let listen: Vec<Address> = ANYWHERE.parse().into_iter().collect();
    let served = Served::begin(config, Some(&place.join("state")), &listen, clock, &cancel).await?;
    output::talk(format!(
        "\nNow a daemon sweeps (bygone serve), while tokens, uploads, staged files and leases appear and expire.\n\
         The console: {}/\nCtrl-C ends it.\n",
        served.places()
    ));
    let lived = tokio::select! {
        lived = live(all, clock) => lived,
        () = tell(&served, served.daemon().watch()) => Ok(()),
        () = cancel.cancelled() => Ok(()),
    };
    // Whatever ended it: the daemon ends first, and then its directory goes.
    cancel.cancel();
    served.end().await?;
    lived
}

/// A little of everything, again and again. Does not end.
async fn live(all: &Living<'_>, clock: &Arc<dyn Clock>) -> Result<(), Problem> {
    let workers = all.leases.workers().await.map_err(|error| broken(&error))?;
    for beat in 0_u32.. {
        let now = clock.now();
        all.server.issue(now).map_err(|error| broken(&error))?;
        all.files.arrive(now, beat).map_err(|error| broken(&error))?;
        workers.forget(beat).await.map_err(|error| broken(&error))?;
        clock.sleep(BEAT).await;
    }
    Ok(())
}

/// Tells of sweeps that did something. Does not end.
async fn tell(served: &Served, mut watched: broadcast::Receiver<Happening>) {
    loop {
        let sweep = match watched.recv().await {
            Ok(Happening { sweep, what: What::SweepEnded { .. }, .. }) => sweep,
            // Who misses something misses a line.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        };
        let ledger = served.daemon().ledger();
        let (Ok(Some(past)), Ok(runs)) = (ledger.sweep(sweep).await, ledger.runs(sweep).await) else { continue };
        for run in runs.iter().filter(|run| run.removed + run.cleared > 0) {
            let (done, outcome) =
                (output::grouped(run.removed + run.cleared), run.outcome.as_deref().unwrap_or_default());
            output::data(format!("{}  {}: {done} removed: {outcome}", format_instant(past.began), run.policy));
        }
    }
}
