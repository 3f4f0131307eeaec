//! A daemon that runs the policies of a configuration, and answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{CancellationToken, Clock};
use bygone_server::http::{self, Address};
use bygone_server::{Daemon, Ledger};
use tokio::task::JoinHandle;

use super::areas::Areas;
use super::estate::Configured;
use super::state::State;
use super::{api, history};
use crate::assembly::LeaseStores;
use crate::config::Config;
use crate::exit::Exit;
use crate::problem::Problem;

/// The longest that pages under way may take when the daemon is to end.
const END_WITHIN: Duration = Duration::from_secs(60);

/// A daemon, from its beginning to its end.
pub(crate) struct Served {
    daemon: Daemon,
    began_with: Arc<Configured>,
    places: String,
    /// The file of the ledger, as a source names it.
    history: String,
    /// Lease stores and staging areas stay open over a change of the configuration.
    stores: Arc<LeaseStores>,
    areas: Arc<Areas>,
    state: State,
    running: JoinHandle<()>,
    answering: JoinHandle<()>,
}

impl Served {
    /// Begins to run policies and to answer: in the places that are named, or else where the configuration says.
    pub(crate) async fn begin(
        config: Config,
        state: Option<&Path>,
        listen: &[Address],
        clock: &Arc<dyn Clock>,
        stop: &CancellationToken,
    ) -> Result<Self, Problem> {
        let state = State::open(state)?;
        let ledger = Ledger::open(&state.ledger(), Arc::clone(clock)).await;
        let ledger = ledger.map_err(|error| Problem::failed(error.to_string()))?;
        let (serve, history) = (config.serve.clone(), history::file(&state.ledger())?);
        let (stores, areas) = (Arc::new(LeaseStores::new(clock)), Arc::new(Areas::new(clock)));
        let estate = Arc::new(Configured::new(config.with_history(&history), clock, &stores, &areas)?);
        let listeners = api::listen(&serve, listen).await?;
        let places = api::told(&serve, &listeners);
        let began_with = Arc::clone(&estate);
        estate.take_over();
        let daemon = Daemon::new(estate, ledger, Arc::clone(clock), serve.alarms).await;
        let daemon = daemon.map_err(|error| Problem::failed(error.to_string()))?;
        let running = tokio::spawn({
            let (daemon, stop) = (daemon.clone(), stop.clone());
            async move { daemon.run(stop).await }
        });
        let answering = tokio::spawn(http::serve(listeners, daemon.clone(), api::settings(&serve), stop.clone()));
        Ok(Self { daemon, began_with, places, history, stores, areas, state, running, answering })
    }

    /// The daemon.
    pub(crate) fn daemon(&self) -> &Daemon {
        &self.daemon
    }

    /// What it looked after when it began.
    pub(super) fn began_with(&self) -> &Configured {
        &self.began_with
    }

    /// Where it answers, for people.
    pub(crate) fn places(&self) -> &str {
        &self.places
    }

    /// The file of its history.
    pub(super) fn ledger(&self) -> PathBuf {
        self.state.ledger()
    }

    /// What it would look after under another configuration.
    pub(super) fn estate(&self, config: Config, clock: &Arc<dyn Clock>) -> Result<Configured, Problem> {
        Configured::new(config.with_history(&self.history), clock, &self.stores, &self.areas)
    }

    /// Waits until pages under way are committed, once it was told to stop.
    pub(crate) async fn end(self) -> Result<Exit, Problem> {
        let ended = async { tokio::join!(self.running, self.answering) };
        match tokio::time::timeout(END_WITHIN, ended).await {
            Ok(_) => Ok(Exit::Done),
            Err(_) => Err(Problem::failed(format!("pages were still under way after {} s", END_WITHIN.as_secs()))),
        }
    }
}
