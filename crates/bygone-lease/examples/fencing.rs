//! Fencing: a lease is not mutual exclusion, so what it guards looks at the token, and refuses whoever comes too late.
//!
//! ```sh
//! cargo run -p bygone-lease --example fencing [DIRECTORY]
//! ```

#![expect(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_lease::storage::Disk;
use bygone_lease::{Acquire, Key, Lease, LeaseStore, Namespace, Options, Wait};
use rusqlite::{Connection, named_params};

const TTL: Duration = Duration::from_millis(300);

/// What the lease guards. It knows nothing of leases and their times: it has the highest token that it has seen.
struct Document(Connection);

impl Document {
    fn new() -> Result<Self, rusqlite::Error> {
        let document = Connection::open_in_memory()?;
        document.execute_batch(
            "CREATE TABLE document (text TEXT NOT NULL, token INTEGER NOT NULL);
             INSERT INTO document VALUES ('', 0);",
        )?;
        Ok(Self(document))
    }

    /// Looks at the token and writes, in one step: between two, somebody else could come.
    fn write(&self, lease: &Lease, text: &str) -> Result<bool, Box<dyn Error>> {
        let token = i64::try_from(lease.fencing_token)?;
        let sql = "UPDATE document SET text = :text, token = :token WHERE token <= :token";
        Ok(self.0.execute(sql, named_params! { ":text": text, ":token": token })? == 1)
    }

    /// Looks at the token, too: whoever reads in order to write has begun his turn, and ends that of those before him.
    fn read(&self, lease: &Lease) -> Result<Option<String>, Box<dyn Error>> {
        let token = i64::try_from(lease.fencing_token)?;
        let sql = "UPDATE document SET token = :token WHERE token <= :token RETURNING text";
        let mut statement = self.0.prepare(sql)?;
        let mut texts = statement.query_map(named_params! { ":token": token }, |row| row.get(0))?;
        Ok(texts.next().transpose()?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let store = LeaseStore::open(Disk::open(&directory)?, Options::default()).await?;
    let (namespace, key) = (Namespace::new("example")?, Key::new("document")?);
    let ask = |owner| Acquire { ttl: Some(TTL), ..Acquire::new(namespace.clone(), key.clone(), owner) };
    let document = Document::new()?;

    let lease_of_ann = store.acquire(&ask("ann")).await?;
    println!("ann writes: {}", document.write(&lease_of_ann, "by ann")?);

    // She is paused, by a debugger, by the system, by the lid of her laptop, and does not know for how long.
    SystemClock::new().sleep(TTL * 2).await;

    let lease_of_ben = store.acquire(&Acquire { wait: Wait::Forever, ..ask("ben") }).await?;
    let found = document.read(&lease_of_ben)?;
    println!("ben reads: {found:?}");
    println!("ben writes: {}", document.write(&lease_of_ben, "by ann, then by ben")?);

    // She goes on where she was. A look at the clock before would not help: she could be paused right after it.
    println!("ann writes again: {}", document.write(&lease_of_ann, "by ann alone")?);
    println!("ann reads: {:?}", document.read(&lease_of_ann)?);
    println!("it says {:?}", document.read(&lease_of_ben)?);
    Ok(())
}
