//! The lease store: what operations share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use jiff::SignedDuration;
use uuid::Uuid;

use crate::activity::Activity;
use crate::cache::{Cache, Seen};
use crate::chance::{Chance, SystemChance, jitter};
use crate::ids::Ids;
use crate::index::Index;
use crate::layout::Hour;
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::options::Options;
use crate::planted::{self, Bug};
use crate::queue::Letters;
use crate::record::{LeaseRecord, Record};
use crate::storage::{Careful, Expected, Proven, Storage, StorageError};
use crate::txn::{Decided, Participant, Replayed, TxnHours, Txns};
use crate::waiters::Waiters;
use crate::{Error, layout};

/// How often others may come first before an operation gives up.
const CONFLICTS_MAX: u32 = 64;

/// Leases and the state that they guard, in a store. Clones share one.
#[derive(Clone, Debug)]
pub struct LeaseStore {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<dyn Chance>,
    pub(crate) ids: Ids,
    pub(crate) options: Options,
    /// Who we are, in the leases that we grant.
    pub(crate) process: Uuid,
    pub(crate) cache: Cache,
    pub(crate) waiters: Waiters,
    pub(crate) index: Index,
    pub(crate) activity: Activity,
    pub(crate) txns: Txns,
    pub(crate) letters: Letters,
    pub(crate) replayed: Replayed,
    /// When clocks were compared last; nothing if the store has none.
    clock_checked: Mutex<Option<Duration>>,
    /// The hours of transactions that are known to be on their list.
    txn_hours: Mutex<TxnHours>,
}

/// What an operation does with the record that it is shown.
pub(crate) enum Step<T> {
    /// Swaps it for this one. Where a key must be looked at by a certain time, the index says so first.
    Swap { record: Box<Record>, look_by: Option<Moment>, answer: T },
    /// Nothing is to be written.
    Answer(T),
}

impl LeaseStore {
    /// Opens a store over a storage, by the machine's clock.
    ///
    /// A storage that is not known to keep its conditions is tried first, and refused if it does not; so is one whose
    /// clock is further from ours than the options allow.
    pub async fn open(storage: impl Storage + 'static, options: Options) -> Result<Self, Error> {
        Self::open_by(storage, options, Arc::new(SystemClock::new()), Arc::new(SystemChance)).await
    }

