//! bygone-tokens: a row goes once it is past its horizon, and a family takes its tokens along.

use std::fmt::Write as _;

use super::{Case, NOW, are_left};
use crate::support::{Engine, Run, World, bygone, on_each_engine};

on_each_engine!(rows_go_past_their_horizon, the_index_leads_to_what_is_past);

/// Each table that has a horizon, with what its rows need beside their times.
const TABLES: [(&str, &str, &str); 10] = [
    ("authorization_codes", "code, family, subject, data", "'#', '#', '#', '{}'"),
    ("refresh_families", "family, data", "'#', '{}'"),
    ("dpop_nonces", "nonce", "'#'"),
    ("dpop_replays", "jti", "'#'"),
    ("pushed_authorization_requests", "request_uri, client, data", "'#', '#', '{}'"),
    ("client_id_metadata", "url, data", "'#', '{}'"),
    ("consent_grants", "grant_token, binding, data", "'#', '#', '{}'"),
    ("logout_sessions", "sid, client, subject, data", "'#', '#', '#', '{}'"),
    (
        "device_codes",
        "user_code, device_code, client, status, poll_interval, data",
        "'#', '#', '#', 'pending', 5000000, '{}'",
    ),
    ("ciba_requests", "auth_req_id, client, status, poll_interval, data", "'#', '#', 'pending', 5000000, '{}'"),
];

/// The tables, as the program itself prints them.
fn schema(engine: Engine, prefix: &str) -> String {
    let engine = match engine {
        Engine::Sqlite => "sqlite",
        Engine::Postgres => "postgres",
        Engine::MariaDb => "mariadb",
    };
    Run::of(&mut bygone(&["tokens", "ddl", engine, "--table-prefix", prefix])).ends(0).stdout
}

/// Row 1 is past its horizon, row 2 stands on it, row 3 is yet to reach it. What has expired is not yet past.
fn rows(prefix: &str) -> String {
    let now = NOW.parse::<jiff::Timestamp>().unwrap().as_microsecond();
    let mut rows = String::new();
    for (table, columns, values) in TABLES {
        for (number, horizon) in [(1, now - 1), (2, now), (3, now + 1)] {
            let (values, expired) = (values.replace('#', &format!("row {number}")), now - 60_000_000);
            let _ = writeln!(
                rows,
                "INSERT INTO {prefix}{table} ({columns}, inserted_at, expires_at, horizon) \
                 VALUES ({values}, {number}, {expired}, {horizon});"
            );
        }
    }
    for (token, family, number) in [("a", "row 1", 1), ("b", "row 1", 1), ("c", "row 2", 2), ("d", "row 3", 3)] {
        let _ = writeln!(
            rows,
            "INSERT INTO {prefix}refresh_tokens (token, family, generation, inserted_at, expires_at) \
             VALUES ('{token}', '{family}', 0, {number}, {now} - 900000000);"
        );
    }
    rows
}

async fn rows_go_past_their_horizon(engine: Engine) {
    let (schema, rows) = (schema(engine, "acme_"), rows("acme_"));
    let case = Case { source: "table_prefix = \"acme_\"", ..Case::of("tokens", &schema, &rows) };
    let mut places: Vec<String> = TABLES.iter().map(|(table, ..)| format!("acme_{table}.inserted_at")).collect();
    places.push("acme_refresh_tokens.inserted_at".into());
    let survivors: Vec<(&str, &[&str])> = places.iter().map(|place| (place.as_str(), &["2", "3"][..])).collect();
    case.leaves(engine, &survivors).await;
    let with_horizon = schema.matches("horizon BIGINT").count();
    assert_eq!(with_horizon, TABLES.len(), "the pack and this test know every table");
}

/// Most of a table may be past, and no brake is in the way; the index of the horizon leads there.
async fn the_index_leads_to_what_is_past(engine: Engine) {
    let world = World::empty(engine).await;
    world.configure("[source.db]\nurl = \"${DATABASE_URL}\"\n\n[[use]]\npack = \"tokens\"\nsource = \"db\"\n");
    world.run_sql(&schema(engine, "x").replace("\"x", "\"").replace("`x", "`")).await;
    let now = NOW.parse::<jiff::Timestamp>().unwrap().as_microsecond();
    let numbers = match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 3000) \
             INSERT INTO dpop_replays (jti, inserted_at, expires_at, horizon) SELECT CAST(n AS BLOB), n, 1, "
        }
        Engine::Postgres => {
            "INSERT INTO dpop_replays (jti, inserted_at, expires_at, horizon) \
             SELECT int4send(n), n, 1, "
        }
        Engine::MariaDb => "INSERT INTO dpop_replays (jti, inserted_at, expires_at, horizon) SELECT seq, seq, 1, ",
    };
    let (n, from) = match engine {
        Engine::Sqlite => ("n", "s"),
        Engine::Postgres => ("n::bigint", "generate_series(1, 3000) AS n"),
        Engine::MariaDb => ("seq", "seq_1_to_3000"),
    };
    world.run_sql(&format!("{numbers} {now} - 2990000000 + {n} * 1000000 FROM {from}")).await;
    let plan = world.run(&["plan", "tokens-dpop-replays", "--format", "json", "--now", NOW]).ends(0).json();
    let policy = &plan["policies"][0];
    assert_eq!(policy["would_remove"], 2989, "{policy:#}");
    assert_eq!(policy["index"], "dpop_replays_horizon", "{policy:#}");
    assert_eq!(policy["warnings"].as_array().unwrap().len(), 0, "{policy:#}");
    world.run(&["sweep", "--now", NOW]).ends(0);
    let left: Vec<String> = (2_990..=3_000).map(|n: u32| n.to_string()).collect();
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    are_left(&world, &[("dpop_replays.inserted_at", &left)]).await;
}
