//! What callers were told, held against what a store may tell.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::linear::{CallId, History, NotLinearizable};
use crate::model::{KeyModel, KeyOp};
use crate::world::World;

/// Everything that was answered and can be held against something.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    histories: BTreeMap<String, History<KeyModel>>,
    /// Messages that were accepted.
    pub(crate) accepted: HashSet<Uuid>,
    /// What was written last; no value is written twice.
    last_value: i64,
    /// The values of what was attached, by its checksum.
    pub(crate) sums: HashMap<String, i64>,
}

impl Ledger {
    pub(crate) fn next_value(&mut self) -> i64 {
        self.last_value += 1;
        self.last_value
    }

    /// Answers that were held against a model of their key.
    pub(crate) fn checked(&self) -> u64 {
        self.histories.values().map(|history| history.checked).sum()
    }

    fn history(&mut self, name: &str) -> &mut History<KeyModel> {
        if !self.histories.contains_key(name) {
            self.histories.insert(name.to_owned(), History::default());
        }
        self.histories.entry(name.to_owned()).or_default()
    }
}

/// A call under way. Whoever dies in the middle of one leaves it behind as one of unknown outcome.
#[derive(Debug)]
pub(crate) struct Call {
    world: Arc<World>,
    name: String,
    id: CallId,
    /// What it may do unless somebody is told that it did not.
    may_do: Option<KeyOp>,
    is_open: bool,
    life: u64,
    began: u64,
}

impl Call {
    pub(crate) fn begin(world: &Arc<World>, life: u64, name: &str, may_do: Option<KeyOp>) -> Self {
        let id = world.ledger().history(name).begin();
        Self {
            world: Arc::clone(world),
            name: name.to_owned(),
            id,
            may_do,
            is_open: true,
            life,
            began: world.agenda.now(),
        }
    }

    fn end(&mut self, tell: impl FnOnce(&mut History<KeyModel>, CallId) -> Result<(), NotLinearizable>) {
        self.is_open = false;
        let told = tell(self.world.ledger().history(&self.name), self.id);
        self.world.demand(told.map_err(|error| format!("{}: {error}", self.name)));
    }

    pub(crate) fn answered(mut self, op: KeyOp) {
        self.end(|history, id| history.answer(id, op));
    }

    /// It did nothing.
    pub(crate) fn void(mut self) {
        self.end(History::void);
    }

    /// It was refused, which may say something of the key.
    ///
    /// Something on the way may have sent the write twice: the first is carried out, and the second refused, because of the
    /// first. Whoever then looks finds his own write, unless somebody else was there before he looked. Then nobody can tell
    /// it from a race that was lost, and a refusal says nothing.
    pub(crate) fn refused(self, says: Option<KeyOp>) {
        if self.may_do.is_some() && self.world.was_sent_twice(self.life, &self.name, self.began) {
            return self.unknown();
        }
        match says {
            Some(op) => self.answered(op),
            None => self.void(),
        }
    }

    /// Nobody knows.
    pub(crate) fn unknown(mut self) {
        self.leave();
    }

    fn leave(&mut self) {
        match self.may_do {
            Some(op) => self.end(|history, id| history.unknown(id, op)),
            None => self.end(History::void),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.is_open {
            self.leave();
        }
    }
}
