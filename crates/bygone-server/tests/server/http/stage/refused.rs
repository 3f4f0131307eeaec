//! What is not done, and what comes of it: nothing.

use reqwest::Method;

use super::yard::Yard;

#[tokio::test]
async fn who_only_asks_makes_no_area() {
    let yard = Yard::new().await;
    for (method, path) in [("GET", "totals"), ("GET", "files"), ("POST", "cleanup"), ("DELETE", "files/00")] {
        yard.ask(method.parse().unwrap(), path).await.refused_with(404, "no-such-area", "no staging area");
    }
    yard.api.get("/stage/v1/other/totals").await.refused_with(404, "no-such-area", "`other`");
    assert!(!yard.area().exists());
}

#[tokio::test]
async fn no_name_leads_out_of_the_area() {
    let yard = Yard::new().await;
    for (name, text, kept) in [
        ("%2e%2e%2f%2e%2e%2fetc%2fpasswd", "up", "_._.._etc_passwd"),
        ("%00", "nul", "_"),
        ("a%0ab%0d", "lines", "a_b_"),
        (".bygone", "own", "_bygone"),
        ("%e2%80%aegpj.exe", "turned", "_gpj.exe"),
        ("..%5c..%5cx", "other slashes", "_._.._x"),
    ] {
        // As it is: a client would make another path of some.
        let length = text.len();
        let head = format!("PUT /stage/v1/up/files/{name} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        let answer = yard.api.send_raw(&format!("{head}content-length: {length}\r\n\r\n{text}")).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{name}: {answer}");
        assert!(answer.contains(&format!("\"name\":\"{kept}\"")), "{name}: {answer}");
    }
    let long = "x".repeat(10_000);
    let staged = yard.put(&long, "long").await.is(201).json();
    assert_eq!(staged["name"].as_str().unwrap().len(), 255);
    assert_eq!((yard.totals().await.0, yard.files().len()), (7, 7));
    assert_eq!(yard.outside(), Vec::<String>::new());
    // Nor do ids.
    for id in ["..%2f..%2fx", "%00", &"0".repeat(65), &"A".repeat(64), &long] {
        yard.ask(Method::GET, &format!("files/{id}")).await.refused_with(404, "no-such-file", "nothing that lives");
        yard.ask(Method::DELETE, &format!("files/{id}")).await.refused_with(404, "no-such-file", "nothing that lives");
    }
    assert_eq!(yard.files().len(), 7);
}

#[tokio::test]
async fn what_makes_no_sense_is_named() {
    let yard = Yard::new().await;
    for (path, told) in [
        ("files/a?ttl_ms=soon", "ttl_ms"),
        ("files/a?ttl_ms=-1", "ttl_ms"),
        ("files/a?ttl=1", "ttl"),
        ("files/a?persist=perhaps", "persist"),
        ("files/%ff", "UTF-8"),
    ] {
        yard.ask(Method::PUT, path).await.refused_with(400, "bad-request", told);
    }
    let most = u64::MAX;
    yard.put(&format!("a?ttl_ms={most}"), "a").await.refused_with(422, "unprocessable", "after all time");
    yard.put("a", "a").await.is(201);
    for (path, told) in [("files?limit=0", "limit"), ("files?limit=1001", "limit"), ("files?after=x", "after")] {
        yard.ask(Method::GET, path).await.refused_with(400, "bad-request", told);
    }
    assert_eq!((yard.totals().await, yard.files()), ((1, 1), vec!["a".to_owned()]));
    yard.ask(Method::POST, "files/a").await.refused_with(405, "no-such-method", "POST");
}

#[tokio::test]
async fn what_is_held_stays() {
    use bygone_files::stage::{Stage, StageOptions};
    let yard = Yard::new().await;
    let staged = yard.put("a", "a").await.is(201).json();
    let id = staged["id"].as_str().unwrap();
    let stage = Stage::open(yard.area(), StageOptions::default()).unwrap();
    let hold = stage.hold(&id.parse().unwrap(), std::time::Duration::from_secs(60)).unwrap().unwrap();
    yard.ask(Method::DELETE, &format!("files/{id}")).await.refused_with(409, "file-held", "is held");
    hold.release().unwrap();
    yard.ask(Method::DELETE, &format!("files/{id}")).await.is(204);
}

#[tokio::test]
async fn a_directory_that_is_somebody_elses_stays_as_it_is() {
    let yard = Yard::new().await;
    std::fs::create_dir(yard.area()).unwrap();
    std::fs::write(yard.area().join("file"), "precious").unwrap();
    yard.put("a", "a").await.refused_with(404, "no-such-area", "no staging area");
    assert_eq!(std::fs::read_dir(yard.area()).unwrap().count(), 1);
}
