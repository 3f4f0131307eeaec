//! The demo's files: a directory of uploads and a staging area, with files on every side of every boundary.
//!
//! Each file's name says what it is, so that the survivors can be counted by a look at the directories alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bygone_core::ManualClock;
use bygone_files::stage::{Content, Durability, Put, Stage, StageError, StageOptions, Ttl};
use jiff::{SignedDuration, Timestamp};

use super::EVERY;
use crate::output::grouped;

/// How long uploads stay.
const KEEP: SignedDuration = SignedDuration::from_hours(5 * 24);
/// How long ago the files of the area were staged.
const STAGED_AGO: Duration = Duration::from_secs(3_600);
/// What can be said of a file, in the order of the table of survivors, and how many of a hundred are so.
const FATES: [(&str, u32); 5] = [("living", 20), ("kept", 15), ("boundary", 5), ("persistent", 10), ("bygone", 50)];
/// Files of each directory.
const FILES: u32 = 200;
/// New files of each directory, again and again.
const ARRIVING: u32 = 5;

/// The directories.
pub(super) struct Files {
    uploads: PathBuf,
    area: PathBuf,
}

impl Files {
    /// Makes both, around `boundary`.
    pub(super) fn create(directory: &Path, boundary: Timestamp) -> io::Result<Self> {
        let files = Self { uploads: directory.join("uploads"), area: directory.join("staged") };
        files.upload(boundary)?;
        files.stage(boundary).map_err(io::Error::other)?;
        Ok(files)
    }

    /// An upload's deadline is the time of its last change.
    fn upload(&self, boundary: Timestamp) -> io::Result<()> {
        let cutoff = boundary - KEEP;
        for (n, fate) in fates().filter(|(_, fate)| *fate != "persistent") {
            let step = SignedDuration::from_mins(1 + i64::from(n));
            let written = match fate {
                "bygone" => cutoff - step,
                "boundary" => cutoff,
                "kept" => cutoff + step,
                _ => boundary - SignedDuration::from_secs(1),
            };
            let directory = self.uploads.join(format!("user-{}", n % 7));
            fs::create_dir_all(&directory)?;
            let path = directory.join(format!("{fate}-{n}.jpg"));
            fs::write(&path, vec![b'.'; 2_000])?;
            fs::File::open(&path)?.set_modified(SystemTime::from(written))?;
        }
        Ok(())
    }

    /// An attachment's deadline is the end of its lifetime, counted from when it was staged.
    fn stage(&self, boundary: Timestamp) -> Result<(), StageError> {
        let staged = boundary.checked_sub(STAGED_AGO).unwrap_or(boundary);
        let options = StageOptions {
            clock: Arc::new(ManualClock::at(staged)),
            durability: Durability::Relaxed,
            ..StageOptions::default()
        };
        let stage = Stage::open(&self.area, options)?;
        let puts = fates().filter(|(_, fate)| *fate != "kept").map(|(n, fate)| {
            let ttl = match fate {
                "bygone" => STAGED_AGO / 2,
                "boundary" => STAGED_AGO,
                _ => STAGED_AGO * 24,
            };
            let put = Put::named(format!("{fate}-{n}.pdf")).ttl(Ttl::For(ttl));
            let content = Content::reader(io::Cursor::new(format!("attachment {n}\n").repeat(100)));
            (content, if fate == "persistent" { put.persistent() } else { put })
        });
        stage.put_all(puts).try_for_each(|staged| staged.map(drop))
    }

    /// A few more of each, whose time is up in a moment.
    pub(super) fn arrive(&self, now: Timestamp, beat: u32) -> io::Result<()> {
        let directory = self.uploads.join("live");
        fs::create_dir_all(&directory)?;
        for n in 0..ARRIVING {
            let path = directory.join(format!("{beat}-{n}.jpg"));
            fs::write(&path, vec![b'.'; 2_000])?;
            let soon = SignedDuration::from_secs(1 + i64::from(n));
            fs::File::open(&path)?.set_modified(SystemTime::from(now - KEEP + soon))?;
        }
        let options = StageOptions { durability: Durability::Relaxed, ..StageOptions::default() };
        let stage = Stage::open(&self.area, options).map_err(io::Error::other)?;
        let puts = (0..ARRIVING).map(|n| {
            let put = Put::named(format!("live-{beat}-{n}.pdf")).ttl(Ttl::For(Duration::from_secs(1 + u64::from(n))));
            (Content::reader(io::Cursor::new(format!("attachment {beat}/{n}\n").repeat(100))), put)
        });
        stage.put_all(puts).try_for_each(|staged| staged.map(drop)).map_err(io::Error::other)
    }

    /// Their part of the demo's `bygone.toml`.
    pub(super) fn config_text(&self) -> String {
        format!(
            "\n[source.uploads]\nurl = \"file:{}\"\n\n[[policy]]\nname     = \"old-uploads\"\nsource   = \"uploads\"\n\
             kind     = \"tree\"\nkeep     = \"5d\"\n{EVERY}\n[source.staged]\nurl = \"file:{}\"\n\n[[policy]]\n\
             name     = \"staged-files\"\nsource   = \"staged\"\nkind     = \"stage\"\n{EVERY}",
            self.uploads.display(),
            self.area.display()
        )
    }

    /// Rows for the table of survivors: what is left of each directory, by what the names say.
    pub(super) fn survivors(&self) -> io::Result<Vec<Vec<String>>> {
        [("uploads/", &self.uploads), ("staged/", &self.area)].map(|(name, root)| row(name, root)).into_iter().collect()
    }
}

fn row(name: &str, root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for directory in fs::read_dir(root)? {
        let directory = directory?;
        // The manifest's own directory is none of the files'.
        if directory.file_name() != ".bygone" {
            for file in fs::read_dir(directory.path())? {
                names.push(file?.file_name().to_string_lossy().into_owned());
            }
        }
    }
    let count = |fate: &str| names.iter().filter(|name| name.starts_with(fate)).count();
    let counts = std::iter::once(names.len()).chain(FATES.iter().map(|(fate, _)| count(fate)));
    let counts = counts.map(|count| grouped(u64::try_from(count).unwrap_or(u64::MAX)));
    Ok(std::iter::once(name.to_owned()).chain(counts).collect())
}

/// Numbers with what becomes of them.
fn fates() -> impl Iterator<Item = (u32, &'static str)> {
    (0..FILES).map(|n| {
        let mut place = n % 100;
        let fate = FATES.iter().find(|(_, share)| {
            let found = place < *share;
            place = place.saturating_sub(*share);
            found
        });
        (n, fate.map_or("living", |(fate, _)| *fate))
    })
}
