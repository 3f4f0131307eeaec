//! `with`: children go first, in the same transaction.

use bygone_core::{Budget, Outcome};
use bygone_sql::{ColumnRef, Deadline, Engine, RowPolicy};

use super::{ended_sessions, ids, sessions};
use crate::world::{World, on_each_engine, policy, sweep};

/// Both tables, named by one chain.
fn with_chain() -> RowPolicy {
    let chain = vec![ColumnRef::new("uses", "token"), ColumnRef::new("tokens", "session")];
    RowPolicy { with: vec![chain], ..ended_sessions() }
}

on_each_engine!(
    every_table_of_a_chain_goes_along_and_is_counted,
    a_row_with_a_child_that_nobody_named_stays_with_all_of_its_family,
    a_row_that_a_trigger_keeps_keeps_its_children,
    children_by_several_columns,
    a_column_without_a_foreign_key_points_at_the_primary_key,
    children_of_the_same_table,
    a_row_goes_along_with_the_child_that_it_points_at,
    children_by_several_chains_through_their_own_table,
    misspelt_children_are_refused,
    thousands_of_families_in_small_pages,
);

async fn every_table_of_a_chain_goes_along_and_is_counted(engine: Engine) {
    let world = sessions(engine).await;
    let report = world.sweep(&with_chain()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 3), "{report:?}");
    let children: Vec<_> = report.tally.children.iter().map(|(table, rows)| (table.as_str(), *rows)).collect();
    assert_eq!(children, [("tokens", 6), ("uses", 12)]);
    let mut client = world.client().await;
    assert_eq!(ids(&mut client, "sessions").await, [4, 5, 6]);
    assert_eq!(ids(&mut client, "tokens").await, [40, 41, 50, 51, 60, 61]);
    assert_eq!(client.number("SELECT count(*) FROM uses").await, 12);
    assert_eq!(client.number("SELECT count(*) FROM uses WHERE token >= 40").await, 12);
}

async fn a_row_with_a_child_that_nobody_named_stays_with_all_of_its_family(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    client
        .run(
            "CREATE TABLE notes (id INT NOT NULL PRIMARY KEY, session INT, FOREIGN KEY (session) REFERENCES sessions (id)); \
             INSERT INTO notes VALUES (7, 2)",
        )
        .await;
    let report = world.sweep(&with_chain()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 2), "{report:?}");
    assert_eq!(report.tally.kept_back.conflict, 1, "{report:?}");
    assert_eq!(report.tally.children["uses"], 8, "only what is committed counts");
    assert_eq!(ids(&mut client, "sessions").await, [2, 4, 5, 6]);
    assert_eq!(ids(&mut client, "tokens").await, [20, 21, 40, 41, 50, 51, 60, 61]);
    assert_eq!(client.number("SELECT count(*) FROM uses").await, 16);
}

/// A trigger may keep a row without saying so. MySQL's cannot; there it is refused aloud.
async fn a_row_that_a_trigger_keeps_keeps_its_children(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    client
        .run(match engine {
            Engine::Postgres => {
                "CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; \
                 CREATE TRIGGER stays BEFORE DELETE ON sessions FOR EACH ROW WHEN (OLD.id = 2) EXECUTE FUNCTION stays()"
            }
            Engine::Sqlite => {
                "CREATE TRIGGER stays BEFORE DELETE ON sessions WHEN OLD.id = 2 BEGIN SELECT RAISE(IGNORE); END"
            }
            Engine::MySql => {
                "CREATE TRIGGER stays BEFORE DELETE ON sessions FOR EACH ROW BEGIN \
                 IF OLD.id = 2 THEN SIGNAL SQLSTATE '45000'; END IF; END"
            }
        })
        .await;
    let report = world.sweep(&with_chain()).await;
    // PostgreSQL says nothing of a row that stays so, and neither does a page that removes a range.
    let conflicts = u64::from(engine != Engine::Postgres);
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (2, conflicts), "{report:?}");
    assert_eq!(ids(&mut client, "tokens").await, [20, 21, 40, 41, 50, 51, 60, 61]);
    assert_eq!(client.number("SELECT count(*) FROM uses WHERE token IN (20, 21)").await, 4);
}

