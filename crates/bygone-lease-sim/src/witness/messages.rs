//! Messages of queues.

use serde::Deserialize;
use uuid::Uuid;

use super::{Scene, Witness, Write, demand, parse};

/// How long a letter may be on its way to where it is put aside, where somebody is paused, and what clocks may be apart.
const ON_THE_WAY_MAX: i64 = 152 * 60_000;

/// A message, as far as the witness cares.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SeenMessage {
    pub(crate) id: Uuid,
    ready_at: i64,
    pub(crate) expires_at: Option<i64>,
    pub(super) txn: Option<Uuid>,
    attempts: u32,
    attempts_max: Option<u32>,
    fencing_token: u64,
    held: Option<SeenHeld>,
}

#[derive(Clone, Debug, Deserialize)]
struct SeenHeld {
    lease: Uuid,
    expires_at: i64,
    granted_by: Uuid,
}

/// What became of a message. The last of these that happened to it stays: one that was acknowledged may come back, by a
/// request that was on its way for long, and go again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// It is in its queue.
    #[default]
    Queued,
    /// Its transaction was rolled back.
    Undone,
    /// It was past its time.
    Expired,
    /// Its worker said that it is done.
    Acknowledged,
}

impl SeenMessage {
    pub(crate) fn is_exhausted(&self) -> bool {
        self.attempts_max.is_some_and(|most| self.attempts >= most)
    }

    /// Whether somebody must come back to it one day, though nobody may ask for it.
    fn needs_errand(&self) -> bool {
        self.expires_at.is_some() || self.txn.is_some()
    }
}

impl Witness {
    pub(super) fn see_message(&mut self, scene: Scene<'_>, write: &Write<'_>, name: &str) -> Result<(), String> {
        let path = write.path;
        let old = self.messages.remove(path);
        let reads = self.reads.remove(path).unwrap_or_default();
        let Some(body) = write.body else { return self.see_message_go(scene, path, name, old) };
        let new: SeenMessage = parse(path, body)?;
        if let Some(held) = &new.held {
            self.clock(scene, held.granted_by);
        }
        match &old {
            None => {
                // One that was acknowledged may come back, by a request that was on its way for long: at least once is
                // what is promised. It is a message like any other then.
                self.letters.entry(new.id).or_default();
                self.message_tokens.remove(&new.id);
                demand(new.held.is_none(), || format!("{path} was delivered when it was gone"))?;
                let is_led_to = scene.sender.is_late || !new.needs_errand() || self.is_led_to(path);
                demand(is_led_to, || format!("{path} goes one day, and no errand leads to it"))?;
            }
            Some(old) => {
                self.see_staged_message(path, old, &new)?;
                self.see_message_change(scene, path, old, &new)?;
                let is_delivered = new.held.is_some() && old.held.as_ref().map(|held| held.lease) != lease(&new);
                let read_at =
                    reads.get(&scene.sender.life).map_or(i64::MIN, |read_at| read_at + scene.sender.off_millis);
                let was_over = new.expires_at.is_some_and(|expires_at| expires_at < read_at);
                demand(!(is_delivered && was_over), || format!("{path} was delivered past its time: {new:?}"))?;
            }
        }
        self.messages.insert(path.to_owned(), new);
        Ok(())
    }

    /// Somebody is shown a message: what he concludes from the time he concludes later.
    pub(crate) fn shows(&mut self, now: i64, life: u64, path: &str) {
        if self.messages.contains_key(path) {
            self.reads.entry(path.to_owned()).or_default().entry(life).or_insert(now);
        }
    }

    /// A message of a transaction is nobody's before that is committed.
    fn see_staged_message(&self, path: &str, old: &SeenMessage, new: &SeenMessage) -> Result<(), String> {
        demand(old.expires_at == new.expires_at, || format!("{path}: its time was changed: {old:?}, {new:?}"))?;
        let Some(txn) = old.txn else {
            return demand(new.txn.is_none(), || format!("{path} was put into a transaction: {new:?}"));
        };
        if new.txn == Some(txn) {
            return demand(new.held.is_none(), || format!("{path} was delivered, and {txn} is not over"));
        }
        // One that came back may outlast the decision that it was delivered by before.
        let comes_true = self.promotes(txn, path) || self.is_settled(old.id);
        demand(new.txn.is_none() && comes_true, || format!("{path} is for everybody, and {txn} is not committed"))
    }

    /// One worker at a time, none before its time, none too often.
    fn see_message_change(
        &mut self,
        scene: Scene<'_>,
        path: &str,
        old: &SeenMessage,
        new: &SeenMessage,
    ) -> Result<(), String> {
        if lease(old) == lease(new) {
            let until = |message: &SeenMessage| message.held.as_ref().map(|held| held.expires_at);
            return demand(until(new) >= until(old), || format!("{path}: a worker's time was made shorter"));
        }
        if let Some(held) = &old.held {
            let (expires_at, granted_by) = (held.expires_at, held.granted_by);
            let may_go = self.given_up.contains(&held.lease) || self.has_passed(scene, expires_at, granted_by);
            let left = expires_at - self.clock(scene, granted_by);
            demand(may_go, || format!("{path} was taken from its worker with {left} ms left"))?;
        }
        if new.held.is_none() {
            return Ok(());
        }
        let highest = self.message_tokens.entry(new.id).or_default();
        let is_higher = new.fencing_token > *highest;
        *highest = new.fencing_token.max(*highest);
        demand(is_higher, || format!("{path}: the token {} is not the highest", new.fencing_token))?;
        demand(new.attempts == old.attempts + 1, || format!("{path}: an attempt was not counted"))?;
        demand(!old.is_exhausted(), || format!("{path} was delivered too often: {new:?}"))?;
        demand(old.held.is_some() || old.ready_at <= scene.senders_now(), || format!("{path} was delivered early"))
    }

