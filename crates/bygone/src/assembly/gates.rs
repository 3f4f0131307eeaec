//! What must be quiet for anything of a source to be swept.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, Closed, Gate, Hindrance, Neighbours};
use bygone_lease::LeaseStore;
use bygone_server::Absent;
use bygone_sql::{DatabaseNeighbours, LoadGate, LoadLimits, SourceUrl};

use super::lease_stores::{LeaseSource, LeaseStores};
use super::unsigned;
use crate::config::{Config, Gates, Source};

/// The gates of a source. They are made once for all of its policies: they keep a connection, and remember answers.
pub(crate) fn gates_of(source: &Source, clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Gate>> {
    let mut gates: Vec<Arc<dyn Gate>> = Vec::new();
    let Gates { hold_file, active_sessions, transactions_per_second, replica_lag, replicas, .. } = source.gates.clone();
    if let Some(path) = hold_file {
        gates.push(Arc::new(HoldFile(path)));
    }
    let is_asked = active_sessions.is_some() || transactions_per_second.is_some() || replica_lag.is_some();
    let limits =
        LoadLimits { active_sessions, transactions_per_second, replica_lag: replica_lag.map(unsigned), replicas };
    // A url that cannot be read is told of when it is opened.
    if is_asked && let Ok(url) = SourceUrl::parse(source.url.expose()) {
        gates.push(LoadGate::new(url, limits, Arc::clone(clock)));
    }
    gates
}

/// Who else is at work in a source, where somebody can be asked.
pub(super) fn neighbours_of(source: &Source, clock: &Arc<dyn Clock>) -> Option<Arc<dyn Neighbours>> {
    let url = SourceUrl::parse(source.url.expose()).ok()?;
    Some(DatabaseNeighbours::of(url, Arc::clone(clock))?)
}

/// Closed while a file exists.
#[derive(Debug)]
struct HoldFile(PathBuf);

#[async_trait]
impl Gate for HoldFile {
    async fn closed(&self) -> Option<Closed> {
        let path = self.0.display();
        // A link that leads nowhere was put there by somebody, too.
        let reason = match tokio::fs::symlink_metadata(&self.0).await {
            Ok(_) => format!("held by the file {path}; remove it to go on"),
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => format!("whether the file {path} exists cannot be told: {error}"),
        };
        Some(Closed { by: Hindrance::Held, reason })
    }
}

/// Closed while somebody uses a lease store, and for a while after that.
///
/// It knows what goes through the stores that it is given: the daemon's own. A sweep by hand would only see itself.
#[derive(Debug)]
pub(crate) struct IdleGate {
    stores: Arc<LeaseStores>,
    source: LeaseSource,
    grace: Duration,
}

impl IdleGate {
    /// The gate of a source, if it has one.
    pub(crate) fn of(config: &Config, source: &Source, stores: &Arc<LeaseStores>) -> Option<Self> {
        let grace = source.gates.idle_grace.map(unsigned)?;
        Some(Self { stores: Arc::clone(stores), source: LeaseSource::of(config, &source.name)?, grace })
    }

    /// Opens the store, if it is there: from then on it is known when it was used.
    pub(crate) async fn attend(&self) -> Option<LeaseStore> {
        self.stores.get(&self.source, Absent::Refuse).await.ok()
    }
}

#[async_trait]
impl Gate for IdleGate {
    async fn closed(&self) -> Option<Closed> {
        // Where there is no store to be had, the sweep says why.
        let idle = self.attend().await?.idle();
        let left = self.grace.checked_sub(idle).filter(|left| !left.is_zero())?;
        let (grace, left) = (self.grace, Duration::from_secs(left.as_secs().saturating_add(1)));
        let reason = format!("the store was used less than {grace:?} ago, and is idle in {left:?} at the earliest");
        Some(Closed { by: Hindrance::Activity, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hold_is_whatever_bears_the_name_and_what_cannot_be_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hold");
        let gate = HoldFile(path.clone());
        assert_eq!(gate.closed().await, None);
        std::fs::create_dir(&path).unwrap();
        let reason = format!("held by the file {}; remove it to go on", path.display());
        assert_eq!(gate.closed().await, Some(Closed { by: Hindrance::Held, reason }));
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(gate.closed().await, None);
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(gate.closed().await.is_some());
        assert_eq!(HoldFile(directory.path().join("no/directory")).closed().await, None);
        std::fs::write(directory.path().join("file"), "").unwrap();
        let closed = HoldFile(directory.path().join("file/hold")).closed().await.unwrap();
        assert!(closed.reason.contains("cannot be told"), "{}", closed.reason);
    }
}
