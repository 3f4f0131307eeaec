//! Staging one file, or many.
//!
//! The content arrives in a temporary file, without any lock. Then, in one immediate transaction of the manifest, it either
//! turns out to be there already and is refreshed, or moves to its place and is entered. The sweeper deletes files inside
//! such a transaction too, so the two can never interleave: whoever was answered has a file.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::area::Presence;
use super::attachment::{Attachment, Content, Put};
use super::error::StageError;
use super::event::announce_staged;
use super::ingest::{Arrival, Intake};
use super::manifest::{self, Entry};
use super::quota::Shortage;
use super::stage::{Shared, Stage, renew};
use super::ttl::Ttl;

/// How often room is made for one file, when others keep taking it.
const ROOM_TRIES: usize = 16;
/// The most files that are recorded together...
const BATCH_FILES: usize = 1_024;
/// ... and their bytes, beyond which a batch takes no further file.
const BATCH_BYTES: u64 = 64 << 20;
/// Up to so many bytes a batch is made durable once, names and content together, while it has the lock.
const SYNC_ONCE_BYTES: u64 = 8 << 20;

/// What became of an arrival in a transaction.
enum Entered {
    /// It is an attachment.
    Done { entry: Entry, cached: bool },
    /// There is no room for it.
    Short(Shortage),
}

impl Stage {
    /// Stages content: copies it into the area, or finds it there already.
    ///
    /// Staging the same content again starts its lifetime anew, stretches it, never shortens it, makes it persistent where
    /// that is asked for, and mends a file that somebody deleted.
    pub fn put(&self, content: Content<'_>, put: &Put) -> Result<Attachment, StageError> {
        let shared = &*self.shared;
        let mut arrival = Intake::new(shared, true).take(content, put)?;
        shared.settle(&mut arrival, put)
    }

    /// Stages many files: the same as [`put`](Self::put) for each, but made durable and recorded in batches, which is
    /// what many small files need. Nothing happens before the answers are asked for, and then a batch is recorded while
    /// the next one is read; a file that fails fails alone.
    #[must_use = "files are staged as the answers are asked for"]
    pub fn put_all<'a, I>(&self, contents: I) -> PutAll<I::IntoIter>
    where
        I: IntoIterator<Item = (Content<'a>, Put)>,
    {
        let (answers, recording) = (VecDeque::new(), None);
        PutAll { stage: self.clone(), contents: contents.into_iter(), answers, recording, is_over: false }
    }
}

/// The answers of [`Stage::put_all`], in the order of the files.
#[derive(Debug)]
pub struct PutAll<I> {
    stage: Stage,
    contents: I,
    answers: VecDeque<Answer>,
    recording: Option<JoinHandle<Vec<Answer>>>,
    is_over: bool,
}

type Answer = Result<Attachment, StageError>;

impl<I> PutAll<I> {
    /// Records a batch beside us, since to read files and to move them to their places take about as long.
    fn record(&mut self, batch: Vec<Lane>) {
        let shared = Arc::clone(&self.stage.shared);
        self.recording = Some(std::thread::spawn(move || shared.record(batch)));
    }

    /// Waits for the batch that is being recorded, if one is.
    fn recorded(&mut self) -> Option<Vec<Answer>> {
        let recording = self.recording.take()?;
        Some(recording.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl<'a, I: Iterator<Item = (Content<'a>, Put)>> Iterator for PutAll<I> {
    type Item = Result<Attachment, StageError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(answer) = self.answers.pop_front() {
                return Some(answer);
            }
            let batch = if self.is_over { Vec::new() } else { self.stage.shared.take_batch(&mut self.contents) };
            self.is_over = batch.is_empty();
            let recorded = self.recorded();
            if !batch.is_empty() {
                self.record(batch);
            } else if recorded.is_none() {
                return None;
            }
            self.answers = recorded.unwrap_or_default().into();
        }
    }
}

impl<I> Drop for PutAll<I> {
    /// What was read is recorded, whether or not somebody asks for the answers.
    fn drop(&mut self) {
        if let Some(recording) = self.recording.take()
            && recording.join().is_err()
        {
            tracing::warn!("a batch of files was not recorded");
        }
    }
}

/// A file of a batch on its way: still arriving, or answered.
enum Lane {
    Arrived(Box<Arrival>, Put),
    Entered(Box<Arrival>, Entry, bool),
    Answered(Result<Attachment, StageError>),
}

impl Lane {
    fn bytes(&self) -> u64 {
        match self {
            Self::Arrived(arrival, _) | Self::Entered(arrival, ..) => arrival.size,
            Self::Answered(_) => 0,
        }
    }
}

impl Shared {
    /// Enters an arrival that is durable already, making room for it where there is none.
    fn settle(&self, arrival: &mut Arrival, put: &Put) -> Result<Attachment, StageError> {
        let mut tries = 0;
        loop {
            match self.manifest.write(|conn| self.enter(conn, arrival, put, true)) {
                Ok(Entered::Done { entry, cached }) => return Ok(self.answer(&entry, cached)),
                Ok(Entered::Short(shortage)) if tries == ROOM_TRIES => return Err(StageError::Full(shortage)),
                Ok(Entered::Short(_)) => self.make_room(arrival.size)?,
                Err(error) => {
                    self.retract(arrival);
                    return Err(error);
                }
            }
            tries += 1;
        }
    }

