//! `kind = "leases"`: what goes, and above all what stays.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ManualClock, SystemClock};
use bygone_lease::storage::Disk;
use bygone_lease::{
    Acquire, Enqueue, IfVersion, Key, Lease, LeaseStore, Namespace, Options, Queue, QueueName, Replay, SystemChance,
    TxnId, Wait,
};
use serde_json::{Value, json};

use super::shop::Shop;

const HOUR: Duration = Duration::from_hours(1);

/// A shop with a policy over its store, and somebody who began to use that three days ago.
struct Past {
    shop: Shop,
    clock: Arc<ManualClock>,
    store: LeaseStore,
}

impl Past {
    async fn new(lines: &str) -> Self {
        let shop = Shop::new();
        configure(&shop, lines);
        let now = SystemClock::new().now();
        let clock = Arc::new(ManualClock::at(now - jiff::SignedDuration::from_hours(72)));
        // It leaves to the sweep what others left.
        let replay = Replay { every: Duration::MAX, ..Replay::default() };
        let (options, chance) = (Options { replay, ..Options::default() }, Arc::new(SystemChance));
        let disk = Disk::open(&shop.store()).unwrap();
        let store = LeaseStore::open_by(disk, options, Arc::clone(&clock) as Arc<dyn Clock>, chance).await.unwrap();
        Self { shop, clock, store }
    }

    /// Lets time pass until so long ago.
    fn come_to(&self, ago: Duration) {
        let left = SystemClock::new().now().duration_since(self.clock.now());
        self.clock.advance(Duration::try_from(left).unwrap().checked_sub(ago).unwrap());
    }

    async fn take(&self, key: &str, ttl: Duration) -> Lease {
        self.store.acquire(&Acquire { ttl: Some(ttl), ..ask(key) }).await.unwrap()
    }

    async fn stage(&self, key: &str, state: &str) -> TxnId {
        let txn = self.store.begin(None).unwrap();
        let within = Acquire { txn: Some(txn), ..ask(key) };
        self.store.stage(&within, state.as_bytes(), IfVersion::Any).await.unwrap();
        txn
    }
}

fn configure(shop: &Shop, lines: &str) {
    let policy = format!("[[policy]]\nname = \"ended\"\nsource = \"leases\"\nkind = \"leases\"\n{lines}\n");
    let text = format!("[source.leases]\nurl = \"{}\"\n\n{policy}", shop.url());
    std::fs::write(shop.path("bygone.toml"), text).unwrap();
}

fn ask(key: &str) -> Acquire {
    Acquire::new(Namespace::new("default").unwrap(), Key::new(key).unwrap(), "ada")
}

/// The records of keys, without what changes by itself.
fn records(shop: &Shop) -> BTreeMap<String, Value> {
    let items = shop.items().into_iter();
    items.filter_map(|(key, body)| Some((key.strip_prefix("default/meta/")?.to_owned(), body))).collect()
}

fn below(shop: &Shop, prefix: &str) -> usize {
    shop.items().iter().filter(|(key, _)| key.starts_with(prefix)).count()
}

