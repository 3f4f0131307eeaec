//! Partitions that are past as a whole are dropped, and only those.

use bygone_core::{Budget, Outcome};
use bygone_sql::{ColumnRef, Deadline, Engine, RowPolicy, RowTarget};
use bygone_testkit::Client;

use crate::world::{World, open, policy, sweep};

/// Partitions of a month; two of November, parted exactly at the boundary of these tests; the rest in a default one. A
/// hundred rows in each, but two in the last.
async fn months(extra: &str) -> World {
    let script = format!(
        "CREATE TABLE events (id int, at timestamptz, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); \
         CREATE TABLE events_09 PARTITION OF events FOR VALUES FROM ('2026-09-01Z') TO ('2026-10-01Z'); \
         CREATE TABLE events_10 PARTITION OF events FOR VALUES FROM ('2026-10-01Z') TO ('2026-11-01Z'); \
         CREATE TABLE events_11a PARTITION OF events FOR VALUES FROM ('2026-11-01Z') TO ('2026-11-15 12:00Z'); \
         CREATE TABLE events_11b PARTITION OF events FOR VALUES FROM ('2026-11-15 12:00Z') TO ('2026-11-15 14:00Z'); \
         CREATE TABLE events_rest PARTITION OF events DEFAULT; \
         INSERT INTO events SELECT n, timestamptz '2026-09-10Z' + n * interval '1 minute' FROM generate_series(1, 100) n; \
         INSERT INTO events SELECT n, timestamptz '2026-10-10Z' + n * interval '1 minute' FROM generate_series(101, 200) n; \
         INSERT INTO events SELECT n, timestamptz '2026-11-10Z' + n * interval '1 minute' FROM generate_series(201, 300) n; \
         INSERT INTO events SELECT n, timestamptz '2026-11-15 12:00Z' + (n - 301) * interval '1 minute' \
         FROM generate_series(301, 400) n; \
         INSERT INTO events VALUES (401, '-infinity'), (402, '2020-01-01'); {extra}"
    );
    World::with(Engine::Postgres, &script).await
}

fn by_time() -> RowPolicy {
    policy("events", Deadline::column("at"))
}

async fn partitions(client: &mut Client) -> Vec<String> {
    let tables = "SELECT relname::text FROM pg_class WHERE relname LIKE 'events\\_%' AND relkind = 'r' ORDER BY 1";
    client.texts(tables).await
}

/// How many rows are left, and the first of them.
async fn left(client: &mut Client) -> (i64, i64) {
    let count = client.number("SELECT count(*) FROM events").await;
    (count, client.number("SELECT min(id) FROM events").await)
}

const ALL: [&str; 5] = ["events_09", "events_10", "events_11a", "events_11b", "events_rest"];

#[tokio::test(flavor = "multi_thread")]
async fn whole_partitions_are_dropped_and_counted() {
    let world = months("").await;
    let report = world.sweep(&by_time()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 301), "{report:?}");
    assert_eq!(report.tally.kept_back.unreadable, 1, "{report:?}");
    let mut client = world.client().await;
    assert_eq!(partitions(&mut client).await, ["events_11b", "events_rest"]);
    assert_eq!(left(&mut client).await, (101, 301), "the one on the boundary stays, and the one without a deadline");
    assert_eq!(world.sweep(&by_time()).await.tally.removed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keep_moves_the_end() {
    let world = months("").await;
    // Into the middle of October: that partition goes row by row, and none of its rows is past.
    let policy = RowPolicy { keep: jiff::SignedDuration::from_hours(24 * 40), ..by_time() };
    assert_eq!(world.sweep(&policy).await.tally.removed, 101);
    assert_eq!(partitions(&mut world.client().await).await, ALL[1..]);
    assert_eq!(left(&mut world.client().await).await, (301, 101));
}

/// A partition that holds a row which is no deadline is left to its rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_with_a_row_to_keep_stays() {
    let world = months("").await;
    let mut client = world.client().await;
    client.run("DROP TABLE events_rest, events_09").await;
    client.run("CREATE TABLE events_old PARTITION OF events FOR VALUES FROM (MINVALUE) TO ('2026-10-01Z')").await;
    client.run("INSERT INTO events VALUES (501, '-infinity'), (502, '2020-01-01')").await;
    let report = world.sweep(&by_time()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 201), "{report:?}");
    assert_eq!(partitions(&mut client).await, ["events_11b", "events_old"]);
    assert_eq!(client.texts("SELECT id::text FROM events_old").await, ["501"]);
}

