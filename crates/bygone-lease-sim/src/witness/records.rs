//! The records of keys, and the index that leads to them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Scene, Witness, Write, demand, parse};
use crate::shelf::Shelf;

const HOUR_MILLIS: i64 = 3_600_000;

/// A record, as far as the witness cares.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SeenRecord {
    version: u64,
    fencing_token: u64,
    touched_at: i64,
    indexed: Option<String>,
    lease: Option<SeenLease>,
    state: Option<Value>,
    #[serde(default)]
    attachments: BTreeMap<String, Value>,
    staged: Option<SeenStaged>,
}

#[derive(Clone, Debug, Deserialize)]
struct SeenLease {
    id: Uuid,
    expires_at: i64,
    granted_by: Uuid,
    txn: Option<Uuid>,
}

#[derive(Clone, Debug, Deserialize)]
struct SeenStaged {
    txn: Uuid,
    #[serde(default)]
    removes: bool,
    state: Option<Value>,
    #[serde(default)]
    attachments: BTreeMap<String, Option<Value>>,
}

impl SeenRecord {
    pub(super) fn txn(&self) -> Option<Uuid> {
        self.staged.as_ref().map(|staged| staged.txn).or_else(|| self.lease.as_ref().and_then(|lease| lease.txn))
    }

    /// Whether somebody must come back to it one day.
    fn needs_entry(&self) -> bool {
        self.lease.is_some() || self.staged.is_some() || self.has_nothing()
    }

    fn has_nothing(&self) -> bool {
        self.state.is_none() && self.attachments.is_empty()
    }

    /// Everything that may stand beside it: state and attachments, as they are and as they are to be.
    pub(super) fn parts(&self) -> (impl Iterator<Item = &Value>, impl Iterator<Item = &Value>) {
        let staged = self.staged.iter();
        let states = self.state.iter().chain(staged.clone().filter_map(|staged| staged.state.as_ref()));
        let attachments = staged.flat_map(|staged| staged.attachments.values().flatten());
        (states, self.attachments.values().chain(attachments))
    }

    /// Whether this is what it was, with what was staged done to it.
    fn is_after(&self, old: &Self, staged: &SeenStaged) -> bool {
        let (mut state, mut attachments) = (old.state.as_ref(), old.attachments.clone());
        if staged.removes {
            (state, attachments) = (None, BTreeMap::new());
        }
        for (name, attached) in &staged.attachments {
            match attached {
                Some(attached) => attachments.insert(name.clone(), attached.clone()),
                None => attachments.remove(name),
            };
        }
        self.state.as_ref() == staged.state.as_ref().or(state) && self.attachments == attachments
    }
}

impl Witness {
    pub(super) fn see_record(&mut self, scene: Scene<'_>, write: &Write<'_>) -> Result<(), String> {
        let path = write.path;
        let old = self.records.remove(path);
        let Some(body) = write.body else { return self.see_record_go(scene, path, old) };
        let new: SeenRecord = parse(path, body)?;
        self.see_token(path, old.as_ref(), &new)?;
        if let Some(lease) = &new.lease {
            self.clock(scene, lease.granted_by);
        }
        self.see_lease(scene, path, old.as_ref(), &new)?;
        self.see_state(path, old.as_ref(), &new)?;
        self.see_named(scene.stock, path, old.as_ref(), &new)?;
        self.is_findable(scene.stock, path, &new)?;
        self.records.insert(path.to_owned(), new);
        Ok(())
    }

    /// A record goes when nothing has been in it for long enough.
    fn see_record_go(&mut self, scene: Scene<'_>, path: &str, old: Option<SeenRecord>) -> Result<(), String> {
        let Some(old) = old else { return Ok(()) };
        let is_free = match &old.lease {
            None => true,
            Some(lease) => lease.txn.is_none() && self.has_passed(scene, lease.expires_at, lease.granted_by),
        };
        let is_empty = old.has_nothing() && old.staged.is_none();
        demand(is_free && is_empty, || format!("{path} was removed with something in it: {old:?}"))?;
        let keep = self.keeps.map_or(0, |keeps| keeps.tombstone);
        demand(old.touched_at + keep < scene.senders_now(), || format!("{path} was removed early, at {}", scene.now))
    }

    /// Tokens only grow, also those of keys that were gone in between.
    fn see_token(&mut self, path: &str, old: Option<&SeenRecord>, new: &SeenRecord) -> Result<(), String> {
        let (lease, token) = (|record: &SeenRecord| record.lease.as_ref().map(|lease| lease.id), new.fencing_token);
        let highest = self.tokens.entry(path.to_owned()).or_default();
        if let Some(id) = lease(new).filter(|id| old.and_then(lease) != Some(*id)) {
            let ok = token > *highest;
            demand(ok, || format!("{path}: the lease {id} has the token {token}, and {highest} was given before"))?;
        } else if let Some(old) = old {
            demand(token == old.fencing_token, || format!("{path}: the token changed without a lease, to {token}"))?;
        }
        *highest = token.max(*highest);
        Ok(())
    }

