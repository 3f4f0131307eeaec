//! Every route of the API, as its own document lists them, with tokens of every kind that are not good enough.
//!
//! The list of routes is the document's, so that a new one is tried before anybody thinks of it.

use bygone_core::{Clock, SystemClock};
use bygone_server::http::{self, Right, Rights, Scope, Settings, Token, Tokens};
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};

use super::api::Api;
use super::grounds::Grounds;
use super::tokens::{sha256, token};
use crate::shelves::shelf;

/// What somebody must be allowed for a route.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Needs {
    Nothing,
    Scope(Scope),
    Leases(Right),
    Stage(Right),
}

struct Route {
    method: Method,
    path: String,
    needs: Needs,
}

/// The operations on leases that only look, by their path. The document does not say, since the namespace decides.
const LOOKS: [&str; 5] = ["get", "describe", "attachments", "queue/dead", "queue/stats"];

fn routes() -> Vec<Route> {
    let document = serde_json::to_value(http::document()).unwrap();
    let mut routes = Vec::new();
    for (template, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let named = [
                ("{source}", source_of(template)),
                ("{namespace}", "n"),
                ("{key}", "k"),
                ("{file}", "f"),
                ("{name}", "a-p"),
            ];
            let sweep = "01a1eed0-96b2-7a6d-8648-e8bc69a56990";
            let path =
                named.iter().fold(template.replace("{id}", sweep), |path, (part, name)| path.replace(part, name));
            assert!(!path.contains('{'), "{path}");
            let needs = needs(template, &method, &operation["security"]);
            routes.push(Route { method, path, needs });
        }
    }
    routes
}

fn source_of(template: &str) -> &'static str {
    if template.starts_with("/lease/") { "jobs" } else { "up" }
}

fn needs(template: &str, method: &Method, security: &Value) -> Needs {
    let looks = || LOOKS.iter().any(|look| template.ends_with(&format!("{{source}}/{look}"))) || *method == Method::GET;
    match security[0]["token"][0].as_str() {
        Some("read") => Needs::Scope(Scope::Read),
        Some("operate") => Needs::Scope(Scope::Operate),
        Some("stage:read") => Needs::Stage(Right::Read),
        Some("stage:write") => Needs::Stage(Right::Write),
        None if template.starts_with("/lease/") => Needs::Leases(if looks() { Right::Read } else { Right::Write }),
        None => Needs::Nothing,
        Some(other) => panic!("{template} needs {other}"),
    }
}

fn rights(right: Right) -> Rights {
    Rights::new([("*".to_owned(), right)])
}

fn bare(text: &str) -> Token {
    Token::new(&format!("of {text}"), &sha256(text), None, None).unwrap()
}

async fn guarded(shelf: &bygone_core::memory::Shelf) -> Api {
    let past = SystemClock::new().now() - SignedDuration::from_secs(1);
    let tokens = [
        token("admin", Scope::Admin, None),
        token("operator", Scope::Operate, None),
        token("reader", Scope::Read, None),
        token("expired", Scope::Admin, Some(past)),
        bare("lease-reader").with_leases(rights(Right::Read)),
        bare("lease-writer").with_leases(rights(Right::Write)),
        bare("stage-reader").with_stages(rights(Right::Read)),
        bare("stage-writer").with_stages(rights(Right::Write)),
        // With everything, but elsewhere.
        bare("elsewhere").with_leases(Rights::default()).with_stages(Rights::new([("other".to_owned(), Right::Write)])),
    ];
    Api::with(Grounds::with(shelf), Settings { tokens: Tokens::new(tokens), ..Settings::default() }).await
}

/// Who may not go there, though the daemon knows him.
fn too_weak(needs: Needs) -> Vec<&'static str> {
    let others = |own: &[&'static str]| {
        let all = ["operator", "reader", "lease-reader", "lease-writer", "stage-reader", "stage-writer", "elsewhere"];
        all.into_iter().filter(|token| !own.contains(token)).collect::<Vec<_>>()
    };
    match needs {
        Needs::Nothing => Vec::new(),
        Needs::Scope(Scope::Read) => others(&["reader", "operator"]),
        Needs::Scope(Scope::Operate) => others(&["operator"]),
        Needs::Scope(Scope::Admin) => others(&[]),
        Needs::Leases(Right::Read) => others(&["lease-reader", "lease-writer"]),
        Needs::Leases(Right::Write) => others(&["lease-writer"]),
        Needs::Stage(Right::Read) => others(&["stage-reader", "stage-writer"]),
        Needs::Stage(Right::Write) => others(&["stage-writer"]),
    }
}

