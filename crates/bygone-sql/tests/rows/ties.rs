//! More rows of one value than a page may look at: each is found once, however the value is written, and a row that
//! cannot go does not hold the walk up.

use bygone_core::{Budget, Care, Outcome, PageRequest, Target};
use bygone_sql::{Deadline, Engine, Format, RowPolicy};

use crate::world::{World, boundary, on_each_engine, policy, sweep};

/// The sweep goes in pages of three and leaves the eight rows that stick, each counted once.
async fn leaves_only_what_sticks(world: &World, policy: &RowPolicy) {
    let target = world.bind(policy).await.unwrap_or_else(|e| panic!("{}", e.full_message()));
    // A walk that goes round in circles is ended by the budget.
    let report = sweep(target, Budget { page_items_max: 3, items: Some(500), ..Budget::default() }).await;
    assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (52, 8), "{report:?}");
    let left = world.client().await.texts("SELECT id FROM items ORDER BY id").await;
    assert_eq!(left, ["7", "8", "9", "30", "31", "32", "33", "34"], "{report:?}");
}

/// A table `items` of sixty rows: a number and one of these values each. Eight of them cannot go.
async fn items(engine: Engine, create: &str, values: &[&str]) -> World {
    let world = World::with(engine, create).await;
    world.make_sticky("id").await;
    let mut client = world.client().await;
    for n in 0..60 {
        let value = values[n % values.len()];
        client.run(&format!("INSERT INTO items VALUES ({n}, {value})")).await;
    }
    client.run("INSERT INTO stuck VALUES (7), (8), (9), (30), (31), (32), (33), (34)").await;
    world
}

on_each_engine!(
    one_number_in_several_scales,
    one_name_in_three_spellings_leads_the_key,
    a_page_may_be_larger_than_a_statement_takes_values,
);

/// 1700000000.5 and 1700000000.50 are one number and two texts; so are 1700000000 and 1700000000.0.
async fn one_number_in_several_scales(engine: Engine) {
    let (sql_type, values) = match engine {
        Engine::Sqlite => ("", ["1700000000", "1700000000.0", "1700000000.0"]),
        Engine::Postgres => ("numeric", ["1700000000.5", "1700000000.50", "1700000000.500"]),
        Engine::MySql => ("DOUBLE", ["1700000000.5", "1700000000.50", "1700000000.500"]),
    };
    let create = format!(
        "CREATE TABLE items (id INT PRIMARY KEY, deadline {sql_type} NOT NULL); \
         CREATE INDEX by_deadline ON items (deadline)"
    );
    let world = items(engine, &create, &values).await;
    leaves_only_what_sticks(&world, &policy("items", Deadline::in_format("deadline", Format::EpochSeconds))).await;
}

/// The first column of the key holds one name, which some wrote with capitals: to its collation they are the same.
async fn one_name_in_three_spellings_leads_the_key(engine: Engine) {
    let (collated, rest) = match engine {
        Engine::Sqlite => ("TEXT COLLATE NOCASE", " WITHOUT ROWID"),
        Engine::Postgres => ("text COLLATE loose", " PARTITION BY HASH (id, name)"),
        Engine::MySql => ("VARCHAR(20) COLLATE utf8mb4_general_ci", ""),
    };
    let before = match engine {
        Engine::Postgres => {
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        }
        _ => "",
    };
    let after = match engine {
        Engine::Postgres => "; CREATE TABLE part PARTITION OF items FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        _ => "",
    };
    let create = format!(
        "{before}CREATE TABLE items (id INT NOT NULL, name {collated} NOT NULL, deadline TIMESTAMP NOT NULL, \
         PRIMARY KEY (name, id)){rest}{after}"
    );
    let values = ["anna", "Anna", "ANNA"].map(|name| format!("'{name}', '2020-01-01 00:00:00'"));
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let world = items(engine, &create, &values).await;
    leaves_only_what_sticks(&world, &policy("items", Deadline::column("deadline"))).await;
}

