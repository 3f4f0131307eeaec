//! Staged files, some of which are staged again before their time, by a process of its own beside the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Cursor, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bygone_files::stage::{Attachment, Content, Put, Stage, StageOptions};
use jiff::SignedDuration;
use tokio::task::block_in_place;

use super::super::book::Promise;
use super::super::site::Site;
use super::{Desk, LONG_LIFE, Looker, Writer};
use crate::failure::Failure;

const STAGED: i64 = 3;
const AGAIN: usize = 2;
const NEAR: SignedDuration = SignedDuration::from_secs(2);
/// What bygone keeps for itself in a directory begins so.
const OWN: &str = ".bygone";

pub(super) struct Stager {
    desk: Desk,
    stage: Stage,
    root: PathBuf,
    /// What files hold, by where they lie.
    contents: BTreeMap<String, i64>,
}

impl Stager {
    pub(super) fn new(desk: Desk, site: &Arc<Site>) -> Result<Self, Failure> {
        let root = site.area();
        Ok(Self { desk, stage: Stage::open(&root, StageOptions::default())?, root, contents: BTreeMap::new() })
    }

    fn put(&mut self, number: i64) -> Result<(), Failure> {
        let ttl = if self.desk.chance.one_in(20) { LONG_LIFE } else { self.desk.life() };
        let content = format!("file {number}\n").repeat(200);
        let put = Put::named(format!("file-{number}.txt")).ttl(ttl);
        let staged = self.stage.put(Content::reader(Cursor::new(content)), &put)?;
        let Attachment { path, deadline, cached, .. } = staged;
        let place = path.strip_prefix(&self.root)?.to_string_lossy().into_owned();
        let promise = deadline.map_or(Promise::for_ever(), Promise::until);
        if cached {
            self.desk.book.enter(place.clone(), promise);
        } else {
            self.desk.book.enter_anew(place.clone(), promise);
        }
        self.contents.insert(place, number);
        Ok(())
    }
}

#[async_trait]
impl Writer for Stager {
    async fn write(&mut self) -> Result<(), Failure> {
        block_in_place(|| {
            for number in self.desk.numbers(STAGED) {
                self.put(number)?;
            }
            let now = self.desk.record.now();
            for place in self.desk.book.some(&mut self.desk.chance, AGAIN, now - NEAR, now + NEAR) {
                if let Some(number) = self.contents.remove(&place) {
                    self.put(number)?;
                }
            }
            Ok(())
        })
    }
}

pub(super) struct Reader(PathBuf);

impl Reader {
    pub(super) fn new(site: &Arc<Site>) -> Self {
        Self(site.area())
    }
}

#[async_trait]
impl Looker for Reader {
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure> {
        let Self(root) = self;
        block_in_place(|| files_below(root))
    }
}

/// The files of the directories in a directory, by their paths from there. What goes meanwhile is not there.
pub(super) fn files_below(root: &Path) -> Result<BTreeSet<String>, Failure> {
    let mut files = BTreeSet::new();
    for directory in fs::read_dir(root)? {
        let name = directory?.file_name().to_string_lossy().into_owned();
        if name.starts_with(OWN) {
            continue;
        }
        let inside = match fs::read_dir(root.join(&name)) {
            Ok(inside) => inside,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        for file in inside {
            files.insert(format!("{name}/{}", file?.file_name().to_string_lossy()));
        }
    }
    Ok(files)
}
