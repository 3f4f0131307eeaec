//! What is too large for a record and stands beside it, in pieces.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::records::SeenRecord;
use super::{Scene, Witness, Write, demand};
use crate::names::sha256;
use crate::shelf::Shelf;

/// A blob, as a record names it.
#[derive(Debug, Deserialize)]
pub(super) struct SeenBlob {
    id: Uuid,
    bytes: usize,
    chunks: u32,
    sha256: String,
}

impl SeenBlob {
    /// Whether all pieces are there, and are what was written.
    fn is_whole(&self, stock: &Shelf, prefix: &str) -> bool {
        let mut whole = Vec::new();
        for chunk in 0..self.chunks {
            let Some(stored) = stock.get(&format!("{prefix}/{chunk:06}")) else { return false };
            whole.extend_from_slice(&stored.body);
        }
        whole.len() == self.bytes && sha256(&whole) == self.sha256
    }
}

impl SeenRecord {
    /// The blobs that it names, by where they stand.
    fn blobs(&self, path: &str) -> BTreeMap<String, SeenBlob> {
        let Some((namespace, key)) = path.split_once("/meta/") else { return BTreeMap::new() };
        let folder = format!("{namespace}/state/{key}");
        let found = |value: &Value, folder: &str| {
            let blob = value.get("blob").and_then(|blob| SeenBlob::deserialize(blob).ok())?;
            Some((format!("{folder}/{}", blob.id), blob))
        };
        let (states, attachments) = self.parts();
        let states: Vec<_> = states.filter_map(|state| found(state, &folder)).collect();
        let folder = format!("{folder}/attachments");
        states.into_iter().chain(attachments.filter_map(|attached| found(attached, &folder))).collect()
    }
}

impl Witness {
    /// Whatever a record begins to name is whole.
    pub(super) fn see_named(
        &mut self,
        stock: &Shelf,
        path: &str,
        old: Option<&SeenRecord>,
        new: &SeenRecord,
    ) -> Result<(), String> {
        let (before, named) = (old.map(|old| old.blobs(path)).unwrap_or_default(), new.blobs(path));
        let is_torn = |prefix: &str, blob: &SeenBlob| !before.contains_key(prefix) && !blob.is_whole(stock, prefix);
        let torn = named.iter().find(|(prefix, blob)| is_torn(prefix, blob));
        self.strays.retain(|stray| !named.keys().any(|prefix| stray.starts_with(prefix.as_str())));
        demand(torn.is_none(), || format!("{path} names what is not whole: {torn:?}"))
    }

    /// A piece is written when an errand leads to it, and goes when no record names it.
    pub(super) fn see_chunk(&mut self, scene: Scene<'_>, write: &Write<'_>) -> Result<(), String> {
        let path = write.path;
        let Some((prefix, _)) = path.rsplit_once('/') else { return Ok(()) };
        let is_named = self.is_named(prefix);
        if write.body.is_none() {
            self.strays.remove(path);
            return demand(!is_named, || format!("{path} is gone, and its record names it"));
        }
        if scene.sender.is_late && !is_named {
            // Nobody can know of what was on its way for longer than the blob was there.
            self.strays.insert(path.to_owned());
            return Ok(());
        }
        let is_led_to = is_named || self.is_led_to(prefix);
        demand(is_led_to, || format!("{path} was written, and no errand leads to it"))
    }

    /// Whether the record of its key names a blob.
    pub(crate) fn is_named(&self, prefix: &str) -> bool {
        let record = record_of(prefix);
        self.records.get(&record).is_some_and(|found| found.blobs(&record).contains_key(prefix))
    }

    /// Whether something stands here that nobody could know of.
    pub(crate) fn is_stray(&self, path: &str) -> bool {
        self.strays.contains(path)
    }

    pub(crate) fn strays(&self) -> u64 {
        u64::try_from(self.strays.len()).unwrap_or(u64::MAX)
    }

    /// Whether pieces of a blob stand here that no record names, and that somebody could know of.
    pub(super) fn is_forlorn(&self, stock: &Shelf, prefix: &str) -> bool {
        let is_there = stock.below(&format!("{prefix}/")).any(|path| !self.is_stray(path));
        is_there && !self.is_named(prefix)
    }
}

/// The record of the key that a blob belongs to.
fn record_of(prefix: &str) -> String {
    let mut parts = prefix.split('/');
    let (namespace, key) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
    format!("{namespace}/meta/{key}")
}
