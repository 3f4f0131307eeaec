//! What can be done with a lease store, be it opened here or a daemon's.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bygone_lease::{
    Acked, Acquire, Delivery, Enqueue, IfVersion, Key, Lease, Nack, Namespace, Queue, Released, RolledBack, TxnId,
    Versioned, Wait,
};
use bygone_server::leases::{AttachmentDocument, BegunDocument, DescriptionDocument, StatsDocument};
use bytes::Bytes;
use tokio::io::AsyncRead;
use uuid::Uuid;

use crate::problem::Problem;

/// What is read to its end, whatever it is.
pub(crate) type Source = Box<dyn AsyncRead + Unpin + Send>;

/// A lease store, wherever it is. What goes wrong has the code and the exit that scripts know.
#[async_trait]
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// Takes a lease.
    async fn acquire(&self, request: &Acquire) -> Result<Lease, Problem>;

    /// Extends a lease.
    async fn keepalive(&self, lease: &Lease, ttl: Option<Duration>) -> Result<Lease, Problem>;

    /// Gives a lease back.
    async fn release(&self, lease: &Lease) -> Result<Released, Problem>;

    /// The state of a key.
    async fn get(&self, namespace: &Namespace, key: &Key) -> Result<Option<Versioned>, Problem>;

    /// The state of a key, as the holder of its lease sees it.
    async fn get_held(&self, lease: &Lease) -> Result<Option<Versioned>, Problem>;

    /// Changes state, and gives the lease back in the same step where that is wanted; answers with the version.
    async fn update(&self, lease: &Lease, state: Vec<u8>, only: IfVersion, release: bool) -> Result<u64, Problem>;

    /// Removes state.
    async fn remove(&self, lease: &Lease, only: IfVersion) -> Result<u64, Problem>;

    /// What is known of a key.
    async fn describe(&self, namespace: &Namespace, key: &Key) -> Result<Option<DescriptionDocument>, Problem>;

    /// Attaches something to a key.
    async fn put_attachment(
        &self,
        lease: &Lease,
        name: &str,
        content_type: Option<&str>,
        source: Source,
    ) -> Result<AttachmentDocument, Problem>;

    /// Opens an attachment.
    async fn get_attachment(
        &self,
        namespace: &Namespace,
        key: &Key,
        name: &str,
    ) -> Result<Option<Box<dyn Pieces>>, Problem>;

    /// The attachments of a key.
    async fn list_attachments(&self, namespace: &Namespace, key: &Key) -> Result<Vec<AttachmentDocument>, Problem>;

    /// Removes an attachment; false where there was none.
    async fn delete_attachment(&self, lease: &Lease, name: &str) -> Result<bool, Problem>;

    /// Puts a message into a queue.
    async fn enqueue(&self, queue: &Queue, message: Enqueue) -> Result<Uuid, Problem>;

    /// Takes messages.
    async fn dequeue(
        &self,
        queue: &Queue,
        owner: &str,
        ttl: Duration,
        limit: usize,
        wait: Wait,
    ) -> Result<Vec<Delivery>, Problem>;

    /// Acknowledges a message.
    async fn ack(&self, delivery: &Delivery) -> Result<Acked, Problem>;

    /// Gives a message back.
    async fn nack(&self, delivery: &Delivery, why: Nack, delay: Duration) -> Result<(), Problem>;

    /// Keeps a message for longer.
    async fn extend(&self, delivery: &Delivery, ttl: Duration) -> Result<Delivery, Problem>;

    /// Messages that were put aside.
    async fn dead_letters(&self, queue: &Queue, limit: usize) -> Result<Vec<Uuid>, Problem>;

    /// How many messages there are.
    async fn queue_stats(&self, queue: &Queue) -> Result<StatsDocument, Problem>;

    /// Begins a transaction.
    async fn begin(&self, ttl: Duration) -> Result<BegunDocument, Problem>;

    /// Takes a lease and stages a change of state.
    async fn stage(&self, request: &Acquire, state: Vec<u8>, only: IfVersion) -> Result<Lease, Problem>;

    /// Makes a transaction come true.
    async fn commit(&self, txn: TxnId) -> Result<(), Problem>;

    /// Undoes a transaction.
    async fn rollback(&self, txn: TxnId) -> Result<RolledBack, Problem>;
}

/// An attachment that comes piece by piece.
#[async_trait]
pub(crate) trait Pieces: Send {
    /// What is known of it.
    fn about(&self) -> &AttachmentDocument;

    /// The next piece; `None` at the end, once the whole is known to be what was written.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem>;
}
