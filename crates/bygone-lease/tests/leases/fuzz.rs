//! What stands in a store was not always written by us: whatever it is, nobody falls over it, nothing goes because of it, and
//! it is left as it is.
//!
//! `./fuzz` goes on for longer with the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bolero::TypeGenerator;
use bygone_core::{Boundary, Budget, Clock, Job, ManualClock, Sweep};
use bygone_lease::storage::{Expected, Memory, Storage};
use bygone_lease::{
    Acquire, Delivery, Enqueue, Error, IfVersion, Key, LeaseStore, LeaseTarget, LookBounds, Nack, Namespace, Options,
    Queue, QueueName, SeededChance, Swept, TxnId, Wait,
};
use bygone_testkit::Damage;
use bytes::Bytes;

use super::shelf::{ask, key, namespace};

/// Longer than a lease and what clocks may be apart.
const LONG: Duration = Duration::from_secs(60);

/// What stands in records, where it does not belong.
const WORDS: &[&str] = &[
    "null",
    "true",
    "-1",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "253402300799999",
    "253402207200000",
    "-62167219200001",
    "4294967295",
    "1e308",
    "\"\"",
    "\"/\"",
    "\"..\"",
    "\"a\\u0000b\"",
    "[]",
    "{}",
    "[[[[[[[[",
    "{\"a\":",
    "}",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\"bystander\"",
    "\"held\"",
    "\"commit\"",
    "\"rollback\"",
    "\"9999123122\"",
    "\"0000010100\"",
    "\"2026111812\"",
    "\"state\"",
    "\"attachment\"",
    "00000000-0000-0000-0000-000000000000",
    ",\"version\":18446744073709551615",
    ",\"fencing_token\":18446744073709551615",
    "\"expires_at\":9223372036854775807,",
    "\"expires_at\":-9223372036854775808,",
    "\"ready_at\":-9223372036854775808,",
];

/// A store in which everything stands that a store may hold.
struct Furnished {
    storage: Arc<Memory>,
    clock: Arc<ManualClock>,
    txn: TxnId,
    deliveries: Vec<Delivery>,
}

fn queue() -> Queue {
    Queue { namespace: namespace(), name: QueueName::new("mail").unwrap() }
}

/// Records hold next to nothing, and blobs are cut small.
fn tight() -> Options {
    Options {
        inline_bytes_max: 16,
        chunk_bytes: 10,
        retention: Some(Duration::from_secs(90 * 24 * 3600)),
        ..Options::default()
    }
}

impl Furnished {
    async fn new() -> Self {
        let (storage, clock) =
            (Arc::new(Memory::new()), Arc::new(ManualClock::at("2026-11-18T12:10:00Z".parse().unwrap())));
        let mut furnished = Self { storage, clock, txn: TxnId(uuid::Uuid::nil()), deliveries: Vec::new() };
        let store = furnished.process(1).await;
        for (name, state) in
            [("held", &b"small"[..]), ("large", b"a state that has no room in a record"), ("over", b"\xff")]
        {
            let lease = store.acquire(&ask(name, "ada")).await.unwrap();
            store.update(&lease, state, IfVersion::Any).await.unwrap();
            store
                .put_attachment(&lease, "a.txt", Some("text/plain"), &b"an attachment of some bytes"[..])
                .await
                .unwrap();
        }
        let empty = store.acquire(&ask("empty", "ada")).await.unwrap();
        store.release(&empty).await.unwrap();
        let done = store.begin(None).unwrap();
        store.stage(&Acquire { txn: Some(done), ..ask("done", "ada") }, b"1", IfVersion::Any).await.unwrap();
        store.commit(done).await.unwrap();
        furnished.clock.advance(LONG);
        let held = store.acquire(&ask("held", "bob")).await.unwrap();
        assert!(held.fencing_token > 1);
        furnished.txn = store.begin_shared(None).await.unwrap();
        store.stage(&Acquire { txn: Some(furnished.txn), ..ask("staged", "ada") }, b"2", IfVersion::Any).await.unwrap();
        let message =
            Enqueue { payload: b"hello".to_vec(), ttl: Some(LONG), attempts_max: Some(2), ..Enqueue::default() };
        for _ in 0..3 {
            store.enqueue(&queue(), &message).await.unwrap();
        }
        store.enqueue(&queue(), &Enqueue { txn: Some(furnished.txn), ..message }).await.unwrap();
        furnished.deliveries = store.dequeue(&queue(), "worker", None, 2, Wait::None).await.unwrap();
        // Somebody who has nothing to do with any of it.
        let elsewhere = Acquire::new(Namespace::new("elsewhere").unwrap(), key("bystander"), "eve");
        let lease = store.acquire(&elsewhere).await.unwrap();
        store.update(&lease, b"mine", IfVersion::Any).await.unwrap();
        furnished
    }

