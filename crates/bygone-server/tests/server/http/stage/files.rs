//! Files: staged, told, fetched, touched, removed.

use bygone_core::SystemClock;
use bygone_files::stage::Quota;
use bygone_server::http::Settings;
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};

use super::yard::Yard;

const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[tokio::test]
async fn what_is_put_is_told_and_there_under_its_path() {
    let yard = Yard::new().await;
    let answer = yard.put("hello.txt?ttl_ms=3600000", "hello").await.is(201);
    assert_eq!(answer.header("location"), format!("/stage/v1/up/files/{HELLO}"));
    let staged = answer.json();
    assert_eq!((&staged["id"], &staged["name"], &staged["size"]), (&json!(HELLO), &json!("hello.txt"), &json!(5)));
    assert_eq!(
        (&staged["ttl_ms"], &staged["persist"], &staged["cached"]),
        (&json!(3_600_000), &json!(false), &json!(false))
    );
    let path = staged["path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hello");
    assert!(path.starts_with(yard.area().to_str().unwrap()), "{path}");

    // The same again is no second copy, and lives no shorter.
    let again = yard.put("other.txt?ttl_ms=1", "hello").await.is(200).json();
    assert_eq!(
        (&again["cached"], &again["ttl_ms"], &again["path"]),
        (&json!(true), &json!(3_600_000), &staged["path"])
    );
    assert_eq!(yard.totals().await, (1, 5));
    let told = yard.ask(Method::GET, &format!("files/{HELLO}")).await.is(200).json();
    assert_eq!(told["deadline"], again["deadline"]);
    let content = yard.ask(Method::GET, &format!("files/{HELLO}/content")).await.is(200);
    assert_eq!((content.text.as_str(), content.header("content-length")), ("hello", "5"));
    assert_eq!(content.header("content-disposition"), "attachment");

    let touched = yard.ask(Method::POST, &format!("files/{HELLO}/touch?ttl_ms=forever")).await.is(200).json();
    assert_eq!((&touched["ttl_ms"], &touched["deadline"]), (&Value::Null, &Value::Null));
    yard.ask(Method::DELETE, &format!("files/{HELLO}")).await.is(204);
    assert!(!std::path::Path::new(path).exists());
    for (method, path) in [("GET", ""), ("GET", "/content"), ("POST", "/touch"), ("DELETE", "")] {
        let answer = yard.ask(method.parse().unwrap(), &format!("files/{HELLO}{path}")).await;
        answer.refused_with(404, "no-such-file", HELLO);
    }
    assert_eq!(yard.totals().await, (0, 0));
}

#[tokio::test]
async fn lists_come_page_by_page_in_the_order_of_ids() {
    let yard = Yard::new().await;
    let mut ids = Vec::new();
    for text in ["a", "b", "c", "d", "e"] {
        ids.push(yard.put(text, text).await.is(201).json()["id"].as_str().unwrap().to_owned());
    }
    yard.put("gone?ttl_ms=0", "gone").await.is(201);
    ids.sort();
    let (mut told, mut after) = (Vec::new(), String::new());
    loop {
        let page = yard.ask(Method::GET, &format!("files?limit=2{after}")).await.is(200).json();
        let files = page["files"].as_array().unwrap();
        assert!(files.len() <= 2);
        told.extend(files.iter().map(|file| file["id"].as_str().unwrap().to_owned()));
        match page["next_after"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(told, ids, "what has expired is absent, swept or not");
}

#[tokio::test]
async fn a_cleanup_takes_what_has_expired_and_nothing_else() {
    let yard = Yard::new().await;
    let living = yard.put("living", "living").await.is(201).json();
    let kept = yard.put("kept?persist=true&ttl_ms=0", "kept").await.is(201).json();
    let gone = yard.put("gone?ttl_ms=0", "gone").await.is(201).json();
    let report = yard.ask(Method::POST, "cleanup").await.is(200).json();
    assert_eq!((&report["outcome"], &report["policies"][0]["removed"]), (&json!("complete"), &json!(1)));
    assert_eq!(report["policies"][0]["bytes"], 4);
    let is_there = |staged: &Value| std::path::Path::new(staged["path"].as_str().unwrap()).exists();
    assert!(is_there(&living) && is_there(&kept) && !is_there(&gone));
    let report = yard.ask(Method::POST, "cleanup").await.is(200).json();
    assert_eq!(report["policies"][0]["examined"], 0);
}

#[tokio::test]
async fn a_cleanup_leaves_what_the_policy_keeps() {
    let keep = SignedDuration::from_hours(1);
    let yard = Yard::with(Quota::default(), keep, Settings::default()).await;
    let gone = yard.put("gone?ttl_ms=0", "gone").await.is(201).json();
    let report = yard.ask(Method::POST, "cleanup").await.is(200).json();
    assert_eq!(report["policies"][0]["removed"], 0);
    assert!(std::path::Path::new(gone["path"].as_str().unwrap()).exists());
}

#[tokio::test]
async fn what_is_staged_is_a_gauge() {
    let yard = Yard::new().await;
    assert!(!yard.api.get("/metrics").await.is(200).text.contains("bygone_staged_files{"), "there is no area yet");
    yard.put("a", "four").await.is(201);
    yard.put("b?persist=true", "seventy").await.is(201);
    yard.put("c?ttl_ms=0", "gone, but not swept").await.is(201);
    let told = yard.api.get("/metrics").await.is(200).text;
    for line in [
        "bygone_staged_files{source=\"up\",kind=\"persistent\"} 1\n",
        "bygone_staged_files{source=\"up\",kind=\"expirable\"} 2\n",
        "bygone_staged_bytes{source=\"up\",kind=\"persistent\"} 7\n",
        "bygone_staged_bytes{source=\"up\",kind=\"expirable\"} 23\n",
    ] {
        assert!(told.contains(line), "{line} is not in\n{told}");
    }
}

/// Whoever was answered has a file until its deadline, however often it is swept and staged anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_was_answered_is_good_beside_cleanups() {
    use bygone_core::Clock;
    let yard = Yard::new().await;
    let clock = SystemClock::new();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let cleaning = async {
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            yard.ask(Method::POST, "cleanup").await;
        }
    };
    let staging = async {
        for round in 0..200 {
            // Two contents only: nearly every time the file before is past its time, and about to be swept.
            let text = format!("content {}", round % 2);
            let staged = yard.put("a?ttl_ms=20", &text).await.json();
            let deadline: jiff::Timestamp = staged["deadline"].as_str().unwrap().parse().unwrap();
            let read = std::fs::read_to_string(staged["path"].as_str().unwrap());
            // Whether it was in time is known afterwards.
            if clock.now() <= deadline {
                assert_eq!(read.unwrap(), text, "round {round}");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    // An area is made by the first file.
    yard.put("first", "first").await.is(201);
    tokio::join!(cleaning, staging);
}
