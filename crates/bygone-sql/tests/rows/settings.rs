//! Nothing that a server, a database or a role has set changes what a statement means.

use bygone_core::{Budget, Outcome};
use bygone_sql::{Deadline, Engine, Format, RowPolicy, RowTarget, SourceOptions, SourceUrl};
use bygone_testkit::{AnyDatabase, Client, MariaDb, Options};
use jiff::tz::TimeZone;

use crate::world::{World, open, policy, sweep};

/// Settings that move, hide or rewrite what a session sees, unless the session sets its own.
const POSTGRES: [(&str, &str); 12] = [
    ("timezone", "'Asia/Tokyo'"),
    ("datestyle", "'SQL, DMY'"),
    ("intervalstyle", "'sql_standard'"),
    ("default_transaction_isolation", "'serializable'"),
    ("default_transaction_deferrable", "on"),
    ("extra_float_digits", "-15"),
    ("bytea_output", "'escape'"),
    ("quote_all_identifiers", "on"),
    ("standard_conforming_strings", "off"),
    ("transform_null_equals", "on"),
    ("plan_cache_mode", "'force_generic_plan'"),
    ("enable_tidscan", "off"),
];

#[tokio::test(flavor = "multi_thread")]
async fn postgres_settings_do_not_matter() {
    let world = World::with(
        Engine::Postgres,
        "CREATE TABLE items (id double precision PRIMARY KEY, at timestamptz, local timestamp, day date, uid bytea); \
         INSERT INTO items SELECT n + 1.0 / 3, instant, instant AT TIME ZONE 'UTC', (instant AT TIME ZONE 'UTC')::date, \
         decode('0000' || lpad(to_hex(n), 4, '0'), 'hex') \
         FROM generate_series(1, 300) AS n, LATERAL (SELECT '2026-11-15 12:00:00+00'::timestamptz \
         + (n - 200) * interval '1 second' AS instant) AS i",
    )
    .await;
    let AnyDatabase::Postgres(database) = &world.0 else { unreachable!() };
    let mut client = world.client().await;
    for (name, value) in POSTGRES {
        client.run(&format!("ALTER DATABASE {} SET {name} = {value}", database.name())).await;
    }
    for (column, left) in [("day", 300), ("local", 101), ("at", 101)] {
        let target = world.bind(&policy("items", Deadline::column(column))).await.unwrap();
        // Pages of two name their rows one by one, by a key that is no round number.
        let report = sweep(target, Budget { page_items_max: 2, ..Budget::default() }).await;
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{column}: {report:?}");
        assert_eq!(client.number("SELECT count(*) FROM items").await, left, "{column}: {report:?}");
        assert_eq!(client.number("SELECT count(*) FROM items WHERE at >= '2026-11-15 12:00:00+00'").await, 101);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_knows_who_is_there() {
    let world = World::with(Engine::Postgres, "CREATE TABLE items (id int)").await;
    let source = world.source().await;
    let sessions = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() \
                    AND pid <> pg_backend_pid()";
    assert_eq!(world.client().await.texts(sessions).await, ["bygone"]);
    drop(source);
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_settings_do_not_matter() {
    let options = Options::default()
        .set(
            "sql-mode",
            "ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION,TIME_ROUND_FRACTIONAL",
        )
        .set("default-time-zone", "+09:00")
        .set("transaction-isolation", "SERIALIZABLE")
        .set("autocommit", "0")
        .set("completion-type", "RELEASE")
        .set("innodb-lock-wait-timeout", "1");
    let server = MariaDb::start(options).await.unwrap();
    let database = server.fresh_database().await;
    let mut client = Client::MariaDb(database.connect().await);
    client.run("SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', time_zone = '+00:00'").await;
    client
        .run(
            "CREATE TABLE items (id CHAR(10) PRIMARY KEY, moment TIMESTAMP(6) NULL, local DATETIME(6), seconds INT UNSIGNED); \
             INSERT INTO items SELECT CONCAT('k', seq), TIMESTAMPADD(SECOND, CAST(seq AS SIGNED) - 200, '2026-11-15 12:00:00'), \
             TIMESTAMPADD(SECOND, CAST(seq AS SIGNED) - 200, '2026-11-15 12:00:00'), 1794744000 - 200 + seq FROM seq_1_to_300; \
             CREATE TABLE holds (item CHAR(10), FOREIGN KEY (item) REFERENCES items (id)); \
             INSERT INTO holds VALUES ('k7'); SET GLOBAL foreign_key_checks = 0; SET GLOBAL sql_select_limit = 1",
        )
        .await;
    let options = SourceOptions::new("odd", SourceUrl::parse(&database.url()).unwrap());
    let seconds = Deadline::in_format("seconds", Format::EpochSeconds);
    for deadline in [seconds, Deadline::column("local"), Deadline::column("moment")] {
        let policy = RowPolicy { zone: Some(TimeZone::UTC), ..policy("items", deadline) };
        let target = RowTarget::bind(&open(options.clone()).await, &policy).await.unwrap();
        let report = sweep(target, Budget { page_items_max: 30, ..Budget::default() }).await;
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");
        assert_eq!(report.tally.kept_back.conflict, 1, "a row that another points at: {report:?}");
        assert_eq!(client.number("SELECT COUNT(*) FROM items").await, 102, "what is claimed is committed: {report:?}");
        assert_eq!(client.number("SELECT COUNT(*) FROM items WHERE moment >= '2026-11-15 12:00:00'").await, 101);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_sqlite_stays_small_however_much_is_swept() {
    let world = World::with(
        Engine::Sqlite,
        "PRAGMA journal_mode = wal; CREATE TABLE items (id INTEGER PRIMARY KEY, at TEXT, body BLOB); \
         CREATE INDEX by_at ON items (at); \
         INSERT INTO items WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 200000) \
         SELECT n, datetime(iif(n % 2, '2026-11-01', '2026-12-01'), n || ' seconds'), zeroblob(1000) FROM r; \
         PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .await;
    let AnyDatabase::Sqlite(sqlite) = &world.0 else { unreachable!() };
    // The last to close a database removes its log.
    let mut other = world.client().await;
    assert_eq!(other.number("SELECT count(*) FROM items").await, 200_000);
    let target = world.bind(&policy("items", Deadline::column("at"))).await.unwrap();
    let report = sweep(target, Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 100_000), "{report:?}");
    let log = std::fs::metadata(sqlite.directory().join("test.db-wal")).unwrap().len();
    assert!(log < 90 << 20, "140 MB were changed, and the log took {log} bytes");
    assert_eq!(other.number("SELECT count(*) FROM items").await, 100_000);
}
