//! The time inside ULIDs and UUIDv7s, in every form in which they are stored.

use bygone_core::Outcome;
use bygone_sql::{Deadline, Engine, Format};
use uuid::{Builder, Uuid};

use super::{Column, Fate, Goes, Stays, Unreadable};
use crate::world::{World, on_each_engine, policy};

/// The boundary in milliseconds: 2026-11-15T12:00:00Z.
const BOUNDARY_MS: u64 = 1_794_744_000_000;
const UNEVEN: &str = "2026-11-15T12:00:00.000001Z";

fn uuid7(millis: u64, tail: u8) -> Uuid {
    Builder::from_unix_timestamp_millis(millis, &[tail; 10]).into_uuid()
}

/// A ULID is the same 48 bits of milliseconds before 80 bits of anything.
fn ulid(millis: u64, tail: u8) -> Uuid {
    let mut bytes = [tail; 16];
    bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
    Uuid::from_bytes(bytes)
}

/// The same milliseconds under another version.
fn uuid4(millis: u64) -> Uuid {
    let mut bytes = uuid7(millis, 0x5a).into_bytes();
    bytes[6] = 0x45;
    Uuid::from_bytes(bytes)
}

/// How an identifier is written in SQL.
type Write = fn(Uuid) -> String;

fn uuid_lower(id: Uuid) -> String {
    format!("'{}'", id.hyphenated())
}

fn uuid_upper(id: Uuid) -> String {
    uuid_lower(id).to_uppercase()
}