fn strong_enough(needs: Needs) -> &'static str {
    match needs {
        Needs::Nothing | Needs::Scope(Scope::Read) => "reader",
        Needs::Scope(Scope::Operate) => "operator",
        Needs::Scope(Scope::Admin) => "admin",
        Needs::Leases(Right::Read) => "lease-reader",
        Needs::Leases(Right::Write) => "lease-writer",
        Needs::Stage(Right::Read) => "stage-reader",
        Needs::Stage(Right::Write) => "stage-writer",
    }
}

/// A body that most operations would go on with.
fn body() -> Value {
    json!({ "key": "k", "namespace": "n" })
}

#[tokio::test]
async fn no_route_lets_in_who_has_no_token_a_wrong_one_an_old_one_or_too_weak_a_one() {
    let p = shelf(10);
    let api = guarded(&p).await;
    let routes = routes();
    assert!(routes.len() > 50, "{}", routes.len());
    assert_eq!(routes.iter().filter(|route| route.needs == Needs::Nothing).count(), 2, "the probes and nothing else");
    for Route { method, path, needs } in &routes {
        let ask = async |authorization: Option<&str>| {
            let with = |request: reqwest::RequestBuilder| match authorization {
                Some(said) => request.header("authorization", said).json(&body()),
                None => request.json(&body()),
            };
            api.ask(method.clone(), path, with).await
        };
        if *needs == Needs::Nothing {
            ask(None).await.is(200);
            continue;
        }
        let strangers = [
            None,
            Some("Bearer wrong"),
            Some("Bearer expired"),
            Some("Bearer "),
            Some("Basic YWRtaW46"),
            Some("admin"),
        ];
        for said in strangers {
            let answer = ask(said).await;
            assert_eq!(answer.status, 401, "{method} {path} as {said:?}: {}", answer.text);
            assert!(answer.header("www-authenticate").starts_with("Bearer"), "{method} {path}");
            assert!(!answer.text.contains("wrong") && !answer.text.contains("YWRt"), "{}", answer.text);
        }
        for token in too_weak(*needs) {
            let answer = ask(Some(&format!("Bearer {token}"))).await;
            assert_eq!(answer.status, 403, "{method} {path} needs {needs:?}, and lets {token} in: {}", answer.text);
            assert!(answer.header("www-authenticate").contains("insufficient_scope"), "{method} {path}");
        }
    }
    assert_eq!(p.keys().len(), 11, "nothing went");
    assert!(!api.daemon.is_paused());
    // Who may is let in, whatever then comes of it: the doors were tried, and not walls.
    for Route { method, path, needs } in &routes {
        let with = |request: reqwest::RequestBuilder| request.bearer_auth(strong_enough(*needs)).json(&body());
        let answer = api.ask(method.clone(), path, with).await;
        assert!(
            ![401, 403, 405].contains(&answer.status.as_u16()),
            "{method} {path}: {} {}",
            answer.status,
            answer.text
        );
        assert!(!answer.status.is_server_error(), "{method} {path}: {} {}", answer.status, answer.text);
    }
}

/// A cookie is a browser's: it looks, and nothing that programs change listens to it.
#[tokio::test]
async fn no_route_that_changes_something_listens_to_a_cookie() {
    let p = shelf(10);
    let api = guarded(&p).await;
    for Route { method, path, needs } in routes() {
        let with = |request: reqwest::RequestBuilder| request.header("cookie", "bygone-token=admin").json(&body());
        let answer = api.ask(method.clone(), &path, with).await;
        let may = needs == Needs::Nothing || (method == Method::GET && !path.starts_with("/lease/"));
        assert_eq!(answer.status == 401, !may, "{method} {path}: {} {}", answer.status, answer.text);
    }
    assert_eq!(p.keys().len(), 11, "nothing went");
}
