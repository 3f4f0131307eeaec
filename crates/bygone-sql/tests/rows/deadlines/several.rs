//! Several columns: the latest of them counts, and a NULL means what the policy says.

use bygone_sql::{Deadline, DeadlineColumn, Engine, Format, NullMeaning, RowPolicy};

use crate::world::{World, on_each_engine, policy};

const BEFORE: &str = "'2026-11-15 11:59:59'";
const ON: &str = "'2026-11-15 12:00:00'";
const BEHIND: &str = "'2026-11-15 12:00:01'";
const NULL: &str = "NULL";

fn of_both(null: NullMeaning) -> RowPolicy {
    let column = |name: &str| DeadlineColumn { column: name.to_owned(), format: Format::Native };
    policy("items", Deadline { columns: vec![column("expires_at"), column("last_used_at")], null })
}

fn time(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "TEXT",
        Engine::Postgres => "timestamptz",
        Engine::MySql => "DATETIME(6)",
    }
}

/// Sweeps rows that hold every pair of these values, and says which pairs are left, with the count of unreadable ones.
async fn sweep(engine: Engine, create: &str, firsts: &[&str], policy: &RowPolicy) -> (Vec<String>, u64) {
    let world = World::with(engine, &create.replace("TIME", time(engine))).await;
    let mut client = world.client().await;
    let name = |value: &str| value.trim_matches('\'').chars().rev().take(2).collect::<String>();
    for first in firsts {
        for second in [BEFORE, ON, BEHIND, NULL] {
            let pair = format!("{} {}", name(first), name(second));
            client.run(&format!("INSERT INTO items VALUES ('{pair}', {first}, {second})")).await;
        }
    }
    let report = world.sweep(policy).await;
    let left = client.texts("SELECT name FROM items ORDER BY name").await;
    (left, report.tally.kept_back.unreadable)
}

const NULLABLE: &str =
    "CREATE TABLE items (name VARCHAR(20) PRIMARY KEY, expires_at TIME NULL, last_used_at TIME NULL)";
const NEVER_NULL: &str = "CREATE TABLE items (name VARCHAR(20) PRIMARY KEY, expires_at TIME NOT NULL, \
                          last_used_at TIME NULL); CREATE INDEX by_expiry ON items (expires_at)";

on_each_engine!(
    the_latest_counts_and_a_null_is_ignored,
    the_latest_counts_along_an_index,
    a_null_keeps_where_the_policy_says_so,
    the_columns_may_be_of_different_kinds,
);

async fn the_latest_counts_and_a_null_is_ignored(engine: Engine) {
    let (left, unreadable) = sweep(engine, NULLABLE, &[BEFORE, ON, BEHIND, NULL], &of_both(NullMeaning::Ignored)).await;
    // Read backwards: 95 is :59, LL is NULL.
    let mut expected = vec![
        "95 00", "95 10", "00 95", "00 00", "00 10", "00 LL", "10 95", "10 00", "10 10", "10 LL", "LL 00", "LL 10",
        "LL LL",
    ];
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert_eq!(unreadable, 1, "only where there is none at all");
}

async fn the_latest_counts_along_an_index(engine: Engine) {
    let (left, unreadable) = sweep(engine, NEVER_NULL, &[BEFORE, ON, BEHIND], &of_both(NullMeaning::Ignored)).await;
    let mut expected = vec!["95 00", "95 10", "00 95", "00 00", "00 10", "00 LL", "10 95", "10 00", "10 10", "10 LL"];
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert_eq!(unreadable, 0);
}

async fn a_null_keeps_where_the_policy_says_so(engine: Engine) {
    let (left, unreadable) = sweep(engine, NULLABLE, &[BEFORE, ON, NULL], &of_both(NullMeaning::Keeps)).await;
    let mut expected =
        vec!["95 00", "95 10", "95 LL", "00 95", "00 00", "00 10", "00 LL", "LL 95", "LL 00", "LL 10", "LL LL"];
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert_eq!(unreadable, 6);
}

async fn the_columns_may_be_of_different_kinds(engine: Engine) {
    let create =
        format!("CREATE TABLE items (name VARCHAR(20) PRIMARY KEY, at {} NULL, seconds BIGINT NULL)", time(engine));
    let world = World::with(engine, &create).await;
    let mut client = world.client().await;
    client
        .run(&format!(
            "INSERT INTO items VALUES ('both', {BEFORE}, 1794743999), ('seconds', {BEFORE}, 1794744000), \
             ('at', {BEHIND}, 1794743999), ('only at', {BEFORE}, NULL), ('only seconds', NULL, 1794743999), \
             ('zero', {BEFORE}, 0)"
        ))
        .await;
    let column = |column: &str, format| DeadlineColumn { column: column.to_owned(), format };
    let columns = vec![column("at", Format::Native), column("seconds", Format::EpochSeconds)];
    let report = world.sweep(&policy("items", Deadline { columns, null: NullMeaning::Ignored })).await;
    assert_eq!(client.texts("SELECT name FROM items ORDER BY name").await, ["at", "seconds", "zero"]);
    assert_eq!(report.tally.kept_back.unreadable, 1, "{report:?}");
}