fn ulid_upper(id: Uuid) -> String {
    let digit = |at: u32| char::from(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"[(id.as_u128() >> (at * 5)) as usize % 32]);
    format!("'{}'", (0..26).rev().map(digit).collect::<String>())
}

fn ulid_lower(id: Uuid) -> String {
    ulid_upper(id).to_lowercase()
}

fn hex_bytes(id: Uuid) -> String {
    format!("x'{}'", id.simple())
}

fn postgres_bytes(id: Uuid) -> String {
    format!("'\\x{}'", id.simple())
}

async fn judge(columns: &[(Engine, &'static str, Write)], format: Format, rows: &[(Uuid, Fate)], others: &[&str]) {
    for (engine, sql_type, write) in columns {
        let written: Vec<(String, Fate)> = rows.iter().map(|(id, fate)| (write(*id), *fate)).collect();
        let mut rows: Vec<(&str, Fate)> = written.iter().map(|(value, fate)| (value.as_str(), *fate)).collect();
        rows.extend(others.iter().map(|value| (*value, Unreadable)));
        rows.push(("NULL", Unreadable));
        let column = Column { format, ..Column::new(*engine, sql_type) };
        column.judges(&rows).await;
        // A boundary behind the beginning of a millisecond: all that were made in it are older.
        let uneven: Vec<(&str, Fate)> = rows
            .iter()
            .map(|(value, fate)| (*value, if value == &write(rows_on_the_boundary(format)) { Goes } else { *fate }))
            .collect();
        Column { boundary: UNEVEN, ..column }.judges(&uneven).await;
    }
}

/// The first identifier of the boundary's own millisecond.
fn rows_on_the_boundary(format: Format) -> Uuid {
    if format == Format::Uuid7 { uuid7(BOUNDARY_MS, 0) } else { ulid(BOUNDARY_MS, 0) }
}

fn uuid7_rows() -> Vec<(Uuid, Fate)> {
    vec![
        (uuid7(BOUNDARY_MS - 86_400_000, 0x5a), Goes),
        (uuid7(1, 0), Goes),
        (uuid7(BOUNDARY_MS - 1, 0xff), Goes),
        (uuid7(BOUNDARY_MS, 0), Stays),
        (uuid7(BOUNDARY_MS + 1, 0x5a), Stays),
        (uuid7(BOUNDARY_MS + 86_400_000, 0xab), Stays),
        (uuid4(BOUNDARY_MS - 86_400_000), Unreadable),
        (uuid4(BOUNDARY_MS + 86_400_000), Unreadable),
        (Uuid::max(), Unreadable),
        (Uuid::nil(), Unreadable),
    ]
}

fn ulid_rows() -> Vec<(Uuid, Fate)> {
    vec![
        (ulid(BOUNDARY_MS - 86_400_000, 0x5a), Goes),
        (ulid(1, 0), Goes),
        (ulid(BOUNDARY_MS - 1, 0xff), Goes),
        (ulid(BOUNDARY_MS, 0), Stays),
        (ulid(BOUNDARY_MS + 1, 0x5a), Stays),
        (Uuid::max(), Stays),
        (Uuid::nil(), Unreadable),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn uuid7_in_a_type_of_its_own() {
    judge(&[(Engine::Postgres, "uuid", uuid_lower)], Format::Uuid7, &uuid7_rows(), &[]).await;
    judge(&[(Engine::MySql, "UUID", uuid_lower)], Format::Uuid7, &uuid7_rows(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uuid7_in_text() {
    let columns: [(Engine, &str, Write); 11] = [
        (Engine::Postgres, "text", uuid_lower),
        (Engine::Postgres, "varchar(36)", uuid_upper),
        (Engine::Postgres, "char(36)", uuid_lower),
        (Engine::Postgres, "text COLLATE \"en-x-icu\"", uuid_lower),
        (Engine::MySql, "CHAR(36)", uuid_lower),
        (Engine::MySql, "VARCHAR(40)", uuid_upper),
        (Engine::MySql, "CHAR(36) CHARACTER SET ascii", uuid_lower),
        (Engine::MySql, "CHAR(36) CHARACTER SET latin1 COLLATE latin1_bin", uuid_upper),
        (Engine::Sqlite, "TEXT", uuid_lower),
        (Engine::Sqlite, "TEXT COLLATE NOCASE", uuid_upper),
        (Engine::Sqlite, "VARCHAR(36)", uuid_lower),
    ];
    let others = ["''", "'none'", "'019a0000-0000-7000-8000-00000000000'", "'019a000000007000800000000000000x'"];
    judge(&columns, Format::Uuid7, &uuid7_rows(), &others).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uuid7_in_bytes() {
    let others =
        ["'\\x'", "'\\x019a'", "'\\x019a00000000700080000000000000'", "'\\x019a0000000070008000000000000000ff'"];
    judge(&[(Engine::Postgres, "bytea", postgres_bytes)], Format::Uuid7, &uuid7_rows(), &others).await;
    judge(&[(Engine::MySql, "BINARY(16)", hex_bytes)], Format::Uuid7, &uuid7_rows(), &[]).await;
    let others = ["x'019a'", "x'019a00000000700080000000000000'", "x'019a0000000070008000000000000000ff'"];
    let columns: [(Engine, &str, Write); 2] =
        [(Engine::MySql, "VARBINARY(20)", hex_bytes), (Engine::Sqlite, "BLOB", hex_bytes)];
    judge(&columns, Format::Uuid7, &uuid7_rows(), &others).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ulids() {
    let columns: [(Engine, &str, Write); 8] = [
        (Engine::Postgres, "text", ulid_upper),
        (Engine::Postgres, "varchar", ulid_lower),
        (Engine::Postgres, "char(26)", ulid_upper),
        (Engine::Postgres, "text COLLATE \"en-x-icu\"", ulid_lower),
        (Engine::MySql, "CHAR(26)", ulid_upper),
        (Engine::MySql, "VARCHAR(26) CHARACTER SET ascii", ulid_lower),
        (Engine::Sqlite, "TEXT", ulid_upper),
        (Engine::Sqlite, "CHAR(26)", ulid_lower),
    ];
    let others =
        ["''", "'none'", "'01IL0U00000000000000000000'", "'80000000000000000000000000'", "'01KA3JH400000000000000000'"];
    judge(&columns, Format::Ulid, &ulid_rows(), &others).await;
    let columns: [(Engine, &str, Write); 4] = [
        (Engine::Postgres, "bytea", postgres_bytes),
        (Engine::Postgres, "uuid", uuid_lower),
        (Engine::MySql, "BINARY(16)", hex_bytes),
        (Engine::Sqlite, "BLOB", hex_bytes),
    ];
    judge(&columns, Format::Ulid, &ulid_rows(), &[]).await;
}

/// Text of the other case would be compared in the wrong order, so it is not compared.
#[tokio::test(flavor = "multi_thread")]
async fn letters_of_the_other_case_are_not_guessed_at() {
    let (old, live) = (BOUNDARY_MS - 86_400_000, BOUNDARY_MS + 86_400_000);
    let rows = [
        (ulid_upper(ulid(old, 0xab)), Goes),
        (ulid_upper(ulid(live, 0xab)), Stays),
        (ulid_lower(ulid(old, 0xcd)), Unreadable),
        (ulid_lower(ulid(live, 0xcd)), Unreadable),
    ];
    let rows: Vec<(&str, Fate)> = rows.iter().map(|(value, fate)| (value.as_str(), *fate)).collect();
    for (engine, sql_type) in [(Engine::Postgres, "text"), (Engine::MySql, "CHAR(26)")] {
        Column { format: Format::Ulid, ..Column::new(engine, sql_type) }.judges(&rows).await;
    }
}

on_each_engine!(the_key_itself_may_be_the_deadline);

async fn the_key_itself_may_be_the_deadline(engine: Engine) {
    let (sql_type, write): (_, Write) = match engine {
        Engine::Sqlite => ("TEXT", uuid_lower),
        Engine::Postgres => ("uuid", uuid_lower),
        Engine::MySql => ("BINARY(16)", hex_bytes),
    };
    let world = World::with(engine, &format!("CREATE TABLE items (id {sql_type} NOT NULL PRIMARY KEY, n INT)")).await;
    let mut client = world.client().await;
    for (n, (id, _)) in uuid7_rows().into_iter().enumerate() {
        client.run(&format!("INSERT INTO items VALUES ({}, {n})", write(id))).await;
    }
    let report = world.sweep(&policy("items", Deadline::in_format("id", Format::Uuid7))).await;
    assert_eq!((report.outcome, report.tally.kept_back.unreadable), (Outcome::Complete, 4), "{report:?}");
    assert_eq!(client.texts("SELECT n FROM items ORDER BY n").await, ["3", "4", "5", "6", "7", "8", "9"]);
}

/// MariaDB sorts '01a1df14-1e01-4000-8000-000000000001', a ULID of a live row, before ULIDs that are older.
#[tokio::test(flavor = "multi_thread")]
async fn ulids_in_an_order_of_another_kind_are_refused() {
    let column = Column { format: Format::Ulid, ..Column::new(Engine::MySql, "UUID") };
    let error = column.refuses(&["'01a1df14-1e01-4000-8000-000000000001'"]).await;
    assert!(error.full_message().contains("order of ULIDs"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_hold_an_identifier_is_refused() {
    for (engine, sql_type) in [
        (Engine::Postgres, "bigint"),
        (Engine::Postgres, "jsonb"),
        (Engine::MySql, "BIGINT"),
        (Engine::MySql, "TEXT"),
        (Engine::MySql, "BLOB"),
    ] {
        for format in [Format::Ulid, Format::Uuid7] {
            let error = Column { format, ..Column::new(engine, sql_type) }.refuses(&["'1'"]).await;
            assert!(error.help().unwrap().contains("16-byte binary"), "{error:?}");
        }
    }
}
