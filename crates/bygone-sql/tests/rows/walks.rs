//! The choice of the walk, by what the database knows of the table, and what the plan says of it.

use bygone_core::{Budget, Care, Outcome, PageRequest, Target};
use bygone_sql::{Deadline, Engine, RowPlan, RowPolicy, Walk};

use crate::world::{World, boundary, on_each_engine, policy, sweep};

/// A table of 20,000 rows, of which this share is due, in the order of time or scattered.
struct Rows {
    due: u32,
    scattered: bool,
    index: &'static str,
}

const INDEX: &str = "CREATE INDEX by_deadline ON items (deadline)";
const NO_INDEX: &str = "SELECT 1";

async fn table(engine: Engine, rows: &Rows) -> World {
    let (place, numbers, analyze) = match engine {
        Engine::Sqlite => (
            "n",
            "(WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 19999) SELECT n FROM r)",
            "ANALYZE",
        ),
        Engine::Postgres => ("n", "generate_series(0, 19999) AS n", "ANALYZE items"),
        Engine::MySql => ("seq", "seq_0_to_19999", "ANALYZE TABLE items"),
    };
    // 7919 is a prime: its multiples visit every place once, far from their neighbours.
    let age = if rows.scattered { format!("({place} * 7919) % 20000") } else { place.to_owned() };
    let seconds = format!("1794744000 - 60 * {} + 60 * ({age})", rows.due);
    let deadline = match engine {
        Engine::Sqlite => format!("strftime('%Y-%m-%d %H:%M:%S', {seconds}, 'unixepoch')"),
        Engine::Postgres => format!("to_timestamp({seconds})"),
        Engine::MySql => format!("FROM_UNIXTIME({seconds})"),
    };
    let time = if engine == Engine::Postgres { "timestamptz" } else { "DATETIME" };
    let create = format!("CREATE TABLE items (id INT PRIMARY KEY, deadline {time} NULL, filler VARCHAR(200))");
    let world = World::with(engine, &create).await;
    let mut client = world.client().await;
    client.run(&format!("INSERT INTO items SELECT {place}, {deadline}, '{}' FROM {numbers}", "x".repeat(100))).await;
    client.rows(rows.index).await;
    client.rows(analyze).await;
    world
}

async fn plan(world: &World, policy: &RowPolicy) -> RowPlan {
    let mut target = world.bind(policy).await.unwrap();
    let survey = target.survey(boundary()).await.unwrap();
    target.plan(boundary(), survey.bygone).unwrap()
}

/// The plan of a table, which is then swept in that way.
async fn swept(engine: Engine, rows: Rows) -> RowPlan {
    let world = table(engine, &rows).await;
    let by_deadline = policy("items", Deadline::column("deadline"));
    let plan = plan(&world, &by_deadline).await;
    let report = sweep(world.bind(&by_deadline).await.unwrap(), Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, rows.due.into()), "{report:?}");
    let left = world.client().await.number("SELECT count(*) FROM items").await;
    assert_eq!(left, i64::from(20_000 - rows.due));
    plan
}

/// The walk over a whole table, in the order in which it is stored.
fn across(engine: Engine) -> Walk {
    if engine == Engine::Postgres { Walk::Heap } else { Walk::Key }
}

on_each_engine!(
    rows_in_the_order_of_time_go_by_slices,
    few_scattered_rows_go_by_slices,
    many_scattered_rows_go_across_the_table,
    without_an_index_it_goes_across_the_table_and_says_so,
    an_index_that_does_not_serve_is_not_taken,
);

async fn rows_in_the_order_of_time_go_by_slices(engine: Engine) {
    for (due, why) in [(200, "1.0 % of the rows are due"), (8_000, "rows lie in order of deadline")] {
        let plan = swept(engine, Rows { due, scattered: false, index: INDEX }).await;
        assert_eq!((plan.walk, plan.index.as_deref()), (Walk::Slices, Some("by_deadline")), "{plan:?}");
        assert_eq!(plan.why, why);
    }
}

async fn few_scattered_rows_go_by_slices(engine: Engine) {
    let plan = swept(engine, Rows { due: 200, scattered: true, index: INDEX }).await;
    assert_eq!(plan.walk, Walk::Slices, "{plan:?}");
    assert_eq!(plan.why, "1.0 % of the rows are due");
}

