//! The statements as each database reads them, and how it would go about them.

use bygone_sql::{Engine, Query, Value};
use bygone_testkit::{AnyDatabase, Kind, on_each_engine};

use super::*;
use crate::schema::{AUTHORIZATION_CODES, DEVICE_CODES, DPOP_NONCES, DPOP_REPLAYS, LOGOUT_SESSIONS, TABLES};
use crate::{Tokens, TokensOptions};

on_each_engine!(every_row_is_found_by_an_index);

fn over(engine: Engine, shape: &'static Shape) -> Statements<'static> {
    Statements { engine, table: "t", shape }
}

fn one() -> Digest {
    Digest::of("one")
}

fn texts(make: impl Fn(Engine) -> Query) -> String {
    [Engine::Postgres, Engine::MySql, Engine::Sqlite].map(|engine| make(engine).text().to_owned()).join("\n")
}

fn nonce() -> NewRow {
    NewRow::expiring(1, 2, 3).with("nonce", one())
}

#[test]
fn a_row_is_put_where_the_last_one_no_longer_counts() {
    insta::assert_snapshot!(texts(|engine| match engine {
        Engine::MySql => over(engine, &DPOP_NONCES).insert(&nonce()),
        _ => over(engine, &DPOP_NONCES).insert_vacant(&nonce(), 7),
    }), @r"
    INSERT INTO t AS held (inserted_at, expires_at, horizon, nonce) VALUES ($1, $2, $3, $4) ON CONFLICT (nonce) DO UPDATE SET used_at = NULL, inserted_at = excluded.inserted_at, expires_at = excluded.expires_at, horizon = excluded.horizon WHERE held.horizon <= $5
    INSERT INTO t (inserted_at, expires_at, horizon, nonce) VALUES (?, ?, ?, ?)
    INSERT INTO t AS held (inserted_at, expires_at, horizon, nonce) VALUES (?, ?, ?, ?) ON CONFLICT (nonce) DO UPDATE SET used_at = NULL, inserted_at = excluded.inserted_at, expires_at = excluded.expires_at, horizon = excluded.horizon WHERE held.horizon <= ?
    ");
    insta::assert_snapshot!(over(Engine::MySql, &DPOP_NONCES).reclaim(&nonce(), 7).text(), @"UPDATE t SET used_at = NULL, inserted_at = ?, expires_at = ?, horizon = ? WHERE nonce = ? AND horizon <= ?");
    let jti = NewRow::expiring(1, 2, 3).with("jti", one());
    insta::assert_snapshot!(over(Engine::Sqlite, &DPOP_REPLAYS).insert_vacant(&jti, 7).text(), @"INSERT INTO t AS held (inserted_at, expires_at, horizon, jti) VALUES (?, ?, ?, ?) ON CONFLICT (jti) DO UPDATE SET inserted_at = excluded.inserted_at, expires_at = excluded.expires_at, horizon = excluded.horizon WHERE held.expires_at <= ?");
}

#[test]
fn a_row_is_replaced() {
    let row = NewRow::expiring(1, 2, 3).with("sid", one()).with("client", one()).with("subject", one());
    let row = row.with(DATA, Value::from("{}"));
    insta::assert_snapshot!(texts(|engine| over(engine, &LOGOUT_SESSIONS).upsert(&row)), @r"
    INSERT INTO t AS held (inserted_at, expires_at, horizon, sid, client, subject, data) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (sid, client) DO UPDATE SET subject = excluded.subject, taken_by = NULL, inserted_at = excluded.inserted_at, expires_at = excluded.expires_at, horizon = excluded.horizon, data = excluded.data
    INSERT INTO t (inserted_at, expires_at, horizon, sid, client, subject, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE subject = VALUES(subject), taken_by = NULL, inserted_at = VALUES(inserted_at), expires_at = VALUES(expires_at), horizon = VALUES(horizon), data = VALUES(data)
    INSERT INTO t AS held (inserted_at, expires_at, horizon, sid, client, subject, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sid, client) DO UPDATE SET subject = excluded.subject, taken_by = NULL, inserted_at = excluded.inserted_at, expires_at = excluded.expires_at, horizon = excluded.horizon, data = excluded.data
    ");
}

#[test]
fn rows_are_read_only_while_they_count() {
    let key = [("nonce", one())];
    insta::assert_snapshot!(texts(|engine| {
        over(engine, &DPOP_NONCES).select(&key, &[Only::Null("used_at")], Alive::Unexpired, 7)
    }), @r"
    SELECT nonce, used_at, inserted_at, expires_at, horizon FROM t WHERE nonce = $1 AND used_at IS NULL AND expires_at > $2
    SELECT nonce, used_at, inserted_at, expires_at, horizon FROM t WHERE nonce = ? AND used_at IS NULL AND expires_at > ?
    SELECT nonce, used_at, inserted_at, expires_at, horizon FROM t WHERE nonce = ? AND used_at IS NULL AND expires_at > ?
    ");
    insta::assert_snapshot!(texts(|engine| over(engine, &DPOP_NONCES).select(&key, &[], Alive::Remembered, 7)), @r"
    SELECT nonce, used_at, inserted_at, expires_at, horizon FROM t WHERE nonce = $1 AND horizon > $2
    SELECT nonce, used_at, inserted_at, expires_at, horizon FROM t WHERE nonce = ? AND horizon > ?
    SELECT nonce, used_at, inserted_at, expires_at, horizon FROM t WHERE nonce = ? AND horizon > ?
    ");
}

#[test]
fn rows_are_taken_and_changed_only_while_they_count() {
    let take = Change::take("used_at", 7);
    let key = [("nonce", one())];
    insta::assert_snapshot!(texts(|engine| over(engine, &DPOP_NONCES).change(&key, &take, 7)), @r"
    UPDATE t SET used_at = $1 WHERE nonce = $2 AND used_at IS NULL AND expires_at > $3 RETURNING nonce, used_at, inserted_at, expires_at, horizon
    UPDATE t SET used_at = ? WHERE nonce = ? AND used_at IS NULL AND expires_at > ?
    UPDATE t SET used_at = ? WHERE nonce = ? AND used_at IS NULL AND expires_at > ? RETURNING nonce, used_at, inserted_at, expires_at, horizon
    ");
    let key = [("device_code", one())];
    let poll = Change::of("last_polled_at", Value::Int(7)).and("poll_interval", Set::Plus(5));
    let poll = poll.only(Only::Rested { since: "last_polled_at", wait: "poll_interval" });
    insta::assert_snapshot!(over(Engine::MySql, &DEVICE_CODES).change(&key, &poll, 7).text(), @"UPDATE t SET last_polled_at = ?, poll_interval = poll_interval + ? WHERE device_code = ? AND (last_polled_at IS NULL OR last_polled_at + poll_interval <= ?) AND expires_at > ?");
    let key = [("code", one())];
    let redeem = Change::take("redeemed_at", 7).and("horizon", Set::AtLeast(9)).only(Only::Some("taken_at"));
    let redeem = redeem.only(Only::After("access_token_expires_at")).and("access_token", Set::Null).remembered();
    insta::assert_snapshot!(texts(|engine| over(engine, &AUTHORIZATION_CODES).change(&key, &redeem, 7)), @r"
    UPDATE t SET redeemed_at = $1, horizon = GREATEST(horizon, $2), access_token = NULL WHERE code = $3 AND redeemed_at IS NULL AND taken_at IS NOT NULL AND access_token_expires_at > $4 AND horizon > $5 RETURNING code, family, subject, taken_at, redeemed_at, access_token, access_token_expires_at, access_token_revoked_at, inserted_at, expires_at, horizon, data
    UPDATE t SET redeemed_at = ?, horizon = GREATEST(horizon, ?), access_token = NULL WHERE code = ? AND redeemed_at IS NULL AND taken_at IS NOT NULL AND access_token_expires_at > ? AND horizon > ?
    UPDATE t SET redeemed_at = ?, horizon = MAX(horizon, ?), access_token = NULL WHERE code = ? AND redeemed_at IS NULL AND taken_at IS NOT NULL AND access_token_expires_at > ? AND horizon > ? RETURNING code, family, subject, taken_at, redeemed_at, access_token, access_token_expires_at, access_token_revoked_at, inserted_at, expires_at, horizon, data
    ");
}

#[test]
fn rows_are_removed() {
    insta::assert_snapshot!(over(Engine::Postgres, &DPOP_NONCES).remove(&[("nonce", one())]).text(), @"DELETE FROM t WHERE nonce = $1");
    insta::assert_snapshot!(over(Engine::Postgres, &DPOP_NONCES).remove(&[]).text(), @"DELETE FROM t");
}

/// Neither a look nor a change reads a table as a whole: by its key, or by an index.
async fn every_row_is_found_by_an_index(kind: Kind) {
    let database = AnyDatabase::fresh(kind).await;
    let tokens = Tokens::open(TokensOptions::new(&database.url()).unwrap()).await.unwrap();
    tokens.migrate().await.unwrap();
    let (client, engine) = (&tokens.shared().client, tokens.shared().client.engine());
    for shape in TABLES {
        let table = tokens.shared().naming.quoted(shape.name);
        let statements = Statements { engine, table: &table, shape };
        let key: Vec<(&'static str, Digest)> = shape.key.iter().map(|column| (*column, one())).collect();
        let mut keys: Vec<Vec<(&'static str, Digest)>> = vec![key];
        keys.extend(shape.indexes.iter().map(|index| vec![(index.column, one())]));
        for key in keys {
            let change = Change::of(EXPIRES_AT, Value::Int(1));
            for query in [statements.select(&key, &[], Alive::Unexpired, 7), statements.change(&key, &change, 7)] {
                let plan = format!("{:?}", client.read(&query.explained()).await.unwrap());
                let whole = match kind {
                    Kind::Sqlite => plan.contains("SCAN"),
                    Kind::Postgres => plan.contains("Seq Scan"),
                    Kind::MariaDb => plan.contains("Text(\"ALL\")") || plan.contains("Text(\"index\")"),
                };
                assert!(!whole, "{}\n{plan}", query.text());
            }
        }
    }
}
