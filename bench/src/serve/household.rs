//! A daemon that has swept for a while, and has a lease store.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use bygone_core::{CancellationToken, Clock, SystemClock};
use bygone_server::http::{self, Address, Listener, Settings, Tokens};
use bygone_server::{AlarmRules, Daemon, Ledger, What};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::connection::Connection;
use super::estate::Shelves;
use crate::failure::Failure;
use crate::{disk, leases};

/// As many runs of each policy as a daemon has at hand.
const RUNS: usize = 16;

/// A daemon, and where it answers.
pub(super) struct Household {
    daemon: Daemon,
    address: SocketAddr,
    stop: CancellationToken,
    tasks: [JoinHandle<()>; 2],
    _directory: TempDir,
}

impl Household {
    /// Looks after so many policies, and has swept each as often as is remembered.
    pub(super) async fn new(policies: usize) -> Result<Self, Failure> {
        let directory = disk::directory()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let ledger = Ledger::open(&directory.path().join("ledger.db"), Arc::clone(&clock)).await?;
        let store = leases::ours::open(&directory.path().join("leases")).await?;
        let shelves = Arc::new(Shelves::new(policies, store)?);
        let sources = shelves.by_source();
        let daemon = Daemon::new(shelves, ledger, clock, AlarmRules::default()).await?;
        let listener = Listener::bind(&"127.0.0.1:0".parse()?, None, &Tokens::default()).await?;
        let Address::Tcp(address) = listener.address() else { return Err("no port was given".into()) };
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let (daemon, stop) = (daemon.clone(), stop.clone());
            async move { daemon.run(stop).await }
        });
        let answering = tokio::spawn(http::serve(vec![listener], daemon.clone(), Settings::default(), stop.clone()));
        let household = Self { daemon, address, stop, tasks: [running, answering], _directory: directory };
        for _ in 0..RUNS {
            for policies in &sources {
                household.sweep(policies.clone()).await?;
            }
        }
        Ok(household)
    }

    /// Sweeps policies of a source, to the end.
    async fn sweep(&self, policies: Vec<String>) -> Result<(), Failure> {
        while !self.daemon.is_running() {
            tokio::task::yield_now().await;
        }
        let mut watched = self.daemon.watch();
        let sweep = self.daemon.sweep(policies, BTreeMap::new()).await?;
        // Whoever asks is told of the beginning before the end.
        while self.daemon.attend(sweep).is_some() {
            if let Ok(happening) = watched.recv().await
                && happening.sweep == sweep
                && matches!(happening.what, What::SweepEnded { .. })
            {
                break;
            }
        }
        Ok(())
    }

    /// Somebody more who asks.
    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        Connection::to(self.address).await
    }

    /// Ends the daemon.
    pub(super) async fn end(self) {
        self.stop.cancel();
        for task in self.tasks {
            // It was told to end, and has nothing under way.
            let _ = task.await;
        }
    }
}
