//! What is told to those who watch.

use serde_json::json;

use super::api::Api;
use crate::shelves::{Shelves, shelf};
use crate::watch::FOUR_AT_MOST;

#[tokio::test]
async fn alarms_and_numbers_are_told_as_they_stand() {
    let items = shelf(5);
    let api = Api::over(Shelves::new(&[("a-p", &items, None)]).braked_by(FOUR_AT_MOST)).await;
    assert_eq!(api.get("/api/v1/alarms").await.is(200).json(), json!({ "alarms": [] }));
    api.sweep(json!({ "policies": ["a-p"] })).await.is(202);
    while api.get("/api/v1/policies/a-p").await.json()["last"].is_null() {}
    let alarms = api.get("/api/v1/alarms").await.is(200).json()["alarms"].clone();
    assert_eq!((&alarms[0]["kind"], &alarms[0]["policy"], &alarms[1]), (&json!("brake"), &json!("a-p"), &json!(null)));
    assert!(alarms[0]["message"].as_str().unwrap().contains("over the limit of 4"), "{alarms}");
    let told = api.get("/metrics").await.is(200);
    assert_eq!(told.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = &told.text;
    assert!(text.contains("bygone_alarm{policy=\"a-p\",kind=\"brake\"} 1\n"), "{text}");
    assert!(text.contains("bygone_runs_total{policy=\"a-p\",source=\"a\",outcome=\"refused\"} 1\n"), "{text}");
    assert!(!text.contains("due-"), "keys are nobody's label: {text}");
}
