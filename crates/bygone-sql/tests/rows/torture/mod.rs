//! Never early, under fire: eight writers extend, shorten, insert, delete and lock rows at random while three sweepers
//! run. A trigger writes down every row that goes. Each writer owns its rows and remembers what it has committed, so it
//! knows at every moment which of them must still be there.

mod family;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bygone_core::{Budget, Outcome, PolicyReport, Tally, Target};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget, Walk};
use bygone_testkit::Client;
use jiff::{SignedDuration, Timestamp};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::world::{World, boundary, literal, policy, readable, sweep};
use writer::{Done, Writer};

const WRITERS: u64 = 8;
const SWEEPERS: u64 = 3;
const OPERATIONS_PER_WRITER: u32 = 500;
/// Rows from this one on belong to nobody and live for long: beside them few are due, so that slices are chosen.
const BALLAST_FROM: u64 = 1_000_000;
const BALLAST_ROWS: u64 = 20_000;
const KEEP: SignedDuration = SignedDuration::from_hours(1);

/// The first deadline that is not bygone.
fn cutoff() -> Timestamp {
    boundary().instant() - KEEP
}

fn by_deadline(family: bool) -> RowPolicy {
    let policy = RowPolicy { keep: KEEP, ..policy("items", Deadline::column("deadline")) };
    if family { family::policy(policy) } else { policy }
}

/// From `BYGONE_TEST_SEED`, to see again what was seen before; otherwise a new one.
fn seed() -> u64 {
    let given = std::env::var("BYGONE_TEST_SEED").ok();
    given.map_or_else(|| RandomState::new().hash_one("seed"), |text| text.parse().expect("a number"))
}

async fn scene(engine: Engine, by_slices: bool, family: bool) -> World {
    let time = match engine {
        Engine::Sqlite => "TEXT",
        Engine::Postgres => "timestamptz",
        Engine::MySql => "DATETIME(6)",
    };
    let audit = match engine {
        Engine::Sqlite => {
            "CREATE TRIGGER audits AFTER DELETE ON items BEGIN \
             INSERT INTO audit VALUES (OLD.id, OLD.deadline, OLD.remover); END"
        }
        Engine::Postgres => {
            "CREATE FUNCTION audits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO audit VALUES (OLD.id, OLD.deadline, OLD.remover); RETURN OLD; END $$; \
             CREATE TRIGGER audits AFTER DELETE ON items FOR EACH ROW EXECUTE FUNCTION audits()"
        }
        Engine::MySql => {
            "CREATE TRIGGER audits AFTER DELETE ON items FOR EACH ROW \
             INSERT INTO audit VALUES (OLD.id, OLD.deadline, OLD.remover)"
        }
    };
    let world = World::fresh(engine).await;
    let mut client = world.client().await;
    if engine == Engine::Sqlite {
        client.rows("PRAGMA journal_mode = wal").await;
    }
    // A writer that removes its own row puts its name in first.
    client
        .run(&format!(
            "CREATE TABLE items (id BIGINT PRIMARY KEY, deadline {time} NULL, \
             remover VARCHAR(10) NOT NULL DEFAULT 'sweeper'); \
             CREATE TABLE audit (id BIGINT, deadline {time} NULL, remover VARCHAR(10))"
        ))
        .await;
    client.run(audit).await;
    if family {
        family::make(&mut client, engine).await;
    }
    if by_slices {
        client.run("CREATE INDEX by_deadline ON items (deadline)").await;
        fill_with_ballast(&mut client, engine).await;
    }
    world
}

async fn fill_with_ballast(client: &mut Client, engine: Engine) {
    let deadline = literal(engine, Some(cutoff() + SignedDuration::from_hours(24 * 365)));
    for from in (BALLAST_FROM..BALLAST_FROM + BALLAST_ROWS).step_by(1_000) {
        let values: Vec<String> = (from..from + 1_000).map(|id| format!("({id}, {deadline})")).collect();
        client.run(&format!("INSERT INTO items (id, deadline) VALUES {}", values.join(", "))).await;
    }
    client.rows(if engine == Engine::MySql { "ANALYZE TABLE items" } else { "ANALYZE items" }).await;
}

async fn assert_walks(world: &World, walk: Walk, family: bool) {
    let mut target = world.bind(&by_deadline(family)).await.unwrap();
    let survey = target.survey(boundary()).await.unwrap();
    let plan = target.plan(boundary(), survey.bygone).unwrap();
    assert_eq!(plan.walk, walk, "{plan:?}");
}

