//! Leader election: whoever has the lease leads, for as long as he keeps it alive. One crashes; the other takes over.
//!
//! ```sh
//! cargo run -p bygone-lease --example leader_election [DIRECTORY]
//! ```

#![expect(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_lease::storage::Disk;
use bygone_lease::{Acquire, Key, Lease, LeaseStore, Namespace, Options, Wait};

/// How long the others wait for a leader of whom nothing is heard.
const TTL: Duration = Duration::from_millis(1_500);

struct Candidate {
    name: &'static str,
    store: LeaseStore,
}

impl Candidate {
    /// Each has a store of his own, as he would have in a process of his own.
    async fn new(name: &'static str, directory: &Path) -> Result<Self, bygone_lease::Error> {
        // All clocks are one and the same here; on several machines leave this as it is.
        let options = Options { skew: Duration::from_millis(50), ..Options::default() };
        Ok(Self { name, store: LeaseStore::open(Disk::open(directory)?, options).await? })
    }

    /// Waits until nobody else leads.
    async fn be_elected(&self) -> Result<Lease, bygone_lease::Error> {
        let office = Acquire::new(Namespace::new("cluster")?, Key::new("leader")?, self.name);
        let lease = self.store.acquire(&Acquire { ttl: Some(TTL), wait: Wait::Forever, ..office }).await?;
        println!("{} leads", self.name);
        Ok(lease)
    }

    /// Does what leaders do, and says in good time that he is still there.
    async fn lead(&self, mut lease: Lease, turns: u32) -> Result<Lease, bygone_lease::Error> {
        for _ in 0..turns {
            SystemClock::new().sleep(TTL / 3).await;
            lease = self.store.keepalive(&lease, None).await?;
            println!("{} still leads", self.name);
        }
        Ok(lease)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let (ann, ben) = (Candidate::new("ann", &directory).await?, Candidate::new("ben", &directory).await?);

    let lease_of_ann = ann.be_elected().await?;
    let successor = tokio::spawn(async move {
        let lease = ben.be_elected().await?;
        let lease = ben.lead(lease, 2).await?;
        ben.store.release(&lease).await?;
        println!("ben steps down");
        Ok::<_, bygone_lease::Error>(lease)
    });
    let lease_of_ann = ann.lead(lease_of_ann, 3).await?;

    // From here on nothing is heard of her. Nobody has to notice: her lease ends by itself.
    println!("ann crashes");
    let lease_of_ben = successor.await??;
    assert!(lease_of_ben.fencing_token > lease_of_ann.fencing_token);

    // Had she only been asleep, she would find out now.
    if let Err(error) = ann.lead(lease_of_ann, 1).await {
        println!("ann comes back: {}", error.code());
    }
    Ok(())
}
