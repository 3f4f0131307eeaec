//! Transactions: several keys change together, or none of them does.

use std::sync::Arc;

use bygone_lease::{Acquire, Error, IfVersion, Key, Namespace, TxnId, Versioned};
use uuid::Uuid;

use super::{found, refused};
use crate::ledger::Call;
use crate::model::KeyOp;
use crate::names::{self, ACCOUNTS, PAGES};
use crate::process::{Life, TTL};

/// What is staged at one key.
pub(super) type Staged = (Key, KeyOp);

impl Life {
    pub(super) async fn read(&self, namespace: &Namespace, key: &Key) -> Option<Versioned> {
        let call = self.call(key, None);
        let answer = self.store.get(namespace, key).await;
        self.note("get", key.as_str(), &answer);
        let Ok(answer) = answer else {
            call.void();
            return None;
        };
        call.answered(KeyOp::Read(found(self, answer.as_ref())));
        answer
    }

    /// Moves money between accounts: what there is in all stays the same.
    pub(super) async fn transfer(&self) {
        let (first, step) = (self.below(ACCOUNTS), 1 + self.below(ACCOUNTS - 1));
        let Ok(txn) = self.store.begin(Some(TTL)) else { return };
        let amount = i64::try_from(self.below(10)).unwrap_or(0);
        let mut changes = vec![(first, -amount), ((first + step) % ACCOUNTS, amount)];
        if self.one_in(4) {
            // A third, who is only asked.
            changes.extend((0..ACCOUNTS).find(|one| changes.iter().all(|(other, _)| one != other)).map(|one| (one, 0)));
        }
        let mut staged = Vec::new();
        for (number, change) in changes {
            match self.stage(txn, names::account(number), change).await {
                Some(one) => staged.push(one),
                None if self.one_in(4) => return,
                None => return self.undo(txn).await,
            }
        }
        let mut letters = Vec::new();
        if self.one_in(8) {
            match self.enqueue(&names::queue(first % 2), Some(txn), self.ttl()).await {
                Some(letter) => letters.push(letter),
                None => return self.undo(txn).await,
            }
        }
        self.dawdle().await;
        self.end_transfer(txn, &staged, &letters).await;
    }

    pub(super) async fn end_transfer(&self, txn: TxnId, staged: &[Staged], letters: &[Uuid]) {
        let is_committed = match self.below(16) {
            // Nobody ever ends it.
            0 => false,
            1 => {
                self.undo(txn).await;
                false
            }
            // Somebody else does, who has seen nothing of what was staged.
            2 => match self.beside().await {
                Ok(other) => other.commit(txn, staged).await,
                Err(error) => {
                    self.world.broken(error);
                    false
                }
            },
            _ => self.commit(txn, staged).await,
        };
        if is_committed {
            self.world.ledger().accepted.extend(letters);
        }
    }

    /// Changes a balance by so much, within a transaction.
    async fn stage(&self, txn: TxnId, (namespace, key): (Namespace, Key), change: i64) -> Option<Staged> {
        let read = self.read(&namespace, &key).await?;
        let (version, balance) = found(self, Some(&read))?;
        let value = balance + change;
        let request = Acquire { ttl: Some(TTL), txn: Some(txn), ..Acquire::new(namespace, key, "teller") };
        let (if_version, state) = (IfVersion::Is(version), value.to_string());
        let call = self.call(&request.key, None);
        let at_once = self.one_in(2);
        let answer = if at_once {
            self.store.stage(&request, state.as_bytes(), if_version).await
        } else {
            self.store.acquire(&request).await
        };
        self.note(if at_once { "stage" } else { "enlist" }, request.key.as_str(), &answer);
        let lease = match answer {
            Ok(lease) => {
                call.answered(KeyOp::Grant { token: lease.fencing_token, version: lease.version });
                lease
            }
            Err(error) => {
                refused(call, 0, &error);
                return None;
            }
        };
        if !at_once {
            if self.one_in(4) {
                let kept = self.store.keepalive(&lease, None).await;
                self.note("keepalive", lease.key.as_str(), &kept);
            }
            // What is staged is nobody's business yet: only a refusal says something.
            let call = self.call(&lease.key, None);
            let answer = self.store.update(&lease, state.as_bytes(), if_version).await;
            self.note("update staged", lease.key.as_str(), &answer);
            match answer {
                Ok(_) => call.void(),
                Err(error) => {
                    refused(call, lease.fencing_token, &error);
                    return None;
                }
            }
        }
        let write = KeyOp::Write { token: lease.fencing_token, expects: None, value: Some(value), version: None };
        Some((lease.key, write))
    }

    pub(super) async fn undo(&self, txn: TxnId) {
        self.world.witness().ends(txn.0);
        let answer = self.store.rollback(txn).await;
        self.note("rollback", &txn.0.to_string(), &answer);
    }

    /// True when it was answered that everything came true.
    async fn commit(&self, txn: TxnId, staged: &[Staged]) -> bool {
        self.world.witness().ends(txn.0);
        let calls: Vec<Call> = staged.iter().map(|(key, write)| self.call(key, Some(*write))).collect();
        let name = txn.0.to_string();
        let mut answer = self.store.commit(txn).await;
        self.note("commit", &name, &answer);
        let was_unknown = matches!(answer, Err(Error::OutcomeUnknown { .. }));
        if was_unknown && self.one_in(2) {
            answer = self.store.commit(txn).await;
            self.note("commit again", &name, &answer);
        }
        for (call, (_, write)) in calls.into_iter().zip(staged) {
            match &answer {
                Ok(()) => call.answered(*write),
                Err(Error::TxnConflict { .. }) => call.void(),
                Err(_) if was_unknown => call.unknown(),
                Err(error) => refused(call, 0, error),
            }
        }
        answer.is_ok()
    }

    /// Writes two pages, or a page and a letter, in a transaction that somebody else commits meanwhile: what comes too
    /// late for that must not come true. The witness knows what was decided.
    pub(super) async fn write_in_a_hurry(&self) {
        let Ok(txn) = self.store.begin(Some(TTL)) else { return };
        let first = self.below(PAGES);
        if !self.write_page(txn, first).await {
            return self.undo(txn).await;
        }
        self.world.witness().ends(txn.0);
        let (world, wait) = (Arc::clone(&self.world), self.below(30));
        self.world.agenda.spawn(self.world.heaven, async move {
            world.sleep_millis(wait).await;
            if let Ok(other) = Self::begin(&world).await {
                let answer = other.store.commit(txn).await;
                other.note("commit early", &txn.0.to_string(), &answer);
            }
        });
        let letter =
            if self.one_in(2) { self.enqueue(&names::queue(first % 2), Some(txn), self.ttl()).await } else { None };
        if letter.is_none() && !self.write_page(txn, (first + 1) % PAGES).await {
            return self.undo(txn).await;
        }
        let answer = self.store.commit(txn).await;
        self.note("commit", &txn.0.to_string(), &answer);
        if answer.is_ok() {
            self.world.ledger().accepted.extend(letter);
        }
    }

    async fn write_page(&self, txn: TxnId, number: u64) -> bool {
        let (namespace, key) = names::page(number);
        let state = self.world.ledger().next_value().to_string();
        let request = Acquire { ttl: Some(TTL), txn: Some(txn), ..Acquire::new(namespace, key, "author") };
        let answer = self.store.stage(&request, state.as_bytes(), IfVersion::Any).await;
        self.note("stage", request.key.as_str(), &answer);
        answer.is_ok()
    }
}
