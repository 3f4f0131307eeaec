//! An estate of one source, `jobs`: a lease store in a directory.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Boundary, Clock, ErrorKind, SystemClock, TargetError, Turn};
use bygone_lease::storage::Disk;
use bygone_lease::{LeaseStore, Options, SystemChance};
use bygone_server::{Absent, Bound, Estate, NoLeases, PolicyCard};
use tempfile::TempDir;
use tokio::sync::OnceCell;

#[derive(Debug)]
pub(crate) struct Jobs {
    directory: TempDir,
    clock: Arc<dyn Clock>,
    options: Options,
    store: OnceCell<LeaseStore>,
}

impl Jobs {
    pub(crate) fn new() -> Self {
        Self::by(Arc::new(SystemClock::new()))
    }

    pub(crate) fn by(clock: Arc<dyn Clock>) -> Self {
        // What other processes granted ends for us when it ends: there are none here.
        let (options, store) = (Options::default(), OnceCell::new());
        Self { directory: tempfile::tempdir().unwrap(), clock, options, store }
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join("store")
    }
}

#[async_trait]
impl Estate for Jobs {
    fn policies(&self) -> &[PolicyCard] {
        &[]
    }

    async fn take_turn(&self, _: &str) -> Result<Option<Arc<dyn Turn>>, TargetError> {
        Ok(None)
    }

    async fn bind(&self, _: &str, _: &[String]) -> Bound {
        Bound { boundary: Boundary::at(self.clock.now()), jobs: Vec::new() }
    }

    async fn plan(&self, _: &str) -> Result<serde_json::Value, TargetError> {
        Err(TargetError::new(ErrorKind::Failed, "there are no policies"))
    }

    fn has_leases(&self, source: &str) -> bool {
        source == "jobs" || source == "fallen"
    }

    async fn leases(&self, source: &str, absent: Absent) -> Result<LeaseStore, NoLeases> {
        match source {
            "jobs" => {}
            "fallen" => {
                let error = TargetError::new(ErrorKind::Unreachable, "the store has fallen down").with_help("lift it");
                return Err(NoLeases::Failed(error));
            }
            _ => return Err(NoLeases::NoSuchSource),
        }
        if absent == Absent::Refuse && !Disk::is_in(&self.place()) {
            return Err(NoLeases::NotMade);
        }
        let open = || {
            let (clock, chance) = (Arc::clone(&self.clock), Arc::new(SystemChance));
            LeaseStore::open_by(Disk::open(&self.place()).unwrap(), self.options.clone(), clock, chance)
        };
        Ok(self.store.get_or_try_init(open).await.unwrap().clone())
    }
}
