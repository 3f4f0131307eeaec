//! Delivering messages, and what becomes of them in the hands of a worker.

use std::time::Duration;

use uuid::Uuid;

use super::{Acked, Delivery, Held, Message, Nack, Queue, message};
use crate::Error;
use crate::errand::Errand;
use crate::layout::{self, Hour};
use crate::lease::Wait;
use crate::moment::Moment;
use crate::planted::{self, Bug};
use crate::storage::{Expected, Listed, StorageError, Version};
use crate::store::{LeaseStore, Shared};
use crate::txn::{Decided, Decision, Participant};

/// Messages listed at once.
const LISTING_KEYS: usize = 100;
/// How often others may come first.
const CONFLICTS_MAX: u32 = 16;

/// What became of a message that was looked at.
enum Offer {
    Taken(Box<Delivery>),
    /// It is not for us, or not for now.
    Passed,
}

impl LeaseStore {
    /// Takes up to `limit` messages that are ready, the oldest first, for `ttl` each. An empty answer means that there was
    /// none for as long as the caller would wait.
    pub async fn dequeue(
        &self,
        queue: &Queue,
        owner: &str,
        ttl: Option<Duration>,
        limit: usize,
        wait: Wait,
    ) -> Result<Vec<Delivery>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let ttl = shared.ttl(ttl)?;
        let began = shared.clock.elapsed();
        let mut attempt = 0;
        loop {
            // In the queue of waiters before looking: whoever enqueues after the look wakes us.
            let ticket = shared.waiters.queue_up(&layout::messages(queue));
            let taken = shared.take_ready(queue, owner, ttl, limit).await?;
            let patience = match wait {
                Wait::None => Duration::ZERO,
                Wait::For(time) => time.saturating_sub(shared.clock.elapsed().saturating_sub(began)),
                Wait::Forever => Duration::MAX,
            };
            if !taken.is_empty() || limit == 0 || patience.is_zero() {
                return Ok(taken);
            }
            let pause = shared.poll_pause(attempt).min(patience);
            attempt += 1;
            tokio::select! {
                biased;
                () = ticket.called() => {}
                () = shared.clock.sleep(pause) => {}
            }
        }
    }

    /// The work on a message is done: it goes.
    pub async fn ack(&self, delivery: &Delivery) -> Result<Acked, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let path = layout::message(&delivery.queue, &delivery.name);
        for _ in 0..CONFLICTS_MAX {
            let Some((message, version)) = shared.delivered(&path, delivery).await? else { return Ok(Acked::Already) };
            match shared.take_out(&path, message, &version).await {
                Ok(()) => return Ok(Acked::Now),
                Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }

    /// Gives a message back, to be delivered again after a while.
    pub async fn nack(&self, delivery: &Delivery, why: Nack, delay: Duration) -> Result<(), Error> {
        super::within("delay", delay)?;
        let change = |message: &mut Message, now: Moment| {
            message.held = None;
            message.ready_at = now.plus(delay);
            if why == Nack::Defer {
                message.attempts = message.attempts.saturating_sub(1);
            }
        };
        self.change_delivered(delivery, change).await?;
        self.shared.waiters.wake(&layout::messages(&delivery.queue));
        Ok(())
    }

    /// Keeps a message for longer: for `ttl` from now.
    pub async fn extend(&self, delivery: &Delivery, ttl: Option<Duration>) -> Result<Delivery, Error> {
        let (ttl, process) = (self.shared.ttl(ttl)?, self.shared.process);
        let change = |message: &mut Message, now: Moment| {
            if let Some(held) = &mut message.held {
                held.expires_at = held.expires_at.max(now.plus(ttl));
                held.granted_by = process;
            }
        };
        let message = self.change_delivered(delivery, change).await?;
        let expires_at = message.held.map_or(delivery.expires_at, |held| held.expires_at);
        Ok(Delivery { expires_at, ..delivery.clone() })
    }

    async fn change_delivered(
        &self,
        delivery: &Delivery,
        change: impl Fn(&mut Message, Moment),
    ) -> Result<Message, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let path = layout::message(&delivery.queue, &delivery.name);
        for _ in 0..CONFLICTS_MAX {
            let found = shared.delivered(&path, delivery).await?;
            let (mut message, version) = found.ok_or(Error::LeaseRequired)?;
            change(&mut message, shared.now());
            match shared.swap_message(&path, message.clone(), &version).await {
                Ok(version) => {
                    shared.letters.hand_out(&path, message.clone(), version);
                    return Ok(message);
                }
                Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }
}

impl Shared {
    async fn take_ready(
        &self,
        queue: &Queue,
        owner: &str,
        ttl: Duration,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let prefix = layout::messages(queue);
        let (mut taken, mut after) = (Vec::new(), None::<String>);
        while taken.len() < limit {
            let listing = self.storage.list(&prefix, after.as_deref(), LISTING_KEYS).await?;
            for listed in &listing.keys {
                let name = &listed.key[prefix.len()..];
                let Some(ready_at) = message::ready_at(name) else { continue };
                // What comes behind is ready later still.
                if ready_at > self.now() || taken.len() == limit {
                    return Ok(taken);
                }
                if let Offer::Taken(delivery) = self.offer(queue, name, listed, owner, ttl).await? {
                    taken.push(*delivery);
                }
            }
            after = listing.keys.last().map(|listed| listed.key.clone());
            if !listing.more || after.is_none() {
                break;
            }
        }
        Ok(taken)
    }

    /// Looks at a message, and takes it if it is to be had.
    async fn offer(
        &self,
        queue: &Queue,
        name: &str,
        listed: &Listed,
        owner: &str,
        ttl: Duration,
    ) -> Result<Offer, Error> {
        let path = &listed.key;
        if self.letters.is_passed(path, listed.version.as_ref(), self.now()) {
            return Ok(Offer::Passed);
        }
        let Some(_claim) = self.letters.claim(path) else { return Ok(Offer::Passed) };
        let Some(stored) = self.storage.get(path).await? else { return Ok(Offer::Passed) };
        let message = match Message::parse(path, &stored.body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a message is passed over");
                return Ok(Offer::Passed);
            }
        };
        let now = self.now();
        let busy_until = match &message.held {
            _ if message.is_done => Some(Moment::from_millis(i64::MAX)),
            Some(held) => Some(self.held_until(held)).filter(|until| !until.has_passed(now)),
            // Ready at that very moment, and not only after it.
            None => {
                Some(Moment::from_millis(message.ready_at.millis().saturating_sub(1))).filter(|before| *before >= now)
            }
        };
        if let Some(until) = busy_until {
            self.letters.pass(path, stored.version, until);
            return Ok(Offer::Passed);
        }
        let is_over = |at: Moment| at.has_passed(now) || (planted::is(Bug::GoesEarly) && at == now);
        if message.expires_at.is_some_and(is_over) {
            self.take_out_if_unchanged(path, &message, &stored.version).await?;
            return Ok(Offer::Passed);
        }
        if let Some(txn) = message.txn {
            match self.outlook(txn, now).await? {
                Decided::Pending => return Ok(Offer::Passed),
                // Committed, and not done here yet: that comes with the delivery.
                Decided::Over(decision) if decision.promotes(&Participant::message(queue, name)) => {}
                Decided::Over(_) if planted::is(Bug::UndoneDelivered) => {}
                Decided::Over(decision) => {
                    self.end_staging(queue, name, &decision).await?;
                    return Ok(Offer::Passed);
                }
            }
        }
        if message.is_exhausted() {
            self.put_aside(queue, name, path, &message, &stored.version).await?;
            return Ok(Offer::Passed);
        }
        let micros = u64::try_from(self.clock.now().as_microsecond()).unwrap_or(0);
        let (lease, expires_at) = (self.ids.next(), now.plus(ttl));
        let held = Held { lease, owner: owner.to_owned(), expires_at, granted_by: self.process };
        let fencing_token = micros.max(message.fencing_token + 1);
        let attempts = message.attempts.saturating_add(1);
        let taken = Message { attempts, fencing_token, held: Some(held), txn: None, ..message };
        let payload = taken.payload.bytes().map_err(|reason| Error::Unreadable { key: path.clone(), reason })?;
        match self.swap_message(path, taken.clone(), &stored.version).await {
            Ok(version) => {
                self.letters.pass(path, version.clone(), expires_at);
                self.letters.hand_out(path, taken.clone(), version);
                Ok(Offer::Taken(Box::new(Delivery {
                    queue: queue.clone(),
                    id: taken.id,
                    name: name.to_owned(),
                    payload: payload.to_vec(),
                    attributes: taken.attributes,
                    attempts,
                    lease,
                    fencing_token,
                    expires_at,
                })))
            }
            Err(StorageError::Conflict { .. }) => Ok(Offer::Passed),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn held_until(&self, held: &Held) -> Moment {
        if held.granted_by == self.process { held.expires_at } else { held.expires_at.plus(self.options.skew) }
    }

    /// Puts a message aside: among the dead letters first, so that it is never in neither place.
    async fn put_aside(
        &self,
        queue: &Queue,
        name: &str,
        path: &str,
        message: &Message,
        version: &Version,
    ) -> Result<(), Error> {
        let dead = layout::dead_letter(queue, name);
        let due = self.now().plus(self.options.dead_letter_keep);
        let errand = Errand::Message { queue: queue.name.clone(), name: name.to_owned(), dead: true, due };
        self.post(&queue.namespace, Hour::of(due), &errand).await?;
        let letter = Message { held: None, expires_at: Some(due), attempt: self.ids.next(), ..message.clone() };
        match self.storage.put(&dead, letter.body(&dead)?, Expected::Absent).await {
            Ok(_) | Err(StorageError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.take_out_if_unchanged(path, message, version).await
    }

    /// Takes a message out of its queue while it has this version.
    pub(crate) async fn take_out(&self, path: &str, message: Message, version: &Version) -> Result<(), StorageError> {
        if self.storage.capabilities().delete_if_version {
            return self.storage.delete(path, version).await;
        }
        let done = Message { held: None, txn: None, is_done: true, ..message };
        self.swap_message(path, done, version).await.map(drop)
    }

    async fn take_out_if_unchanged(&self, path: &str, message: &Message, version: &Version) -> Result<(), Error> {
        match self.take_out(path, message.clone(), version).await {
            Ok(()) | Err(StorageError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn read_message(&self, path: &str) -> Result<Option<(Message, Version)>, Error> {
        let Some(stored) = self.storage.get(path).await? else { return Ok(None) };
        Ok(Some((Message::parse(path, &stored.body)?, stored.version)))
    }

    /// Does to a message of a transaction what was decided: it is for everybody now, or for nobody. Doing so twice changes
    /// nothing.
    pub(crate) async fn end_staging(&self, queue: &Queue, name: &str, decision: &Decision) -> Result<(), Error> {
        let path = layout::message(queue, name);
        for _ in 0..CONFLICTS_MAX {
            let Some((message, version)) = self.read_message(&path).await? else { return Ok(()) };
            if message.txn != Some(decision.id) {
                return Ok(());
            }
            let ended = if decision.promotes(&Participant::message(queue, name)) {
                self.swap_message(&path, Message { txn: None, ..message }, &version).await.map(drop)
            } else {
                self.take_out(&path, message, &version).await
            };
            match ended {
                Ok(()) => {
                    self.waiters.wake(&layout::messages(queue));
                    return Ok(());
                }
                Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }

    async fn swap_message(&self, path: &str, message: Message, version: &Version) -> Result<Version, StorageError> {
        let message = Message { attempt: self.ids.next(), ..message };
        let body = message.body(path).map_err(|error| StorageError::Refused { reason: error.to_string() })?;
        self.storage.put(path, body, Expected::Version(version)).await
    }

    /// A message that is still in the caller's hands; `None` if it is gone.
    ///
    /// One that we delivered is taken from memory, once: the swap proves it. Only what was read anew is a reason to refuse.
    async fn delivered(&self, path: &str, delivery: &Delivery) -> Result<Option<(Message, Version)>, Error> {
        let is_held = |held: &Held| held.lease == delivery.lease && !held.expires_at.has_passed(self.now());
        if let Some((message, version)) = self.letters.take_back(path)
            && message.held.as_ref().is_some_and(is_held)
        {
            return Ok(Some((message, version)));
        }
        let Some(stored) = self.storage.get(path).await? else { return Ok(None) };
        let message = Message::parse(path, &stored.body)?;
        if message.is_done {
            return Ok(None);
        }
        match &message.held {
            Some(held) if is_held(held) => Ok(Some((message, stored.version))),
            Some(held) if held.lease == delivery.lease => Err(Error::LeaseExpired { expired_at: held.expires_at }),
            _ if message.fencing_token > delivery.fencing_token => {
                Err(Error::FencingMismatch { given: delivery.fencing_token, found: message.fencing_token })
            }
            _ => Err(Error::LeaseRequired),
        }
    }

    /// Shows every name below a prefix.
    pub(crate) async fn each_listed(&self, prefix: &str, mut see: impl FnMut(&str)) -> Result<(), Error> {
        let mut after: Option<String> = None;
        loop {
            let listing = self.storage.list(prefix, after.as_deref(), 1_000).await?;
            listing.keys.iter().for_each(|listed| see(&listed.key[prefix.len()..]));
            after = listing.keys.last().map(|listed| listed.key.clone());
            if !listing.more || after.is_none() {
                return Ok(());
            }
        }
    }
}

impl LeaseStore {
    /// The messages that were put aside, the oldest first, up to `limit`.
    pub async fn dead_letters(&self, queue: &Queue, limit: usize) -> Result<Vec<Uuid>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let prefix = layout::dead_letters(queue);
        let listing = shared.storage.list(&prefix, None, limit).await?;
        let id = |name: &str| name.split_once('-').and_then(|(_, id)| Uuid::try_parse(id).ok());
        Ok(listing.keys.iter().filter_map(|listed| id(&listed.key[prefix.len()..])).collect())
    }
}
