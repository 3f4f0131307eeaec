//! Sees every write at the moment at which it is carried out, in true time, and says whether it may be.
//!
//! What callers are told comes late, or never; what is stored is the truth. So the promises are held against the store
//! itself, after each step: whoever holds a lease is not robbed of it, tokens grow for ever, what a transaction staged
//! follows its decision, every deadline has an entry that leads to it. The witness reads the store by the layout that is
//! documented and shares no code with the library.

mod blobs;
mod errands;
mod messages;
mod records;
mod txns;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

pub(crate) use self::messages::{Fate, SeenMessage};
use self::records::SeenRecord;
use self::txns::{SeenDecision, SeenTxn};
use crate::shelf::Shelf;

/// For how long somebody may be at a write that was sent twice, in milliseconds.
const DOUBLED_MAX: i64 = 60_000;

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// Which life of a process.
    pub(crate) life: u64,
    /// How far its clock is off.
    pub(crate) off_millis: i64,
    /// Whether he gave this up long ago.
    pub(crate) is_late: bool,
}

/// A write that was carried out; a delete has no body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Bytes>,
}

/// A write on the witness's desk.
#[derive(Clone, Copy)]
struct Scene<'a> {
    stock: &'a Shelf,
    /// The true time.
    now: i64,
    sender: Sender,
}

impl Scene<'_> {
    /// What the sender's clock shows.
    fn senders_now(&self) -> i64 {
        self.now + self.sender.off_millis
    }
}

/// How long things are kept, in milliseconds: the witness must know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeps {
    pub(crate) tombstone: i64,
    pub(crate) dead_letter: i64,
}

#[derive(Debug, Default, Deserialize)]
struct Hours {
    #[serde(default)]
    buckets: BTreeSet<String>,
    #[serde(default)]
    pending: BTreeSet<String>,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    pub(crate) keeps: Option<Keeps>,
    records: HashMap<String, SeenRecord>,
    /// The highest token of each record that there ever was.
    tokens: HashMap<String, u64>,
    /// How far the clocks of those are off who granted something.
    clocks: HashMap<Uuid, i64>,
    /// Leases that their holders have given up, or are about to: from then on they may go at any time.
    given_up: HashSet<Uuid>,
    txns: HashMap<Uuid, SeenTxn>,
    decisions: HashMap<Uuid, SeenDecision>,
    /// Transactions that somebody was asked to end.
    ending: HashSet<Uuid>,
    /// Those that were extended when their time was over already: they may be rolled back all the same.
    extended_late: HashSet<Uuid>,
    /// The hours on each list, by its path.
    hours: HashMap<String, BTreeSet<String>>,
    /// The highest token of each message.
    message_tokens: HashMap<Uuid, u64>,
    pub(crate) messages: BTreeMap<String, SeenMessage>,
    /// Messages that were put aside, and when.
    dead: HashMap<Uuid, i64>,
    /// Deliveries whose workers have acknowledged them, or are about to.
    acking: HashSet<Uuid>,
    /// Every message that was ever in a queue, and what became of it.
    letters: HashMap<Uuid, Fate>,
    /// When each life was first shown a message as it is now.
    reads: HashMap<String, HashMap<u64, i64>>,
    /// What each errand leads to, and which errands lead somewhere.
    errands: HashMap<String, Vec<String>>,
    leads: HashMap<String, BTreeSet<String>>,
    /// Messages that were committed, for ever.
    promised: HashSet<String>,
    /// Records that were sent twice, and when last.
    doubled: HashMap<String, i64>,
    /// What came so late that nobody can know of it.
    strays: HashSet<String>,
    /// What is in the index by those who gave it up long ago, or were paused on the way.
    late: HashSet<String>,
}

impl Witness {
    /// Looks at a write that was just carried out.
    pub(crate) fn see(&mut self, stock: &Shelf, now: i64, sender: Sender, write: &Write<'_>) -> Result<(), String> {
        let scene = Scene { stock, now, sender };
        let parts: Vec<&str> = write.path.split('/').collect();
        match parts[..] {
            [_, "meta", _] => self.see_record(scene, write),
            [_, ".lease-index", "buckets.json"] => self.see_hours(scene, write, |hour| {
                let folder = write.path.trim_end_matches("buckets.json");
                format!("{folder}{hour}/")
            }),
            [namespace, ".lease-index", hour, key] => {
                self.late.remove(write.path);
                if scene.sender.is_late && write.body.is_some() {
                    self.late.insert(write.path.to_owned());
                }
                if key.starts_with(".errand-") {
                    self.see_errand(scene, write, namespace, hour)
                } else {
                    self.see_entry(scene, write, (namespace, hour, key))
                }
            }
            [_, "state", ..] => self.see_chunk(scene, write),
            [_, "q", _, "msg", name] => self.see_message(scene, write, name),
            [_, "q", _, "dlq", name] => self.see_dead_letter(scene, write, name),
            [".txns", id] => self.see_txn(scene, write, id),
            [".txn-decisions", "m", id] => self.see_decision(scene, write, id),
            [".txn-decisions", "buckets.json"] => {
                self.see_hours(scene, write, |hour| format!(".txn-decisions/e/{hour}/"))
            }
            _ => Ok(()),
        }
    }

