//! Sources, and how policies go about their work, as programs are told.

use std::sync::atomic::Ordering;

use bygone_server::{Coverage, Explanation, Finding, Inspection, SourceKind, UncoveredTable};
use serde_json::json;

use super::api::Api;
use crate::shelves::{Shelves, shelf};

#[tokio::test]
async fn sources_are_told_with_what_keeps_their_policies_from_running() {
    let (p, q) = (shelf(1), shelf(1));
    let estate = Shelves::new(&[("a-p", &p, None), ("a-q", &p, None), ("b-q", &q, None)]).shut("the replica is behind");
    let (looks, turn) = (estate.looks.clone(), estate.turn.clone());
    let api = Api::over(estate).await;
    let told = api.get("/api/v1/sources").await.is(200).json();
    let gates = json!([{ "by": "lag", "reason": "the replica is behind" }]);
    let expected =
        json!({ "name": "a", "kind": "directory", "policies": ["a-p", "a-q"], "closed_gates": gates, "turn": null });
    assert_eq!((&told["sources"][0], &told["sources"][1]["name"]), (&expected, &json!("b")));
    assert_eq!(looks.taken.load(Ordering::Acquire), 0, "nobody looked into them");
    turn.is_theirs.store(true, Ordering::Release);
    api.sweep(json!({ "policies": ["a-p"] })).await.refused_with(409, "swept-by-another", "");
    let told = api.get("/api/v1/sources").await.is(200).json();
    assert_eq!((&told["sources"][0]["turn"]["holder"], &told["sources"][1]["turn"]), (&json!("another"), &json!(null)));
    turn.is_theirs.store(false, Ordering::Release);
    api.sweep(json!({ "policies": ["a-p"] })).await.is(202);
    while !api.get("/api/v1/sources").await.json()["sources"][0]["turn"].is_null() {}
}

#[tokio::test]
async fn a_source_is_told_with_what_it_holds() {
    let p = shelf(1);
    let table = UncoveredTable {
        table: "sessions".to_owned(),
        column: "ends_at".to_owned(),
        index: None,
        rows: Some(7),
        proposal: "[[policy]]".to_owned(),
    };
    let coverage = Some(Coverage { tables: 3, uncovered: vec![table] });
    let inspection = Inspection { coverage, ..Inspection::default() };
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).holding(SourceKind::Database, inspection)).await;
    let told = api.get("/api/v1/sources/a").await.is(200).json();
    assert_eq!((&told["name"], &told["kind"]), (&json!("a"), &json!("database")));
    let uncovered =
        json!({ "table": "sessions", "column": "ends_at", "index": null, "rows": 7, "proposal": "[[policy]]" });
    assert_eq!(told["coverage"], json!({ "tables": 3, "uncovered": [uncovered] }));
    assert_eq!((&told["leases"], &told["staged"]), (&json!(null), &json!(null)));
    api.get("/api/v1/sources/none").await.refused_with(404, "no-such-source", "`none`");
    assert_eq!(p.keys().len(), 2);
}

#[tokio::test]
async fn a_policy_says_what_it_means_and_how_it_goes_about_it() {
    let p = shelf(1);
    let finding = Finding { code: "rows::no_index".into(), message: "no index".into(), help: "make one".into() };
    let explanation = Explanation { place: "t".into(), findings: vec![finding], ..Explanation::default() };
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).meaning("Everything goes.", explanation)).await;
    assert_eq!(api.get("/api/v1/policies/a-p").await.is(200).json()["meaning"], "Everything goes.");
    let told = api.get("/api/v1/policies/a-p/explanation").await.is(200).json();
    let findings = json!([{ "code": "rows::no_index", "message": "no index", "help": "make one" }]);
    let expected =
        json!({ "place": "t", "walk": null, "why": null, "index": null, "statements": [], "findings": findings });
    assert_eq!(told, expected);
    api.get("/api/v1/policies/none/explanation").await.refused_with(404, "no-such-policy", "`none`");
}

#[tokio::test]
async fn a_source_that_cannot_be_asked_is_told_as_such() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).fallen()).await;
    for path in ["/api/v1/sources/a", "/api/v1/policies/a-p/explanation"] {
        api.get(path).await.refused_with(502, "source", "the shelf has fallen down: put it up again");
    }
    api.get("/api/v1/sources").await.is(200);
}
