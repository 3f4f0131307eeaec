//! Attesto: a row goes once the latest of all deadlines that it carries is past.

use super::{AROUND, Case, NOW, are_left, around};
use crate::support::{Engine, on_each_engine};

on_each_engine!(a_row_outlives_what_it_is_needed_for, a_prefix_is_for_every_policy);

const CODES: &str = "
    INSERT INTO attesto_authorization_codes (code_hash, expires_at, access_token_expires_at) VALUES
        ('its token lives', @sec:100m, '2200-01-01 00:00:00'), ('its token ended before', @sec:100m, @sec:1m-),
        ('its token ended at', @sec:100m, @sec:1m), ('its token ended after', @sec:100m, @sec:1m+),
        ('ended after its token', @sec:1m, @sec:100m);
";
const CODES_LEFT: &[&str] =
    &["at", "after", "its token lives", "its token ended at", "its token ended after", "ended after its token"];

/// Whether a family lives is asked of the database's clock, so what lives does so for long.
const FAMILIES: &str = "
    INSERT INTO attesto_refresh_tokens (id, token_hash, family_id, consumed, family_revoked, expires_at) VALUES
        ('00000000-0000-4000-8000-000000000001', 'before', 'a', FALSE, FALSE, @sec:1m-),
        ('00000000-0000-4000-8000-000000000002', 'at', 'b', FALSE, FALSE, @sec:1m),
        ('00000000-0000-4000-8000-000000000003', 'after', 'c', FALSE, FALSE, @sec:1m+),
        ('00000000-0000-4000-8000-000000000004', 'living, first', 'living', TRUE, FALSE, @sec:30d),
        ('00000000-0000-4000-8000-000000000005', 'living, second', 'living', TRUE, FALSE, @sec:20d),
        ('00000000-0000-4000-8000-000000000006', 'living, last', 'living', FALSE, FALSE, '2200-01-01 00:00:00'),
        ('00000000-0000-4000-8000-000000000007', 'over, first', 'over', TRUE, FALSE, @sec:30d),
        ('00000000-0000-4000-8000-000000000008', 'over, second', 'over', TRUE, FALSE, @sec:20d),
        ('00000000-0000-4000-8000-000000000009', 'over, last', 'over', FALSE, FALSE, @sec:10d),
        ('00000000-0000-4000-8000-00000000000a', 'revoked, first', 'revoked', TRUE, TRUE, @sec:30d),
        ('00000000-0000-4000-8000-00000000000b', 'revoked, last', 'revoked', FALSE, TRUE, '2200-01-01 00:00:00');
";
const FAMILIES_LEFT: &[&str] = &["at", "after", "living, first", "living, second", "living, last", "revoked, last"];

/// The other stores: table, column, unit of the deadline.
const STORES: [(&str, &str, &str); 8] = [
    ("attesto_device_codes", "device_code_hash", "@sec:1m"),
    ("attesto_ciba_requests", "auth_req_id_hash", "@sec:1m"),
    ("attesto_logout_sessions", "sid", "@sec:1m"),
    ("dpop_nonces", "nonce", "@sec:1m"),
    ("dpop_replays", "jti", "@1m"),
    ("attesto_pushed_authorization_requests", "request_uri", "@sec:1m"),
    ("attesto_client_id_metadata", "url", "@sec:1m"),
    ("attesto_consent_grants", "token", "@1m"),
];

fn schema(engine: Engine) -> String {
    let (id, uuid, seconds, micros) = match engine {
        Engine::Postgres => ("bigserial PRIMARY KEY", "uuid", "timestamp(0)", "timestamp"),
        Engine::MariaDb => ("bigint AUTO_INCREMENT PRIMARY KEY", "char(36)", "datetime", "datetime(6)"),
        Engine::Sqlite => ("integer PRIMARY KEY", "text", "text", "text"),
    };
    let schema = include_str!("attesto.sql").replace("{id}", id).replace("{uuid}", uuid);
    schema.replace("{seconds}", seconds).replace("{micros}", micros)
}

fn rows() -> String {
    let mut rows = around("attesto_authorization_codes", "code_hash", "expires_at", "@sec:1m") + CODES + FAMILIES;
    for (table, column, bound) in STORES {
        rows += &around(table, column, "expires_at", bound);
    }
    rows
}

/// What is left in tables whose names begin so.
fn survivors(prefix: &str) -> Vec<(String, &'static [&'static str])> {
    let mut survivors = vec![
        (format!("{prefix}attesto_authorization_codes.code_hash"), CODES_LEFT),
        (format!("{prefix}attesto_refresh_tokens.token_hash"), FAMILIES_LEFT),
    ];
    survivors.extend(STORES.map(|(table, column, _)| (format!("{prefix}{table}.{column}"), AROUND)));
    survivors
}

fn borrowed<'a>(survivors: &'a [(String, &'a [&'a str])]) -> Vec<(&'a str, &'a [&'a str])> {
    survivors.iter().map(|(place, values)| (place.as_str(), *values)).collect()
}

async fn a_row_outlives_what_it_is_needed_for(engine: Engine) {
    Case::of("attesto", &schema(engine), &rows()).leaves(engine, &borrowed(&survivors(""))).await;
}

/// A script over tables that have a prefix.
fn prefixed(script: &str) -> String {
    script
        .replace("CREATE TABLE ", "CREATE TABLE acme_")
        .replace(" ON ", " ON acme_")
        .replace("INSERT INTO ", "INSERT INTO acme_")
}

/// A prefix means the same to every policy, whatever other tables there are.
async fn a_prefix_is_for_every_policy(engine: Engine) {
    let (schema, rows) = (prefixed(&schema(engine)), prefixed(&rows()));
    let schema = format!("{schema}CREATE TABLE attesto_refresh_tokens AS SELECT * FROM acme_attesto_refresh_tokens;");
    let case = Case { source: "table_prefix = \"acme_\"", ..Case::of("attesto", &schema, &rows) };
    case.leaves(engine, &borrowed(&survivors("acme_"))).await;
}

/// The columns hold UTC and say no zone: where the server is in another, an hour to live is an hour.
#[tokio::test]
async fn a_family_lives_by_utc_wherever_the_server_is() {
    let rows = "
        DO 'BEGIN
            EXECUTE format(''ALTER DATABASE %I SET timezone = %L'', current_database(), ''Pacific/Kiritimati'');
        END';
        INSERT INTO attesto_refresh_tokens (id, token_hash, family_id, consumed, family_revoked, expires_at) VALUES
            ('00000000-0000-4000-8000-000000000001', 'first', 'living', TRUE, FALSE, @sec:30d),
            ('00000000-0000-4000-8000-000000000002', 'last', 'living', FALSE, FALSE,
             timezone('UTC', now()) + interval '1 hour'),
            ('00000000-0000-4000-8000-000000000003', 'alone', 'over', FALSE, FALSE, @sec:30d);
    ";
    let world = Case::of("attesto", &schema(Engine::Postgres), rows).world(Engine::Postgres).await;
    world.run(&["sweep", "--now", NOW]).ends(0);
    are_left(&world, &[("attesto_refresh_tokens.token_hash", &["first", "last"])]).await;
}