    /// The same by another clock and another source of chance.
    pub async fn open_by(
        storage: impl Storage + 'static,
        options: Options,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
    ) -> Result<Self, Error> {
        options.check()?;
        let ids = Ids::new(Arc::clone(&clock), Arc::clone(&chance));
        let careful = Careful::new(storage, Arc::clone(&clock), Arc::clone(&chance), options.patience);
        let storage: Box<dyn Storage> = if careful.capabilities().proven {
            Box::new(careful)
        } else {
            Box::new(Proven::open(careful, Arc::clone(&clock), Arc::clone(&chance)).await?)
        };
        let has_clock = check_clock(&*storage, options.skew).await?;
        let shared = Shared {
            storage,
            process: ids.next(),
            cache: Cache::new(options.cached_records_max),
            waiters: Waiters::default(),
            index: Index::default(),
            activity: Activity::new(Arc::clone(&clock)),
            txns: Txns::default(),
            letters: Letters::default(),
            replayed: Replayed::default(),
            clock_checked: Mutex::new(has_clock.then(|| clock.elapsed())),
            txn_hours: Mutex::default(),
            clock,
            chance,
            ids,
            options,
        };
        if let Err(error) = shared.look_for_pending().await {
            tracing::debug!(%error, "whether transactions are pending is found out later");
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// For how long no operation has used the store, by this process; nothing while one does.
    pub fn idle(&self) -> Duration {
        self.shared.activity.idle()
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Moment {
        Moment::from(self.clock.now())
    }

    /// The next fencing token: more than any before, also where the record of those was removed long ago.
    pub(crate) fn next_token(&self, record: &Record) -> u64 {
        let micros = u64::try_from(self.clock.now().as_microsecond()).unwrap_or(0);
        micros.max(record.fencing_token.saturating_add(1))
    }

    /// Whether a lease is over for everybody. Where another process granted it, by another clock, only after what clocks
    /// may be apart.
    pub(crate) fn is_over(&self, lease: &LeaseRecord, now: Moment) -> bool {
        self.free_at(lease).has_passed(now)
    }

    /// Until when a lease keeps others out.
    pub(crate) fn free_at(&self, lease: &LeaseRecord) -> Moment {
        if lease.granted_by == self.process { lease.expires_at } else { lease.expires_at.plus(self.options.skew) }
    }

    /// Compares the clocks again, if it is time for it: leases are given by them.
    pub(crate) async fn watch_clock(&self) -> Result<(), Error> {
        let now = self.clock.elapsed();
        {
            let mut checked = self.clock_checked.lock().unwrap_or_else(PoisonError::into_inner);
            match *checked {
                Some(last) if now.saturating_sub(last) >= self.options.clock_check_every => *checked = Some(now),
                _ => return Ok(()),
            }
        }
        let compared = check_clock(&*self.storage, self.options.skew).await;
        if compared.is_err() {
            // It is not over with one refusal: the next one looks again.
            let mut checked = self.clock_checked.lock().unwrap_or_else(PoisonError::into_inner);
            *checked = checked.map(|_| now.saturating_sub(self.options.clock_check_every));
        }
        compared.map(drop)
    }

    /// A pause that grows with every attempt and is never quite the same.
    pub(crate) fn poll_pause(&self, attempt: u32) -> Duration {
        let (first, most) = self.options.poll;
        first.saturating_mul(1 << attempt.min(16)).min(most).mul_f64(jitter(&*self.chance))
    }

    pub(crate) fn txn_hours(&self) -> TxnHours {
        self.txn_hours.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_txn_hours(&self, hours: TxnHours) {
        *self.txn_hours.lock().unwrap_or_else(PoisonError::into_inner) = hours;
    }

    /// A record without what a transaction left in it that is over; `None` where that has nothing to say.
    ///
    /// The decision comes first: what was staged may be committed, and whoever discards it before he has asked loses it.
    pub(crate) async fn settled(
        &self,
        (namespace, key): (&Namespace, &Key),
        record: &Record,
        own: Option<Uuid>,
        now: Moment,
    ) -> Result<Option<Record>, Error> {
        let Some(txn) = record.txn() else { return Ok(None) };
        let is_live = record.lease.as_ref().is_some_and(|lease| !lease.expires_at.has_passed(now));
        if own == Some(txn) && is_live {
            return Ok(None);
        }
        if planted::is(Bug::DiscardBeforeDecision) && !is_live {
            return Ok(Some(Record { lease: None, staged: None, ..record.clone() }));
        }
        match self.outlook(txn, now).await? {
            Decided::Pending => Ok(None),
            Decided::Over(decision) => {
                let participant = Participant::key(namespace, key);
                Ok(record.resolved(&decision, &participant, now))
            }
        }
    }

    /// The record of a key, read anew.
    pub(crate) async fn read(&self, path: &str) -> Result<Option<Seen>, Error> {
        let seen = self.peek(path).await?;
        match &seen {
            Some(seen) => self.cache.keep(path, seen.clone()),
            None => self.cache.forget(path),
        }
        Ok(seen)
    }

    /// The same for one who only passes by: what others are about to need stays remembered in its place.
    pub(crate) async fn peek(&self, path: &str) -> Result<Option<Seen>, Error> {
        let Some(stored) = self.storage.get(path).await? else { return Ok(None) };
        Ok(Some(Seen { record: parse(path, &stored.body)?, version: stored.version }))
    }

    /// Swaps the record of a key of which, likely, nothing is known yet: it is taken for a new one until the store says
    /// otherwise, which saves new keys a read.
    pub(crate) async fn change_perhaps_new<T>(
        &self,
        namespace: &Namespace,
        key: &Key,
        own: Option<Uuid>,
        step: impl FnMut(&Self, Option<&Record>, Moment) -> Result<Step<T>, Error>,
    ) -> Result<T, Error> {
        let path = layout::record(namespace, key);
        let start = (self.cache.get(&path), false);
        self.change_from((namespace, key, own), start, step).await
    }

    /// Shows an operation the record of a key until its step is done: again and again while others change it.
    ///
    /// A remembered record is good enough for a swap, which proves it. Nothing else is concluded from one: an answer or an
    /// error counts only when the record was read anew.
    pub(crate) async fn change<T>(
        &self,
        namespace: &Namespace,
        key: &Key,
        step: impl FnMut(&Self, Option<&Record>, Moment) -> Result<Step<T>, Error>,
    ) -> Result<T, Error> {
        self.change_within(namespace, key, None, step).await
    }

    /// The same for a step of a transaction.
    pub(crate) async fn change_within<T>(
        &self,
        namespace: &Namespace,
        key: &Key,
        own: Option<Uuid>,
        step: impl FnMut(&Self, Option<&Record>, Moment) -> Result<Step<T>, Error>,
    ) -> Result<T, Error> {
        let path = layout::record(namespace, key);
        let start = match self.cache.get(&path) {
            Some(seen) => (Some(seen), false),
            None => (self.read(&path).await?, true),
        };
        self.change_from((namespace, key, own), start, step).await
    }

    async fn change_from<T>(
        &self,
        (namespace, key, own): (&Namespace, &Key, Option<Uuid>),
        (mut seen, mut is_fresh): (Option<Seen>, bool),
        mut step: impl FnMut(&Self, Option<&Record>, Moment) -> Result<Step<T>, Error>,
    ) -> Result<T, Error> {
        let path = layout::record(namespace, key);
        for _ in 0..CONFLICTS_MAX {
            let found = seen.as_ref().map(|seen| &seen.record);
            let settled = match found {
                Some(record) => self.settled((namespace, key), record, own, self.now()).await?,
                None => None,
            };
            let shown = settled.as_ref().or(found);
            let (mut record, look_by, answer) = match (step(self, shown, self.now()), settled) {
                (Ok(Step::Swap { record, look_by, answer }), _) => (*record, look_by, Ok(answer)),
                _ if !is_fresh => {
                    (seen, is_fresh) = (self.read(&path).await?, true);
                    continue;
                }
                // What was cleaned up on the way is written, whatever the operation itself has to say.
                (Ok(Step::Answer(answer)), Some(settled)) => (settled, None, Ok(answer)),
                (Err(error), Some(settled)) => (settled, None, Err(error)),
                (Ok(Step::Answer(answer)), None) => return Ok(answer),
                (Err(error), None) => return Err(error),
            };
            let missing = look_by.map(Hour::of).filter(|hour| record.indexed != Some(*hour));
            if let Some(hour) = missing {
                if !planted::is(Bug::IndexAfterRecord) {
                    self.enter((namespace, key), hour).await?;
                }
                record.indexed = Some(hour);
            }
            let dropped = self.post_dropped((namespace, key), found, &record).await?;
            record.attempt = self.ids.attempt();
            record.touched_at = self.now();
            let expected = seen.as_ref().map_or(Expected::Absent, |seen| Expected::Version(&seen.version));
            match self.storage.put(&path, record.body()?, expected).await {
                Ok(version) => {
                    if let Some(hour) = missing.filter(|_| planted::is(Bug::IndexAfterRecord)) {
                        self.enter((namespace, key), hour).await?;
                    }
                    self.cache.keep(&path, Seen { record, version });
                    if let Some((blobs, errand)) = dropped {
                        self.discard(namespace, key, &blobs, &errand).await;
                    }
                    return answer;
                }
                Err(StorageError::Conflict { current }) => {
                    self.cache.forget(&path);
                    is_fresh = true;
                    seen = match current {
                        Some(current) => Some(Seen { record: parse(&path, &current.body)?, version: current.version }),
                        None => None,
                    };
                }
                Err(error) => {
                    self.cache.forget(&path);
                    return Err(error.into());
                }
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }
}

/// The dates of answers have whole seconds, cut off.
const DATE_STEP: SignedDuration = SignedDuration::from_secs(1);

/// Leases end by clocks, so a clock that is further off than leases allow for would end them early.
///
/// Answers whether the store has a clock.
async fn check_clock(storage: &dyn Storage, skew: Duration) -> Result<bool, Error> {
    let Some(reading) = storage.read_clock().await? else { return Ok(false) };
    let allowed = SignedDuration::try_from(skew).unwrap_or(SignedDuration::MAX);
    let ahead = reading.before.duration_since(reading.source) - DATE_STEP;
    let behind = reading.source.duration_since(reading.after);
    let off = ahead.max(behind);
    if off > allowed { Err(Error::ClockSkew { off: off.unsigned_abs(), allowed: skew }) } else { Ok(true) }
}

fn parse(path: &str, body: &[u8]) -> Result<Record, Error> {
    Record::parse(body).map_err(|reason| Error::Unreadable { key: path.to_owned(), reason })
}
