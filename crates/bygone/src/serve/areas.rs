//! The staging areas that the daemon has open: one for each source, also over a reload that leaves its place as it is.
//!
//! The first who asks for an area opens it. To open is to look after what somebody who crashed has left, so it is not done
//! anew for each request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bygone_core::Clock;
use bygone_files::stage::{Metrics, Quota, Reconcile, Stage, StageError, StageOptions};
use bygone_server::Absent;
use tokio::sync::{OnceCell, Semaphore};

/// A scrape waits for so long for the totals of an area.
const TOTALS_TIME: Duration = Duration::from_millis(200);

/// Where the area of a source is, and how much it may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AreaPlace {
    pub(super) directory: PathBuf,
    pub(super) quota: Quota,
}

/// An area that somebody has asked for.
#[derive(Debug)]
struct Opening {
    place: AreaPlace,
    stage: OnceCell<Stage>,
    /// One scrape at a time: a disk that does not answer holds up one thread, and no more with every scrape.
    scrape: Arc<Semaphore>,
}

/// All of them, by their sources.
#[derive(Debug)]
pub(super) struct Areas {
    clock: Arc<dyn Clock>,
    openings: Mutex<BTreeMap<String, Arc<Opening>>>,
}

impl Areas {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), openings: Mutex::default() }
    }

    /// The area of a source, opened where nobody has done so.
    pub(super) async fn get(&self, source: &str, place: &AreaPlace, absent: Absent) -> Result<Stage, StageError> {
        let opening = self.opening(source, place);
        let open = || {
            let (place, clock) = (place.clone(), Arc::clone(&self.clock));
            blocking(move || open(&place, absent, clock))
        };
        opening.stage.get_or_try_init(open).await.cloned()
    }

    /// How much is staged in the area of a source; `None` where it does not answer at once, or is not there.
    pub(super) async fn totals(&self, source: &str, place: &AreaPlace) -> Option<Metrics> {
        let opening = self.opening(source, place);
        let permit = Arc::clone(&opening.scrape).try_acquire_owned().ok()?;
        let (place, stage) = (place.clone(), opening.stage.get().cloned());
        let asked = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            match stage {
                Some(stage) => stage.metrics(),
                // Who only counts need not open it.
                None => Stage::inspect(&place.directory)?.metrics(),
            }
        });
        match tokio::time::timeout(TOTALS_TIME, asked).await {
            Ok(Ok(Ok(metrics))) => Some(metrics),
            Ok(Ok(Err(error))) => {
                tracing::debug!(source, %error, "a staging area cannot be counted");
                None
            }
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Lets go of the areas of sources that have none any more.
    pub(super) fn keep_only(&self, is_served: impl Fn(&str) -> bool) {
        self.openings().retain(|source, _| is_served(source));
    }

    /// What is open of a source. One that is elsewhere by now, or may hold more or less, is opened anew.
    fn opening(&self, source: &str, place: &AreaPlace) -> Arc<Opening> {
        let mut openings = self.openings();
        if let Some(opening) = openings.get(source)
            && opening.place == *place
            && opening.stage.get().is_none_or(Stage::is_in_place)
        {
            return Arc::clone(opening);
        }
        let (stage, scrape) = (OnceCell::new(), Arc::new(Semaphore::new(1)));
        let opening = Arc::new(Opening { place: place.clone(), stage, scrape });
        openings.insert(source.to_owned(), Arc::clone(&opening));
        opening
    }

    fn openings(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Opening>>> {
        self.openings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(
    AreaPlace { directory, quota }: &AreaPlace,
    absent: Absent,
    clock: Arc<dyn Clock>,
) -> Result<Stage, StageError> {
    if absent == Absent::Refuse {
        is_there(directory)?;
    }
    // Only after a crash is everything looked at.
    let options = StageOptions { quota: *quota, reconcile: Reconcile::AfterCrash, clock, ..StageOptions::default() };
    Stage::open(directory, options)
}

fn is_there(directory: &Path) -> Result<(), StageError> {
    match Stage::inspect(directory) {
        Ok(_) => Ok(()),
        // Nobody has made it yet.
        Err(StageError::Open { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(StageError::NoArea(directory.to_owned()))
        }
        Err(error) => Err(error),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StageError> + Send + 'static,
) -> Result<T, StageError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(StageError::Cleanup(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use bygone_core::SystemClock;
    use bygone_files::stage::{Content, Put};

    use super::*;

    fn scene() -> (tempfile::TempDir, Areas, AreaPlace) {
        let directory = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let place = AreaPlace { directory: directory.path().join("area"), quota: Quota::default() };
        (directory, Areas::new(&clock), place)
    }

    fn put(stage: &Stage, text: &str) {
        stage.put(Content::reader(text.as_bytes()), &Put::named("a")).unwrap();
    }

    #[tokio::test]
    async fn an_area_is_made_by_who_puts_something_and_by_nobody_else() {
        let (_directory, areas, place) = scene();
        let refused = areas.get("s", &place, Absent::Refuse).await.unwrap_err();
        assert!(matches!(refused, StageError::NoArea(_)), "{refused}");
        assert_eq!(areas.totals("s", &place).await, None);
        assert!(!place.directory.exists());
        put(&areas.get("s", &place, Absent::Make).await.unwrap(), "a");
        areas.get("s", &place, Absent::Refuse).await.unwrap();
        assert_eq!(areas.totals("s", &place).await.unwrap().total_count, 1);
    }

    /// Each opening has a file of its own among the sessions.
    #[tokio::test]
    async fn it_is_opened_once_until_its_place_changes() {
        let (_directory, areas, place) = scene();
        let sessions = || std::fs::read_dir(place.directory.join(".bygone/sessions")).unwrap().count();
        let first = areas.get("s", &place, Absent::Make).await.unwrap();
        for _ in 0..3 {
            areas.keep_only(|source| source == "s");
            areas.get("s", &place, Absent::Make).await.unwrap();
        }
        assert_eq!(sessions(), 1);
        let less = AreaPlace { quota: Quota { max_count: Some(1), ..Quota::default() }, ..place.clone() };
        areas.get("s", &less, Absent::Make).await.unwrap();
        assert_eq!(sessions(), 2, "the first is still in use");
        drop(first);
        assert_eq!(sessions(), 1);
        areas.keep_only(|_| false);
        assert_eq!(sessions(), 0);
    }

    #[tokio::test]
    async fn one_that_was_moved_away_is_opened_anew() {
        let (directory, areas, place) = scene();
        put(&areas.get("s", &place, Absent::Make).await.unwrap(), "old");
        std::fs::rename(&place.directory, directory.path().join("away")).unwrap();
        assert_eq!(areas.totals("s", &place).await, None);
        put(&areas.get("s", &place, Absent::Make).await.unwrap(), "new");
        assert_eq!(areas.totals("s", &place).await.unwrap().total_bytes, 3);
        assert_eq!(Stage::inspect(directory.path().join("away")).unwrap().metrics().unwrap().total_count, 1);
    }
}