/// Sweeps again and again, in pages of changing size, until the writers are done.
async fn sweeper(world: Arc<World>, walk: Walk, family: bool, seed: u64, done: Arc<AtomicBool>) -> (Tally, u64) {
    let mut chance = StdRng::seed_from_u64(seed);
    let source = world.source().await;
    let (mut all, mut sweeps) = (Tally::default(), 0);
    while !done.load(Ordering::SeqCst) {
        // A walk across the whole table in steps of one row would be the only one that a sweeper finishes.
        let least = if walk == Walk::Slices { 1 } else { 20 };
        let page_items_max = *[least, 20, 80, 2_000].choose(&mut chance).unwrap();
        let target = RowTarget::bind(&source, &by_deadline(family)).await.unwrap();
        let report = checked(sweep(target, Budget { page_items_max, ..Budget::default() }).await);
        all.add(&report.tally);
        sweeps += 1;
    }
    (all, sweeps)
}

fn checked(report: PolicyReport) -> PolicyReport {
    assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");
    report
}

/// What the writers know must be there, and what they did.
async fn write(world: &Arc<World>, seed: u64) -> (BTreeMap<u64, Option<Timestamp>>, Done) {
    let mut tasks = Vec::new();
    for number in 0..WRITERS {
        let writer = Writer::new(Arc::clone(world), number, StdRng::seed_from_u64(seed + number)).await;
        tasks.push(tokio::spawn(writer.run(OPERATIONS_PER_WRITER)));
    }
    let (mut alive, mut done) = (BTreeMap::new(), Done::default());
    for task in tasks {
        let (rows, did) = task.await.expect("a writer");
        alive.extend(rows);
        done.add(&did);
    }
    (alive, done)
}

async fn rows(world: &World, table: &str, and: &str) -> Vec<(u64, Option<Timestamp>)> {
    let sql = format!("SELECT id, {} FROM {table} WHERE {and}", readable(world.engine(), "deadline"));
    let row = |row: Vec<Option<String>>| {
        (row[0].as_ref().unwrap().parse().unwrap(), row[1].as_ref().map(|text| text.parse().unwrap()))
    };
    world.client().await.rows(&sql).await.into_iter().map(row).collect()
}

async fn under_fire(engine: Engine, walk: Walk, family: bool) {
    let seed = seed();
    eprintln!("BYGONE_TEST_SEED={seed}");
    let world = Arc::new(scene(engine, walk == Walk::Slices, family).await);
    assert_walks(&world, walk, family).await;
    let done = Arc::new(AtomicBool::new(false));
    let sweepers: Vec<_> = (0..SWEEPERS)
        .map(|n| tokio::spawn(sweeper(Arc::clone(&world), walk, family, seed ^ (n + 1), Arc::clone(&done))))
        .collect();
    let (alive, did) = write(&world, seed).await;
    done.store(true, Ordering::SeqCst);
    let (mut swept, mut sweeps) = (Tally::default(), 0);
    for sweeper in sweepers {
        let (tally, count) = sweeper.await.expect("a sweeper");
        swept.add(&tally);
        sweeps += count;
    }

    // What should live, by a plain look at the table.
    assert_walks(&world, walk, family).await;
    let cut = literal(engine, Some(cutoff()));
    let own =
        format!("id < {BALLAST_FROM} AND ({} OR deadline IS NULL OR deadline >= {cut})", family::unpinned(family));
    let living = format!("{own} AND (deadline IS NULL OR deadline >= {cut})");
    let expected: BTreeMap<_, _> = rows(&world, "items", &living).await.into_iter().collect();
    let last = checked(world.sweep(&by_deadline(family)).await);
    swept.add(&last.tally);
    let left: BTreeMap<_, _> = rows(&world, "items", &own).await.into_iter().collect();
    assert_eq!(left, expected, "the last sweep leaves exactly what should live");
    assert_eq!(left, alive, "every row that its writer left alive is there, as its writer left it");

    let gone = rows(&world, "audit", "remover = 'sweeper'").await;
    for (id, deadline) in &gone {
        assert!(deadline.is_some_and(|deadline| deadline < cutoff()), "row {id} went early: {deadline:?}");
    }
    assert_eq!(gone.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), gone.len(), "each row goes once");
    assert_eq!(gone.len() as u64, swept.removed, "the reports claim what went, no more and no less");
    if family {
        family::check(&world, &gone, &swept).await;
    }
    eprintln!("{did:?}; {sweeps} sweeps: {swept:?}");
    assert!(did.committed() > 1_500 && gone.len() > 20 && sweeps >= SWEEPERS, "not much of a fire");
}

macro_rules! fires {
    ($($test:ident: $engine:ident, $walk:ident, $family:literal;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                under_fire(Engine::$engine, Walk::$walk, $family).await;
            }
        )*
    };
}

fires! {
    sqlite_by_slices: Sqlite, Slices, false;
    sqlite_by_key: Sqlite, Key, false;
    postgres_by_slices: Postgres, Slices, false;
    postgres_by_blocks: Postgres, Heap, false;
    mariadb_by_slices: MySql, Slices, false;
    mariadb_by_key: MySql, Key, false;
    sqlite_families: Sqlite, Slices, true;
    postgres_families: Postgres, Slices, true;
    postgres_families_by_blocks: Postgres, Heap, true;
    mariadb_families: MySql, Slices, true;
}
