//! Several workers over one table of PostgreSQL: each has a part and a connection, together they do what one would.

use std::num::NonZeroUsize;

use bygone_core::{Budget, Outcome, PolicyReport, Target};
use bygone_sql::{ColumnRef, Deadline, Engine, RowPolicy, RowTarget, Walk};
use bygone_testkit::Client;

use crate::world::{World, boundary, open, policy, sweep};

const DUE: i64 = 60_000;
const LIVING: i64 = 10_000;

/// Rows 1 to 60,000 are due, the last of them by a microsecond; of the others the first stands on the boundary itself.
/// Whoever removes one is written down, with the deadline that it had.
async fn table(in_order: bool) -> World {
    let world = World::with(
        Engine::Postgres,
        "CREATE TABLE items (id bigint PRIMARY KEY, deadline timestamptz, parent bigint, filler text); \
         CREATE TABLE audit (id bigint, deadline timestamptz, pid int); \
         CREATE FUNCTION audits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO audit VALUES (OLD.id, OLD.deadline, pg_backend_pid()); RETURN OLD; END $$; \
         CREATE TRIGGER audits AFTER DELETE ON items FOR EACH ROW EXECUTE FUNCTION audits()",
    )
    .await;
    // 7919 is a prime: its multiples visit every row once, far from their neighbours.
    let order = if in_order { "n" } else { "1 + (n * 7919) % 70000" };
    let rows = format!(
        "INSERT INTO items SELECT id, '2026-11-15 12:00Z'::timestamptz + (id - 60001) * interval '1 microsecond', \
         NULL, repeat('x', 100) FROM (SELECT {order} AS id FROM generate_series(1, {}) AS n) AS numbers",
        DUE + LIVING
    );
    let mut client = world.client().await;
    client.run(&rows).await;
    client.run("CREATE INDEX by_deadline ON items (deadline); ANALYZE items").await;
    world
}

fn by_deadline() -> RowPolicy {
    policy("items", Deadline::column("deadline"))
}

fn budget(workers: usize) -> Budget {
    Budget { workers: NonZeroUsize::new(workers).unwrap(), page_items_max: 3_000, ..Budget::default() }
}

async fn bind(world: &World, policy: &RowPolicy, walk: Walk) -> RowTarget {
    let mut target = world.bind(policy).await.unwrap();
    let survey = target.survey(boundary()).await.unwrap();
    assert_eq!(target.plan(boundary(), survey.bygone).unwrap().walk, walk);
    target
}

