//! A policy meets its table: the key that names a row, the condition beside the deadline, the rights. What does not fit
//! is refused, and nothing is removed.

use bygone_core::{Budget, ErrorKind, Outcome};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget};

use crate::world::{World, on_each_engine, open, policy, sweep};

const FILL: &str = "INSERT INTO sessions VALUES \
     (1, 'a', '2020-01-01 00:00:00'), (2, 'a', '2020-01-02 00:00:00'), (3, 'b', '2020-01-03 00:00:00'), \
     (4, 'a', '2030-01-01 00:00:00'), (5, 'b', '2030-01-02 00:00:00')";

const KEYED: &str = "id INT NOT NULL PRIMARY KEY, kind VARCHAR(9), expires_at TIMESTAMP NULL";
const UNKEYED: &str = "id INT, kind VARCHAR(9), expires_at TIMESTAMP NULL";

/// A table `sessions` of these columns, with five rows, of which three are bygone.
async fn sessions(engine: Engine, columns: &str) -> World {
    World::with(engine, &format!("CREATE TABLE sessions ({columns}); {FILL}")).await
}

fn by_expiry() -> RowPolicy {
    policy("sessions", Deadline::column("expires_at"))
}

fn keyed_by(columns: &[&str]) -> RowPolicy {
    RowPolicy { key: Some(columns.iter().map(|&column| column.to_owned()).collect()), ..by_expiry() }
}

fn only_where(filter: &str) -> RowPolicy {
    RowPolicy { filter: Some(filter.to_owned()), ..by_expiry() }
}

async fn ids(world: &World) -> Vec<String> {
    world.client().await.texts("SELECT id FROM sessions ORDER BY id").await
}

/// Removes a row at a time, by its key.
async fn sweep_by_key(world: &World, policy: &RowPolicy) {
    let target = world.bind(policy).await.unwrap_or_else(|e| panic!("{}", e.full_message()));
    let report = sweep(target, Budget { page_items_max: 1, ..Budget::default() }).await;
    assert_eq!(report.outcome, Outcome::Complete, "{report:?}");
    assert_eq!(ids(world).await, ["4", "5"]);
}

on_each_engine!(
    a_key_may_be_given,
    a_key_that_does_not_name_a_row_is_refused,
    a_unique_index_without_nulls_is_a_key,
    the_condition_stands_beside_the_deadline,
    the_condition_may_look_at_the_table_again,
    a_condition_that_the_table_does_not_know_is_refused,
    a_comment_in_the_condition_ends_with_it,
);

async fn a_key_may_be_given(engine: Engine) {
    sweep_by_key(&sessions(engine, KEYED).await, &keyed_by(&["id"])).await;
    sweep_by_key(&sessions(engine, KEYED).await, &keyed_by(&["kind", "id"])).await;
    let pair = "id INT NOT NULL, kind VARCHAR(9) NOT NULL, expires_at TIMESTAMP NULL, UNIQUE (kind, id)";
    sweep_by_key(&sessions(engine, pair).await, &keyed_by(&["id", "kind"])).await;
}

async fn a_key_that_does_not_name_a_row_is_refused(engine: Engine) {
    let part = format!("{}, PRIMARY KEY (id, kind)", UNKEYED.replace("9)", "9) NOT NULL"));
    let perhaps_null = format!("{UNKEYED}, UNIQUE (id)");
    for (columns, key) in [(UNKEYED, "kind"), (KEYED, "kind"), (&part, "id"), (&perhaps_null, "id")] {
        let world = sessions(engine, columns).await;
        let error = world.bind(&keyed_by(&[key])).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error:?}");
        assert_eq!(error.to_string(), "`key` names columns of `sessions` that do not name a row");
        assert_eq!(ids(&world).await.len(), 5);
    }
}

async fn a_unique_index_without_nulls_is_a_key(engine: Engine) {
    let world = sessions(engine, &KEYED.replace("PRIMARY KEY", "UNIQUE")).await;
    sweep_by_key(&world, &by_expiry()).await;
}

async fn the_condition_stands_beside_the_deadline(engine: Engine) {
    let world = sessions(engine, KEYED).await;
    let report = world.sweep(&only_where("kind = 'a' OR kind = 'nothing'")).await;
    assert_eq!((report.tally.removed, report.tally.examined), (2, 2), "{report:?}");
    assert_eq!(ids(&world).await, ["3", "4", "5"]);
    // It may name the table, and look at others.
    let world = sessions(engine, KEYED).await;
    world.client().await.run("CREATE TABLE pinned (session INT); INSERT INTO pinned VALUES (1), (3)").await;
    world.sweep(&only_where("NOT EXISTS (SELECT 1 FROM pinned WHERE pinned.session = sessions.id)")).await;
    assert_eq!(ids(&world).await, ["1", "3", "4", "5"]);
}