/// PostgreSQL and MySQL take 65,535 values with a statement, SQLite 32,766.
async fn a_page_may_be_larger_than_a_statement_takes_values(engine: Engine) {
    let create = "CREATE TABLE items (id INT PRIMARY KEY, deadline TIMESTAMP NOT NULL); \
                  CREATE INDEX by_deadline ON items (deadline)";
    let world = World::with(engine, create).await;
    let numbers = match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE rows(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n < 69999) \
             INSERT INTO items SELECT n, DAY FROM rows"
        }
        Engine::Postgres => "INSERT INTO items SELECT n, DAY FROM generate_series(0, 69999) AS n",
        Engine::MySql => "INSERT INTO items SELECT seq, DAY FROM seq_0_to_69999",
    };
    world.client().await.run(&numbers.replace("DAY", "'2020-01-01 00:00:00'")).await;
    let mut target = world.bind(&policy("items", Deadline::column("deadline"))).await.unwrap();
    let mut cursor = None;
    for _ in 0..3 {
        let request = PageRequest { boundary: boundary(), cursor: cursor.as_ref(), limit: 66_000, care: Care::Swift };
        let page = target.page(request).await.unwrap();
        assert!(page.tally.examined <= 66_000, "{page:?}");
        cursor = page.next;
    }
    let left = world.client().await.number("SELECT count(*) FROM items").await;
    assert!(left < 70_000, "nothing went");
}

/// A cursor is written down and read again between two pages: the number must come back as the same one.
#[tokio::test(flavor = "multi_thread")]
async fn cursors_keep_every_digit_of_a_number() {
    let create = "PRAGMA journal_mode = wal; CREATE TABLE items (id INTEGER PRIMARY KEY, deadline REAL NOT NULL); \
                  CREATE INDEX by_deadline ON items (deadline)";
    let world = World::with(Engine::Sqlite, create).await;
    let mut client = world.client().await;
    for n in 0..400 {
        // Two rows of each value; the digits come from a division that never ends.
        client.run(&format!("INSERT INTO items VALUES ({n}, 1700000000 + ({n} / 2) * 7919.0 / 7777.0)")).await;
    }
    let target = world.bind(&policy("items", Deadline::in_format("deadline", Format::EpochSeconds))).await.unwrap();
    let report = sweep(target, Budget { page_items_max: 1, ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 400), "{report:?}");
}

/// A day of a `date` is one value of many rows. Those are taken in no order, since an index on the day alone has none among
/// them and each page would sort all that are left; what others hold is gone through in order at the end.
#[tokio::test(flavor = "multi_thread")]
async fn many_rows_of_one_day_are_taken_as_they_come() {
    let world = World::with(
        Engine::Postgres,
        "CREATE TABLE items (id bigint PRIMARY KEY, deadline date); \
         INSERT INTO items SELECT n, CASE WHEN n <= 5000 THEN date '2026-11-01' ELSE date '2026-11-16' END \
         FROM generate_series(1, 6000) AS n; CREATE INDEX by_deadline ON items (deadline); ANALYZE items",
    )
    .await;
    let (mut other, mut client) = (world.client().await, world.client().await);
    other.run("BEGIN").await;
    other.rows("SELECT 1 FROM items WHERE id % 1000 = 7 FOR UPDATE").await;
    let by_day = policy("items", Deadline::column("deadline"));
    let budget = Budget { page_items_max: 300, items: Some(100_000), ..Budget::default() };
    let report = sweep(world.bind(&by_day).await.unwrap(), budget).await;
    let tally = &report.tally;
    assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");
    assert_eq!((tally.removed, tally.kept_back.locked, tally.examined), (4_995, 5, 5_000), "each is counted once");
    let left = client.texts("SELECT id FROM items WHERE deadline < '2026-11-15' ORDER BY id").await;
    assert_eq!(left, ["7", "1007", "2007", "3007", "4007"]);
    assert_eq!(client.number("SELECT count(*) FROM items WHERE id > 5000").await, 1_000);
    other.run("COMMIT").await;
    assert_eq!(world.sweep(&by_day).await.tally.removed, 5);
    // A page that sorts reads every row of the day that is left.
    let read = client.number("SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'items'").await;
    assert!(read < 40_000, "{read} rows were read to remove 5,000");
}
