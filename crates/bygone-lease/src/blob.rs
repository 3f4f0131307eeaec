//! What is too large for a record: written once in objects of its own, and named by the record.
//!
//! A blob is written before the record that names it and goes after the record that named it last, so there are moments
//! in which nobody names it. An errand in the index comes before each of them: it says which blobs of a key may be
//! nobody's. Whoever runs it looks at the record first. Blobs are never changed and their names never used again, so what
//! a record does not name it never will, with one exception: the holder of a lease who is still writing. His errand says
//! so, and waits for the end of that lease.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt};
use uuid::Uuid;

use crate::Error;
use crate::errand::{Errand, Posted};
use crate::layout::{self, Hour};
use crate::lease::Lease;
use crate::name::{Key, Namespace};
use crate::planted::{self, Bug};
use crate::record::Record;
use crate::storage::{Expected, StorageError};
use crate::store::Shared;

/// Keys listed at once where a blob is removed.
const LISTING_KEYS: usize = 1_000;

/// Where a blob stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct BlobId {
    pub(crate) id: Uuid,
    pub(crate) kind: BlobKind,
}

/// What a blob is to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BlobKind {
    State,
    Attachment,
}

/// A blob, as the record names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blob {
    pub(crate) id: Uuid,
    pub(crate) bytes: u64,
    /// The objects that it is in, one behind the other.
    pub(crate) chunks: u32,
    pub(crate) sha256: String,
}

/// A blob that no record names yet.
#[derive(Debug)]
pub(crate) struct Uploaded {
    pub(crate) blob: Blob,
    kind: BlobKind,
    errand: Posted,
}

/// What removing a blob came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Removal {
    /// Objects that were found.
    chunks: u32,
    /// Requests that it took.
    pub(crate) requests: u64,
}

impl Shared {
    /// Writes a blob for the holder of a lease. Constant memory: a chunk at a time.
    pub(crate) async fn upload(
        &self,
        lease: &Lease,
        kind: BlobKind,
        source: &mut (dyn AsyncRead + Unpin + Send),
    ) -> Result<Uploaded, Error> {
        let id = self.ids.next();
        let (namespace, key) = (&lease.namespace, &lease.key);
        let blobs = BTreeSet::from([BlobId { id, kind }]);
        let errand = Errand::Blobs { key: key.clone(), lease: Some(lease.id), blobs };
        let prefix = layout::blob(namespace, key, &BlobId { id, kind });
        if planted::is(Bug::BlobBeforeErrand) {
            self.storage.put(&layout::chunk(&prefix, 999_999), Bytes::new(), Expected::Absent).await?;
        }
        let errand = self.post(namespace, Hour::of(lease.expires_at), &errand).await?;
        let chunk_bytes = self.options.chunk_bytes.clamp(1, self.storage.capabilities().value_bytes_max);
        let (mut bytes, mut chunks, mut hash) = (0, 0, Sha256::new());
        loop {
            let chunk = read_chunk(source, chunk_bytes).await?;
            if chunk.is_empty() && chunks > 0 {
                break;
            }
            bytes += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            hash.update(&chunk);
            let is_last = chunk.len() < chunk_bytes;
            match self.storage.put(&layout::chunk(&prefix, chunks), chunk, Expected::Absent).await {
                Ok(_) => chunks += 1,
                // Nobody else makes up this name.
                Err(StorageError::Conflict { .. }) => return Err(Error::Contended { times: 1 }),
                Err(error) => return Err(error.into()),
            }
            if is_last {
                break;
            }
        }
        let blob = Blob { id, bytes, chunks, sha256: hex(hash) };
        Ok(Uploaded { blob, kind, errand })
    }

    /// What became of an upload is known: named by the record, or of no use.
    pub(crate) async fn settle_upload<T>(&self, lease: &Lease, uploaded: &Uploaded, outcome: &Result<T, Error>) {
        match outcome {
            // The record may name it, or not: the errand finds out.
            Err(Error::OutcomeUnknown { .. }) => {}
            Ok(_) => self.tear_up(&uploaded.errand).await,
            Err(_) => {
                let blob = BlobId { id: uploaded.blob.id, kind: uploaded.kind };
                // A record that something on the way sent twice is refused for its own sake. Where somebody else wrote before
                // we looked, it seems to be his: but he has kept what we made it name.
                let seen = self.peek(&layout::record(&lease.namespace, &lease.key)).await;
                let is_named = seen.map(|seen| seen.is_some_and(|seen| seen.record.blobs().contains_key(&blob)));
                if is_named.is_ok_and(|is_named| !is_named) {
                    let blobs = BTreeMap::from([(blob, uploaded.blob.chunks)]);
                    self.discard(&lease.namespace, &lease.key, &blobs, &uploaded.errand).await;
                }
            }
        }
    }

