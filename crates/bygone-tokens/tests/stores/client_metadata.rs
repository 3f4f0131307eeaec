//! The cache of client metadata documents: kept as RFC 9111 says, within bounds; errors never.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{Cached, Fetched};
use serde_json::json;

use crate::world::{MOMENT, World, almost, contend};

on_each_engine!(
    a_document_is_fresh_for_as_long_as_it_says,
    lifetimes_are_kept_within_bounds,
    what_must_not_be_stored_is_not_and_what_was_is_gone,
    errors_and_other_documents_are_never_cached,
    documents_are_replaced_and_deleted,
    many_at_once_store_one_document,
);

const SECOND: Duration = Duration::from_secs(1);
const URL: &str = "https://app.example/client.json";

fn body(url: &str, name: &str) -> String {
    json!({ "client_id": url, "client_name": name }).to_string()
}

fn fetched<'a>(headers: &'a [(&'a str, &'a str)], body: &'a str) -> Fetched<'a> {
    Fetched { status: 200, headers, body }
}

async fn a_document_is_fresh_for_as_long_as_it_says(kind: Kind) {
    let world = World::fresh(kind).await;
    let cache = world.tokens.client_metadata();
    assert_eq!(cache.get(URL).await.unwrap(), None);
    let headers = [("Cache-Control", "public, max-age=600"), ("Age", "100")];
    assert_eq!(cache.put(URL, fetched(&headers, &body(URL, "one"))).await.unwrap(), Cached::Stored);
    world.pass(almost(500 * SECOND));
    assert_eq!(cache.get(URL).await.unwrap().unwrap()["client_name"], "one");
    world.pass(MOMENT);
    assert_eq!(cache.get(URL).await.unwrap(), None);
    assert_eq!(world.rows("client_id_metadata").await, 1, "nothing was swept");
}

async fn lifetimes_are_kept_within_bounds(kind: Kind) {
    let world = World::fresh(kind).await;
    let cache = world.tokens.client_metadata();
    for (headers, seconds) in
        [(&[("cache-control", "max-age=5")][..], 60), (&[], 60), (&[("cache-control", "max-age=31536000")], 86_400)]
    {
        assert_eq!(cache.put(URL, fetched(headers, &body(URL, "one"))).await.unwrap(), Cached::Stored);
        world.pass(almost(seconds * SECOND));
        assert!(cache.get(URL).await.unwrap().is_some(), "{headers:?}");
        world.pass(MOMENT);
        assert_eq!(cache.get(URL).await.unwrap(), None, "{headers:?}");
    }
}

async fn what_must_not_be_stored_is_not_and_what_was_is_gone(kind: Kind) {
    let world = World::fresh(kind).await;
    let cache = world.tokens.client_metadata();
    for value in ["no-store", "max-age=600, No-Store", "no-cache", "max-age=0"] {
        cache.put(URL, fetched(&[], &body(URL, "old"))).await.unwrap();
        let headers = [("cache-control", value)];
        assert_eq!(cache.put(URL, fetched(&headers, &body(URL, "new"))).await.unwrap(), Cached::NotStorable);
        assert_eq!(cache.get(URL).await.unwrap(), None, "{value}");
    }
    assert_eq!(world.rows("client_id_metadata").await, 0);
}

async fn errors_and_other_documents_are_never_cached(kind: Kind) {
    let world = World::fresh(kind).await;
    let cache = world.tokens.client_metadata();
    cache.put(URL, fetched(&[], &body(URL, "old"))).await.unwrap();
    for status in [100, 201, 204, 301, 304, 400, 404, 410, 500, 503] {
        let fetched = Fetched { status, headers: &[("cache-control", "max-age=600")], body: &body(URL, "new") };
        assert_eq!(cache.put(URL, fetched).await.unwrap(), Cached::Error, "{status}");
    }
    let other = body("https://mallory.example/client.json", "new");
    for document in ["", "not JSON", "[]", "null", "{}", r#"{"client_id": 7}"#, &other] {
        assert_eq!(cache.put(URL, fetched(&[], document)).await.unwrap(), Cached::Invalid, "{document}");
    }
    assert_eq!(cache.get(URL).await.unwrap().unwrap()["client_name"], "old");
}

async fn documents_are_replaced_and_deleted(kind: Kind) {
    let world = World::fresh(kind).await;
    let cache = world.tokens.client_metadata();
    let long = format!("https://app.example/{}", "p".repeat(50_000));
    let urls = [URL, &long, "https://app.example/Client.json"];
    for url in urls {
        cache.put(url, fetched(&[], &body(url, "one"))).await.unwrap();
        cache.put(url, fetched(&[], &body(url, "two"))).await.unwrap();
        assert_eq!(cache.get(url).await.unwrap().unwrap()["client_name"], "two");
    }
    assert!(cache.delete(URL).await.unwrap());
    assert!(!cache.delete(URL).await.unwrap());
    assert_eq!(cache.get(URL).await.unwrap(), None);
    assert!(cache.get(&long).await.unwrap().is_some());
    cache.delete_all().await.unwrap();
    for url in urls {
        assert_eq!(cache.get(url).await.unwrap(), None);
    }
}

async fn many_at_once_store_one_document(kind: Kind) {
    let world = World::fresh(kind).await;
    let cache = world.tokens.client_metadata();
    let outcomes = contend(16, |contender| {
        let cache = cache.clone();
        async move { cache.put(URL, fetched(&[], &body(URL, &format!("{contender}")))).await.unwrap() }
    })
    .await;
    assert!(outcomes.iter().all(|outcome| *outcome == Cached::Stored));
    assert!(cache.get(URL).await.unwrap().is_some());
    assert_eq!(world.rows("client_id_metadata").await, 1);
}