async fn children_by_several_columns(engine: Engine) {
    let time = super::time(engine);
    let world = World::with(
        engine,
        &format!(
            "CREATE TABLE sessions (id INT NOT NULL PRIMARY KEY, site INT NOT NULL, number INT NOT NULL, ended {time}, \
             UNIQUE (site, number)); \
             CREATE TABLE tokens (id INT NOT NULL PRIMARY KEY, site INT, number INT, \
             FOREIGN KEY (site, number) REFERENCES sessions (site, number)); \
             INSERT INTO sessions VALUES (1, 1, 1, '2026-11-01 00:00:00'), (2, 1, 2, '2026-12-01 00:00:00'), \
             (3, 2, 1, '2026-12-01 00:00:00'); \
             INSERT INTO tokens VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 1, NULL), (5, NULL, NULL)"
        ),
    )
    .await;
    let with = vec![vec![ColumnRef::new("tokens", "number")]];
    let report = world.sweep(&RowPolicy { with, ..ended_sessions() }).await;
    assert_eq!((report.tally.removed, report.tally.children["tokens"]), (1, 1), "{report:?}");
    assert_eq!(ids(&mut world.client().await, "tokens").await, [2, 3, 4, 5]);
}

async fn a_column_without_a_foreign_key_points_at_the_primary_key(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    client.run("CREATE TABLE notes (id INT NOT NULL PRIMARY KEY, about INT)").await;
    client.run("INSERT INTO notes SELECT id, id FROM sessions").await;
    let chain = with_chain().with.remove(0);
    let with = vec![vec![ColumnRef::new("notes", "about")], chain];
    let report = world.sweep(&RowPolicy { with, ..ended_sessions() }).await;
    assert_eq!((report.tally.removed, report.tally.children["notes"]), (3, 3), "{report:?}");
    assert_eq!(ids(&mut client, "notes").await, [4, 5, 6]);
}

async fn children_of_the_same_table(engine: Engine) {
    let world = World::with(
        engine,
        &format!(
            "CREATE TABLE nodes (id INT NOT NULL PRIMARY KEY, parent INT NULL, ended {} NULL, \
             FOREIGN KEY (parent) REFERENCES nodes (id)); \
             INSERT INTO nodes VALUES (1, NULL, '2026-11-01 00:00:00'), (2, 1, NULL), (3, NULL, NULL), (4, 3, NULL)",
            super::time(engine)
        ),
    )
    .await;
    let with = vec![vec![ColumnRef::new("nodes", "parent")]];
    let report = world.sweep(&RowPolicy { with, ..policy("nodes", Deadline::column("ended")) }).await;
    assert_eq!((report.tally.removed, report.tally.children["nodes"]), (1, 1), "{report:?}");
    assert_eq!(ids(&mut world.client().await, "nodes").await, [3, 4]);
}

/// Each cart has a row that it shows first, and would not be there without it. The third is not over.
async fn a_row_goes_along_with_the_child_that_it_points_at(engine: Engine) {
    let time = super::time(engine);
    let (first, later) = match engine {
        Engine::Sqlite => (", FOREIGN KEY (shown) REFERENCES lines (id) ON DELETE CASCADE", ""),
        _ => ("", "ALTER TABLE carts ADD FOREIGN KEY (shown) REFERENCES lines (id) ON DELETE CASCADE"),
    };
    let script = format!(
        "CREATE TABLE carts (id INT NOT NULL PRIMARY KEY, shown INT NULL, ended {time} NULL{first}); \
         CREATE TABLE lines (id INT NOT NULL PRIMARY KEY, cart INT NOT NULL, FOREIGN KEY (cart) REFERENCES carts (id)); \
         {later}"
    );
    let script = script.replace("lines", "entries");
    let world = World::with(engine, &script).await;
    let mut client = world.client().await;
    client
        .run(
            "INSERT INTO carts VALUES (1, NULL, '2026-11-01 00:00:00'), (2, NULL, '2026-11-02 00:00:00'), (3, NULL, NULL); \
             INSERT INTO entries VALUES (10, 1), (20, 2), (21, 2), (30, 3); \
             UPDATE carts SET shown = id * 10 WHERE id <> 2",
        )
        .await;
    let with = vec![vec![ColumnRef::new("entries", "cart")]];
    let report = world.sweep(&RowPolicy { with, ..policy("carts", Deadline::column("ended")) }).await;
    let tally = &report.tally;
    let told = (tally.removed, tally.children["entries"], tally.kept_back.conflict);
    let (carts, entries) = (ids(&mut client, "carts").await, ids(&mut client, "entries").await);
    if engine == Engine::MySql {
        // It asks foreign keys row by row, and lets nothing go that points at each other.
        assert_eq!((told, carts, entries), ((1, 2, 1), vec![1, 3], vec![10, 30]), "{report:?}");
    } else {
        assert_eq!((told, carts, entries), ((2, 3, 0), vec![3], vec![30]), "{report:?}");
    }
}

