//! Holds: a reader's word that an attachment is in use, which delays its removal.
//!
//! A hold stands in the manifest, so that the sweeper of another process sees it too, and it ends by itself, so that a
//! reader that died holds nothing for ever.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::area::Presence;
use super::error::StageError;
use super::id::AttachmentId;
use super::manifest;
use super::moment::Moment;
use super::session::random;
use super::stage::{Shared, Stage};
use super::ttl::Ttl;

/// An attachment in use. Its file stays until the hold is released, dropped, or ends by itself.
#[must_use = "a hold ends when it is dropped"]
pub struct Hold {
    shared: Arc<Shared>,
    id: AttachmentId,
    key: [u8; 16],
    until: i64,
    released: bool,
}

impl Stage {
    /// Holds a living attachment for a while; `None` where it does not live. Once its deadline has passed it is absent for
    /// everybody else, but its file stays as long as the hold.
    pub fn hold(&self, id: &AttachmentId, time: Duration) -> Result<Option<Hold>, StageError> {
        let key = random()?;
        let until = self.shared.manifest.write(|conn| {
            let now = self.shared.now();
            if self.shared.living(conn, id, now)?.is_none() {
                return Ok(None);
            }
            let until = end(now, time)?;
            manifest::put_hold(conn, &key, id, until)?;
            Ok(Some(until))
        })?;
        let shared = Arc::clone(&self.shared);
        Ok(until.map(|until| Hold { shared, id: *id, key, until, released: false }))
    }
}

impl Hold {
    /// What is held.
    pub fn id(&self) -> &AttachmentId {
        &self.id
    }

    /// When it ends by itself.
    pub fn until(&self) -> Timestamp {
        Timestamp::from_microsecond(self.until).unwrap_or(Timestamp::MAX)
    }

    /// Holds on for so long from now; never shorter than before. An error once it has ended, since the file may be gone.
    pub fn extend(&mut self, time: Duration) -> Result<(), StageError> {
        let (shared, id, key) = (&self.shared, self.id, self.key);
        self.until = shared.manifest.write(|conn| {
            let now = shared.now();
            let until = manifest::hold_until(conn, &key)?.filter(|until| *until >= now.cutoff());
            let held = manifest::find(conn, &id)?;
            let (Some(until), Some(entry)) = (until, held) else { return Err(StageError::HoldEnded(id)) };
            if shared.presence(&entry)? != Presence::Whole {
                return Err(StageError::HoldEnded(id));
            }
            let until = until.max(end(now, time)?);
            manifest::put_hold(conn, &key, &id, until)?;
            Ok(until)
        })?;
        Ok(())
    }

    /// Lets go.
    pub fn release(mut self) -> Result<(), StageError> {
        self.let_go()
    }

    fn let_go(&mut self) -> Result<(), StageError> {
        self.released = true;
        self.shared.manifest.write(|conn| manifest::delete_hold(conn, &self.key))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.released
            && let Err(error) = self.let_go()
        {
            tracing::warn!(checksum = %self.id, %error, "a hold was not released: it ends by itself");
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("id", &self.id).field("until", &self.until()).finish_non_exhaustive()
    }
}

fn end(now: Moment, time: Duration) -> Result<i64, StageError> {
    now.deadline(Ttl::For(time))?.ok_or_else(|| StageError::too_long(Ttl::For(time)))
}
