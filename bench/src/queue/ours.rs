//! A queue of a lease store over a directory.

use async_trait::async_trait;
use bygone_lease::{Acked, Enqueue, LeaseStore, Namespace, Queue, QueueName, Wait};

use super::PAYLOAD;
use crate::crowd::{Client, Clients};
use crate::failure::Failure;

/// So many who put messages into a queue.
pub(crate) fn producers(store: &LeaseStore, queue: &Queue, count: usize) -> Clients {
    let producer = || Producer { store: store.clone(), queue: queue.clone() };
    (0..count).map(|_| Box::new(producer()) as Box<dyn Client>).collect()
}

/// So many who take them out.
pub(crate) fn workers(store: &LeaseStore, queue: &Queue, count: usize) -> Clients {
    let worker = |at| Worker { store: store.clone(), queue: queue.clone(), name: format!("worker-{at}") };
    (0..count).map(|at| Box::new(worker(at)) as Box<dyn Client>).collect()
}

/// A queue of its own for each case.
pub(crate) fn queue(name: &str) -> Result<Queue, Failure> {
    Ok(Queue { namespace: Namespace::new("bench")?, name: QueueName::new(name)? })
}

struct Producer {
    store: LeaseStore,
    queue: Queue,
}

#[async_trait]
impl Client for Producer {
    async fn once(&mut self) -> Result<bool, Failure> {
        let message = Enqueue { payload: PAYLOAD.as_bytes().to_vec(), ..Enqueue::default() };
        self.store.enqueue(&self.queue, &message).await?;
        Ok(true)
    }
}

struct Worker {
    store: LeaseStore,
    queue: Queue,
    name: String,
}

#[async_trait]
impl Client for Worker {
    async fn once(&mut self) -> Result<bool, Failure> {
        let taken = self.store.dequeue(&self.queue, &self.name, None, 1, Wait::None).await?;
        let Some(delivery) = taken.first() else { return Ok(false) };
        if delivery.payload != PAYLOAD.as_bytes() || self.store.ack(delivery).await? != Acked::Now {
            return Err("a message was not delivered as it was sent, or not to one worker alone".into());
        }
        Ok(true)
    }
}