/// Only where a newer one of its kind is there.
async fn the_condition_may_look_at_the_table_again(engine: Engine) {
    let world = sessions(engine, KEYED).await;
    let newer = "EXISTS (SELECT 1 FROM sessions AS newer WHERE newer.kind = sessions.kind AND newer.id > sessions.id)";
    assert_eq!(world.sweep(&only_where(newer)).await.error, None);
    assert_eq!(ids(&world).await, ["4", "5"]);
}

async fn a_condition_that_the_table_does_not_know_is_refused(engine: Engine) {
    let quoted = format!("{} <> 'x'", engine.quote("knd"));
    for filter in ["knd = 'a'", &quoted, "kind = ", "no_such_function(kind)"] {
        let world = sessions(engine, KEYED).await;
        let error = world.bind(&only_where(filter)).await.err().unwrap();
        assert_eq!((error.kind(), error.key()), (ErrorKind::Unfit, Some("where")), "{filter}: {error:?}");
        assert_eq!(ids(&world).await.len(), 5, "{filter}");
    }
}

async fn a_comment_in_the_condition_ends_with_it(engine: Engine) {
    for filter in ["kind = 'a' -- only those", "kind = 'a' /* only those */", "kind = 'a' -- ) OR (1 = 1"] {
        let world = sessions(engine, KEYED).await;
        assert_eq!(world.sweep(&only_where(filter)).await.tally.removed, 2, "{filter}");
        assert_eq!(ids(&world).await, ["3", "4", "5"], "{filter}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_a_key_goes_by_place_where_rows_have_one() {
    for engine in [Engine::Postgres, Engine::Sqlite] {
        sweep_by_key(&sessions(engine, UNKEYED).await, &by_expiry()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_a_key_is_refused_where_they_have_none() {
    // A unique index does not name rows as long as its column may be null.
    for columns in [UNKEYED, &format!("{UNKEYED}, UNIQUE (id)")] {
        let world = sessions(Engine::MySql, columns).await;
        let error = world.bind(&by_expiry()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unfit);
        assert_eq!(error.to_string(), "nothing names a single row of `sessions`");
        assert!(error.help().unwrap().contains("give it a primary key"), "{error:?}");
        assert_eq!(ids(&world).await.len(), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_transactions_is_refused() {
    let world = World::with(
        Engine::MySql,
        "CREATE TABLE sessions (id INT PRIMARY KEY, expires_at DATETIME) ENGINE = MyISAM; \
         INSERT INTO sessions VALUES (1, '2020-01-01')",
    )
    .await;
    let error = world.bind(&by_expiry()).await.err().unwrap();
    assert!(error.to_string().contains("MyISAM"), "{error}");
    assert_eq!(ids(&world).await, ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_of_sqlite_may_quote_their_texts_like_names() {
    let world = sessions(Engine::Sqlite, KEYED).await;
    let trigger = "CREATE TABLE gone (id INT, note TEXT); CREATE TRIGGER notes AFTER DELETE ON sessions \
                   BEGIN INSERT INTO gone VALUES (OLD.id, \"swept\"); END";
    world.client().await.run(trigger).await;
    assert_eq!(world.sweep(&only_where("kind <> 'b'")).await.tally.removed, 2);
    assert_eq!(world.client().await.texts("SELECT note FROM gone").await, ["swept", "swept"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_delete_nothing_goes_and_the_remedy_is_named() {
    for engine in [Engine::Postgres, Engine::MySql] {
        let world = sessions(engine, KEYED).await;
        let (_, options) = world.make_role("SELECT").await;
        let target = RowTarget::bind(&open(options).await, &by_expiry()).await.unwrap();
        assert!(!target.may_sweep().await.unwrap(), "{engine}: it can be known beforehand");
        let report = sweep(target, Budget::default()).await;
        assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Denied)), "{report:?}");
        assert!(report.help.unwrap().contains("DELETE on the table"));
        assert!(world.bind(&by_expiry()).await.unwrap().may_sweep().await.unwrap(), "{engine}: the owner may");
        assert_eq!(ids(&world).await.len(), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_to_read_to_lock_and_to_delete_are_all_that_a_sweep_needs() {
    for engine in [Engine::Postgres, Engine::MySql] {
        let world = sessions(engine, KEYED).await;
        let (role, options) = world.make_role("SELECT, DELETE").await;
        let source = open(options).await;
        if engine == Engine::Postgres {
            let target = RowTarget::bind(&source, &by_expiry()).await.unwrap();
            assert!(!target.may_sweep().await.unwrap(), "it may not lock");
            world.client().await.run(&format!("GRANT UPDATE (id) ON sessions TO {role}")).await;
        }
        // A page of one row goes by a list of keys where pages are blocks, and a large one by a range.
        for (page_items_max, items, left) in [(1, Some(1), 4), (1_000, None, 2)] {
            let target = RowTarget::bind(&source, &by_expiry()).await.unwrap();
            assert!(target.may_sweep().await.unwrap(), "{engine}");
            let report = sweep(target, Budget { page_items_max, items, ..Budget::default() }).await;
            assert_eq!(report.error, None, "{engine}");
            assert_eq!(ids(&world).await.len(), left, "{engine}");
        }
    }
}
