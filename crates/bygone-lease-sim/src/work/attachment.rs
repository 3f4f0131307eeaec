//! Attachments, at once and in transactions.

use bygone_lease::{Acquire, Attachment, Error, IfVersion, Key, Lease, Namespace};

use super::refused;
use crate::ledger::Call;
use crate::model::{Attached, KeyOp};
use crate::names::{self, ATTACHMENTS, REGISTERS};
use crate::process::{Life, TTL};

impl Life {
    fn slot(&self) -> usize {
        usize::from(self.one_in(2))
    }

    /// Takes a lease, attaches something or takes it away, and gives the lease back, mostly.
    pub(super) async fn file(&self) {
        let (namespace, key) = names::register(self.below(REGISTERS));
        let request = Acquire { ttl: Some(TTL), ..Acquire::new(namespace, key, "clerk") };
        let Some(lease) = self.acquire(&request).await else { return };
        self.dawdle().await;
        for _ in 0..=self.below(2) {
            match self.below(8) {
                0 | 1 => self.detach(&lease).await,
                2 => drop(self.remove(&lease).await),
                _ => drop(self.attach(&lease, self.slot()).await),
            }
        }
        self.dawdle().await;
        if !self.one_in(16) {
            self.release(&lease).await;
        }
    }

    /// Attaches a new value, which is answered with.
    async fn attach(&self, lease: &Lease, slot: usize) -> Result<i64, Error> {
        let value = self.world.ledger().next_value();
        let (text, token) = (names::long_text(value), lease.fencing_token);
        self.world.ledger().sums.insert(names::sha256(text.as_bytes()), value);
        let write = KeyOp::Attach { token, slot, value: Some(value) };
        // What is staged is nobody's business yet.
        let may_do = lease.txn.is_none().then_some(write);
        let call = self.call(&lease.key, may_do);
        let answer = self.store.put_attachment(lease, ATTACHMENTS[slot], None, text.as_bytes()).await;
        self.note(if may_do.is_some() { "attach" } else { "attach staged" }, lease.key.as_str(), &answer);
        match answer {
            Ok(_) => {
                match may_do {
                    Some(write) => call.answered(write),
                    None => call.void(),
                }
                Ok(value)
            }
            Err(error) => {
                refused(call, token, &error);
                Err(error)
            }
        }
    }

    async fn detach(&self, lease: &Lease) {
        let (slot, token) = (self.slot(), lease.fencing_token);
        let write = KeyOp::Attach { token, slot, value: None };
        let call = self.call(&lease.key, Some(write));
        let answer = self.store.delete_attachment(lease, ATTACHMENTS[slot]).await;
        self.note("detach", lease.key.as_str(), &answer);
        match answer {
            Ok(true) => call.answered(write),
            Ok(false) => call.refused(Some(KeyOp::NotAttached { token, slot })),
            Err(error) => refused(call, token, &error),
        }
    }

    /// Reads what is attached to a register, as everybody may.
    pub(super) async fn look_at_attachments(&self) {
        let (namespace, key) = names::register(self.below(REGISTERS));
        if self.one_in(2) {
            return self.list_attached((namespace, key)).await;
        }
        let (slot, call) = (self.slot(), self.call(&key, None));
        let answer = self.read_attachment(&namespace, &key, slot).await;
        self.note("get attachment", key.as_str(), &answer);
        match answer {
            Ok(found) => {
                let value = found.as_deref().map(|text| names::value_of(text).ok_or(text));
                match value.transpose() {
                    Ok(found) => call.answered(KeyOp::ReadAttached { slot, found }),
                    Err(text) => self.world.broken(format!("{key}: {text:?} was never attached")),
                }
            }
            Err(error) => self.unread(call, &error),
        }
    }

    /// Something could not be read, which may be, unless it is not what was written.
    fn unread(&self, call: Call, error: &Error) {
        call.void();
        if let Error::Unreadable { .. } = error {
            self.world.broken(error);
        }
    }

    async fn read_attachment(&self, namespace: &Namespace, key: &Key, slot: usize) -> Result<Option<Vec<u8>>, Error> {
        let Some(mut reader) = self.store.get_attachment(namespace, key, ATTACHMENTS[slot]).await? else {
            return Ok(None);
        };
        let mut text = Vec::new();
        while let Some(piece) = reader.next().await? {
            text.extend_from_slice(&piece);
        }
        Ok(Some(text))
    }

    pub(crate) async fn list_attached(&self, (namespace, key): (Namespace, Key)) {
        let call = self.call(&key, None);
        let answer = self.store.list_attachments(&namespace, &key).await;
        self.note("list attachments", key.as_str(), &answer);
        let listed = match answer {
            Ok(listed) => listed,
            Err(error) => return self.unread(call, &error),
        };
        let mut found = Attached::default();
        for Attachment { name, sha256, .. } in &listed {
            let value = self.world.ledger().sums.get(sha256).copied();
            match ATTACHMENTS.iter().position(|known| known == name) {
                Some(slot) if value.is_some() => found[slot] = value,
                _ => return self.world.broken(format!("{key}: {name} was never attached")),
            }
        }
        call.answered(KeyOp::ListAttached(found));
    }

    /// Changes the state of a register and what is attached to it in one transaction, or neither.
    pub(super) async fn publish(&self) {
        let Ok(txn) = self.store.begin(Some(TTL)) else { return };
        let (namespace, key) = names::register(self.below(REGISTERS));
        let request = Acquire { ttl: Some(TTL), txn: Some(txn), ..Acquire::new(namespace, key, "publisher") };
        let value = self.one_in(2).then(|| self.world.ledger().next_value());
        let call = self.call(&request.key, None);
        let answer = match value {
            Some(value) => {
                let state = if self.one_in(4) { value.to_string() } else { names::long_text(value) };
                self.store.stage(&request, state.as_bytes(), IfVersion::Any).await
            }
            None => self.store.acquire(&request).await,
        };
        self.note(if value.is_some() { "stage large" } else { "enlist" }, request.key.as_str(), &answer);
        let lease = match answer {
            Ok(lease) => lease,
            Err(error) => {
                refused(call, 0, &error);
                return self.undo(txn).await;
            }
        };
        call.answered(KeyOp::Grant { token: lease.fencing_token, version: lease.version });
        let slot = self.slot();
        let Ok(attached) = self.attach(&lease, slot).await else { return self.undo(txn).await };
        self.dawdle().await;
        let op = KeyOp::Publish { token: lease.fencing_token, value, attached: Some((slot, Some(attached))) };
        self.end_transfer(txn, &[(lease.key, op)], &[]).await;
    }
}
