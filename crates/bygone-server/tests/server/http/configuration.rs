//! Why the configuration on disk is not in force, as programs are told.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::Api;
use crate::shelves::Shelves;

async fn gauges(api: &Api) -> [bool; 2] {
    let text = api.get("/metrics").await.is(200).text;
    let is_set = |name: &str| {
        let told = |value: u8| text.contains(&format!("\nbygone_{name} {value}\n"));
        assert!(told(0) != told(1), "{text}");
        told(1)
    };
    [is_set("config_rejected"), is_set("config_restart_needed")]
}

#[tokio::test]
async fn a_wrong_file_is_told_of_until_a_good_one_is_read() {
    let api = Api::over(Shelves::new(&[])).await;
    let told = async || api.get("/api/v1/configuration").await.is(200).json();
    let first = told().await;
    assert_eq!((&first["rejected"], &first["restart_needed"]), (&Value::Null, &Value::Null));
    assert_eq!(gauges(&api).await, [false, false]);
    api.daemon.reject("config::unknown_key: `evry`".to_owned());
    api.daemon.await_restart(vec!["listen", "token"]);
    let second = told().await;
    assert_eq!(second["read"], first["read"]);
    assert_eq!(second["rejected"]["diagnostic"], "config::unknown_key: `evry`");
    assert_eq!(second["restart_needed"]["keys"], json!(["listen", "token"]));
    let since = second["rejected"]["since"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(since >= second["read"].as_str().unwrap().parse().unwrap());
    assert_eq!(gauges(&api).await, [true, true]);
    api.daemon.replace(Arc::new(Shelves::new(&[])));
    let third = told().await;
    assert_eq!((&third["rejected"], &third["restart_needed"]), (&Value::Null, &second["restart_needed"]));
    api.daemon.await_restart(Vec::new());
    assert_eq!(told().await["restart_needed"], Value::Null);
    assert_eq!(gauges(&api).await, [false, false]);
}
