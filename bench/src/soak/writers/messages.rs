//! Messages, some of which are worked on and acknowledged, some fetched and forgotten, and some never fetched in time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_lease::{Enqueue, LeaseStore, Namespace, Queue, QueueName, Wait};
use jiff::SignedDuration;

use super::super::book::Promise;
use super::super::site::Site;
use super::{Desk, Looker, Writer, records};
use crate::failure::Failure;

const SENT: usize = 4;
const FETCHED: usize = 2;
/// How long somebody who fetches a message has it.
const IN_HAND: Duration = Duration::from_secs(2);
/// A message that somebody has stays until he has lost it for everybody.
const ECHO: SignedDuration = SignedDuration::from_secs(4);

pub(super) struct Mailer {
    desk: Desk,
    store: LeaseStore,
    queue: Queue,
}

impl Mailer {
    pub(super) fn new(desk: Desk, store: &LeaseStore) -> Result<Self, Failure> {
        let queue = Queue { namespace: Namespace::new("soak")?, name: QueueName::new("mail")? };
        Ok(Self { desk, store: store.clone(), queue })
    }

    async fn send(&mut self) -> Result<(), Failure> {
        let (ttl, before) = (self.desk.life(), self.desk.record.now());
        let message = Enqueue { payload: b"mail".to_vec(), ttl: Some(ttl), ..Enqueue::default() };
        let id = self.store.enqueue(&self.queue, &message).await?;
        let due = self.desk.record.now() + ttl + ECHO;
        self.desk.book.enter(id.to_string(), Promise { until: before + ttl, due });
        Ok(())
    }
}

#[async_trait]
impl Writer for Mailer {
    async fn write(&mut self) -> Result<(), Failure> {
        for _ in 0..SENT {
            self.send().await?;
        }
        for delivery in self.store.dequeue(&self.queue, "reader", Some(IN_HAND), FETCHED, Wait::None).await? {
            if delivery.payload != b"mail" {
                return Err(format!("message {} is not what was sent", delivery.id).into());
            }
            // One in four is forgotten by whoever has fetched it.
            if !self.desk.chance.one_in(4) {
                self.desk.book.strike(&delivery.id.to_string());
                self.store.ack(&delivery).await?;
            }
        }
        Ok(())
    }
}

pub(super) struct Reader(Arc<Site>);

impl Reader {
    pub(super) fn new(site: &Arc<Site>) -> Self {
        Self(Arc::clone(site))
    }
}

#[async_trait]
impl Looker for Reader {
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure> {
        let Self(site) = self;
        records::names(&site.jobs_file(), "q", |message| {
            let is_done = message["is_done"].as_bool().unwrap_or_default();
            message["id"].as_str().filter(|_| !is_done).map(str::to_owned)
        })
    }
}