/// Entries may be found by two ways through their own table; the rows that they are found through go behind them.
async fn children_by_several_chains_through_their_own_table(engine: Engine) {
    let time = super::time(engine);
    let script = format!(
        "CREATE TABLE carts (id INT NOT NULL PRIMARY KEY, ended {time} NULL); \
         CREATE TABLE entries (id INT NOT NULL PRIMARY KEY, cart INT NULL, gift INT NULL, wraps INT NULL, joins INT NULL); \
         INSERT INTO carts VALUES (1, '2026-11-01 00:00:00'), (2, NULL); \
         INSERT INTO entries VALUES (1, 1, NULL, NULL, NULL), (2, NULL, NULL, 1, NULL), (3, NULL, 1, NULL, NULL), \
         (4, NULL, NULL, NULL, 3), (5, 2, NULL, NULL, NULL), (6, NULL, NULL, 5, NULL), (7, NULL, NULL, 3, NULL)"
    );
    let world = World::with(engine, &script).await;
    let chain = |columns: [&str; 2]| columns.map(|column| ColumnRef::new("entries", column)).to_vec();
    let with = vec![chain(["wraps", "cart"]), chain(["joins", "gift"])];
    let report = world.sweep(&RowPolicy { with, ..policy("carts", Deadline::column("ended")) }).await;
    let mut client = world.client().await;
    assert_eq!(ids(&mut client, "carts").await, [2]);
    assert_eq!(ids(&mut client, "entries").await, [5, 6, 7], "{report:?}");
    assert_eq!(report.tally.children["entries"], 4, "{report:?}");
}

async fn misspelt_children_are_refused(engine: Engine) {
    let world = sessions(engine).await;
    for (table, column, help) in
        [("token", "session", "did you mean `tokens`?"), ("tokens", "sesion", "did you mean `session`?")]
    {
        let with = vec![vec![ColumnRef::new(table, column)]];
        let Err(error) = world.bind(&RowPolicy { with, ..ended_sessions() }).await else { panic!("{table}.{column}") };
        assert_eq!((error.help(), error.key()), (Some(help), Some("with")), "{error:?}");
    }
}

async fn thousands_of_families_in_small_pages(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    let numbers = match engine {
        Engine::Postgres => "SELECT n FROM generate_series(100, 3099) AS s(n)",
        Engine::MySql => "SELECT seq AS n FROM seq_100_to_3099",
        Engine::Sqlite => {
            "WITH RECURSIVE r(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM r WHERE n < 3099) SELECT n FROM r"
        }
    };
    client
        .run(&format!(
            "INSERT INTO sessions SELECT n, '2026-11-01 00:00:00' FROM ({numbers}) AS numbers; \
             INSERT INTO tokens SELECT id * 10, id FROM sessions WHERE id >= 100"
        ))
        .await;
    let target = world.bind(&with_chain()).await.unwrap();
    let report = sweep(target, Budget { page_items_max: 250, ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 3_003), "{report:?}");
    assert_eq!((report.tally.children["tokens"], report.tally.children["uses"]), (3_006, 12));
    assert!(report.pages >= 13, "{report:?}");
    assert_eq!(ids(&mut client, "sessions").await, [4, 5, 6]);
    assert_eq!(client.number("SELECT count(*) FROM tokens").await, 6);
}

/// Somebody is just adding a child: its row is theirs until they are done, and the others go on.
async fn a_late_child(engine: Engine) {
    let world = sessions(engine).await;
    let mut late = world.client().await;
    late.run("BEGIN").await;
    late.run("INSERT INTO tokens VALUES (29, 2)").await;
    let report = world.sweep(&with_chain()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 2), "{report:?}");
    assert_eq!((report.tally.kept_back.locked, report.tally.kept_back.conflict), (1, 0), "{report:?}");
    assert_eq!((report.tally.children["tokens"], report.tally.children["uses"]), (4, 8), "{report:?}");
    late.run("COMMIT").await;
    let mut client = world.client().await;
    assert_eq!(ids(&mut client, "tokens").await, [20, 21, 29, 40, 41, 50, 51, 60, 61], "its family is whole");
    let report = world.sweep(&with_chain()).await;
    assert_eq!((report.tally.removed, report.tally.children["tokens"]), (1, 3), "{report:?}");
    assert_eq!(ids(&mut client, "sessions").await, [4, 5, 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_child_of_postgres_keeps_its_row() {
    a_late_child(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_child_of_mariadb_keeps_its_row() {
    a_late_child(Engine::MySql).await;
}