/// Whatever else decides about rows, or must be told of them, keeps the partition.
#[tokio::test(flavor = "multi_thread")]
async fn other_conditions_go_row_by_row() {
    let trigger = "CREATE TABLE audit (id int); CREATE FUNCTION audits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                   INSERT INTO audit VALUES (OLD.id); RETURN OLD; END $$; \
                   CREATE TRIGGER audits AFTER DELETE ON events FOR EACH ROW EXECUTE FUNCTION audits()";
    let world = months(trigger).await;
    assert_eq!(world.sweep(&by_time()).await.tally.removed, 301);
    let mut client = world.client().await;
    assert_eq!(client.number("SELECT count(*) FROM audit").await, 301, "a trigger hears of every row");
    assert_eq!(partitions(&mut client).await, ALL);

    for told in [
        "CREATE TABLE audit (id int); CREATE FUNCTION audits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; \
         CREATE TRIGGER audits AFTER DELETE ON events FOR EACH STATEMENT EXECUTE FUNCTION audits()",
        "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE events_09 ENABLE ROW LEVEL SECURITY; ALTER TABLE events_10 ENABLE ROW LEVEL SECURITY; \
         ALTER TABLE events_11a ENABLE ROW LEVEL SECURITY",
        "CREATE RULE hears AS ON DELETE TO events DO ALSO NOTIFY gone",
        "CREATE PUBLICATION everything FOR ALL TABLES",
    ] {
        let world = months(told).await;
        assert_eq!(world.sweep(&by_time()).await.tally.removed, 301, "{told}");
        assert_eq!(partitions(&mut world.client().await).await, ALL, "{told}");
    }

    let world = months("").await;
    let some = RowPolicy { filter: Some("id % 2 = 0".to_owned()), ..by_time() };
    assert_eq!(world.sweep(&some).await.tally.removed, 151);
    assert_eq!(partitions(&mut world.client().await).await, ALL);

    let pins = "CREATE TABLE pins (event int, at timestamptz, FOREIGN KEY (event, at) REFERENCES events); \
                INSERT INTO pins SELECT id, at FROM events WHERE id = 7";
    let world = months(pins).await;
    let unless_referenced_by = vec![ColumnRef::new("pins", "event")];
    let report = world.sweep(&RowPolicy { unless_referenced_by, ..by_time() }).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.referenced), (300, 1), "{report:?}");
    let world = months(pins).await;
    let report = world.sweep(&by_time()).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (300, 1), "{report:?}");
    assert_eq!(partitions(&mut world.client().await).await, ALL, "something points at its rows");
}

/// A budget of items is kept to the item, and a partition that somebody uses is left to its rows.
#[tokio::test(flavor = "multi_thread")]
async fn budgets_and_locks_hold() {
    let world = months("").await;
    let target = world.bind(&by_time()).await.unwrap();
    let report = sweep(target, Budget { items: Some(150), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::BudgetItems, 150), "{report:?}");
    assert_eq!(partitions(&mut world.client().await).await, ALL[1..]);

    let world = months("").await;
    let mut user = world.client().await;
    user.run("BEGIN; SELECT count(*) FROM events_10").await;
    let report = world.sweep(&by_time()).await;
    user.run("COMMIT").await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 301), "{report:?}");
    assert_eq!(partitions(&mut world.client().await).await, ["events_10", "events_11b", "events_rest"]);
    assert_eq!(left(&mut world.client().await).await, (101, 301));
}

/// Only the owner of a table can drop it. Who may delete its rows does that.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_drop_rows_go_one_by_one() {
    let world = months("").await;
    let (_, options) = world.make_role("SELECT, DELETE, UPDATE").await;
    let target = RowTarget::bind(&open(options).await, &by_time()).await.unwrap();
    let report = sweep(target, Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 301), "{report:?}");
    assert_eq!(partitions(&mut world.client().await).await, ALL);
}

