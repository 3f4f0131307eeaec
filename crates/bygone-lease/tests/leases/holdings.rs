//! A look at a store: what lives, what is over, what ends when; bounded, without a trace, and no use of the store.

use std::time::Duration;

use bygone_lease::{Acquire, Holdings, LookBounds, Moment, Namespace, Options};

use super::shelf::{Shelf, key, namespace};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const WIDE: LookBounds = LookBounds { namespaces_max: 10, listings_max: 100, entries_max: 100_000 };

/// Ten past twelve is when a shelf begins.
async fn shelf() -> Shelf {
    Shelf::with(Options { max_ttl: 4 * HOUR, ..Options::default() }).await
}

async fn take(shelf: &Shelf, namespace: &str, name: &str, ttl: Duration) -> bygone_lease::Lease {
    let namespace = Namespace::new(namespace).unwrap();
    let ask = Acquire { ttl: Some(ttl), ..Acquire::new(namespace, key(name), "a") };
    shelf.store.acquire(&ask).await.unwrap()
}

async fn look(shelf: &Shelf, bounds: LookBounds) -> Holdings {
    let before = shelf.storage.requests();
    let holdings = shelf.store.holdings(bounds).await.unwrap();
    let asked = shelf.storage.requests().since(before);
    assert_eq!((asked.puts, asked.deletes), (0, 0), "a look writes nothing");
    assert!(asked.lists <= bounds.listings_max as u64, "{asked:?}");
    assert!(asked.gets <= (1 + bounds.namespaces_max + bounds.entries_max) as u64, "{asked:?}");
    holdings
}

/// Name, live, expired, more.
fn counts(holdings: &Holdings) -> Vec<(&str, u64, u64, bool)> {
    holdings.namespaces.iter().map(|of| (of.namespace.as_str(), of.live, of.expired, of.more)).collect()
}

/// The hour's beginning, how many end in it, more.
fn endings(holdings: &Holdings) -> Vec<(String, u64, bool)> {
    holdings.ending.iter().map(|(hour, ending)| (hour.to_string(), ending.leases, ending.more)).collect()
}

fn hour(text: &str) -> String {
    Moment::from(format!("2026-11-18T{text}:00:00Z").parse::<jiff::Timestamp>().unwrap()).to_string()
}

#[tokio::test]
async fn leases_are_counted_once_where_they_end_and_others_are_not() {
    let shelf = shelf().await;
    take(&shelf, "jobs", "soon", MINUTE).await;
    let extended = take(&shelf, "jobs", "extended", MINUTE).await;
    shelf.store.keepalive(&extended, Some(3 * HOUR)).await.unwrap();
    let released = take(&shelf, "jobs", "released", HOUR).await;
    shelf.store.release(&released).await.unwrap();
    take(&shelf, "mail", "later", HOUR).await;
    take(&shelf, "mail", "over", MINUTE).await;
    let holdings = look(&shelf, WIDE).await;
    assert_eq!(counts(&holdings), [("jobs", 2, 0, false), ("mail", 2, 0, false)]);
    assert_eq!(endings(&holdings), [(hour("12"), 2, false), (hour("13"), 1, false), (hour("15"), 1, false)]);
    shelf.pass(2 * MINUTE);
    let holdings = look(&shelf, WIDE).await;
    assert_eq!(counts(&holdings), [("jobs", 1, 1, false), ("mail", 1, 1, false)]);
    assert_eq!(endings(&holdings), [(hour("13"), 1, false), (hour("15"), 1, false)]);
    assert!(!holdings.more);
}

#[tokio::test]
async fn what_is_left_out_is_said_and_one_large_hour_leaves_something_to_the_others() {
    let shelf = shelf().await;
    for number in 0..40 {
        take(&shelf, "jobs", &format!("key-{number}"), MINUTE).await;
    }
    take(&shelf, "jobs", "later", HOUR).await;
    take(&shelf, "mail", "one", MINUTE).await;
    let holdings = look(&shelf, LookBounds { entries_max: 20, ..WIDE }).await;
    assert_eq!(counts(&holdings), [("jobs", 11, 0, true), ("mail", 1, 0, false)]);
    assert_eq!(endings(&holdings), [(hour("12"), 11, true), (hour("13"), 1, false)]);
    let holdings = look(&shelf, LookBounds { listings_max: 2, ..WIDE }).await;
    assert_eq!(counts(&holdings), [("jobs", 40, 0, true), ("mail", 1, 0, false)]);
    assert_eq!(endings(&holdings), [(hour("12"), 41, false), (hour("13"), 0, true)]);
    let holdings = look(&shelf, LookBounds { namespaces_max: 1, ..WIDE }).await;
    assert_eq!((counts(&holdings), holdings.more), (vec![("jobs", 41, 0, false)], true));
}

#[tokio::test]
async fn a_look_is_no_use_of_the_store() {
    let shelf = shelf().await;
    take(&shelf, "jobs", "one", MINUTE).await;
    shelf.pass(HOUR);
    look(&shelf, WIDE).await;
    assert_eq!(shelf.store.idle(), HOUR);
    let nobody = Shelf::new().await;
    assert_eq!(nobody.store.holdings(WIDE).await.unwrap(), Holdings::default());
    assert!(nobody.store.describe(&namespace(), &key("one")).await.unwrap().is_none());
}
