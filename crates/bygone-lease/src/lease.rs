//! Taking a lease, keeping it, and giving it back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::layout;
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::planted::{self, Bug};
use crate::record::{LeaseRecord, Record};
use crate::state::{Change, IfVersion};
use crate::store::{LeaseStore, Shared, Step};
use crate::txn::TxnId;

/// Shorter leases would be over before their holder hears of them.
const TTL_MIN: Duration = Duration::from_millis(1);

/// A lease of a key.
///
/// It is a promise with an end, and not mutual exclusion: whoever is paused for longer than it lasts does not know that it
/// is over. What it guards must therefore compare the fencing token, and refuse one that is lower than one it has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The namespace of the key.
    pub namespace: Namespace,
    /// The key.
    pub key: Key,
    /// Which lease of it.
    pub id: Uuid,
    /// Who holds it, as he calls himself.
    pub owner: String,
    /// Higher than that of every earlier lease of the key, also of those before the key was removed.
    pub fencing_token: u64,
    /// When it ends, unless it is extended.
    pub expires_at: Moment,
    /// The version of the key's state.
    pub version: u64,
    /// The transaction that it was taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txn: Option<TxnId>,
}

/// How to take a lease.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The namespace of the key.
    pub namespace: Namespace,
    /// The key.
    pub key: Key,
    /// Who asks, as others may see it.
    pub owner: String,
    /// How long it lasts; by default as the store's options say.
    pub ttl: Option<Duration>,
    /// What to do while somebody else has it.
    pub wait: Wait,
    /// The caller's own name for this request. Whoever lost the reply asks again with the same, and gets the same lease.
    pub request: Option<String>,
    /// Only if the key has no state.
    pub if_not_exists: bool,
    /// In this transaction: what the holder changes comes true when it is committed.
    pub txn: Option<TxnId>,
}

impl Acquire {
    /// Asks for a lease of a key.
    pub fn new(namespace: Namespace, key: Key, owner: impl Into<String>) -> Self {
        let (owner, wait) = (owner.into(), Wait::None);
        Self { namespace, key, owner, ttl: None, wait, request: None, if_not_exists: false, txn: None }
    }
}

/// What to do while somebody else has a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Come back at once, with an error that says when to try again.
    #[default]
    None,
    /// Wait for so long.
    For(Duration),
    /// Wait until it is free.
    Forever,
}

/// What a release found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The lease, which is free now.
    Now,
    /// Another lease, or none: this one was over already.
    Already,
}

