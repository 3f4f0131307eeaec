//! Messages of queues.

use serde::Deserialize;
use uuid::Uuid;

use super::{Scene, Witness, Write, demand, parse};

/// How long a letter may be on its way to where it is put aside, and what clocks may be apart.
const ON_THE_WAY_MAX: i64 = 120_000;

/// A message, as far as the witness cares.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SeenMessage {
    pub(crate) id: Uuid,
    ready_at: i64,
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

impl SeenMessage {
    pub(crate) fn is_exhausted(&self) -> bool {
        self.attempts_max.is_some_and(|most| self.attempts >= most)
    }
}

impl Witness {
    pub(super) fn see_message(&mut self, scene: Scene<'_>, write: &Write<'_>, name: &str) -> Result<(), String> {
        let path = write.path;
        let old = self.messages.remove(path);
        let Some(body) = write.body else { return self.see_message_go(scene, path, name, old) };
        let new: SeenMessage = parse(path, body)?;
        if let Some(held) = &new.held {
            self.clock(scene, held.granted_by);
        }
        match &old {
            None => {
                // One that was acknowledged may come back, by a request that was on its way for long: at least once is
                // what is promised. It is a message like any other then.
                self.letters.entry(new.id).or_insert(false);
                self.message_tokens.remove(&new.id);
                demand(new.held.is_none(), || format!("{path} was delivered when it was gone"))?;
            }
            Some(old) => self.see_message_change(scene, path, old, &new)?,
        }
        self.messages.insert(path.to_owned(), new);
        Ok(())
    }

    /// One worker at a time, none before its time, none too often.
    fn see_message_change(
        &mut self,
        scene: Scene<'_>,
        path: &str,
        old: &SeenMessage,
        new: &SeenMessage,
    ) -> Result<(), String> {
        let lease = |message: &SeenMessage| message.held.as_ref().map(|held| held.lease);
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

    /// A message goes when its worker says so, or when it lies among the dead letters.
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
            self.letters.insert(old.id, true);
            return Ok(());
        }
        let dead = path.replace(&format!("/msg/{name}"), &format!("/dlq/{name}"));
        let is_dead = scene.stock.get(&dead).is_some() && old.is_exhausted();
        let is_free = match held {
            None => true,
            Some(held) => {
                let (lease, expires_at, granted_by) = (held.lease, held.expires_at, held.granted_by);
                self.given_up.contains(&lease) || self.has_passed(scene, expires_at, granted_by)
            }
        };
        demand(is_dead && is_free, || format!("{path} is gone, and nobody acknowledged it: {old:?}"))
    }

    /// What was put aside stays for its keep, from when somebody set out to put it there.
    pub(super) fn see_dead_letter(&mut self, scene: Scene<'_>, write: &Write<'_>, name: &str) -> Result<(), String> {
        let Some(body) = write.body else {
            let id = name.split_once('-').and_then(|(_, id)| Uuid::try_parse(id).ok()).unwrap_or_default();
            let since = self.dead.get(&id).copied().unwrap_or(i64::MAX);
            let keep = self.keeps.map_or(0, |keeps| keeps.dead_letter) - ON_THE_WAY_MAX;
            return demand(scene.now.saturating_sub(since) > keep, || format!("{} went too soon", write.path));
        };
        let letter: SeenMessage = parse(write.path, body)?;
        self.dead.insert(letter.id, scene.now);
        demand(letter.is_exhausted(), || format!("{} was put aside too soon", write.path))
    }
}