/// What lives is there, what was due is gone, each row once, and by so many connections.
async fn assert_swept(client: &mut Client, report: &PolicyReport, by: i64) {
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, u64::try_from(DUE).unwrap()), "{report:?}");
    let living = "SELECT count(*) FROM items WHERE id > 60000 AND deadline >= '2026-11-15 12:00Z'";
    assert_eq!(client.number(living).await, LIVING);
    assert_eq!(client.number("SELECT count(*) FROM items").await, LIVING);
    assert_eq!(client.number("SELECT count(DISTINCT id) FROM audit").await, DUE);
    assert_eq!(client.number("SELECT count(*) FROM audit").await, DUE);
    assert_eq!(client.number("SELECT count(DISTINCT pid) FROM audit").await, by);
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_of_the_index_are_parted() {
    let world = table(true).await;
    let target = bind(&world, &by_deadline(), Walk::Slices).await;
    let report = sweep(target, budget(3)).await;
    assert_swept(&mut world.client().await, &report, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_heap_is_parted() {
    let world = table(false).await;
    let target = bind(&world, &by_deadline(), Walk::Heap).await;
    let report = sweep(target, budget(3)).await;
    assert_swept(&mut world.client().await, &report, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_workers_than_it_pays_for() {
    let world = table(true).await;
    let report = sweep(world.bind(&by_deadline()).await.unwrap(), budget(16)).await;
    assert_swept(&mut world.client().await, &report, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_deadline_of_all_cannot_be_parted() {
    let world = table(true).await;
    let mut client = world.client().await;
    client.run("UPDATE items SET deadline = '2026-11-01Z' WHERE id <= 60000; CLUSTER items USING by_deadline; ANALYZE items").await;
    let report = sweep(world.bind(&by_deadline()).await.unwrap(), budget(3)).await;
    assert_swept(&mut client, &report, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_deadline_of_many_leaves_the_rest_to_others() {
    let world = table(true).await;
    let mut client = world.client().await;
    client.run("UPDATE items SET deadline = '2026-11-01Z' WHERE id <= 15000; CLUSTER items USING by_deadline; ANALYZE items").await;
    let report = sweep(world.bind(&by_deadline()).await.unwrap(), budget(3)).await;
    assert_swept(&mut client, &report, 3).await;
}

/// Rows that point at rows of their own table may do so across the border of two parts.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_points_at_itself_is_left_to_one() {
    let world = table(true).await;
    let mut client = world.client().await;
    client.run("ALTER TABLE items ADD FOREIGN KEY (parent) REFERENCES items ON DELETE SET NULL").await;
    client.run("CREATE INDEX by_parent ON items (parent)").await;
    client
        .run("UPDATE items SET parent = 60001 - id WHERE id <= 60000; CLUSTER items USING by_deadline; ANALYZE items")
        .await;
    let report = sweep(world.bind(&by_deadline()).await.unwrap(), budget(3)).await;
    assert_swept(&mut client, &report, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_go_along_and_guards_hold_in_every_part() {
    let world = table(true).await;
    let mut client = world.client().await;
    client
        .run(
            "CREATE TABLE notes (id bigint PRIMARY KEY, item bigint REFERENCES items); CREATE INDEX ON notes (item); \
             CREATE TABLE keepers (id bigint PRIMARY KEY, item bigint REFERENCES items); CREATE INDEX ON keepers (item); \
             INSERT INTO notes SELECT n, 1 + n % 70000 FROM generate_series(1, 100000) AS n; \
             INSERT INTO keepers SELECT n, n * 100 FROM generate_series(1, 600) AS n; ANALYZE",
        )
        .await;
    let (item, keeper) = (ColumnRef::new("notes", "item"), ColumnRef::new("keepers", "item"));
    let policy = RowPolicy { with: vec![vec![item]], unless_referenced_by: vec![keeper], ..by_deadline() };
    let report = sweep(world.bind(&policy).await.unwrap(), budget(3)).await;
    let tally = &report.tally;
    assert_eq!((report.outcome, tally.removed, tally.kept_back.referenced), (Outcome::Complete, 59_400, 600));
    let left = client.number("SELECT count(*) FROM items WHERE id <= 60000").await;
    assert_eq!(left, client.number("SELECT count(*) FROM items WHERE id <= 60000 AND id % 100 = 0").await);
    assert_eq!((left, client.number("SELECT count(*) FROM items WHERE id > 60000").await), (600, LIVING));
    assert_eq!(client.number("SELECT count(DISTINCT pid) FROM audit").await, 2, "59,400 are bygone");
    let orphans = "SELECT count(*) FROM notes WHERE item NOT IN (SELECT id FROM items)";
    assert_eq!(client.number(orphans).await, 0);
    let notes = client.number("SELECT count(*) FROM notes").await;
    assert_eq!(tally.children["notes"], u64::try_from(100_000 - notes).unwrap());
}

/// Somebody extends rows of all parts, a few at a time, while three workers remove their neighbours.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_extended_meanwhile_survives() {
    for in_order in [true, false] {
        let world = table(in_order).await;
        let mut client = world.client().await;
        client.run("CREATE TABLE extended (id bigint PRIMARY KEY)").await;
        let target = world.bind(&by_deadline()).await.unwrap();
        let sweeping = tokio::spawn(sweep(target, Budget { page_items_max: 500, ..budget(3) }));
        for at in 1..=200 {
            let ids = format!("id % 200 = {at} AND id <= 60000 AND id % 7 = 0");
            client
                .run(&format!(
                    "WITH done AS (UPDATE items SET deadline = '2027-01-01Z' WHERE {ids} RETURNING id) \
                     INSERT INTO extended SELECT id FROM done"
                ))
                .await;
        }
        let report = sweeping.await.unwrap();
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None));
        let early = "SELECT count(*) FROM audit WHERE deadline >= '2026-11-15 12:00Z'";
        assert_eq!(client.number(early).await, 0, "nothing goes by a deadline that it no longer has");
        let lost = "SELECT count(*) FROM extended WHERE id NOT IN (SELECT id FROM items)";
        assert_eq!(client.number(lost).await, 0, "whatever was extended is there");
        assert_eq!(client.number("SELECT count(*) FROM items WHERE id > 60000").await, LIVING);
        let gone = client.number("SELECT count(*) FROM audit").await;
        assert_eq!(report.tally.removed, u64::try_from(gone).unwrap());
        let again = world.sweep(&by_deadline()).await;
        let left = client.number("SELECT count(*) FROM items WHERE deadline < '2026-11-15 12:00Z'").await;
        assert_eq!((again.outcome, left), (Outcome::Complete, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_another_connection_one_does_it_and_says_so() {
    let world = table(true).await;
    let (role, options) = world.make_role("ALL").await;
    let mut client = world.client().await;
    client.run(&format!("ALTER ROLE {role} CONNECTION LIMIT 1")).await;
    let source = open(options).await;
    let report = sweep(RowTarget::bind(&source, &by_deadline()).await.unwrap(), budget(3)).await;
    assert_swept(&mut client, &report, 1).await;
    assert!(report.warnings[0].starts_with("swept by one worker: no other connection could be had"), "{report:?}");
}

/// Other engines have one writer at a time, or gain nothing: they sweep as ever.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_parted_is_swept_as_ever() {
    for engine in [Engine::Sqlite, Engine::MySql] {
        let time = if engine == Engine::MySql { "DATETIME" } else { "TEXT" };
        let world = World::with(engine, &format!("CREATE TABLE items (id INT PRIMARY KEY, deadline {time})")).await;
        let mut client = world.client().await;
        client.run("INSERT INTO items VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')").await;
        let report = sweep(world.bind(&by_deadline()).await.unwrap(), budget(3)).await;
        assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 1));
        assert_eq!(client.texts("SELECT id FROM items").await, ["2"]);
    }
}
