//! A lease store that is opened here.

use std::time::Duration;

use async_trait::async_trait;
use bygone_lease::storage::StorageError;
use bygone_lease::{
    Acked, Acquire, AttachmentReader, Delivery, Enqueue, Error, IfVersion, Key, Lease, LeaseStore, Nack, Namespace,
    Queue, Released, RolledBack, TxnId, Versioned, Wait,
};
use bygone_server::leases::{AttachmentDocument, BegunDocument, DescriptionDocument, StatsDocument};
use bytes::Bytes;
use uuid::Uuid;

use super::operations::{Pieces, Source, Store};
use crate::exit::Exit;
use crate::problem::Problem;

#[async_trait]
impl Store for LeaseStore {
    async fn acquire(&self, request: &Acquire) -> Result<Lease, Problem> {
        Ok(Self::acquire(self, request).await?)
    }

    async fn keepalive(&self, lease: &Lease, ttl: Option<Duration>) -> Result<Lease, Problem> {
        Ok(Self::keepalive(self, lease, ttl).await?)
    }

    async fn release(&self, lease: &Lease) -> Result<Released, Problem> {
        Ok(Self::release(self, lease).await?)
    }

    async fn get(&self, namespace: &Namespace, key: &Key) -> Result<Option<Versioned>, Problem> {
        Ok(Self::get(self, namespace, key).await?)
    }

    async fn get_held(&self, lease: &Lease) -> Result<Option<Versioned>, Problem> {
        Ok(Self::get_held(self, lease).await?)
    }

    async fn update(&self, lease: &Lease, state: Vec<u8>, only: IfVersion, release: bool) -> Result<u64, Problem> {
        Ok(if release {
            self.update_and_release(lease, &state, only).await?
        } else {
            Self::update(self, lease, &state, only).await?
        })
    }

    async fn remove(&self, lease: &Lease, only: IfVersion) -> Result<u64, Problem> {
        Ok(Self::remove(self, lease, only).await?)
    }

    async fn describe(&self, namespace: &Namespace, key: &Key) -> Result<Option<DescriptionDocument>, Problem> {
        let found = Self::describe(self, namespace, key).await?;
        Ok(found.map(|found| DescriptionDocument::of(namespace.clone(), key.clone(), found)))
    }

    async fn put_attachment(
        &self,
        lease: &Lease,
        name: &str,
        content_type: Option<&str>,
        source: Source,
    ) -> Result<AttachmentDocument, Problem> {
        let put = Self::put_attachment(self, lease, name, content_type, source).await?;
        Ok(AttachmentDocument::of(&lease.namespace, &lease.key, &put))
    }

    async fn get_attachment(
        &self,
        namespace: &Namespace,
        key: &Key,
        name: &str,
    ) -> Result<Option<Box<dyn Pieces>>, Problem> {
        let found = Self::get_attachment(self, namespace, key, name).await?;
        let opened = |reader: AttachmentReader| {
            let about = AttachmentDocument::of(namespace, key, reader.about());
            Box::new(Opened { about, reader }) as Box<dyn Pieces>
        };
        Ok(found.map(opened))
    }

    async fn list_attachments(&self, namespace: &Namespace, key: &Key) -> Result<Vec<AttachmentDocument>, Problem> {
        let found = Self::list_attachments(self, namespace, key).await?;
        Ok(found.iter().map(|one| AttachmentDocument::of(namespace, key, one)).collect())
    }

    async fn delete_attachment(&self, lease: &Lease, name: &str) -> Result<bool, Problem> {
        Ok(Self::delete_attachment(self, lease, name).await?)
    }

    async fn enqueue(&self, queue: &Queue, message: Enqueue) -> Result<Uuid, Problem> {
        Ok(Self::enqueue(self, queue, &message).await?)
    }

    async fn dequeue(
        &self,
        queue: &Queue,
        owner: &str,
        ttl: Duration,
        limit: usize,
        wait: Wait,
    ) -> Result<Vec<Delivery>, Problem> {
        Ok(Self::dequeue(self, queue, owner, Some(ttl), limit, wait).await?)
    }

    async fn ack(&self, delivery: &Delivery) -> Result<Acked, Problem> {
        Ok(Self::ack(self, delivery).await?)
    }

    async fn nack(&self, delivery: &Delivery, why: Nack, delay: Duration) -> Result<(), Problem> {
        Self::nack(self, delivery, why, delay).await?;
        Ok(())
    }

    async fn extend(&self, delivery: &Delivery, ttl: Duration) -> Result<Delivery, Problem> {
        Ok(Self::extend(self, delivery, Some(ttl)).await?)
    }

    async fn dead_letters(&self, queue: &Queue, limit: usize) -> Result<Vec<Uuid>, Problem> {
        Ok(Self::dead_letters(self, queue, limit).await?)
    }

    async fn queue_stats(&self, queue: &Queue) -> Result<StatsDocument, Problem> {
        Ok(Self::queue_stats(self, queue).await?.into())
    }

    async fn begin(&self, ttl: Duration) -> Result<BegunDocument, Problem> {
        let txn = self.begin_shared(Some(ttl)).await?;
        Ok(BegunDocument::of(txn, self.txn_expires_at(txn).await?))
    }

    async fn stage(&self, request: &Acquire, state: Vec<u8>, only: IfVersion) -> Result<Lease, Problem> {
        Ok(Self::stage(self, request, &state, only).await?)
    }

    async fn commit(&self, txn: TxnId) -> Result<(), Problem> {
        Self::commit(self, txn).await?;
        Ok(())
    }

    async fn rollback(&self, txn: TxnId) -> Result<RolledBack, Problem> {
        Ok(Self::rollback(self, txn).await?)
    }
}

/// An attachment, read from the store.
struct Opened {
    about: AttachmentDocument,
    reader: AttachmentReader,
}

#[async_trait]
impl Pieces for Opened {
    fn about(&self) -> &AttachmentDocument {
        &self.about
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        Ok(self.reader.next().await?)
    }
}

/// With the exit code that tells a script what to do next.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let mut problem = Self::failed(error.to_string());
        problem.code = error.code();
        problem.exit = exit(&error);
        problem
    }
}

fn exit(error: &Error) -> Exit {
    match error {
        Error::Held { .. } | Error::Throttled | Error::Contended { .. } => Exit::Busy,
        Error::LeaseRequired | Error::LeaseExpired { .. } | Error::FencingMismatch { .. } => Exit::LeaseLost,
        Error::BadName { .. } | Error::BadTtl { .. } | Error::BadTime { .. } => Exit::Usage,
        Error::Storage(StorageError::Lying { .. } | StorageError::Unsupported { .. }) => Exit::Config,
        Error::Storage(_) | Error::OutcomeUnknown { .. } => Exit::Unreachable,
        _ => Exit::Failed,
    }
}