    /// Inside a transaction: refreshes what is there, or puts the file in its place and enters it.
    fn enter(&self, conn: &Connection, arrival: &mut Arrival, put: &Put, sync: bool) -> Result<Entered, StageError> {
        let now = self.now();
        let ttl = if put.persist { Ttl::Forever } else { put.ttl.unwrap_or(self.options.default_ttl) };
        if let Some(mut entry) = manifest::find(conn, &arrival.id)? {
            renew(&mut entry, now, ttl, put.persist)?;
            let cached = self.presence(&entry)? == Presence::Whole;
            if !cached {
                if !sync {
                    // The manifest speaks of this file already: it must not have its name before its content.
                    self.area.sync_temporary(arrival.temporary.name())?;
                }
                self.place(arrival, &entry, sync)?;
            }
            manifest::refresh(conn, &entry)?;
            return Ok(Entered::Done { entry, cached });
        }
        if let Some(shortage) = self.shortage(conn, arrival.size)? {
            return Ok(Entered::Short(shortage));
        }
        let entry = Entry {
            seq: 0,
            id: arrival.id,
            name: arrival.name.clone(),
            size: arrival.size,
            inserted_at: now.millis(),
            ttl,
            persist: put.persist,
            deadline: now.deadline(ttl)?,
        };
        self.place(arrival, &entry, sync)?;
        manifest::insert(conn, &entry)?;
        Ok(Entered::Done { entry, cached: false })
    }

    fn place(&self, arrival: &mut Arrival, entry: &Entry, sync: bool) -> Result<(), StageError> {
        self.area.place(arrival.temporary.name(), &entry.id, &entry.name, sync)?;
        arrival.temporary.mark_placed();
        Ok(())
    }

    /// After a transaction that failed: takes a file away again that nothing speaks of. Not without a transaction, since
    /// somebody else may have staged the same content by now.
    fn retract(&self, arrival: &Arrival) {
        let retracted = self.manifest.write(|conn| {
            if !manifest::exists(conn, &arrival.id)?
                && let Err(error) = self.area.discard(&arrival.id, &arrival.name)
            {
                tracing::warn!(checksum = %arrival.id, %error, "a file that was not recorded stays as an orphan");
            }
            Ok(())
        });
        if let Err(error) = retracted {
            tracing::warn!(checksum = %arrival.id, %error, "a file that was not recorded may stay as an orphan");
        }
    }

    fn answer(&self, entry: &Entry, cached: bool) -> Attachment {
        announce_staged(&*self.options.observer, entry, cached);
        self.attachment(entry, cached)
    }

    /// Makes the files of a batch durable at once, and records them together.
    fn record(&self, mut lanes: Vec<Lane>) -> Vec<Answer> {
        // What is much is written before the lock is taken. Of what is little nobody speaks until all of it is on the disk.
        let bytes: u64 = lanes.iter().map(Lane::bytes).sum();
        let written = if bytes > SYNC_ONCE_BYTES { self.area.sync_all() } else { Ok(()) };
        let recorded = written.and_then(|()| {
            self.manifest.write(|conn| {
                for lane in &mut lanes {
                    self.enter_lane(conn, lane)?;
                }
                self.area.sync_all()
            })
        });
        if let Err(error) = recorded {
            return self.fail_batch(lanes, error);
        }
        let answer = |lane| match lane {
            Lane::Answered(answer) => answer,
            Lane::Entered(_, entry, cached) => Ok(self.answer(&entry, cached)),
            // There was no room for it beside the others.
            Lane::Arrived(mut arrival, put) => self.settle(&mut arrival, &put),
        };
        lanes.into_iter().map(answer).collect()
    }

    /// Takes in as many files as are recorded together.
    fn take_batch<'a>(&self, contents: &mut impl Iterator<Item = (Content<'a>, Put)>) -> Vec<Lane> {
        let mut intake = Intake::new(self, false);
        let (mut lanes, mut bytes) = (Vec::new(), 0);
        while lanes.len() < BATCH_FILES && bytes < BATCH_BYTES {
            let Some((content, put)) = contents.next() else { break };
            lanes.push(match intake.take(content, &put) {
                Ok(arrival) => {
                    bytes += arrival.size;
                    Lane::Arrived(Box::new(arrival), put)
                }
                Err(error) => Lane::Answered(Err(error)),
            });
        }
        lanes
    }
    /// A file that cannot take its place fails alone. An error only where the whole transaction is in doubt.
    fn enter_lane(&self, conn: &Connection, lane: &mut Lane) -> Result<(), StageError> {
        let Lane::Arrived(arrival, put) = lane else { return Ok(()) };
        match self.enter(conn, arrival, put, false) {
            Ok(Entered::Short(_)) => {}
            Ok(Entered::Done { entry, cached }) => {
                let arrived = std::mem::replace(lane, Lane::Answered(Err(StageError::Batch)));
                if let Lane::Arrived(arrival, _) = arrived {
                    *lane = Lane::Entered(arrival, entry, cached);
                }
            }
            Err(error) if conn.is_autocommit() || arrival.temporary.is_placed() => return Err(error),
            Err(error) => *lane = Lane::Answered(Err(error)),
        }
        Ok(())
    }

    /// The transaction failed: nothing of the batch is recorded, and nothing of it stays.
    fn fail_batch(&self, lanes: Vec<Lane>, error: StageError) -> Vec<Answer> {
        let mut error = Some(error);
        let fail = |lane| {
            match &lane {
                Lane::Entered(arrival, ..) | Lane::Arrived(arrival, _) if arrival.temporary.is_placed() => {
                    self.retract(arrival);
                }
                _ => {}
            }
            match lane {
                Lane::Answered(answer) => answer,
                _ => Err(error.take().unwrap_or(StageError::Batch)),
            }
        };
        lanes.into_iter().map(fail).collect()
    }
}