    async fn process(&self, seed: u64) -> LeaseStore {
        let chance = Arc::new(SeededChance::new(seed));
        LeaseStore::open_by(Arc::clone(&self.storage), tight(), self.clock.clone(), chance).await.unwrap()
    }

    /// Everything but what the store's own trial left, by name.
    async fn keys(&self) -> Vec<String> {
        self.storage.list("", None, usize::MAX).await.unwrap().keys.into_iter().map(|listed| listed.key).collect()
    }

    async fn body(&self, key: &str) -> Option<Bytes> {
        self.storage.get(key).await.unwrap().map(|stored| stored.body)
    }

    async fn put(&self, key: &str, body: Vec<u8>) {
        let version = self.storage.get(key).await.unwrap().map(|stored| stored.version);
        let expected = version.as_ref().map_or(Expected::Absent, Expected::Version);
        self.storage.put(key, body.into(), expected).await.unwrap();
    }

    /// Everything that programs do with a store, by a process that remembers nothing.
    async fn use_all_of_it(&self) -> Vec<Result<(), Error>> {
        let store = self.process(2).await;
        let space = namespace();
        let mut outcomes = Vec::new();
        for name in ["held", "large", "over", "empty", "done", "staged", "new"] {
            let key = Key::new(name).unwrap();
            outcomes.push(store.describe(&space, &key).await.map(drop));
            outcomes.push(store.get(&space, &key).await.map(drop));
            outcomes.push(store.list_attachments(&space, &key).await.map(drop));
            outcomes.push(read_attachment(&store, &key).await);
            match store.acquire(&ask(name, "carol")).await {
                Ok(lease) => {
                    outcomes
                        .push(store.update(&lease, b"another state, which is large", IfVersion::Any).await.map(drop));
                    outcomes.push(store.keepalive(&lease, None).await.map(drop));
                    outcomes.push(store.delete_attachment(&lease, "a.txt").await.map(drop));
                    outcomes.push(store.release(&lease).await.map(drop));
                }
                Err(error) => outcomes.push(Err(error)),
            }
        }
        outcomes.push(store.queue_stats(&queue()).await.map(drop));
        outcomes.push(store.dead_letters(&queue(), 10).await.map(drop));
        for (at, delivery) in self.deliveries.iter().enumerate() {
            outcomes.push(store.extend(delivery, None).await.map(drop));
            outcomes.push(match at {
                0 => store.ack(delivery).await.map(drop),
                _ => store.nack(delivery, Nack::Failure, Duration::ZERO).await,
            });
        }
        outcomes.push(store.dequeue(&queue(), "worker", None, 10, Wait::None).await.map(drop));
        outcomes.push(store.txn_expires_at(self.txn).await.map(drop));
        outcomes.push(store.commit(self.txn).await);
        outcomes.push(store.rollback(self.txn).await.map(drop));
        outcomes.push(store.holdings(LookBounds::default()).await.map(drop));
        outcomes
    }

    /// Sweeps everything for days.
    async fn sweep(&self) {
        let store = self.process(3).await;
        for _ in 0..3 {
            self.clock.advance(Duration::from_secs(13 * 3600));
            for swept in [Swept::Transactions, Swept::Leases, Swept::Decisions] {
                let target = LeaseTarget::new(swept, "leases", "store", &store);
                let job = Job::new(Box::new(target), Budget { items: Some(10_000), ..Budget::default() });
                let report = Sweep::new(self.clock.clone(), Boundary::at(self.clock.now())).run(vec![job]).await;
                assert_eq!(report.policies.len(), 1);
            }
        }
    }

    /// The fencing tokens of all records and messages that there are.
    async fn tokens(&self) -> BTreeMap<String, u64> {
        let mut tokens = BTreeMap::new();
        for key in self.keys().await {
            let body = self.body(&key).await.unwrap();
            let token =
                serde_json::from_slice(&body).ok().and_then(|value: serde_json::Value| value["fencing_token"].as_u64());
            tokens.extend(token.map(|token| (key, token)));
        }
        tokens
    }

    async fn assert_bystander_lives(&self) {
        let body = self.body("elsewhere/meta/bystander").await.unwrap();
        let record: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(record["state"]["text"], "mine", "{record}");
    }
}

/// To its end, however many pieces it says it has.
async fn read_attachment(store: &LeaseStore, key: &Key) -> Result<(), Error> {
    if let Some(mut reader) = store.get_attachment(&namespace(), key, "a.txt").await? {
        while reader.next().await?.is_some() {}
    }
    Ok(())
}

