//! The staging area: its rules, one by one, and then under races, crashes and attacks.

mod attack;
mod cleaner;
mod conformance;
mod crash;
mod disk_full;
mod holds;
mod inspect;
mod model;
mod opening;
mod quota;
mod race;
mod reconcile;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_core::ManualClock;
use bygone_files::stage::{
    Attachment, AttachmentId, Cleaned, Content, Durability, Put, Stage, StageObserver, StageOptions, Staged,
};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};

/// An area in a directory of its own, with a clock that a test moves.
pub(crate) struct Scene {
    pub(crate) temporary: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) heard: Arc<Heard>,
}

/// Everything that an area told.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) staged: Mutex<Vec<Staged>>,
    pub(crate) cleaned: Mutex<Vec<Cleaned>>,
}

impl Heard {
    pub(crate) fn cleaned_names(&self) -> Vec<String> {
        self.cleaned.lock().unwrap().iter().map(|cleaned| cleaned.name.to_string()).collect()
    }
}

impl StageObserver for Heard {
    fn staged(&self, staged: &Staged) {
        self.staged.lock().unwrap().push(staged.clone());
    }

    fn cleaned(&self, cleaned: &Cleaned) {
        self.cleaned.lock().unwrap().push(cleaned.clone());
    }
}

/// When every scene begins: the time of the machine, so that the ages of its files mean something; to the second, so that
/// a test can stand on a deadline.
fn beginning() -> Timestamp {
    use bygone_core::{Clock, SystemClock};
    Timestamp::from_second(SystemClock::new().now().as_second()).unwrap()
}

impl Scene {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(beginning()));
        Self { temporary: tempfile::tempdir().unwrap(), clock, heard: Arc::default() }
    }

    /// Where a file system in memory is at hand, a race runs there: more of it happens in the same time.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let temporary = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self { temporary: temporary.unwrap(), ..Self::new() }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.temporary.path().join("area")
    }

    pub(crate) fn options(&self) -> StageOptions {
        let clock: Arc<dyn bygone_core::Clock> = Arc::<ManualClock>::clone(&self.clock);
        StageOptions {
            clock,
            observer: Arc::<Heard>::clone(&self.heard),
            durability: Durability::Relaxed,
            ..StageOptions::default()
        }
    }

    pub(crate) fn open(&self) -> Stage {
        Stage::open(self.dir(), self.options()).unwrap()
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.clock.advance(time);
    }

    pub(crate) fn recount(&self) -> Recount {
        recount(&self.dir())
    }
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Stages a text for so many seconds.
pub(crate) fn put(stage: &Stage, text: &str, ttl: u64) -> Attachment {
    stage.put(Content::reader(text.as_bytes()), &Put::named(format!("{text}.txt")).ttl(secs(ttl))).unwrap()
}

pub(crate) fn put_persistent(stage: &Stage, text: &str) -> Attachment {
    stage.put(Content::reader(text.as_bytes()), &Put::named(format!("{text}.txt")).persistent()).unwrap()
}

pub(crate) fn id_of(content: &[u8]) -> AttachmentId {
    AttachmentId::from_bytes(Sha256::digest(content).into())
}

/// What is really there, by queries and walks that share no code with the area.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recount {
    /// Names of the entries, with their deadlines.
    pub(crate) entries: BTreeMap<String, Option<i64>>,
    /// Paths of the files below the area, without bygone's own.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) temporaries: usize,
}

pub(crate) fn database(dir: &Path) -> Connection {
    let path = dir.join(".bygone/manifest.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
}

/// Recounts an area, and holds its totals against the rows and the rows against the files.
pub(crate) fn recount(dir: &Path) -> Recount {
    let db = database(dir);
    let totals = |sql: &str| -> (i64, i64, i64, i64) {
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap()
    };
    let kept = totals("SELECT persistent_count, persistent_bytes, expirable_count, expirable_bytes FROM totals");
    let counted = totals(
        "SELECT coalesce(sum(persist), 0), coalesce(sum(persist * size), 0), coalesce(sum(1 - persist), 0), \
         coalesce(sum((1 - persist) * size), 0) FROM entries",
    );
    assert_eq!(kept, counted, "the totals are those of the rows");
    let lasting = |sql: &str| -> (i64, i64) { db.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap() };
    assert_eq!(
        lasting("SELECT lasting_count, lasting_bytes FROM totals"),
        lasting("SELECT count(*), coalesce(sum(size), 0) FROM entries WHERE persist = 0 AND deadline IS NULL"),
    );
    let mut rows = db.prepare("SELECT name, deadline FROM entries").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let temporaries = std::fs::read_dir(dir.join(".bygone/tmp")).unwrap().count();
    Recount { entries: rows.map(Result::unwrap).collect(), files: files_below(dir), temporaries }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for directory in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if directory.file_name() == ".bygone" || !directory.file_type().unwrap().is_dir() {
            continue;
        }
        let inside: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(!inside.is_empty(), "an empty directory leaks: {}", directory.path().display());
        files.extend(inside);
    }
    files.sort();
    files
}

/// Every entry has its file, of the right size and hash, and there is no other.
pub(crate) fn assert_whole(dir: &Path) {
    let db = database(dir);
    let mut rows = db.prepare("SELECT lower(hex(id)), name, size FROM entries").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let mut expected = Vec::new();
    for (id, name, size) in rows.map(|row: rusqlite::Result<(String, String, u32)>| row.unwrap()) {
        let path = dir.join(&id).join(name);
        let content = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!((content.len(), id_of(&content).to_string()), (usize::try_from(size).unwrap(), id));
        expected.push(path);
    }
    expected.sort();
    assert_eq!(files_below(dir), expected, "every file has its entry");
}

/// From `BYGONE_TEST_SEED`, to see again what was seen before; otherwise a new one.
pub(crate) fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let given = std::env::var("BYGONE_TEST_SEED").ok();
    let seed = given.map_or_else(|| RandomState::new().hash_one("seed"), |text| text.parse().expect("a number"));
    println!("BYGONE_TEST_SEED={seed}");
    seed
}
