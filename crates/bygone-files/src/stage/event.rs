//! What happened to attachments, told one by one and only after it is recorded.

use super::id::AttachmentId;
use super::manifest::Entry;
use super::name::Name;
use super::ttl::Ttl;

/// An attachment was staged, or staged again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// How long it is.
    pub size_bytes: u64,
    /// The SHA-256 of its content.
    pub checksum: AttachmentId,
    /// Its name.
    pub name: Name,
    /// Whether it stays until somebody removes it by name.
    pub persist: bool,
    /// How long it lives.
    pub ttl: Ttl,
    /// Whether it was there already.
    pub cached: bool,
}

/// An attachment is gone: swept, evicted, reset or removed by name. One that could not be deleted is not announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// How many: always one, since each is announced by itself.
    pub count: u64,
    /// How long it was.
    pub bytes: u64,
    /// The SHA-256 of its content.
    pub checksum: AttachmentId,
    /// Its name.
    pub name: Name,
    /// How long it was to live.
    pub ttl: Ttl,
}

/// Listens to an area. Called by whoever staged or cleaned, after the manifest has it: be quick.
pub trait StageObserver: Send + Sync {
    /// An attachment was staged.
    fn staged(&self, _staged: &Staged) {}
    /// An attachment is gone.
    fn cleaned(&self, _cleaned: &Cleaned) {}
}

/// Listens to nothing.
impl StageObserver for () {}

pub(crate) fn announce_staged(observer: &dyn StageObserver, entry: &Entry, cached: bool) {
    let Entry { id, name, size, ttl, persist, .. } = entry;
    tracing::debug!(size_bytes = size, checksum = %id, %name, persist, %ttl, cached, "attachment.staged");
    let staged = Staged { size_bytes: *size, checksum: *id, name: name.clone(), persist: *persist, ttl: *ttl, cached };
    observer.staged(&staged);
}

pub(crate) fn announce_cleaned(observer: &dyn StageObserver, entry: &Entry) {
    let Entry { id, name, size, ttl, .. } = entry;
    tracing::debug!(count = 1, bytes = size, checksum = %id, %name, %ttl, "attachment.cleaned");
    observer.cleaned(&Cleaned { count: 1, bytes: *size, checksum: *id, name: name.clone(), ttl: *ttl });
}