#[tokio::test]
async fn what_is_over_goes_and_everything_else_stays() {
    let past = Past::new("").await;
    let shop = &past.shop;
    // Three days ago.
    past.store.release(&past.take("old", HOUR / 2).await).await.unwrap();
    past.store.commit(past.stage("ada", "60").await).await.unwrap();
    // Two hours ago.
    past.come_to(HOUR * 2);
    let forgotten = past.take("forgotten", HOUR / 2).await;
    past.store.update(&forgotten, b"half", IfVersion::Any).await.unwrap();
    past.take("empty", HOUR / 2).await;
    past.store.release(&past.take("released", HOUR / 2).await).await.unwrap();
    let abandoned = past.stage("ada", "0").await;
    past.store.commit(past.stage("bob", "40").await).await.unwrap();
    let mail = Queue { namespace: Namespace::new("default").unwrap(), name: QueueName::new("mail").unwrap() };
    for payload in [&b"acked"[..], b"waiting"] {
        past.store.enqueue(&mail, &Enqueue { payload: payload.to_vec(), ..Enqueue::default() }).await.unwrap();
    }
    let acked = past.store.dequeue(&mail, "ada", None, 1, Wait::None).await.unwrap();
    past.store.ack(&acked[0]).await.unwrap();
    // Just now.
    past.come_to(Duration::from_secs(1));
    let living = past.take("living", HOUR / 2).await;
    past.store.update(&living, b"alive", IfVersion::Any).await.unwrap();
    let pending = past.stage("pending", "soon").await;
    assert_eq!((below(shop, ".txns/"), below(shop, ".txn-decisions/m/")), (2, 2));

    let before = shop.items();
    let plan = shop.run(&["plan", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&plan["outcome"], &plan["walk"], &plan["path"]], ["complete", "index", &shop.url()], "{plan:#}");
    shop.run(&["check"]).ends(0);
    assert_eq!(shop.items(), before, "plan and check write nothing");

    let report = shop.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&report["outcome"], &report["error"]], [&json!("complete"), &json!(null)], "{report:#}");
    assert_eq!([&report["removed"], &plan["would_remove"]], [9, 9], "it does what the plan says: {report:#}");
    let after = records(shop);
    let names: Vec<&str> = after.keys().map(String::as_str).collect();
    assert_eq!(names, ["ada", "bob", "empty", "forgotten", "living", "pending", "released"], "only `old` is gone");
    let lease = |key: &str| after[key]["lease"]["id"].as_str().map(str::to_owned);
    let state = |key: &str| after[key]["state"]["text"].as_str().map(str::to_owned);
    assert_eq!([lease("forgotten"), lease("empty"), lease("released"), lease("ada")], [None, None, None, None]);
    assert_eq!(state("forgotten").as_deref(), Some("half"), "the state outlives its lease");
    assert_eq!(state("ada").as_deref(), Some("60"), "nobody committed the other");
    let is_staged = |key: &str| after[key].get("staged").is_some();
    assert_eq!([is_staged("ada"), is_staged("pending")], [false, true]);
    assert_eq!(after["forgotten"]["fencing_token"], json!(forgotten.fencing_token), "nor do tokens go back");
    assert_eq!([lease("living"), state("living")], [Some(living.id.to_string()), Some("alive".to_owned())]);
    assert!(lease("pending").is_some());
    // The pending transaction and the decisions of today are there; that of three days ago is not.
    let txns: Vec<String> =
        shop.items().into_iter().map(|(key, _)| key).filter(|key| key.starts_with(".txn")).collect();
    assert!(txns.contains(&format!(".txns/{}", pending.0)), "{txns:?}");
    assert!(txns.contains(&format!(".txn-decisions/m/{}", abandoned.0)), "{txns:?}");
    assert_eq!((below(shop, ".txns/"), below(shop, ".txn-decisions/m/")), (1, 2), "{txns:?}");
    assert_eq!(below(shop, "default/q/mail/msg/"), 1);

    let again = shop.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&again["removed"], &again["lag_seconds"]], [0, 0], "{again:#}");
    // What lives is as good as it was.
    past.store.keepalive(&living, None).await.unwrap();
    past.store.commit(pending).await.unwrap();
    assert_eq!(shop.state("pending").as_deref(), Some("soon"));
}

/// For everybody but who granted it a lease ends two seconds later; and what ends then has not ended.
#[tokio::test]
async fn what_ends_on_the_boundary_stays() {
    let past = Past::new("").await;
    let ends = past.take("k", HOUR / 2).await.expires_at.timestamp().unwrap();
    let boundary = ends + jiff::SignedDuration::from_secs(2);
    let sweep = |now: jiff::Timestamp| {
        past.shop.run(&["sweep", "--format", "json", "--now", &now.to_string()]).ends(0).only_policy()["removed"]
            .clone()
    };
    assert_eq!(sweep(boundary), 0);
    assert!(records(&past.shop)["k"]["lease"].is_object());
    assert_eq!(sweep(boundary + jiff::SignedDuration::from_millis(1)), 1);
    assert!(records(&past.shop)["k"].get("lease").is_none());
}

#[tokio::test]
async fn a_keep_says_how_long_the_last_token_is_remembered() {
    let past = Past::new("keep = \"7d\"").await;
    past.store.release(&past.take("old", HOUR / 2).await).await.unwrap();
    past.shop.run(&["sweep"]).ends(0);
    assert!(records(&past.shop).contains_key("old"), "three days are less than seven");
    let past = Past::new("keep = \"2d\"").await;
    past.store.release(&past.take("old", HOUR / 2).await).await.unwrap();
    past.shop.run(&["sweep"]).ends(0);
    assert!(!records(&past.shop).contains_key("old"), "but more than two");
}

#[test]
fn a_policy_makes_no_store() {
    let shop = Shop::new();
    configure(&shop, "");
    for verb in ["check", "plan", "sweep"] {
        shop.run(&[verb]).ends(65).says(&["there is no lease store at file:/", "correct the url", "bygone.toml:2"]);
    }
    assert!(!shop.store().exists());
}

#[test]
fn init_knows_a_lease_store() {
    let shop = Shop::new();
    shop.acquire("k", &[]);
    let proposed = shop.run(&["init", "--print", &shop.url()]).ends(0).stdout;
    assert!(proposed.contains("# kind   = \"leases\""), "{proposed}");
}