    /// Removes blobs that nobody names any more, of so many objects each, and then the errand that says so. What fails is
    /// left to that.
    pub(crate) async fn discard(
        &self,
        namespace: &Namespace,
        key: &Key,
        blobs: &BTreeMap<BlobId, u32>,
        errand: &Posted,
    ) {
        for (blob, chunks) in blobs {
            match self.remove_blob(namespace, key, blob).await {
                Ok(removed) if removed.chunks >= *chunks => {}
                // A listing may be behind: then it does not show all of them yet.
                Ok(_) => return,
                Err(error) => {
                    tracing::debug!(blob = %blob.id, %error, "a blob is left to the sweeper");
                    return;
                }
            }
        }
        self.tear_up(errand).await;
    }

    /// Posts the errand for blobs that a record named and the next one does not: before that one is written.
    pub(crate) async fn post_dropped(
        &self,
        (namespace, key): (&Namespace, &Key),
        found: Option<&Record>,
        next: &Record,
    ) -> Result<Option<(BTreeMap<BlobId, u32>, Posted)>, Error> {
        let mut dropped = found.map(Record::blobs).unwrap_or_default();
        if dropped.is_empty() {
            return Ok(None);
        }
        let kept = next.blobs();
        dropped.retain(|blob, _| !kept.contains_key(blob));
        if dropped.is_empty() {
            return Ok(None);
        }
        let errand = Errand::Blobs { key: key.clone(), lease: None, blobs: dropped.keys().cloned().collect() };
        let errand = self.post(namespace, Hour::of(self.now()), &errand).await?;
        Ok(Some((dropped, errand)))
    }

    /// Removes the objects of a blob, as far as a listing shows them.
    pub(crate) async fn remove_blob(&self, namespace: &Namespace, key: &Key, blob: &BlobId) -> Result<Removal, Error> {
        let prefix = layout::blob(namespace, key, blob);
        let (mut removal, mut after) = (Removal::default(), None::<String>);
        loop {
            let listing = self.storage.list(&prefix, after.as_deref(), LISTING_KEYS).await?;
            removal.requests += 1;
            for listed in &listing.keys {
                removal.chunks += 1;
                let (version, looked) = self.entry_version(listed).await?;
                removal.requests += looked + 1;
                let Some(version) = version else { continue };
                match self.storage.delete(&listed.key, &version).await {
                    // Somebody else is removing it too.
                    Ok(()) | Err(StorageError::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            after = listing.keys.last().map(|listed| listed.key.clone());
            if !listing.more || after.is_none() {
                return Ok(removal);
            }
        }
    }

    /// A whole blob; `None` if it is not there any more.
    pub(crate) async fn download(
        &self,
        namespace: &Namespace,
        key: &Key,
        kind: BlobKind,
        blob: &Blob,
    ) -> Result<Option<Bytes>, Error> {
        let prefix = layout::blob(namespace, key, &BlobId { id: blob.id, kind });
        let mut whole = BytesMut::new();
        for chunk in 0..blob.chunks {
            let Some(stored) = self.storage.get(&layout::chunk(&prefix, chunk)).await? else { return Ok(None) };
            whole.extend_from_slice(&stored.body);
            // Whoever asked has room for as much as the record says.
            if u64::try_from(whole.len()).is_ok_and(|bytes| bytes > blob.bytes) {
                return Err(Error::unreadable(&prefix, &"there is more of it than was written"));
            }
        }
        let whole = whole.freeze();
        let mut hash = Sha256::new();
        hash.update(&whole);
        blob.check(&prefix, hash)?;
        Ok(Some(whole))
    }
}

impl Blob {
    /// Whether this is what was written.
    pub(crate) fn check(&self, prefix: &str, hash: Sha256) -> Result<(), Error> {
        let found = hex(hash);
        if found == self.sha256 {
            return Ok(());
        }
        Err(Error::unreadable(prefix, &format!("its checksum is {found}, and should be {}", self.sha256)))
    }
}

impl Record {
    /// The blobs that it names, and how many objects each is in.
    pub(crate) fn blobs(&self) -> BTreeMap<BlobId, u32> {
        let staged = self.staged.as_ref();
        let states = [self.state.as_ref(), staged.and_then(|staged| staged.state.as_ref())];
        let states = states.into_iter().flatten().filter_map(|state| state.blob());
        let staged = staged.into_iter().flat_map(|staged| staged.attachments.values().flatten());
        let attachments = self.attachments.values().chain(staged).map(|attachment| &attachment.blob);
        let named = |kind| move |blob: &Blob| (BlobId { id: blob.id, kind }, blob.chunks);
        states.map(named(BlobKind::State)).chain(attachments.map(named(BlobKind::Attachment))).collect()
    }
}

/// As much as fits into a chunk: less only at the end.
async fn read_chunk(source: &mut (dyn AsyncRead + Unpin + Send), chunk_bytes: usize) -> Result<Bytes, Error> {
    let mut chunk = Vec::new();
    let limit = u64::try_from(chunk_bytes).unwrap_or(u64::MAX);
    let read = source.take(limit).read_to_end(&mut chunk).await;
    read.map_err(|error| Error::Source { reason: error.to_string() })?;
    Ok(chunk.into())
}

fn hex(hash: Sha256) -> String {
    let halves = hash.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}
