//! Transactions and their decisions.

use serde::Deserialize;
use uuid::Uuid;

use super::{Scene, Witness, Write, demand, parse, parse_id};
use crate::names::segment;

/// A transaction that is not over.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SeenTxn {
    expires_at: i64,
    granted_by: Uuid,
    participants: Vec<SeenParticipant>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum SeenParticipant {
    Key { namespace: String, key: String },
    Message { namespace: String, queue: String, message: String },
}

impl SeenParticipant {
    fn path(&self) -> String {
        match self {
            Self::Key { namespace, key } => format!("{}/meta/{}", segment(namespace), segment(key)),
            Self::Message { namespace, queue, message } => {
                format!("{}/q/{}/msg/{message}", segment(namespace), segment(queue))
            }
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct SeenDecision {
    state: Verdict,
    participants: Vec<SeenParticipant>,
    expires_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Commit,
    Rollback,
}

impl Witness {
    pub(super) fn see_txn(&mut self, scene: Scene<'_>, write: &Write<'_>, id: &str) -> Result<(), String> {
        let id = parse_id(write.path, id)?;
        let old = self.txns.remove(&id);
        let Some(body) = write.body else {
            self.strays.remove(write.path);
            demand(self.decisions.contains_key(&id), || format!("{id} is gone without a decision"))?;
            // What was staged too late lies there until somebody meets it: it comes to nothing either way.
            let is_staged = |path: &str| self.is_staged(path, id) && !self.was_doubled(scene, path);
            let is_left = |path: &str| self.promotes(id, path) && is_staged(path);
            let left = old.iter().flat_map(|old| &old.participants).find(|one| is_left(&one.path()));
            return demand(left.is_none(), || format!("{id} is gone, and not done at {left:?}"));
        };
        let new: SeenTxn = parse(write.path, body)?;
        if scene.sender.is_late && old.is_none() {
            // Its hour may be off the list: the next transaction leads to it.
            self.strays.insert(write.path.to_owned());
        }
        self.clock(scene, new.granted_by);
        if let Some(old) = old {
            if new.expires_at > old.expires_at && self.has_passed(scene, old.expires_at, old.granted_by) {
                self.extended_late.insert(id);
            }
            let are_all = old.participants.len() <= new.participants.len();
            demand(are_all && new.expires_at >= old.expires_at, || format!("{id} was made less: {old:?}, {new:?}"))?;
        }
        self.txns.insert(id, new);
        Ok(())
    }

    /// A decision is written once. A commit has everybody's work before it, and a rollback that nobody asked for comes
    /// when its time is over.
    pub(super) fn see_decision(&mut self, scene: Scene<'_>, write: &Write<'_>, id: &str) -> Result<(), String> {
        let id = parse_id(write.path, id)?;
        let old = self.decisions.remove(&id);
        let Some(body) = write.body else { return self.see_decision_go(scene, id, old) };
        demand(old.is_none(), || format!("{id} was decided twice"))?;
        let new: SeenDecision = parse(write.path, body)?;
        if new.state == Verdict::Commit {
            // A message may be past its time by then: it was staged, and would go either way.
            let is_prepared = |path: &str| self.is_staged(path, id) || self.has_expired(path);
            let missing = new.participants.iter().find(|one| !is_prepared(&one.path()));
            demand(missing.is_none(), || format!("{id} was committed, and {missing:?} is not prepared"))?;
            let is_message = |one: &&SeenParticipant| matches!(one, SeenParticipant::Message { .. });
            self.promised.extend(new.participants.iter().filter(is_message).map(SeenParticipant::path));
        } else if !self.ending.contains(&id) && !self.extended_late.contains(&id) {
            let over = match self.txns.get(&id) {
                Some(txn) => {
                    let (expires_at, granted_by) = (txn.expires_at, txn.granted_by);
                    self.has_passed(scene, expires_at, granted_by)
                }
                None => true,
            };
            demand(over, || format!("{id} was rolled back early"))?;
        }
        self.decisions.insert(id, new);
        Ok(())
    }

    fn see_decision_go(&self, scene: Scene<'_>, id: Uuid, old: Option<SeenDecision>) -> Result<(), String> {
        let Some(old) = old else { return Ok(()) };
        demand(old.expires_at < scene.senders_now(), || format!("the decision of {id} was forgotten early"))?;
        let is_left = |path: &str| old.state == Verdict::Commit && self.is_staged(path, id);
        let left = old.participants.iter().find(|one| is_left(&one.path()));
        demand(left.is_none(), || format!("the decision of {id} was forgotten, and is not done at {left:?}"))
    }

    /// Whether it is said what becomes of what a transaction staged: by its decision, or by there being nothing of it.
    pub(super) fn is_decided(&self, txn: Uuid) -> bool {
        self.decisions.contains_key(&txn) || !self.txns.contains_key(&txn)
    }

    /// Whether what a transaction staged at a key comes true.
    pub(super) fn promotes(&self, txn: Uuid, path: &str) -> bool {
        self.decisions.get(&txn).is_some_and(|decision| {
            decision.state == Verdict::Commit && decision.participants.iter().any(|one| one.path() == path)
        })
    }
}
