//! The same number of due attachments, swept out of a large area and out of a small one.
//!
//! Both areas are made in the same way and reused: before each turn as many new attachments are staged as the last turn
//! removed, with no lifetime at all. Their directories are in memory for that reason, in both areas.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use bygone_files::stage::{Content, Durability, Put, Reconcile, Stage, StageOptions, Ttl};

use crate::failure::Failure;
use crate::files::case::Contender;
use crate::files::engine_run;
use crate::files::ground::Ground;
use crate::files::series::Bed;
use crate::noise::noise;
use crate::output;

/// How many are staged before it is asked whether to go on.
const STEP: u64 = 20_000;

/// Two areas.
pub(crate) struct SweepBed<'a> {
    ground: &'a Ground,
    due: u64,
    many: Staged,
    few: Staged,
}

/// An area, and what is in it.
struct Staged {
    stage: Stage,
    path: PathBuf,
    live: u64,
    /// Contents are numbers that are never used again.
    next: u64,
    due: Vec<PathBuf>,
}

impl<'a> SweepBed<'a> {
    /// Fills both areas with what lives.
    pub(crate) fn new(ground: &'a Ground, due: u64, many: u64, few: u64) -> Result<Self, Failure> {
        let many = Staged::make(ground, "many", many - due)?;
        let few = Staged::make(ground, "few", few - due)?;
        Ok(Self { ground, due, many, few })
    }

    fn of(&mut self, contender: Contender) -> &mut Staged {
        if contender == Contender::AmongMany { &mut self.many } else { &mut self.few }
    }
}

impl Staged {
    /// Without waiting for the disk at first; what is measured afterwards waits for it.
    fn make(ground: &Ground, name: &str, live: u64) -> Result<Self, Failure> {
        output::talk(&format!("staging {live} that live"));
        let path = ground.path(name);
        let relaxed = StageOptions { durability: Durability::Relaxed, ..StageOptions::default() };
        let stage = Stage::open(&path, relaxed)?;
        let mut area = Self { stage, path, live, next: 0, due: Vec::new() };
        let lasting = Put::named("part");
        while area.next < live {
            ground.go_on()?;
            area.put((live - area.next).min(STEP), &lasting)?;
        }
        ground.come_to_rest()?;
        // Opened anew, as it would be used.
        let durable = StageOptions { reconcile: Reconcile::AfterCrash, ..StageOptions::default() };
        let Self { path, next, .. } = area;
        Ok(Self { stage: Stage::open(&path, durable)?, path, live, next, due: Vec::new() })
    }

    fn put(&mut self, count: u64, put: &Put) -> Result<Vec<PathBuf>, Failure> {
        let first = self.next;
        self.next += count;
        let contents = (first..self.next).map(|number| {
            let content = Cursor::new(noise(number).to_le_bytes());
            (Content::reader(content), put.clone())
        });
        self.stage.put_all(contents).map(|answer| Ok(answer?.path)).collect()
    }

    /// Attachments whose time is over a microsecond later.
    fn put_due(&mut self, count: u64) -> Result<(), Failure> {
        self.due = self.put(count, &Put::named("part").ttl(Ttl::For(std::time::Duration::ZERO)))?;
        Ok(())
    }

    /// Exactly those that live are there: by the directory, and by the area's own count.
    fn prove(&mut self) -> Result<(), Failure> {
        let directories = fs::read_dir(&self.path)?.count() as u64 - 1;
        let counted = self.stage.metrics()?.total_count;
        let still_there = self.due.iter().filter(|path| path.exists()).count();
        if (directories, counted, still_there) != (self.live, self.live, 0) {
            return Err(format!(
                "{directories} are there, {counted} counted, {still_there} of them due, and {} live",
                self.live
            )
            .into());
        }
        Ok(())
    }
}

impl Bed for SweepBed<'_> {
    fn conditions(&self) -> String {
        "the due ones are staged right before each turn, in both areas alike, and synced; no other warming; every page is \
         durable"
            .to_owned()
    }

    fn versions(&self) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    fn begin_round(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn prepare(&mut self, contender: Contender) -> Result<(), Failure> {
        let due = self.due;
        self.of(contender).put_due(due)?;
        self.ground.come_to_rest()
    }

    fn work(&mut self, contender: Contender) -> Result<Option<String>, Failure> {
        let due = self.due;
        let target = self.of(contender).stage.target("due", "bench");
        let swept = engine_run::sweep(Box::new(target))?;
        if swept.removed != due {
            return Err(format!("{} were removed, and not {due}", swept.removed).into());
        }
        Ok(Some(swept.phases))
    }

    fn prove(&mut self, contender: Contender) -> Result<(), Failure> {
        self.of(contender).prove()
    }

    fn end_round(&mut self, _: bool) -> Result<(), Failure> {
        Ok(())
    }
}
