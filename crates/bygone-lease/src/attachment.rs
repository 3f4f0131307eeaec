//! Attachments: whatever else belongs to a key, streamed in and out.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::io::AsyncRead;

use crate::Error;
use crate::blob::{Blob, BlobId, BlobKind};
use crate::layout;
use crate::lease::Lease;
use crate::moment::Moment;
use crate::name::{self, Key, Namespace};
use crate::record::{Attached, Record};
use crate::store::{LeaseStore, Shared, Step};

/// What is known of an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name, which is its own among those of its key.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// Of its content, in hexadecimal digits.
    pub sha256: String,
    /// What it is, as its writer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// When it was put there.
    pub created_at: Moment,
}

impl Attachment {
    /// Whether an attachment may be called so.
    pub fn check_name(name: &str) -> Result<(), Error> {
        name::check("name of an attachment", name)
    }

    fn of(name: &str, attached: &Attached) -> Self {
        Self {
            name: name.to_owned(),
            bytes: attached.blob.bytes,
            sha256: attached.blob.sha256.clone(),
            content_type: attached.content_type.clone(),
            created_at: attached.created_at,
        }
    }
}

impl LeaseStore {
    /// Attaches something to a key, under a lease, in place of what has that name. Constant memory, whatever its size. In
    /// a transaction it is there for others once that is committed.
    pub async fn put_attachment(
        &self,
        lease: &Lease,
        name: &str,
        content_type: Option<&str>,
        mut source: impl AsyncRead + Unpin + Send,
    ) -> Result<Attachment, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        Attachment::check_name(name)?;
        let uploaded = shared.upload(lease, BlobKind::Attachment, &mut source).await?;
        let content_type = content_type.map(str::to_owned);
        let attached = Attached { blob: uploaded.blob.clone(), content_type, created_at: shared.now() };
        let step = |shared: &Shared, mut record: Record, now: Moment| {
            record.attach(lease, name, Some(attached.clone()), now);
            let most = shared.options.attachments_max;
            let staged = record.staged.as_ref().map_or(0, |staged| staged.attachments.len());
            if record.attachments.len() + staged > most {
                return Err(Error::TooMany { what: "attachments", most });
            }
            Ok(Step::Swap { record: Box::new(record), look_by: None, answer: () })
        };
        let outcome = shared.change_held(lease, step).await;
        shared.settle_upload(lease, &uploaded, &outcome).await;
        outcome.map(|()| Attachment::of(name, &attached))
    }

    /// Opens an attachment, as everybody may read it.
    pub async fn get_attachment(
        &self,
        namespace: &Namespace,
        key: &Key,
        name: &str,
    ) -> Result<Option<AttachmentReader>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let step = |_: &Shared, record: Option<&Record>, _: Moment| {
            Ok(Step::Answer(record.and_then(|record| record.attachments.get(name)).cloned()))
        };
        let Some(attached) = shared.change(namespace, key, step).await? else { return Ok(None) };
        let prefix = layout::blob(namespace, key, &BlobId { id: attached.blob.id, kind: BlobKind::Attachment });
        let (about, shared) = (Attachment::of(name, &attached), Arc::clone(&self.shared));
        Ok(Some(AttachmentReader { shared, about, blob: attached.blob, prefix, read: 0, hash: Some(Sha256::new()) }))
    }

    /// The attachments of a key, by name.
    pub async fn list_attachments(&self, namespace: &Namespace, key: &Key) -> Result<Vec<Attachment>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let step = |_: &Shared, record: Option<&Record>, _: Moment| {
            let attachments = record.into_iter().flat_map(|record| &record.attachments);
            Ok(Step::Answer(attachments.map(|(name, attached)| Attachment::of(name, attached)).collect()))
        };
        shared.change(namespace, key, step).await
    }

    /// Removes an attachment, under a lease. False if there was none.
    pub async fn delete_attachment(&self, lease: &Lease, name: &str) -> Result<bool, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let step = |_: &Shared, mut record: Record, now: Moment| {
            let staged = record.staged.as_ref().and_then(|staged| staged.attachments.get(name));
            let is_there = staged.map_or_else(|| record.attachments.contains_key(name), Option::is_some);
            if !is_there {
                return Ok(Step::Answer(false));
            }
            record.attach(lease, name, None, now);
            Ok(Step::Swap { record: Box::new(record), look_by: None, answer: true })
        };
        shared.change_held(lease, step).await
    }
}

impl Record {
    /// Puts an attachment there, or takes it away: at once, or when the transaction of the lease is committed.
    fn attach(&mut self, lease: &Lease, name: &str, attached: Option<Attached>, now: Moment) {
        if let Some(txn) = lease.txn {
            self.staged_by(txn.0).attachments.insert(name.to_owned(), attached);
            return;
        }
        match attached {
            Some(attached) => self.attachments.insert(name.to_owned(), attached),
            None => self.attachments.remove(name),
        };
        self.version += 1;
        self.updated_at = now;
    }
}

/// An attachment on its way out.
#[derive(Debug)]
pub struct AttachmentReader {
    shared: Arc<Shared>,
    about: Attachment,
    blob: Blob,
    prefix: String,
    read: u32,
    /// Of what was read; none after the end.
    hash: Option<Sha256>,
}

impl AttachmentReader {
    /// What is known of it.
    pub fn about(&self) -> &Attachment {
        &self.about
    }

    /// The next piece; `None` at the end, once the whole is known to be what was written.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let _operation = self.shared.activity.begin();
        if self.read == self.blob.chunks {
            return match self.hash.take() {
                Some(hash) => self.blob.check(&self.prefix, hash).map(|()| None),
                None => Ok(None),
            };
        }
        let Some(stored) = self.shared.storage.get(&layout::chunk(&self.prefix, self.read)).await? else {
            return Err(Error::Replaced { what: format!("the attachment {:?}", self.about.name) });
        };
        self.read += 1;
        if let Some(hash) = &mut self.hash {
            hash.update(&stored.body);
        }
        Ok(Some(stored.body))
    }
}
