//! Matrix Authentication Service: all of its cleanup jobs, from the pack.

mod data;
mod scenarios;

use jiff::Timestamp;

use self::data::Data;
use crate::support::{Client, Database, Engine, World};

const CONFIG: &str = r#"
[source.auth]
url = "${DATABASE_URL}"

[brake]
fraction = 1.0

[[use]]
pack = "mas"
source = "auth"
"#;

/// The moment that the sweeps of these tests compare with. Its microseconds tell identifiers, which know only
/// milliseconds, from timestamps.
const BOUNDARY: &str = "2026-11-10T12:00:00.123456Z";

const TABLES: [&str; 23] = [
    "users",
    "oauth2_clients",
    "user_sessions",
    "compat_sessions",
    "compat_access_tokens",
    "compat_refresh_tokens",
    "compat_sso_logins",
    "oauth2_sessions",
    "oauth2_access_tokens",
    "oauth2_refresh_tokens",
    "oauth2_authorization_grants",
    "oauth2_device_code_grant",
    "upstream_oauth_links",
    "upstream_oauth_authorization_sessions",
    "user_session_authentications",
    "user_registrations",
    "user_email_authentications",
    "user_email_authentication_codes",
    "user_recovery_sessions",
    "user_recovery_tickets",
    "queue_jobs",
    "queue_schedules",
    "policy_data",
];

/// A server's database, empty.
pub(crate) async fn world() -> World {
    let world = World::empty(Engine::Postgres).await;
    world.configure(CONFIG);
    world.run_sql(include_str!("schema.sql")).await;
    world
}

/// Everything in it, as text.
async fn contents(client: &mut Client) -> Vec<(String, Vec<String>)> {
    let mut out = Vec::new();
    for table in TABLES {
        let rows = client.texts(&format!("SELECT t::text FROM {table} AS t ORDER BY 1")).await;
        out.push((table.to_owned(), rows));
    }
    out
}

/// The same rows, once swept and once by the book.
async fn agree(seed: u64, rows: usize) {
    let boundary: Timestamp = BOUNDARY.parse().unwrap();
    let script = Data::script(seed, boundary, rows);
    let (swept, book) = (world().await, Database::fresh(Engine::Postgres).await);
    swept.run_sql(&script).await;
    let mut model = book.client().await;
    for sql in [include_str!("schema.sql"), include_str!("model.sql"), &script] {
        model.run(sql).await;
    }
    let before = contents(&mut model).await;
    model.run(&format!("CALL sweep_by_the_book('{BOUNDARY}')")).await;
    let run = swept.run(&["sweep", "--format", "json", "--now", BOUNDARY]).ends(0);
    let report = run.json();
    assert_eq!(report["outcome"], "complete", "seed {seed}: {report:#}");
    let (expected, found) = (contents(&mut model).await, contents(&mut swept.client().await).await);
    for ((table, expected), (_, found)) in expected.iter().zip(&found) {
        assert_eq!(found, expected, "seed {seed}: {table}; {report:#}");
    }
    assert_ne!(before, expected, "seed {seed}: there was something to do");
    let again = swept.run(&["sweep", "--format", "json", "--now", BOUNDARY]).ends(0).json();
    for policy in again["policies"].as_array().unwrap() {
        assert_eq!((&policy["removed"], &policy["cleared"]), (&0.into(), &0.into()), "seed {seed}: {policy:#}");
    }
}

/// Fifty seeds, in parts that can run side by side.
macro_rules! seeds {
    ($($name:ident: $seeds:expr;)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                for seed in $seeds {
                    agree(seed, 60).await;
                }
            }
        )*
    };
}

seeds! {
    one_sweep_ends_where_the_book_does_1: 0..10;
    one_sweep_ends_where_the_book_does_2: 10..20;
    one_sweep_ends_where_the_book_does_3: 20..30;
    one_sweep_ends_where_the_book_does_4: 30..40;
    one_sweep_ends_where_the_book_does_5: 40..50;
}

/// Timestamps are equal by the thousand: there are only a few bounds, and many rows at each.
#[tokio::test]
async fn thousands_of_equal_timestamps() {
    agree(1_000, 4_000).await;
}

/// The cascade from browser sessions into `compat_sso_logins` has no index: a batch of 1,000 took 22 seconds.
#[tokio::test]
async fn the_index_that_is_missing_is_named() {
    let world = world().await;
    let findings = world.run(&["check", "--format", "json"]).ends(0).json()["findings"].clone();
    let missing: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["code"] == "rows::unindexed_reference")
        .filter_map(|finding| finding["message"].as_str())
        .collect();
    assert!(missing.iter().any(|message| message.starts_with("`compat_sso_logins`.user_session_id")), "{missing:#?}");
    assert!(!missing.iter().any(|message| message.contains("oauth2_access_tokens")), "{missing:#?}");
}