    /// A message goes when its worker says so, when it lies among the dead letters, when it is past its time, or when its
    /// transaction is undone.
    fn see_message_go(
        &mut self,
        scene: Scene<'_>,
        path: &str,
        name: &str,
        old: Option<SeenMessage>,
    ) -> Result<(), String> {
        let Some(old) = old else { return Ok(()) };
        let held = old.held.as_ref();
        if held.is_some_and(|held| self.acking.contains(&held.lease)) {
            self.ends_as(old.id, Fate::Acknowledged);
            return Ok(());
        }
        let is_free = match held {
            None => true,
            Some(held) => {
                let (lease, expires_at, granted_by) = (held.lease, held.expires_at, held.granted_by);
                self.given_up.contains(&lease) || self.has_passed(scene, expires_at, granted_by)
            }
        };
        if is_free && old.expires_at.is_some_and(|expires_at| expires_at < scene.senders_now()) {
            self.ends_as(old.id, Fate::Expired);
            return Ok(());
        }
        if let Some(txn) = old.txn {
            let is_promised = self.promised.contains(path) && !self.is_settled(old.id);
            self.ends_as(old.id, Fate::Undone);
            let is_undone = self.is_decided(txn) && !self.promotes(txn, path) && !is_promised;
            return demand(is_undone, || format!("{path} is gone, and {txn} is not rolled back: {old:?}"));
        }
        let dead = path.replace(&format!("/msg/{name}"), &format!("/dlq/{name}"));
        let is_dead = scene.stock.get(&dead).is_some() && old.is_exhausted();
        demand(is_dead && is_free, || format!("{path} is gone at {}, and nobody acknowledged it: {old:?}", scene.now))
    }

    fn ends_as(&mut self, message: Uuid, fate: Fate) {
        let before = self.letters.entry(message).or_default();
        *before = fate.max(*before);
    }

    /// Whether a message had its end before, so that what there is of it came back.
    pub(super) fn is_settled(&self, message: Uuid) -> bool {
        let (fate, is_dead) = self.fate_of(message);
        fate != Fate::Queued || is_dead
    }

    /// Whether a message waits for this transaction, for the first time.
    pub(super) fn is_message_staged(&self, path: &str, txn: Uuid) -> bool {
        self.messages.get(path).is_some_and(|message| message.txn == Some(txn) && !self.is_settled(message.id))
    }

    /// Whether a message, by its name, was past its time before its transaction was over.
    pub(super) fn has_expired(&self, path: &str) -> bool {
        let id = path.rsplit('/').next().and_then(id_of).unwrap_or_default();
        self.fate_of(id).0 == Fate::Expired
    }

    /// Whether somebody must come back to what stands here.
    pub(super) fn needs_errand(&self, scene: Scene<'_>, path: &str) -> bool {
        let is_message = self.messages.get(path).is_some_and(|message| {
            // One that came back has had its errand.
            message.needs_errand() && !self.is_settled(message.id)
        });
        let is_letter = path.contains("/dlq/") && scene.stock.get(path).is_some();
        is_message || is_letter || (path.contains("/state/") && self.is_forlorn(scene.stock, path))
    }

    /// What was put aside stays for its keep, from when somebody set out to put it there.
    pub(super) fn see_dead_letter(&mut self, scene: Scene<'_>, write: &Write<'_>, name: &str) -> Result<(), String> {
        let Some(body) = write.body else {
            let since = id_of(name).and_then(|id| self.dead.get(&id)).copied().unwrap_or(i64::MAX);
            let keep = self.keeps.map_or(0, |keeps| keeps.dead_letter) - ON_THE_WAY_MAX;
            return demand(scene.now.saturating_sub(since) > keep, || format!("{} went too soon", write.path));
        };
        let letter: SeenMessage = parse(write.path, body)?;
        self.dead.insert(letter.id, scene.now);
        demand(letter.is_exhausted(), || format!("{} was put aside too soon", write.path))?;
        let is_led_to = scene.sender.is_late || self.is_led_to(write.path);
        demand(is_led_to, || format!("{} goes one day, and no errand leads to it", write.path))
    }
}

fn lease(message: &SeenMessage) -> Option<Uuid> {
    message.held.as_ref().map(|held| held.lease)
}

/// Which message has this name.
fn id_of(name: &str) -> Option<Uuid> {
    name.split_once('-').and_then(|(_, id)| Uuid::try_parse(id).ok())
}
