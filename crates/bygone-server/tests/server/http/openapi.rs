//! The OpenAPI document says what there is.

use serde_json::Value;

use super::api::Api;
use crate::shelves::Shelves;

const ROUTES: [(&str, &str, Option<&str>); 28] = [
    ("get", "/api/v1/policies", Some("read")),
    ("get", "/api/v1/policies/{name}", Some("read")),
    ("get", "/api/v1/policies/{name}/explanation", Some("read")),
    ("post", "/api/v1/policies/{name}/pause", Some("operate")),
    ("post", "/api/v1/policies/{name}/resume", Some("operate")),
    ("post", "/api/v1/policies/{name}/plan", Some("operate")),
    ("post", "/api/v1/pause", Some("operate")),
    ("post", "/api/v1/resume", Some("operate")),
    ("post", "/api/v1/sweeps", Some("operate")),
    ("get", "/api/v1/sweeps", Some("read")),
    ("get", "/api/v1/sweeps/{id}", Some("read")),
    ("get", "/api/v1/sweeps/{id}/events", Some("read")),
    ("get", "/api/v1/sources", Some("read")),
    ("get", "/api/v1/sources/{name}", Some("read")),
    ("get", "/api/v1/alarms", Some("read")),
    ("get", "/api/v1/configuration", Some("read")),
    ("get", "/metrics", Some("read")),
    ("get", "/api/v1/openapi.json", Some("read")),
    ("get", "/stage/v1/{source}/totals", Some("stage:read")),
    ("post", "/stage/v1/{source}/cleanup", Some("stage:write")),
    ("get", "/stage/v1/{source}/files", Some("stage:read")),
    ("put", "/stage/v1/{source}/files/{file}", Some("stage:write")),
    ("get", "/stage/v1/{source}/files/{file}", Some("stage:read")),
    ("delete", "/stage/v1/{source}/files/{file}", Some("stage:write")),
    ("get", "/stage/v1/{source}/files/{file}/content", Some("stage:read")),
    ("post", "/stage/v1/{source}/files/{file}/touch", Some("stage:write")),
    ("get", "/livez", None),
    ("get", "/readyz", None),
];

#[tokio::test]
async fn it_has_every_route_with_its_scope_and_its_problems() {
    let api = Api::over(Shelves::new(&[])).await;
    let document = api.get("/api/v1/openapi.json").await.is(200).json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    let own = paths.iter().filter(|(path, _)| !path.starts_with("/lease/"));
    let operations: usize = own.map(|(_, item)| item.as_object().unwrap().len()).sum();
    assert_eq!(operations, ROUTES.len(), "{:?}", paths.keys());
    for (method, path, scope) in ROUTES {
        let operation = &paths[path][method];
        let needs = &operation["security"][0]["token"][0];
        assert_eq!(needs.as_str(), scope, "{method} {path}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path}");
        assert!(["400", "421", "503"].iter().all(|status| responses.contains_key(*status)));
        assert_eq!(responses.contains_key("401"), scope.is_some());
    }
}

/// Operations on lease stores need a token, whose rights are by namespace and no scope.
#[tokio::test]
async fn it_has_every_operation_on_lease_stores() {
    let api = Api::over(Shelves::new(&[])).await;
    let document = api.get("/api/v1/openapi.json").await.is(200).json();
    let leases =
        document["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/lease/v1/{source}/"));
    let operations: Vec<&Value> = leases.flat_map(|(_, item)| item.as_object().unwrap().values()).collect();
    assert_eq!(operations.len(), 25);
    for operation in operations {
        assert_eq!(operation["security"], serde_json::json!([{ "token": [] }]));
        let responses = operation["responses"].as_object().unwrap();
        for status in ["200", "400", "401", "403", "404", "409", "422", "429", "502", "503", "504"] {
            assert!(responses.contains_key(status), "{status}: {operation}");
        }
    }
}

/// What is referred to is there.
#[tokio::test]
async fn it_is_whole() {
    let api = Api::over(Shelves::new(&[])).await;
    let document = api.get("/api/v1/openapi.json").await.is(200).json();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 20);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| collect(field, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}
