//! Work on a resource of which only the holder of a lease may change anything, and which looks at tokens.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bygone_lease::{Acquire, Lease, Wait};

use super::{Hand, hear};
use crate::orders::key;
use crate::resource::{Answer, Deed, GUARDED, Request};

/// The way to the resource.
pub(super) struct Resource(TcpStream);

impl Resource {
    pub(super) fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).unwrap())
    }

    fn ask(&self, lease: &Lease, deed: Deed) -> Answer {
        let request = Request {
            key: lease.key.clone(),
            token: lease.fencing_token,
            owner: lease.owner.clone(),
            expires_at: lease.expires_at,
            deed,
        };
        (&self.0).write_all(format!("{}\n", serde_json::to_string(&request).unwrap()).as_bytes()).unwrap();
        let mut line = String::new();
        // One answer to each request: nothing is left behind in the buffer.
        BufReader::new(&self.0).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Hand {
    /// Takes the lease, reads the resource, and writes what comes next, several times. It never asks whether it still
    /// has the lease: that is what the resource is for.
    pub(super) async fn guard(&mut self, resource: &Resource) {
        let (store, key) = (&self.worker.store, key(format!("guarded-{}", self.below(GUARDED))));
        let wait = Wait::For(Duration::from_millis(200));
        let Some(mut lease) = hear("acquire", store.acquire(&Acquire { wait, ..self.worker.acquire(key) }).await)
        else {
            return;
        };
        let Answer::Done(mut value) = resource.ask(&lease, Deed::Read) else { return };
        for _ in 0..=self.below(5) {
            self.pause(60).await;
            value += 1;
            let Answer::Done(_) = resource.ask(&lease, Deed::Write(value)) else { return };
            if self.one_in(3) {
                let Some(kept) = hear("keepalive", store.keepalive(&lease, None).await) else { continue };
                lease = kept;
            }
        }
        resource.ask(&lease, Deed::Leave);
        hear("release", store.release(&lease).await);
    }
}