    /// A lease stays until it is given up, or over by the clock of its holder, or its transaction is decided.
    fn see_lease(
        &mut self,
        scene: Scene<'_>,
        path: &str,
        old: Option<&SeenRecord>,
        new: &SeenRecord,
    ) -> Result<(), String> {
        let Some((old, had)) = old.and_then(|old| old.lease.as_ref().map(|lease| (old, lease))) else { return Ok(()) };
        if let Some(kept) = new.lease.as_ref().filter(|kept| kept.id == had.id) {
            return demand(kept.expires_at >= had.expires_at, || format!("{path}: the lease was made shorter"));
        }
        if let Some(txn) = old.txn() {
            return demand(self.is_decided(txn), || format!("{path} was cleared, and {txn} is not decided"));
        }
        let may_go = self.given_up.remove(&had.id) || self.has_passed(scene, had.expires_at, had.granted_by);
        let left = had.expires_at - self.clock(scene, had.granted_by);
        demand(may_go, || format!("{path}: the lease {} was ended with {left} ms left", had.id))
    }

    /// State changes by one version at a time, under a lease or by the decision of a transaction.
    fn see_state(&self, path: &str, old: Option<&SeenRecord>, new: &SeenRecord) -> Result<(), String> {
        let Some(old) = old else {
            return demand(new.has_nothing() && new.version == 0, || format!("{path} was made with state"));
        };
        let kept = old.version == new.version && old.state == new.state && old.attachments == new.attachments;
        if let Some(staged) = &old.staged {
            if new.staged.as_ref().is_some_and(|new| new.txn == staged.txn) {
                return demand(kept, || format!("{path}: published while {} is not over", staged.txn));
            }
            demand(self.is_decided(staged.txn), || {
                format!("{path}: what {} staged is gone, and it is not decided", staged.txn)
            })?;
            let comes_true = self.promotes(staged.txn, path);
            let came_true = new.version == old.version + 1 && new.is_after(old, staged);
            return demand(if comes_true { came_true } else { kept }, || {
                format!("{path}: {} says {comes_true}, and {old:?} became {new:?}", staged.txn)
            });
        }
        let is_next = new.version == old.version + 1 && old.lease.is_some();
        demand(kept || is_next, || format!("{path}: {old:?} became {new:?}"))
    }

    /// Whatever has a deadline has an entry, in an hour that is on its list, no later than the deadline.
    fn is_findable(&self, stock: &Shelf, path: &str, record: &SeenRecord) -> Result<(), String> {
        if !record.needs_entry() {
            return Ok(());
        }
        let Some((namespace, key)) = path.split_once("/meta/") else { return Ok(()) };
        let Some(hour) = &record.indexed else { return Err(format!("{path} has a deadline, and says no hour")) };
        let entry = format!("{namespace}/.lease-index/{hour}/{key}");
        demand(stock.get(&entry).is_some(), || format!("{path} has a deadline, and nothing leads to it at {entry}"))?;
        demand(self.is_listed(namespace, hour), || {
            format!("{path} has a deadline, and the hour {hour} is on no list")
        })?;
        let Some(lease) = &record.lease else { return Ok(()) };
        let due = hour_of(lease.expires_at);
        demand(*hour <= due, || format!("{path} ends in {due}, and is looked for in {hour}"))
    }

    pub(super) fn see_entry(
        &mut self,
        scene: Scene<'_>,
        write: &Write<'_>,
        (namespace, hour, key): (&str, &str, &str),
    ) -> Result<(), String> {
        if write.body.is_some() {
            return self.see_hour(scene, write.path, namespace, hour);
        }
        self.strays.remove(write.path);
        demand(!self.is_entry_needed(write.path), || {
            let record = self.records.get(&format!("{namespace}/meta/{key}"));
            format!("{} was taken away, and its record needs it: {record:?}", write.path)
        })
    }

    /// Whether a record relies on this entry.
    pub(super) fn is_entry_needed(&self, path: &str) -> bool {
        let [namespace, _, hour, key] = path.split('/').collect::<Vec<_>>()[..] else { return false };
        let record = self.records.get(&format!("{namespace}/meta/{key}"));
        record.is_some_and(|record| record.needs_entry() && record.indexed.as_deref() == Some(hour))
    }

    /// Whether a transaction has its hands in a record, or in a message.
    pub(super) fn is_staged(&self, path: &str, txn: Uuid) -> bool {
        let is_record = self.records.get(path).is_some_and(|record| record.txn() == Some(txn));
        is_record || self.is_message_staged(path, txn)
    }
}

/// The hour that a moment falls into, as the index writes it.
pub(super) fn hour_of(millis: i64) -> String {
    let start = jiff::Timestamp::from_second(millis.div_euclid(HOUR_MILLIS) * 3_600).unwrap_or(jiff::Timestamp::MAX);
    start.strftime("%Y%m%d%H").to_string()
}