impl LeaseStore {
    /// Takes a lease.
    pub async fn acquire(&self, request: &Acquire) -> Result<Lease, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let ttl = shared.ttl(request.ttl)?;
        shared.watch_clock().await?;
        let patience = match request.wait {
            Wait::None => return shared.acquire_once(request, ttl).await,
            Wait::For(time) => Some(time),
            Wait::Forever => None,
        };
        let began = shared.clock.elapsed();
        let path = layout::record(&request.namespace, &request.key);
        let ticket = shared.waiters.queue_up(&path);
        let mut attempt = 0;
        let mut held = None;
        loop {
            let left = patience.map(|time| time.saturating_sub(shared.clock.elapsed().saturating_sub(began)));
            let mut pause = Duration::MAX;
            if ticket.is_first() {
                match shared.acquire_once(request, ttl).await {
                    Err(Error::Held { owner, expires_at, retry_after }) => {
                        // Another process wakes nobody here: look again after a while, and when the lease ends.
                        pause = shared.poll_pause(attempt).min(retry_after);
                        attempt += 1;
                        held = Some(Error::Held { owner, expires_at, retry_after });
                    }
                    answer => return answer,
                }
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Err(match held {
                    Some(held) => held,
                    None => shared.who_holds(request, ttl).await,
                });
            }
            let pause = pause.min(left.unwrap_or(Duration::MAX));
            tokio::select! {
                biased;
                () = ticket.called() => {}
                () = shared.clock.sleep(pause) => {}
            }
        }
    }

    /// Extends a lease: it ends `ttl` from now, or as long from now as it was given for.
    pub async fn keepalive(&self, lease: &Lease, ttl: Option<Duration>) -> Result<Lease, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let asked = ttl.map(|ttl| shared.ttl(Some(ttl))).transpose()?;
        let step = |shared: &Shared, mut record: Record, now: Moment| {
            let held = record.lease.as_mut().ok_or(Error::LeaseRequired)?;
            let ttl = asked.unwrap_or(Duration::from_millis(held.ttl_ms));
            held.ttl_ms = millis(ttl);
            // By our own clock, and never earlier than was promised before.
            held.expires_at = held.expires_at.max(now.plus(ttl));
            held.granted_by = shared.process;
            let expires_at = held.expires_at;
            let answer = Lease { expires_at, version: record.version, ..lease.clone() };
            Ok(Step::Swap { record: Box::new(record), look_by: Some(expires_at), answer })
        };
        let kept = shared.change_held(lease, step).await?;
        if let Some(TxnId(txn)) = lease.txn {
            // It lasts as long as its leases, or they would be of no use.
            shared.join(txn, None, kept.expires_at).await?;
        }
        Ok(kept)
    }

    /// Gives a lease back. Doing so twice, or after its end, is no error.
    pub async fn release(&self, lease: &Lease) -> Result<Released, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let step = |_: &Shared, record: Option<&Record>, _: Moment| {
            let ours = record.filter(|record| record.lease.as_ref().is_some_and(|held| held.id == lease.id));
            Ok(match ours {
                None => Step::Answer(Released::Already),
                Some(record) if record.txn().is_some() => return Err(Error::TxnPending),
                Some(record) => {
                    let record = Box::new(Record { lease: None, ..record.clone() });
                    Step::Swap { record, look_by: None, answer: Released::Now }
                }
            })
        };
        let released = shared.change(&lease.namespace, &lease.key, step).await?;
        shared.waiters.wake(&layout::record(&lease.namespace, &lease.key));
        Ok(released)
    }
}

impl Shared {
    pub(crate) fn ttl(&self, asked: Option<Duration>) -> Result<Duration, Error> {
        let (asked, most) = (asked.unwrap_or(self.options.default_ttl), self.options.max_ttl);
        if (TTL_MIN..=most).contains(&asked) { Ok(asked) } else { Err(Error::BadTtl { asked, least: TTL_MIN, most }) }
    }

    async fn acquire_once(&self, request: &Acquire, ttl: Duration) -> Result<Lease, Error> {
        match request.txn {
            None => self.try_acquire(request, ttl, None).await,
            Some(_) => self.enlist(request, ttl, None).await,
        }
    }

    pub(crate) async fn try_acquire(
        &self,
        request: &Acquire,
        ttl: Duration,
        change: Option<&(Change, IfVersion)>,
    ) -> Result<Lease, Error> {
        let (id, txn) = (self.ids.next(), request.txn.map(|txn| txn.0));
        let grant = |shared: &Self, record: Option<&Record>, now: Moment| {
            let mut step = shared.grant(request, id, ttl, record, now)?;
            if let (Some((change, if_version)), Step::Swap { record, .. }) = (change, &mut step) {
                change.apply(record, *if_version, txn, now)?;
            }
            Ok(step)
        };
        self.change_perhaps_new(&request.namespace, &request.key, txn, grant).await
    }

    /// Who has a lease that was not waited out: the error to end with.
    async fn who_holds(&self, request: &Acquire, ttl: Duration) -> Error {
        let path = layout::record(&request.namespace, &request.key);
        match self.read(&path).await {
            Ok(seen) => {
                let lease = seen.and_then(|seen| seen.record.lease);
                lease.map_or_else(
                    // Free, but others were before us.
                    || Error::Held { owner: String::new(), expires_at: self.now(), retry_after: ttl },
                    |lease| self.held_by(&lease, self.now()),
                )
            }
            Err(error) => error,
        }
    }

