//! The state that a lease guards.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::blob::BlobKind;
use crate::layout;
use crate::lease::Lease;
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::record::{Record, Small, State};
use crate::store::{LeaseStore, Shared, Step};

/// How often state may be replaced while it is read.
const REPLACED_MAX: u32 = 16;

/// State with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// The state.
    pub state: Bytes,
    /// Grows with every change.
    pub version: u64,
}

/// What is known of a key, without its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Whether it has state.
    pub exists: bool,
    /// How many attachments it has.
    pub attachments: usize,
    /// The version of its state.
    pub version: u64,
    /// The last fencing token that was given out.
    pub fencing_token: u64,
    /// When its state was last changed.
    pub updated_at: Moment,
    /// Who holds its lease, as he calls himself.
    pub owner: Option<String>,
    /// When that lease ends.
    pub expires_at: Option<Moment>,
}

/// What a change of state is to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfVersion {
    /// Whatever there is.
    #[default]
    Any,
    /// This version.
    Is(u64),
}

/// What becomes of the state.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write(State),
    Remove,
}

impl Change {
    /// Changes a record: its state, or what a transaction stages for it. Answers with the version that it has then, or
    /// will have.
    pub(crate) fn apply(
        &self,
        record: &mut Record,
        if_version: IfVersion,
        txn: Option<Uuid>,
        now: Moment,
    ) -> Result<u64, Error> {
        if let IfVersion::Is(expected) = if_version
            && expected != record.version
        {
            return Err(Error::VersionConflict { expected, found: record.version });
        }
        let state = match self {
            Self::Write(state) => Some(state.clone()),
            Self::Remove => None,
        };
        if let Some(txn) = txn {
            let staged = record.staged_by(txn);
            if state.is_none() {
                (staged.removes, staged.attachments) = (true, BTreeMap::new());
            }
            staged.state = state;
            return Ok(record.version + 1);
        }
        if state.is_none() {
            record.attachments.clear();
        }
        record.state = state;
        record.version += 1;
        record.updated_at = now;
        Ok(record.version)
    }
}

impl LeaseStore {
    /// The state of a key, as everybody may read it.
    pub async fn get(&self, namespace: &Namespace, key: &Key) -> Result<Option<Versioned>, Error> {
        self.get_up_to(namespace, key, usize::MAX).await
    }

