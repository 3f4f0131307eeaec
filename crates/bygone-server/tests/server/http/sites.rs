//! Browsers, and what other sites make them do.

use bygone_server::http::Settings;
use reqwest::Method;

use super::api::{Answer, Api};
use crate::shelves::{Shelves, shelf};

async fn with(api: &Api, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let add = |request, (name, value): &(&str, &str)| reqwest::RequestBuilder::header(request, *name, *value);
    api.ask(method, path, |request| headers.iter().fold(request, add)).await
}

#[tokio::test]
async fn whoever_calls_us_by_another_name_is_turned_away() {
    let p = shelf(1);
    let settings = Settings { hosts: vec!["Sweeper.example".into()], ..Settings::default() };
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), settings).await;
    let ours =
        ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]", "[::1]:8085", "sweeper.example", "sweeper.example.:443"];
    for host in ours {
        with(&api, Method::GET, "/api/v1/policies", &[("host", host)]).await.is(200);
    }
    let others = ["evil.example", "localhost.evil.example", "sweeper.example.evil", "0.0.0.0", "127.0.0.2", "[::2]"];
    for host in others {
        for path in ["/api/v1/policies", "/livez", "/nowhere"] {
            let answer = api.client.get(api.url(path)).header("host", host).send().await.unwrap();
            assert_eq!((answer.status().as_u16(), host), (421, host));
        }
        let name = host.split(':').next().unwrap();
        let answer = with(&api, Method::GET, "/api/v1/policies", &[("host", host)]).await;
        answer.refused_with(421, "misdirected", name.split('[').next().unwrap());
    }
}

#[tokio::test]
async fn one_host_is_needed() {
    let api = Api::over(Shelves::new(&[])).await;
    let status = async |head: &str| {
        let answer = api.send_raw(&format!("{head}connection: close\r\n\r\n")).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("GET /livez HTTP/1.1\r\nhost: localhost\r\n").await, "200");
    assert_eq!(status("GET /livez HTTP/1.1\r\n").await, "400");
    assert_eq!(status("GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n").await, "400");
    assert_eq!(status("GET /livez HTTP/1.1\r\nhost: evil@localhost\r\n").await, "400");
    assert_eq!(status("GET http://evil.example/livez HTTP/1.1\r\nhost: localhost\r\n").await, "421");
    assert_eq!(status("GET http://localhost/livez HTTP/1.1\r\nhost: evil.example\r\n").await, "421");
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let own = api.url("");
    let other_port = own.replace("127.0.0.1:", "127.0.0.1:1");
    let refused: [&[(&str, &str)]; 8] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "anything")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", &other_port)],
        &[("origin", &own), ("sec-fetch-site", "cross-site")],
    ];
    for headers in refused {
        for path in ["/api/v1/pause", "/api/v1/policies/a-p/pause", "/api/v1/policies/a-p/plan", "/api/v1/sweeps"] {
            with(&api, Method::POST, path, headers).await.refused_with(403, "other-site", "another");
        }
        with(&api, Method::GET, "/api/v1/policies", headers).await.is(200);
    }
    assert!(!api.daemon.is_paused() && api.daemon.held("a-p").is_none());
    let allowed: [&[(&str, &str)]; 4] = [
        &[],
        &[("sec-fetch-site", "none")],
        &[("origin", &own), ("sec-fetch-site", "same-origin")],
        &[("origin", "https://localhost:9"), ("host", "LocalHost:9")],
    ];
    for headers in allowed {
        with(&api, Method::POST, "/api/v1/pause", headers).await.is(200);
    }
}

#[tokio::test]
async fn every_answer_is_strict() {
    let api = Api::over(Shelves::new(&[])).await;
    let evil = with(&api, Method::GET, "/livez", &[("host", "evil.example")]).await;
    let not_there = api.get("/nowhere").await;
    for answer in [api.get("/api/v1/policies").await, api.get("/livez").await, evil, not_there] {
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"));
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
}
