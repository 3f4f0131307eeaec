//! Files staged, beside the same files copied, hashed and synced from a shell.
//!
//! Both ends are the same: a copy, its SHA-256 written down, and all of it on the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bygone_files::stage::{Attachment, Content, Put, Stage, StageError, StageOptions};

use super::sources::{Sources, checksums, sums};
use crate::failure::Failure;
use crate::files::case::{self, Contender};
use crate::files::ground::Ground;
use crate::files::program::{self, version};
use crate::files::series::Bed;

/// All at once: sources, copies, sums.
const COPY_ALL: &str = r#"cp -r "$1" "$2" && sha256sum "$2"/* > "$3" && sync"#;
/// The same, each file by itself.
const COPY_EACH: &str = r#"mkdir "$2" && for file in "$1"/*; do
  copy="$2/${file##*/}"
  cp "$file" "$copy" && sha256sum "$copy" >> "$3" && sync "$copy" || exit 1
done"#;

/// The copies, or the area, of a turn; and the sums that the shell writes.
const COPIES: &str = "copies";
const SUMS: &str = "sums";

/// Files to be staged, and room for their copies.
pub(crate) struct StageBed<'a> {
    ground: &'a Ground,
    sources: Sources,
    kind: case::Sources,
    bash: PathBuf,
    /// Where the turn that is under way leaves its files: each has a place of its own.
    place: PathBuf,
    turns: u64,
}

impl<'a> StageBed<'a> {
    /// Makes the files.
    pub(crate) fn new(ground: &'a Ground, files: u64, bytes_each: u64, kind: case::Sources) -> Result<Self, Failure> {
        let bash = program::find("bash", "bash")?;
        program::find("sha256sum", "coreutils")?;
        let sources = Sources::make(ground, files, bytes_each, kind)?;
        Ok(Self { ground, sources, kind, bash, place: PathBuf::new(), turns: 0 })
    }

    fn shell(&self, script: &str) -> Result<(), Failure> {
        let mut command = Command::new(&self.bash);
        let (copies, sums) = (self.place.join(COPIES), self.place.join(SUMS));
        command.args(["-c", script, "bash"]).args([self.sources.directory(), &copies, &sums]);
        program::run(&mut command)
    }

    fn put_all(&self) -> Result<(), Failure> {
        let stage = Stage::open(self.place.join(COPIES), StageOptions::default())?;
        let contents = self.sources.files().iter().map(|path| (Content::file(path), Put::default()));
        stage.put_all(contents).try_for_each(is_new)
    }

    fn put(&self) -> Result<(), Failure> {
        let stage = Stage::open(self.place.join(COPIES), StageOptions::default())?;
        let mut files = self.sources.files().iter();
        files.try_for_each(|path| is_new(stage.put(Content::file(path), &Put::default())))
    }
}

fn is_new(answer: Result<Attachment, StageError>) -> Result<(), Failure> {
    if answer?.cached { Err("a file was there already".into()) } else { Ok(()) }
}

impl Bed for StageBed<'_> {
    fn conditions(&self) -> String {
        let sources = match self.kind {
            case::Sources::InMemory => "the sources are in memory",
            case::Sources::OnDisk => "the sources are dropped from memory before each turn",
        };
        format!(
            "{sources}; everything is synced before; an empty area, opened within the time; in the end all is on disk"
        )
    }

    fn versions(&self) -> Result<Vec<String>, Failure> {
        Ok(vec![version("cp")?])
    }

    fn begin_round(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn prepare(&mut self, _: Contender) -> Result<(), Failure> {
        self.turns += 1;
        self.place = self.ground.path(&format!("turn-{}", self.turns));
        fs::create_dir(&self.place)?;
        self.ground.come_to_rest()?;
        self.sources.level()
    }

    fn work(&mut self, contender: Contender) -> Result<Option<String>, Failure> {
        match contender {
            Contender::CopyAll => self.shell(COPY_ALL)?,
            Contender::CopyEach => self.shell(COPY_EACH)?,
            Contender::PutAll => self.put_all()?,
            _ => self.put()?,
        }
        Ok(None)
    }

    fn prove(&mut self, contender: Contender) -> Result<(), Failure> {
        let (expected, copies) = (self.sources.checksums(), self.place.join(COPIES));
        if contender.is_ours() {
            expect("the area's names", &staged(&copies)?, expected)?;
        } else {
            expect("the sums", &sums(&fs::read_to_string(self.place.join(SUMS))?), expected)?;
            expect("the copies", &checksums(&copies)?, expected)?;
        }
        // A few large files free next to no inodes, but much room that the next turn needs.
        match self.kind {
            case::Sources::InMemory => Ok(()),
            case::Sources::OnDisk => Ok(fs::remove_dir_all(&self.place)?),
        }
    }

    fn end_round(&mut self, _: bool) -> Result<(), Failure> {
        Ok(())
    }
}

/// The checksums in an area, by the names of its directories and again by what is in them; both must agree.
fn staged(area: &Path) -> Result<BTreeSet<String>, Failure> {
    let own = area.join(".bygone");
    // The area's own files are no attachments: out of the way before all of it is hashed.
    fs::remove_dir_all(&own)?;
    let names = fs::read_dir(area)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<Result<BTreeSet<String>, std::io::Error>>()?;
    expect("what is in the area", &checksums(area)?, &names)?;
    Ok(names)
}

fn expect(what: &str, found: &BTreeSet<String>, expected: &BTreeSet<String>) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    let missing = expected.difference(found).count();
    Err(format!("{what}: {} checksums, of which {missing} of {} are missing", found.len(), expected.len()).into())
}