    /// The same for who has no room for more than so many bytes: state that is larger is not read, and told of by
    /// [`Error::TooLarge`].
    pub async fn get_up_to(
        &self,
        namespace: &Namespace,
        key: &Key,
        bytes_max: usize,
    ) -> Result<Option<Versioned>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        // What was committed counts, applied or not; what is pending does not.
        let step = |_: &Shared, record: Option<&Record>, _: Moment| Ok(Step::Answer(record.and_then(Found::of)));
        for _ in 0..REPLACED_MAX {
            let Some(found) = shared.change(namespace, key, step).await? else { return Ok(None) };
            if let Some(whole) = shared.whole((namespace, key), found, bytes_max).await? {
                return Ok(Some(whole));
            }
        }
        Err(Error::Replaced { what: format!("the state of {key}") })
    }

    /// The state of a key, for the holder of its lease: nobody else changes it meanwhile.
    pub async fn get_held(&self, lease: &Lease) -> Result<Option<Versioned>, Error> {
        self.get_held_up_to(lease, usize::MAX).await
    }

    /// The same for who has no room for more than so many bytes, as for [`get_up_to`](Self::get_up_to).
    pub async fn get_held_up_to(&self, lease: &Lease, bytes_max: usize) -> Result<Option<Versioned>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        // In a transaction the holder sees what it has staged.
        let step = |_: &Shared, mut record: Record, _: Moment| {
            if let Some(staged) = record.staged.take() {
                record.promote(&staged);
            }
            Ok(Step::Answer(Found::of(&record)))
        };
        let Some(found) = shared.change_held(lease, step).await? else { return Ok(None) };
        let whole = shared.whole((&lease.namespace, &lease.key), found, bytes_max).await?;
        // Nobody but the holder replaces it.
        whole.ok_or(Error::LeaseRequired).map(Some)
    }

    /// What is known of a key.
    pub async fn describe(&self, namespace: &Namespace, key: &Key) -> Result<Option<Description>, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        // As for `get`: what was committed counts, applied or not.
        let step = |_: &Shared, record: Option<&Record>, _: Moment| Ok(Step::Answer(record.cloned()));
        let Some(record) = shared.change(namespace, key, step).await? else { return Ok(None) };
        let now = shared.now();
        let live = record.lease.filter(|lease| !shared.is_over(lease, now));
        Ok(Some(Description {
            exists: record.state.is_some(),
            attachments: record.attachments.len(),
            version: record.version,
            fencing_token: record.fencing_token,
            updated_at: record.updated_at,
            expires_at: live.as_ref().map(|lease| lease.expires_at),
            owner: live.map(|lease| lease.owner),
        }))
    }

    /// Changes the state, under a lease. Answers with its new version.
    pub async fn update(&self, lease: &Lease, state: &[u8], if_version: IfVersion) -> Result<u64, Error> {
        self.write_state(lease, state, if_version, false).await
    }

    /// Changes the state and gives the lease back, in one step.
    pub async fn update_and_release(&self, lease: &Lease, state: &[u8], if_version: IfVersion) -> Result<u64, Error> {
        self.write_state(lease, state, if_version, true).await
    }

    /// Removes the state and the attachments, under a lease. The fencing tokens of the key go on from where they are.
    pub async fn remove(&self, lease: &Lease, if_version: IfVersion) -> Result<u64, Error> {
        self.change_state(lease, Change::Remove, if_version, false).await
    }

    async fn write_state(
        &self,
        lease: &Lease,
        state: &[u8],
        if_version: IfVersion,
        release: bool,
    ) -> Result<u64, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        if let Some(small) = shared.inline(state)? {
            return self.change_state(lease, Change::Write(small), if_version, release).await;
        }
        let uploaded = shared.upload(lease, BlobKind::State, &mut &*state).await?;
        let change = Change::Write(State::Large { blob: uploaded.blob.clone() });
        let outcome = self.change_state(lease, change, if_version, release).await;
        shared.settle_upload(lease, &uploaded, &outcome).await;
        outcome
    }

    async fn change_state(
        &self,
        lease: &Lease,
        change: Change,
        if_version: IfVersion,
        release: bool,
    ) -> Result<u64, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        if release && lease.txn.is_some() {
            return Err(Error::TxnPending);
        }
        let step = |_: &Shared, mut record: Record, now: Moment| {
            let answer = change.apply(&mut record, if_version, lease.txn.map(|txn| txn.0), now)?;
            if release {
                record.lease = None;
            }
            Ok(Step::Swap { record: Box::new(record), look_by: None, answer })
        };
        let version = shared.change_held(lease, step).await?;
        if release {
            shared.waiters.wake(&layout::record(&lease.namespace, &lease.key));
        }
        Ok(version)
    }
}

impl Shared {
    /// State as it stands in a record; `None` if it is too large for one.
    pub(crate) fn inline(&self, state: &[u8]) -> Result<Option<State>, Error> {
        let most = self.options.state_bytes_max;
        if state.len() > most {
            return Err(Error::TooLarge { bytes: state.len(), most });
        }
        Ok((state.len() <= self.options.inline_bytes_max).then(|| State::Small(Small::of(state))))
    }

    /// State with what stands beside its record; `None` if that was replaced meanwhile.
    async fn whole(
        &self,
        (namespace, key): (&Namespace, &Key),
        found: Found,
        bytes_max: usize,
    ) -> Result<Option<Versioned>, Error> {
        let state = match &found.state {
            State::Small(small) => {
                let unreadable = |reason| Error::Unreadable { key: layout::record(namespace, key), reason };
                Some(small.bytes().map_err(unreadable)?)
            }
            State::Large { blob } if usize::try_from(blob.bytes).is_ok_and(|bytes| bytes <= bytes_max) => {
                self.download(namespace, key, BlobKind::State, blob).await?
            }
            State::Large { blob } => {
                let bytes = usize::try_from(blob.bytes).unwrap_or(usize::MAX);
                return Err(Error::TooLarge { bytes, most: bytes_max });
            }
        };
        Ok(state.map(|state| Versioned { state, version: found.version }))
    }
}

/// State as a record names it.
struct Found {
    state: State,
    version: u64,
}

impl Found {
    fn of(record: &Record) -> Option<Self> {
        Some(Self { state: record.state.clone()?, version: record.version })
    }
}
