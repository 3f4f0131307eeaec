//! Walking through the keys of a prefix, page by page.
//!
//! Stores list in an order of their own (SeaweedFS, as a tree of folders), so a walk goes on where it was rather than at
//! a key that sorts behind. Only a walk that was lost begins anew at a key, or where the store cannot, at the beginning.
//! Each name is held against the answer itself: the client trims and joins names, and a trimmed name may be another's.

use std::collections::HashSet;
use std::time::Duration;

use bygone_core::TargetError;
use bygone_objects::is_nameable;
use futures_util::StreamExt;
use opendal::{EntryMode, Lister};

use super::store::{LISTING_KEYS, Object, Store};

/// A listing under way.
pub(super) struct Walk {
    lister: Lister,
    names: HashSet<String>,
    /// When the latest answer came.
    listed_at: Duration,
    /// The last key that was given out.
    position: Option<String>,
    /// The key to pass before anything is given out, where the store could not begin behind it.
    skip_to: Option<String>,
}

/// What a walk comes to.
#[derive(Debug)]
pub(super) enum Step {
    /// An object that can be named exactly.
    Object(Object),
    /// One that cannot.
    Unnameable(String),
}

impl Walk {
    /// Begins behind a key, or at the beginning.
    pub(super) async fn begin(store: &Store, after: Option<&str>) -> Result<Self, TargetError> {
        let from_key = after.filter(|_| store.lists_from_key());
        Ok(Self {
            lister: store.list(from_key, LISTING_KEYS).await?,
            names: HashSet::new(),
            listed_at: store.elapsed(),
            position: after.map(str::to_owned),
            skip_to: after.filter(|_| from_key.is_none()).map(str::to_owned),
        })
    }

    /// Whether it stands right behind this key.
    pub(super) fn is_behind(&self, key: Option<&str>) -> bool {
        self.position.as_deref() == key
    }

    /// When what was given out last came from the store.
    pub(super) fn listed_at(&self) -> Duration {
        self.listed_at
    }

    /// The next one; `None` at the end. Folders are passed over.
    pub(super) async fn next(&mut self, store: &Store) -> Result<Option<Step>, TargetError> {
        loop {
            let entry = match self.lister.next().await {
                None => return Ok(None),
                Some(entry) => entry.map_err(|error| store.failure("list", &error))?,
            };
            if let Some(names) = store.wire.notes().listed.take() {
                self.names = names;
                self.listed_at = store.elapsed();
            }
            let (path, metadata) = entry.into_parts();
            if metadata.mode() != EntryMode::FILE || path.ends_with('/') {
                continue;
            }
            if self.skip_to.as_ref().is_some_and(|skip_to| path <= *skip_to) {
                continue;
            }
            self.skip_to = None;
            self.position = Some(path.clone());
            return Ok(Some(if self.is_exact(store, &path) {
                Step::Object(Object::of(path, &metadata))
            } else {
                Step::Unnameable(path)
            }));
        }
    }

    fn is_exact(&self, store: &Store, path: &str) -> bool {
        let key = format!("{}{path}", store.place);
        // At the root of a bucket the client takes `/x` for `x`: where both are there, neither is certain.
        is_nameable(path)
            && self.names.contains(&key)
            && !(store.place.is_empty() && self.names.contains(&format!("/{key}")))
    }
}

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("position", &self.position).finish_non_exhaustive()
    }
}