    fn held_by(&self, lease: &LeaseRecord, now: Moment) -> Error {
        // One millisecond more: what ends then has not passed then.
        let retry_after = now.until(self.free_at(lease)) + Duration::from_millis(1);
        Error::Held { owner: lease.owner.clone(), expires_at: lease.expires_at, retry_after }
    }

    fn grant(
        &self,
        request: &Acquire,
        id: Uuid,
        ttl: Duration,
        record: Option<&Record>,
        now: Moment,
    ) -> Result<Step<Lease>, Error> {
        let mut record = record.cloned().unwrap_or_default();
        let answer = |record: &Record, lease: &LeaseRecord| Lease {
            namespace: request.namespace.clone(),
            key: request.key.clone(),
            id: lease.id,
            owner: lease.owner.clone(),
            fencing_token: record.fencing_token,
            expires_at: lease.expires_at,
            version: record.version,
            txn: request.txn,
        };
        let txn = request.txn.map(|txn| txn.0);
        // One of a transaction that is not decided keeps everybody else out, even when its own time has passed.
        let is_pending = record.txn().is_some() && record.txn() != txn;
        if let Some(lease) = record.lease.as_ref().filter(|lease| is_pending || !self.is_over(lease, now)) {
            let is_same = request.request.is_some() && lease.request == request.request && lease.owner == request.owner;
            if is_same && !lease.expires_at.has_passed(now) {
                return Ok(Step::Answer(answer(&record, lease)));
            }
            return Err(self.held_by(lease, now));
        }
        if request.if_not_exists && record.state.is_some() {
            return Err(Error::AlreadyExists);
        }
        let lease = LeaseRecord {
            id,
            owner: request.owner.clone(),
            expires_at: now.plus(ttl),
            ttl_ms: millis(ttl),
            granted_by: self.process,
            request: request.request.clone(),
            txn,
        };
        record.fencing_token = self.next_token(&record);
        let (answer, look_by) = (answer(&record, &lease), Some(lease.expires_at));
        record.lease = Some(lease);
        Ok(Step::Swap { record: Box::new(record), look_by, answer })
    }

    /// Shows the holder of a lease the record of its key. Where the lease has ended, it is cleared, and the holder is told.
    pub(crate) async fn change_held<T>(
        &self,
        lease: &Lease,
        mut step: impl FnMut(&Self, Record, Moment) -> Result<Step<T>, Error>,
    ) -> Result<T, Error> {
        let held_step = |shared: &Self, record: Option<&Record>, now: Moment| {
            let record = record.ok_or(Error::LeaseRequired)?;
            let is_ours = |held: &LeaseRecord| held.id == lease.id || planted::is(Bug::NoFencing);
            match &record.lease {
                Some(held) if is_ours(held) && !held.expires_at.has_passed(now) => {
                    Ok(match step(shared, record.clone(), now)? {
                        Step::Answer(answer) => Step::Answer(Ok(answer)),
                        Step::Swap { record, look_by, answer } => Step::Swap { record, look_by, answer: Ok(answer) },
                    })
                }
                // Past its time, but not decided: it is for the transaction's end to clear it.
                Some(held) if held.id == lease.id && record.txn().is_some() => {
                    Err(Error::LeaseExpired { expired_at: held.expires_at })
                }
                Some(held) if held.id == lease.id => {
                    let answer = Err(Error::LeaseExpired { expired_at: held.expires_at });
                    let record = Box::new(Record { lease: None, ..record.clone() });
                    Ok(Step::Swap { record, look_by: None, answer })
                }
                _ if record.fencing_token > lease.fencing_token => {
                    Err(Error::FencingMismatch { given: lease.fencing_token, found: record.fencing_token })
                }
                _ if lease.expires_at.has_passed(now) => Err(Error::LeaseExpired { expired_at: lease.expires_at }),
                _ => Err(Error::LeaseRequired),
            }
        };
        let own = lease.txn.map(|txn| txn.0);
        let answer = self.change_within(&lease.namespace, &lease.key, own, held_step).await?;
        if answer.is_err() {
            self.waiters.wake(&layout::record(&lease.namespace, &lease.key));
        }
        answer
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