async fn many_scattered_rows_go_across_the_table(engine: Engine) {
    let plan = swept(engine, Rows { due: 8_000, scattered: true, index: INDEX }).await;
    assert_eq!(plan.walk, across(engine), "{plan:?}");
    assert!(plan.why.ends_with("of the rows are due, scattered over the table"), "{plan:?}");
}

async fn without_an_index_it_goes_across_the_table_and_says_so(engine: Engine) {
    let plan = swept(engine, Rows { due: 200, scattered: false, index: NO_INDEX }).await;
    assert_eq!(plan.walk, across(engine), "{plan:?}");
    assert_eq!(plan.why, "no index serves deadline");
}

async fn an_index_that_does_not_serve_is_not_taken(engine: Engine) {
    // It leaves rows out, or the deadline is not its first column.
    let useless = match engine {
        Engine::Sqlite | Engine::Postgres => "CREATE INDEX partly ON items (deadline) WHERE filler = 'y'",
        Engine::MySql => "CREATE INDEX elsewhere ON items (id, deadline)",
    };
    let plan = swept(engine, Rows { due: 200, scattered: false, index: useless }).await;
    assert_eq!((plan.walk, plan.index.as_deref() == Some("partly")), (across(engine), false), "{plan:?}");
}

/// A partial index serves the policy whose condition it was made for.
#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_the_same_condition_serves() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let index = "CREATE INDEX partly ON items (deadline) WHERE filler <> 'pinned' AND id >= 0";
        let world = table(engine, &Rows { due: 2_000, scattered: false, index }).await;
        world.client().await.run("UPDATE items SET filler = 'pinned' WHERE id IN (3, 1999)").await;
        let filter = Some("filler <> 'pinned'   and ID >= 0".to_owned());
        let policy = RowPolicy { filter, ..policy("items", Deadline::column("deadline")) };
        let plan = plan(&world, &policy).await;
        // PostgreSQL keeps the condition in words of its own, which are not taken for the same.
        let expected = if engine == Engine::Sqlite { Walk::Slices } else { Walk::Heap };
        assert_eq!(plan.walk, expected, "{plan:?}");
        assert_eq!(world.sweep(&policy).await.tally.removed, 1_998);
        let left = world.client().await.texts("SELECT id FROM items WHERE id < 2000 ORDER BY id").await;
        assert_eq!(left, ["3", "1999"]);
    }
}

/// Columns that were added later take no room in the rows that were there before, so that a block holds more of them
/// than its columns would make one think.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_holds_for_rows_narrower_than_their_table() {
    let create = "CREATE TABLE items (id INT PRIMARY KEY, deadline timestamptz NOT NULL); \
                  INSERT INTO items SELECT n, '2020-01-01' FROM generate_series(1, 3000) AS n";
    let world = World::with(Engine::Postgres, create).await;
    let added: Vec<String> = (0..30).map(|n| format!("ADD COLUMN added_{n} bigint NOT NULL DEFAULT 0")).collect();
    world.client().await.run(&format!("ALTER TABLE items {}", added.join(", "))).await;
    let by_deadline = policy("items", Deadline::column("deadline"));
    assert_eq!(plan(&world, &by_deadline).await.walk, Walk::Heap);
    let report =
        sweep(world.bind(&by_deadline).await.unwrap(), Budget { items: Some(1_000), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.examined), (Outcome::BudgetItems, 1_000), "{report:?}");
    assert_eq!(world.client().await.number("SELECT count(*) FROM items").await, 2_000);
}

/// In a small table a database may find it quicker to read all of it, and then waits for rows that are none of its
/// business.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_waits_for_no_row_outside_of_it() {
    for engine in [Engine::Postgres, Engine::MySql] {
        for index in [INDEX, NO_INDEX] {
            let world = World::with(engine, "CREATE TABLE items (id INT PRIMARY KEY, deadline TIMESTAMP NULL)").await;
            let mut holder = world.client().await;
            for id in 0..60 {
                let insert = format!("INSERT INTO items VALUES ({id}, '2020-01-01 00:00:{id:02}')");
                holder.run(&insert).await;
            }
            holder.rows(index).await;
            holder.run("BEGIN").await;
            holder.rows("SELECT id FROM items WHERE id = 59 FOR UPDATE").await;
            let mut target = world.bind(&policy("items", Deadline::column("deadline"))).await.unwrap();
            let request = PageRequest { boundary: boundary(), cursor: None, limit: 10, care: Care::Swift };
            let page = target.page(request).await.unwrap();
            assert_eq!(page.tally.removed, 10, "{engine}, {index}: {page:?}");
        }
    }
}
