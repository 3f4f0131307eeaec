//! Files on their way: large, broken off, standing still, too many.

use std::time::Duration;

use bygone_files::stage::Quota;
use bygone_server::http::Limits;
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::yard::Yard;

#[tokio::test]
async fn a_file_may_be_larger_than_any_other_body() {
    let yard = Yard::new().await;
    let text = "0123456789abcdef".repeat(500_000);
    let staged = yard.put("large", &text).await.is(201).json();
    assert_eq!(staged["size"], 8_000_000);
    assert_eq!(std::fs::read_to_string(staged["path"].as_str().unwrap()).unwrap(), text);
    let content = yard.ask(Method::GET, &format!("files/{}/content", staged["id"].as_str().unwrap())).await.is(200);
    assert!(content.text == text);
}

#[tokio::test]
async fn what_is_broken_off_leaves_nothing() {
    let yard = Yard::new().await;
    yard.put("first", "first").await.is(201);
    let head = "PUT /stage/v1/up/files/half HTTP/1.1\r\nhost: localhost\r\n";
    let chunks = "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";
    for begun in [format!("{head}content-length: 100\r\n\r\nhello"), format!("{head}{chunks}")] {
        let mut stream = yard.api.connect().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        while yard.files() != ["first", "on its way"] {
            tokio::task::yield_now().await;
        }
        drop(stream);
        while yard.files() != ["first"] {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(yard.totals().await, (1, 5));
}

#[tokio::test]
async fn what_stands_still_is_given_up_and_what_is_slow_is_not() {
    let limits = Limits {
        stall_within: Duration::from_secs(2),
        request_within: Duration::from_millis(300),
        ..Limits::default()
    };
    let yard = Yard::limited(Quota::default(), limits).await;
    yard.put("first", "first").await.is(201);
    let head =
        "PUT /stage/v1/up/files/slow HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 8\r\n\r\n";
    let answer = yard.api.send_raw(&format!("{head}hal")).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("urn:bygone:problem:stalled"), "{answer}");
    assert_eq!(yard.files(), ["first"]);
    // A byte now and then takes longer than any other request may.
    let mut stream = yard.api.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut steps = tokio::time::interval(Duration::from_millis(60));
    for byte in b"in time!" {
        steps.tick().await;
        stream.write_all(&[*byte]).await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_its_sender_hears_why() {
    let quota = Quota { max_bytes: Some(1_000), max_count: Some(2), ..Quota::default() };
    let yard = Yard::limited(quota, Limits::default()).await;
    let large = "x".repeat(2_000_000);
    yard.put("large", &large).await.refused_with(507, "area-full", "max_bytes = 1000");
    assert_eq!(yard.files(), Vec::<String>::new());
    yard.put("a", &"a".repeat(900)).await.is(201);
    yard.put("b", &"b".repeat(200)).await.refused_with(507, "area-full", "200 bytes are needed");
    yard.put("c", "c").await.is(201);
    yard.put("d", "d").await.refused_with(507, "area-full", "max_count = 2");
    assert_eq!((yard.totals().await, yard.files()), ((2, 901), vec!["a".to_owned(), "c".to_owned()]));
}

#[tokio::test]
async fn more_at_once_than_allowed_is_turned_away_until_one_ends() {
    let limits = Limits { transfers_max: 1, ..Limits::default() };
    let yard = Yard::limited(Quota::default(), limits).await;
    yard.put("first", "first").await.is(201);
    let mut stream = yard.api.connect().await;
    let head = "PUT /stage/v1/up/files/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    while yard.files() != ["first", "on its way"] {
        tokio::task::yield_now().await;
    }
    let answer = yard.put("b", "b").await.refused_with(503, "busy", "on their way");
    assert_eq!(answer.header("retry-after"), "5");
    // Who only looks is none of them.
    assert_eq!(yard.totals().await, (1, 5));
    drop(stream);
    while yard.put("b", "b").await.status != 201 {}
}