    /// The holder gives a lease up, or may have: from when he asks for it on, he holds nothing.
    pub(crate) fn gives_up(&mut self, lease: Uuid) {
        self.given_up.insert(lease);
    }

    /// Something on the way sends a write twice. Whoever then finds another's takes it for a race that was lost, and writes
    /// once more: it cannot be told apart.
    pub(crate) fn doubles(&mut self, now: i64, path: &str) {
        self.doubled.insert(path.to_owned(), now);
    }

    fn was_doubled(&self, scene: Scene<'_>, path: &str) -> bool {
        self.doubled.get(path).is_some_and(|at| scene.now - at < DOUBLED_MAX)
    }

    /// A worker acknowledges a delivery.
    pub(crate) fn acknowledges(&mut self, lease: Uuid) {
        self.given_up.insert(lease);
        self.acking.insert(lease);
    }

    /// Somebody ends a transaction.
    pub(crate) fn ends(&mut self, txn: Uuid) {
        self.ending.insert(txn);
    }

    /// Whether a message was ever in a queue.
    pub(crate) fn knows(&self, message: Uuid) -> bool {
        self.letters.contains_key(&message)
    }

    /// When a message in a queue is past its time, if ever.
    pub(crate) fn expires_at(&self, message: Uuid) -> Option<i64> {
        self.messages.values().find(|seen| seen.id == message).and_then(|seen| seen.expires_at)
    }

    /// What became of a message, and whether it was put aside.
    pub(crate) fn fate_of(&self, message: Uuid) -> (Fate, bool) {
        (self.letters.get(&message).copied().unwrap_or_default(), self.dead.contains_key(&message))
    }

    /// What a clock shows that something was granted by.
    fn clock(&mut self, scene: Scene<'_>, granted_by: Uuid) -> i64 {
        scene.now + *self.clocks.entry(granted_by).or_insert(scene.sender.off_millis)
    }

    /// Whether what was promised until then is over for whoever holds it.
    fn has_passed(&mut self, scene: Scene<'_>, expires_at: i64, granted_by: Uuid) -> bool {
        expires_at < self.clock(scene, granted_by)
    }

    /// Whether something needs what is in the index, and has nothing else that leads to it.
    fn is_needed(&self, scene: Scene<'_>, path: &str) -> bool {
        let targets = self.errands.get(path).into_iter().flatten();
        let is_alone = |target: &String| self.leads.get(target).is_some_and(|leads| leads.len() == 1);
        self.is_entry_needed(path) || targets.filter(|one| is_alone(one)).any(|one| self.needs_errand(scene, one))
    }

    /// An hour leaves its list only when nothing is in it.
    fn see_hours(
        &mut self,
        scene: Scene<'_>,
        write: &Write<'_>,
        prefix: impl Fn(&str) -> String,
    ) -> Result<(), String> {
        let now: Hours = write.body.map_or(Ok(Hours::default()), |body| parse(write.path, body))?;
        let before = self.hours.insert(write.path.to_owned(), now.buckets.clone()).unwrap_or_default();
        for hour in before.difference(&now.buckets) {
            for left in scene.stock.below(&prefix(hour)) {
                // What was sent by somebody who gave it up may come at any moment, and nobody looks whether it came.
                let is_excused = self.late.contains(left) && !self.is_needed(scene, left);
                demand(is_excused, || format!("{}: the hour {hour} was taken off its list, with {left}", write.path))?;
                self.strays.insert(left.to_owned());
            }
        }
        for hour in now.buckets.difference(&before) {
            self.strays.retain(|stray| !stray.starts_with(&prefix(hour)));
        }
        let is_pending = |id: &&Uuid| !self.strays.contains(&format!(".txns/{id}"));
        if write.path.starts_with(".txn-decisions")
            && now.pending.is_empty()
            && self.txns.keys().any(|id| is_pending(&id))
        {
            return Err(format!("{}: no hour is pending, and {} transactions are", write.path, self.txns.len()));
        }
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("{path} cannot be read: {error}"))
}

fn parse_id(path: &str, text: &str) -> Result<Uuid, String> {
    Uuid::try_parse(text).map_err(|error| format!("{path}: {error}"))
}

/// Something must be so.
fn demand(is_so: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(what()) }
}
