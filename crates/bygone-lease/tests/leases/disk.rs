//! The store on disk: shared by processes, durable before it answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Job, ManualClock, Outcome, Sweep};
use bygone_lease::storage::{Disk, Expected, Storage, StorageError};
use bygone_lease::{Acquire, LeaseStore, LeaseTarget, Options, SeededChance, Swept};
use bytes::Bytes;

use super::shelf::ask;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there_after_it_was_closed() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::open(directory.path()).unwrap();
    let version = disk.put("k", Bytes::from_static(b"one"), Expected::Absent).await.unwrap();
    drop(disk);
    let disk = Disk::open(directory.path()).unwrap();
    assert_eq!(disk.get("k").await.unwrap().unwrap().version, version);
    // A version never comes back, not even that of a key that was deleted.
    disk.delete("k", &version).await.unwrap();
    let again = disk.put("k", Bytes::from_static(b"one"), Expected::Absent).await.unwrap();
    assert_ne!(version, again);
}

/// Two handles are as two processes: each has its own connections and its own thread.
#[tokio::test(flavor = "multi_thread")]
async fn two_who_share_it_count_to_the_same_sum() {
    let directory = tempfile::tempdir().unwrap();
    let first = Arc::new(Disk::open(directory.path()).unwrap());
    first.put("n", Bytes::from_static(b"0"), Expected::Absent).await.unwrap();
    let second = Arc::new(Disk::open(directory.path()).unwrap());
    let adders = [&first, &second, &first, &second].map(|disk| {
        let disk = Arc::clone(disk);
        tokio::spawn(async move {
            let mut added = 0;
            while added < 50 {
                let found = disk.get("n").await.unwrap().unwrap();
                let n: u64 = std::str::from_utf8(&found.body).unwrap().parse().unwrap();
                match disk.put("n", Bytes::from((n + 1).to_string()), Expected::Version(&found.version)).await {
                    Ok(_) => added += 1,
                    Err(StorageError::Conflict { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for adder in adders {
        adder.await.unwrap();
    }
    assert_eq!(first.get("n").await.unwrap().unwrap().body, Bytes::from_static(b"200"));
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_refused_and_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("leases.db");
    std::fs::write(&path, b"this is not a database, and longer than nothing at all").unwrap();
    let refused = Disk::open(directory.path()).unwrap_err();
    assert!(matches!(refused, StorageError::Refused { .. }), "{refused:?}");
    assert!(std::fs::read(&path).unwrap().starts_with(b"this is not"));
}

#[tokio::test]
async fn it_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("new/store");
    let _disk = Disk::open(&directory).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&directory.join("leases.db")), 0o600);
}

/// Reads that wait together are answered together: not from a time before they were asked.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_answered_reads_what_he_wrote_however_many_read() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(Disk::open(directory.path()).unwrap());
    let writers: Vec<_> = (0..64)
        .map(|at| {
            let disk = Arc::clone(&disk);
            tokio::spawn(async move {
                let key = format!("k/{at:02}");
                let mut version = disk.put(&key, Bytes::from_static(b"0"), Expected::Absent).await.unwrap();
                for round in 1..=20 {
                    let body = Bytes::from(format!("{round}"));
                    version = disk.put(&key, body.clone(), Expected::Version(&version)).await.unwrap();
                    let found = disk.get(&key).await.unwrap().unwrap();
                    assert_eq!((found.body, &found.version), (body, &version));
                    let listed = disk.list(&key, None, 1).await.unwrap().keys.remove(0);
                    assert_eq!((listed.key, listed.version.as_ref()), (key.clone(), Some(&version)));
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(disk.list("k/", None, 100).await.unwrap().keys.len(), 64);
}

/// A sweeper of this store has many entries in hand at once, and each is of another key.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_takes_what_is_over_and_leaves_every_one_that_lives() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(Disk::open(directory.path()).unwrap());
    let clock = Arc::new(ManualClock::at("2026-11-18T12:10:00Z".parse().unwrap()));
    let chance = Arc::new(SeededChance::new(1));
    let store = LeaseStore::open_by(Arc::clone(&disk), Options::default(), clock.clone(), chance).await.unwrap();
    // Over, over at the very moment of the sweep, which is not over, and alive.
    let ttl = |at: usize| Duration::from_secs([30, 60, 600][at % 3]);
    for at in 0..150 {
        store.acquire(&Acquire { ttl: Some(ttl(at)), ..ask(&format!("{at:03}"), "a") }).await.unwrap();
    }
    clock.advance(Duration::from_secs(60));
    let target = LeaseTarget::new(Swept::Leases, "leases", "store", &store);
    let sweep = Sweep::new(clock.clone(), Boundary::at(clock.now()));
    let report = sweep.run(vec![Job::new(Box::new(target), Budget::default())]).await.policies.remove(0);
    assert_eq!((report.outcome, report.tally.removed, report.tally.kept_back.total()), (Outcome::Complete, 50, 0));
    let mut entries: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for listed in disk.list("jobs/.lease-index/20", None, 1_000).await.unwrap().keys {
        let (hour, key) = listed.key["jobs/.lease-index/".len()..].split_once('/').unwrap();
        entries.entry(key.to_owned()).or_default().push(hour.to_owned());
    }
    for at in 0..150 {
        let key = format!("{at:03}");
        let record = disk.get(&format!("jobs/meta/{key}")).await.unwrap().unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record.body).unwrap();
        let (owner, hour) = if at % 3 == 0 { (None, "2026111912") } else { (Some("a"), "2026111812") };
        assert_eq!(record["lease"]["owner"].as_str(), owner, "{key}");
        assert_eq!(entries[&key], [hour], "{key}");
    }
    assert_eq!(entries.len(), 150);
}
