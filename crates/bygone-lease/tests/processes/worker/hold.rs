//! Leases of keys that nobody else asks for: whatever was answered must be there after the end.

use std::time::Duration;

use bygone_lease::{Acquire, IfVersion, Lease};

use super::{Hand, hear};
use crate::orders::{Said, key, say};

/// Longer than the test.
const LONG: Duration = Duration::from_secs(20 * 60);

impl Hand {
    pub(super) async fn hold(&mut self) {
        let key = key(self.new_name());
        let acquire = Acquire { ttl: Some(LONG), ..self.worker.acquire(key) };
        let Some(lease) = hear("acquire", self.worker.store.acquire(&acquire).await) else { return };
        say(&Said::Held { lease: lease.clone() });
        for _ in 0..self.below(3) {
            self.set(&lease, false).await;
        }
        match self.below(3) {
            0 => self.set(&lease, true).await,
            1 => {
                say(&Said::Freeing { key: lease.key.clone() });
                if hear("release", self.worker.store.release(&lease).await).is_some() {
                    say(&Said::Freed { key: lease.key });
                }
            }
            _ => {}
        }
    }

    async fn set(&mut self, lease: &Lease, release: bool) {
        let (key, value) = (lease.key.clone(), self.new_name());
        say(&Said::Setting { key: key.clone(), value: value.clone() });
        let store = &self.worker.store;
        let done = if release {
            say(&Said::Freeing { key: key.clone() });
            store.update_and_release(lease, value.as_bytes(), IfVersion::Any).await
        } else {
            store.update(lease, value.as_bytes(), IfVersion::Any).await
        };
        if hear("update", done).is_some() {
            say(&Said::Set { key: key.clone(), value });
            if release {
                say(&Said::Freed { key });
            }
        }
    }
}
