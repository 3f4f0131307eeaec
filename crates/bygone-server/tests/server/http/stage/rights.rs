//! Who may do what in which area.

use bygone_files::stage::Quota;
use jiff::SignedDuration;
use reqwest::Method;

use super::yard::{Yard, bearer, guarded};

/// What each operation needs.
const WRITES: [(&str, &str, bool); 8] = [
    ("PUT", "files/a", true),
    ("GET", "totals", false),
    ("GET", "files", false),
    ("GET", "files/00", false),
    ("GET", "files/00/content", false),
    ("POST", "files/00/touch", true),
    ("POST", "cleanup", true),
    ("DELETE", "files/00", true),
];

async fn yard() -> Yard {
    Yard::with(Quota::default(), SignedDuration::ZERO, guarded()).await
}

#[tokio::test]
async fn a_token_does_what_its_rights_in_the_source_say() {
    let yard = yard().await;
    for (name, reads, writes) in [
        ("admin", true, true),
        ("operator", false, false),
        ("tied", true, false),
        ("reader", true, false),
        ("writer", true, true),
        ("stranger", true, false),
        ("elsewhere", false, false),
    ] {
        for (method, path, is_write) in WRITES {
            let path = format!("/stage/v1/up/{path}");
            let answer = yard.api.ask(method.parse().unwrap(), &path, bearer(name)).await;
            if if is_write { writes } else { reads } {
                assert!(![401, 403].contains(&answer.status.as_u16()), "{name} {method} {path}: {}", answer.text);
            } else {
                let answer = answer.refused_with(403, "scope", "staging area `up`");
                assert!(answer.header("www-authenticate").contains("insufficient_scope"));
            }
        }
        // What is not there is nobody's business either.
        let answer = yard.api.ask(Method::GET, "/stage/v1/nowhere/totals", bearer(name)).await;
        let may_look = ["admin", "reader", "stranger"].contains(&name);
        assert_eq!(answer.status, if may_look { 404 } else { 403 }, "{name}");
    }
    for (method, path, _) in WRITES {
        yard.ask(method.parse().unwrap(), path).await.refused_with(401, "unauthorized", "Bearer");
    }
    // Rights in areas are nothing else.
    yard.api.ask(Method::GET, "/api/v1/policies", bearer("writer")).await.refused_with(403, "scope", "has `none`");
}

#[tokio::test]
async fn a_cookie_shows_and_changes_nothing() {
    let yard = yard().await;
    let staged = yard.api.ask(Method::PUT, "/stage/v1/up/files/a", bearer("writer")).await.is(201).json();
    let id = staged["id"].as_str().unwrap();
    for (method, path, is_write) in WRITES {
        let path = format!("/stage/v1/up/{}", path.replace("00", id));
        let answer =
            yard.api.ask(method.parse().unwrap(), &path, |asked| asked.header("cookie", "bygone-token=admin")).await;
        if is_write {
            answer.refused_with(401, "unauthorized", "Bearer");
        } else {
            answer.is(200);
        }
    }
    assert_eq!(yard.files(), ["a"]);
}

#[tokio::test]
async fn pages_of_other_sites_change_nothing() {
    let yard = Yard::new().await;
    let foreign = |request: reqwest::RequestBuilder| request.header("sec-fetch-site", "cross-site").body("x");
    yard.api.ask(Method::PUT, "/stage/v1/up/files/a", foreign).await.refused_with(403, "other-site", "site");
    assert!(!yard.area().exists());
}