#[derive(Clone, Debug, TypeGenerator)]
struct Tampered {
    which: u16,
    damage: Damage,
    /// Whether something is damaged of which there is nothing left to read.
    is_noise: bool,
    noise: [u8; 4],
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Whatever stands where a record, an entry, a list, a message, a transaction or a piece of a blob is expected: nobody panics,
/// everything ends, whoever has nothing to do with it keeps what is his, and what nobody can read stays as it is.
#[test]
fn whatever_stands_in_a_store_is_told_and_left_as_it_is() {
    bolero::check!().with_iterations(500).with_test_time(Duration::from_secs(12)).with_type::<Tampered>().for_each(
        |tampered| {
            block_on(async {
                let furnished = Furnished::new().await;
                let keys: Vec<String> =
                    furnished.keys().await.into_iter().filter(|key| !key.starts_with("elsewhere/")).collect();
                let path = &keys[usize::from(tampered.which) % keys.len()];
                let found = furnished.body(path).await.unwrap();
                let words: Vec<&[u8]> = WORDS.iter().map(|word| word.as_bytes()).collect();
                let mut body = tampered.damage.of(&[&found], &words);
                if tampered.is_noise {
                    body = [&b"\xff"[..], &tampered.noise, &body[..]].concat();
                }
                furnished.put(path, body.clone()).await;
                let outcomes = furnished.use_all_of_it().await;
                furnished.sweep().await;
                furnished.assert_bystander_lives().await;
                let is_kept = tampered.is_noise && !is_opaque(path);
                if is_kept {
                    assert_eq!(furnished.body(path).await.as_deref(), Some(&body[..]), "{path} was not left as it was");
                }
                for error in outcomes.into_iter().filter_map(Result::err) {
                    assert!(!error.to_string().is_empty(), "{path}: {error:?}");
                }
            });
        },
    );
}

/// The same without chance: noise in the place of each object in turn.
#[test]
fn noise_in_the_place_of_each_object_stays_there() {
    block_on(async {
        let keys = Furnished::new().await.keys().await;
        assert!(keys.len() > 20, "{keys:?}");
        for path in keys.iter().filter(|path| !path.starts_with("elsewhere/")) {
            let furnished = Furnished::new().await;
            furnished.put(path, b"\xffnoise".to_vec()).await;
            furnished.use_all_of_it().await;
            furnished.sweep().await;
            furnished.assert_bystander_lives().await;
            if !is_opaque(path) {
                assert_eq!(
                    furnished.body(path).await.as_deref(),
                    Some(&b"\xffnoise"[..]),
                    "{path} was not left as it was"
                );
            }
        }
    });
}

/// Numbers at the ends of their types, in every field that has one, of every object: nobody falls over them, and a token does
/// not begin anew behind the last one that there is.
#[test]
fn numbers_that_nobody_ever_counted_to_are_not_believed() {
    block_on(async {
        let keys = Furnished::new().await.keys().await;
        let mut tried = 0;
        for path in keys.iter().filter(|path| !path.starts_with("elsewhere/")) {
            let found = Furnished::new().await.body(path).await.unwrap();
            let Ok(serde_json::Value::Object(fields)) = serde_json::from_slice(&found) else { continue };
            for (field, _) in fields.iter().filter(|(_, value)| value.is_number()) {
                for number in [serde_json::json!(u64::MAX), serde_json::json!(i64::MAX), serde_json::json!(i64::MIN)] {
                    let furnished = Furnished::new().await;
                    let mut fields = fields.clone();
                    fields.insert(field.clone(), number.clone());
                    furnished.put(path, serde_json::to_vec(&fields).unwrap()).await;
                    let before = furnished.tokens().await;
                    furnished.use_all_of_it().await;
                    furnished.sweep().await;
                    furnished.assert_bystander_lives().await;
                    for (key, token) in furnished.tokens().await {
                        let had = before.get(&key).copied().unwrap_or(0);
                        assert!(
                            token >= had,
                            "{path}, {field} = {number}: the token of {key} went from {had} to {token}"
                        );
                    }
                    tried += 1;
                }
            }
        }
        assert!(tried > 50, "{tried}");
    });
}

/// What no reader of ours ever parses: pieces of blobs, and entries of the index that are names alone.
fn is_opaque(path: &str) -> bool {
    let is_entry = |part: &str| path.contains(part) && !path.contains(".errand-") && !path.ends_with("buckets.json");
    path.contains("/state/") || is_entry("/.lease-index/") || is_entry(".txn-decisions/e/")
}
