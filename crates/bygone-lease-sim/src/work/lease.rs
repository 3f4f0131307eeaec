//! Leases and the state that they guard.

use std::time::Duration;

use bygone_lease::{Acquire, Error, IfVersion, Key, Lease, Namespace, Wait};

use super::{found, refused};
use crate::model::{Described, KeyOp};
use crate::names::{self, REGISTERS};
use crate::process::{Life, SKEW, TTL};

impl Life {
    pub(super) async fn acquire(&self, request: &Acquire) -> Option<Lease> {
        if let Some(lease) = self.acquire_once(request).await.ok()? {
            return Some(lease);
        }
        self.acquire_once(request).await.ok()?
    }

    /// `None` where it is worth another attempt: the lease ends at this very moment, which is not over.
    async fn acquire_once(&self, request: &Acquire) -> Result<Option<Lease>, ()> {
        let call = self.call(&request.key, None);
        let mut answer = self.store.acquire(request).await;
        self.note("acquire", request.key.as_str(), &answer);
        if matches!(answer, Err(Error::OutcomeUnknown { .. })) && request.request.is_some() {
            answer = self.store.acquire(request).await;
            self.note("acquire again", request.key.as_str(), &answer);
        }
        match answer {
            Ok(lease) => {
                call.answered(KeyOp::Grant { token: lease.fencing_token, version: lease.version });
                Ok(Some(lease))
            }
            Err(Error::Held { expires_at, .. }) => {
                call.void();
                let skew = if self.one_in(2) { SKEW } else { Duration::ZERO };
                let left = expires_at.plus(skew).millis() - self.clock.millis();
                match u64::try_from(left) {
                    Ok(left) if left < 5_000 && self.one_in(2) => {
                        self.world.sleep_millis(left).await;
                        Ok(None)
                    }
                    _ => Err(()),
                }
            }
            Err(error) => {
                refused(call, 0, &error);
                Err(())
            }
        }
    }

    /// Takes a lease, reads, writes or removes under it, and gives it back, mostly.
    pub(super) async fn edit(&self) {
        let (namespace, key) = names::register(self.below(REGISTERS));
        let wait = match self.below(4) {
            0 => Wait::For(Duration::from_secs(1)),
            1 => Wait::For(Duration::from_millis(self.below(50))),
            _ => Wait::None,
        };
        let request = Acquire {
            ttl: Some(TTL),
            wait,
            if_not_exists: self.one_in(8),
            request: self.one_in(2).then(|| format!("{:x}", self.bits())),
            ..Acquire::new(namespace, key, "editor")
        };
        let Some(mut lease) = self.acquire(&request).await else { return };
        self.dawdle().await;
        if self.one_in(4) {
            let kept = self.store.keepalive(&lease, None).await;
            self.note("keepalive", lease.key.as_str(), &kept);
            lease = kept.unwrap_or(lease);
        }
        if self.one_in(2) {
            self.read_held(&lease).await;
        }
        let is_released = match self.below(8) {
            0 => false,
            1 => self.remove(&lease).await,
            2..=4 => self.update(&lease, true).await,
            _ => self.update(&lease, false).await,
        };
        self.dawdle().await;
        if !is_released && !self.one_in(16) {
            self.release(&lease).await;
        }
    }

    async fn read_held(&self, lease: &Lease) {
        let (call, token) = (self.call(&lease.key, None), lease.fencing_token);
        let answer = self.store.get_held(lease).await;
        self.note("get held", lease.key.as_str(), &answer);
        match answer {
            Ok(answer) => call.answered(KeyOp::ReadHeld { token, found: found(self, answer.as_ref()) }),
            Err(error) => refused(call, token, &error),
        }
    }

    /// True when the lease was given up.
    async fn update(&self, lease: &Lease, releases: bool) -> bool {
        let value = self.world.ledger().next_value();
        self.write(lease, value, releases).await;
        releases
    }

    async fn write(&self, lease: &Lease, value: i64, releases: bool) {
        let token = lease.fencing_token;
        let expects = self.one_in(2).then_some(lease.version);
        let if_version = expects.map_or(IfVersion::Any, IfVersion::Is);
        let write = KeyOp::Write { token, expects, value: Some(value), version: None };
        let call = self.call(&lease.key, Some(write));
        let is_long = self.one_in(4) && !names::is_account(&lease.key);
        let state = if is_long { names::long_text(value) } else { value.to_string() };
        let answer = if releases {
            self.world.witness().gives_up(lease.id);
            self.store.update_and_release(lease, state.as_bytes(), if_version).await
        } else {
            self.store.update(lease, state.as_bytes(), if_version).await
        };
        let what = match (is_long, releases) {
            (true, _) => "update large",
            (false, true) => "update and release",
            (false, false) => "update",
        };
        self.note(what, lease.key.as_str(), &answer);
        match answer {
            Ok(version) => {
                call.answered(KeyOp::Write { token, expects, value: Some(value), version: Some(version) });
            }
            Err(error) => refused(call, token, &error),
        }
    }

    pub(super) async fn remove(&self, lease: &Lease) -> bool {
        let token = lease.fencing_token;
        let call = self.call(&lease.key, Some(KeyOp::Write { token, expects: None, value: None, version: None }));
        let answer = self.store.remove(lease, IfVersion::Any).await;
        self.note("remove", lease.key.as_str(), &answer);
        match answer {
            Ok(version) => {
                call.answered(KeyOp::Write { token, expects: None, value: None, version: Some(version) });
            }
            Err(error) => refused(call, token, &error),
        }
        false
    }

    pub(super) async fn release(&self, lease: &Lease) {
        self.world.witness().gives_up(lease.id);
        let released = self.store.release(lease).await;
        self.note("release", lease.key.as_str(), &released);
    }

    /// Takes a lease that nobody ever comes back for.
    pub(super) async fn abandon(&self) {
        let key = names::key(format!("abandoned-{:x}", self.bits()));
        let request = Acquire { ttl: Some(TTL), ..Acquire::new(names::namespace(self.bits()), key, "nobody") };
        let answer = self.store.acquire(&request).await;
        self.note("abandon", request.key.as_str(), &answer);
    }

    /// Reads what everybody may read.
    pub(super) async fn look(&self) {
        let (namespace, key) = match self.below(2) {
            0 => names::register(self.below(REGISTERS)),
            _ => names::account(self.below(names::ACCOUNTS)),
        };
        if self.one_in(2) {
            let call = self.call(&key, None);
            let answer = self.store.describe(&namespace, &key).await;
            self.note("describe", key.as_str(), &answer);
            match answer {
                Ok(known) => {
                    let known = known.map(|known| Described {
                        exists: known.exists,
                        attachments: known.attachments,
                        version: known.version,
                        token: known.fencing_token,
                    });
                    call.answered(KeyOp::Described(known));
                }
                Err(_) => call.void(),
            }
        } else {
            self.read(&namespace, &key).await;
        }
    }

    /// Gives a key its first value.
    pub(crate) async fn open(&self, (namespace, key): (Namespace, Key), value: i64) {
        let request = Acquire { ttl: Some(TTL), ..Acquire::new(namespace, key, "bank") };
        if let Some(lease) = self.acquire(&request).await {
            self.write(&lease, value, true).await;
        }
    }

    /// The number that a key has.
    pub(crate) async fn value(&self, (namespace, key): (Namespace, Key)) -> Option<i64> {
        let read = self.read(&namespace, &key).await?;
        found(self, Some(&read)).map(|(_, value)| value)
    }
}