/// MariaDB: ranges of the column itself, and of the seconds of a TIMESTAMP.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_mariadb_are_dropped_too() {
    let columns = "PARTITION BY RANGE COLUMNS (at) (PARTITION p09 VALUES LESS THAN ('2026-10-01'), \
                   PARTITION p11a VALUES LESS THAN ('2026-11-15 12:00:00'), PARTITION p11b VALUES LESS THAN ('2026-12-01'), \
                   PARTITION rest VALUES LESS THAN (MAXVALUE))";
    let seconds = "PARTITION BY RANGE (UNIX_TIMESTAMP(at)) (PARTITION p09 VALUES LESS THAN (UNIX_TIMESTAMP('2026-10-01')), \
                   PARTITION p11a VALUES LESS THAN (UNIX_TIMESTAMP('2026-11-15 12:00:00')), \
                   PARTITION p11b VALUES LESS THAN (UNIX_TIMESTAMP('2026-12-01')), PARTITION rest VALUES LESS THAN (MAXVALUE))";
    for (kind, by) in [("DATETIME(6)", columns), ("TIMESTAMP", seconds)] {
        let world = World::with(
            Engine::MySql,
            &format!(
                "CREATE TABLE events (id INT, at {kind} NOT NULL, PRIMARY KEY (id, at)) {by}; \
                 INSERT INTO events SELECT seq, TIMESTAMPADD(MINUTE, seq, '2026-09-10') FROM seq_1_to_100; \
                 INSERT INTO events SELECT seq, TIMESTAMPADD(MINUTE, seq, '2026-11-10') FROM seq_101_to_200; \
                 INSERT INTO events SELECT seq, TIMESTAMPADD(MINUTE, seq - 201, '2026-11-15 12:00:00') FROM seq_201_to_300"
            ),
        )
        .await;
        let report = world.sweep(&by_time()).await;
        assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 200), "{kind}: {report:?}");
        let mut client = world.client().await;
        let names = "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() \
                     AND TABLE_NAME = 'events' ORDER BY PARTITION_ORDINAL_POSITION";
        assert_eq!(client.texts(names).await, ["p11b", "rest"], "{kind}");
        assert_eq!(left(&mut client).await, (100, 201));
        // The next sweep uses the table as everybody does.
        assert_eq!(world.sweep(&by_time()).await.tally.removed, 0);
    }
}

/// A zero date is no deadline, and lies before all others; and a trigger hears of every row.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_of_mariadb_with_a_row_to_keep_stays() {
    let make = "CREATE TABLE events (id INT, at DATETIME NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE COLUMNS (at) \
                (PARTITION p09 VALUES LESS THAN ('2026-10-01'), PARTITION p10 VALUES LESS THAN ('2026-11-01'), \
                PARTITION rest VALUES LESS THAN (MAXVALUE)); \
                INSERT INTO events VALUES (2, '2026-09-10'), (3, '2026-10-10'), (4, '2026-12-10')";
    let names = "SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() \
                 AND TABLE_NAME = 'events' ORDER BY PARTITION_ORDINAL_POSITION";
    let world = World::with(Engine::MySql, make).await;
    let mut client = world.client().await;
    client.run("SET SESSION sql_mode = ''; INSERT INTO events VALUES (1, '0000-00-00')").await;
    let report = world.sweep(&by_time()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 2), "{report:?}");
    assert_eq!(client.texts(names).await, ["p09", "rest"]);
    assert_eq!(client.texts("SELECT CAST(id AS CHAR) FROM events ORDER BY id").await, ["1", "4"]);

    let world = World::with(Engine::MySql, make).await;
    let mut client = world.client().await;
    client.run("CREATE TABLE audit (id INT)").await;
    client.run("CREATE TRIGGER audits AFTER DELETE ON events FOR EACH ROW INSERT INTO audit VALUES (OLD.id)").await;
    assert_eq!(world.sweep(&by_time()).await.tally.removed, 2);
    assert_eq!(client.number("SELECT COUNT(*) FROM audit").await, 2);
    assert_eq!(client.texts(names).await, ["p09", "p10", "rest"]);
}
