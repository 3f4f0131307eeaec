//! The store on disk: acknowledged means durable, whoever is killed when.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bygone_lease::storage::{Disk, Storage};
use bygone_lease::{Chance, LeaseStore, SeededChance};
use rusqlite::{Connection, OpenFlags};

use crate::books::{open_books, read_books};
use crate::crew::{Crew, WORKERS};
use crate::orders::{Orders, Place, Task};

/// Each of them kills all three processes, one after the other.
const ROUNDS: u64 = 200;

/// The letters below a prefix of the store, by its own word and not by the queue's.
async fn letters(disk: &Disk, prefix: &str) -> BTreeSet<String> {
    let listing = disk.list(prefix, None, usize::MAX >> 1).await.unwrap();
    let mut letters = BTreeSet::new();
    for listed in listing.keys {
        let message = disk.get(&listed.key).await.unwrap().unwrap();
        let message: serde_json::Value = serde_json::from_slice(&message.body).unwrap();
        let is_new = letters.insert(message["payload"]["text"].as_str().unwrap().to_owned());
        assert!(is_new, "{} is there twice", listed.key);
    }
    letters
}

/// What SQLite itself says of the file.
fn check_file(directory: &Path) {
    let file = Connection::open_with_flags(directory.join("leases.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let word: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(word, "ok");
}

async fn check(crew: &mut Crew, store: &LeaseStore, directory: &Path, round: u64) -> u64 {
    let disk = Disk::open(directory).unwrap();
    let (waiting, dead) = (letters(&disk, "real/q/letters/msg/").await, letters(&disk, "real/q/letters/dlq/").await);
    crew.ledger.letters.check(&waiting, &dead);
    crew.ledger.check_books(round, &read_books(store, round).await);
    crew.ledger.close_books(round);
    crew.ledger.check_counters(store).await;
    crew.ledger.check_held(store).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_after_kill_9() {
    let seed = crate::seed();
    let chance = SeededChance::new(seed);
    let below = |limit| chance.bits() % limit;
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("store");
    let (ttl, skew) = (Duration::from_millis(150), Duration::from_millis(10));
    let place = Place::Disk(directory.clone());
    let orders = Orders { place, task: Task::Work, name: String::new(), seed, ttl, skew, resource: None };
    let mut crew = Crew::new(orders.clone());
    let mut held = 0;
    for round in 0..ROUNDS {
        // Closed again before anybody else comes: the next to open it finds it as the dead have left it.
        let store = orders.place.open(orders.options()).await;
        open_books(&store, round).await;
        drop(store);
        for slot in 0..WORKERS {
            crew.start(slot);
            crew.set_to_work(slot, round);
        }
        crew.listen_to(below(200));
        let first = usize::try_from(below(3)).unwrap();
        crew.kill(first);
        for next in 1..WORKERS {
            // Those who are left go on meanwhile.
            crew.listen_to(below(40));
            crew.kill((first + next) % WORKERS);
        }
        let store = orders.place.open(orders.options()).await;
        held += check(&mut crew, &store, &directory, round).await;
        drop(store);
        check_file(&directory);
    }
    let ledger = &crew.ledger;
    let kept = ledger.check_kept(&orders.place.open(orders.options()).await).await;
    let (counts, letters, moved) = (ledger.counts(), ledger.letters.len(), ledger.moved);
    println!("{ROUNDS} rounds: {held} leases, {kept} states, {counts} counts, {letters} letters, {moved} transfers");
    for found in [held, kept, counts, letters, moved] {
        assert!(found > 50, "there was something to lose");
    }
}
