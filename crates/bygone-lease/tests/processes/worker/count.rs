//! Counters that all processes count up: whoever loses a count, or counts twice, is found out.

use std::time::Duration;

use bygone_lease::{Acquire, IfVersion, Wait};

use super::{Hand, hear};
use crate::orders::{Said, key, say};

pub(crate) const COUNTERS: u64 = 4;

impl Hand {
    /// Reads a counter under a lease and adds one. Its value is its version, always.
    pub(super) async fn count(&mut self) {
        let (store, key) = (&self.worker.store, key(format!("counter-{}", self.below(COUNTERS))));
        let wait = Wait::For(Duration::from_millis(30));
        let Some(lease) = hear("acquire", store.acquire(&Acquire { wait, ..self.worker.acquire(key.clone()) }).await)
        else {
            return;
        };
        let Some(found) = hear("get", store.get_held(&lease).await) else { return };
        let value = 1 + found.map_or(0, |found| std::str::from_utf8(&found.state).unwrap().parse::<u64>().unwrap());
        let text = value.to_string();
        let counted = if self.one_in(2) {
            store.update_and_release(&lease, text.as_bytes(), IfVersion::Is(value - 1)).await
        } else {
            store.update(&lease, text.as_bytes(), IfVersion::Any).await
        };
        if let Some(version) = hear("update", counted) {
            say(&Said::Counted { key, value, version });
        }
        // Whoever has given it back already may do so again.
        hear("release", store.release(&lease).await);
    }
}
