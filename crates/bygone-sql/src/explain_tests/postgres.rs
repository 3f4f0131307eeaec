//! PostgreSQL's plans, also of a statement that was run a hundred times.

use bygone_core::{Boundary, Target};
use bygone_testkit::Postgres;

use super::{BOUNDARY_S, Middle, ROWS, Stage, cutoff, seconds, short};
use crate::engine::Engine;
use crate::policy::{ColumnRef, Deadline, Format, RowPolicy};
use crate::query::Query;
use crate::target::RowTarget;
use crate::value::Value;
use crate::walk::{Position, Upper, Walk};

async fn set(create: &str, values: &str, deadline: Deadline) -> Stage {
    let database = Postgres::shared().await.fresh_database().await;
    let values = values
        .replace("TIME", &format!("to_timestamp({BOUNDARY_S} - 20000 + n)"))
        .replace("SECONDS", &format!("{BOUNDARY_S} - 20000 + n"));
    let fill = format!("INSERT INTO items SELECT {values} FROM generate_series(0, {}) AS n", ROWS - 1);
    Stage::set(&database.url(), &[create, &fill, "ANALYZE items"], deadline).await
}

/// Checks each statement of a page.
async fn check(walk: Walk, create: &str, values: &str, deadline: Deadline, along: &str, by_key: &str) {
    let stage = set(create, values, deadline).await;
    stage.walks(walk);
    for (statement, expected) in stage.statements(along, by_key).await {
        assert_led(&stage.explain(&statement).await, &statement, expected);
    }
}

/// Backwards, without the table itself, or by way of a bitmap, it is still the same scan.
const SAME_SCAN: [(&str, &str); 3] = [
    ("Scan Backward", "Scan"),
    ("Index Only Scan", "Index Scan"),
    ("Bitmap Index Scan on items_pkey", "Index Scan using items_pkey on items"),
];

/// `expected` is the scan and the columns of its condition: `Index Scan using i: a, b`.
fn assert_led(plan: &str, statement: &Query, expected: &str) {
    let (scan, columns) = expected.split_once(": ").unwrap();
    let complaint = format!("not `{expected}` but\n{}\nfor {}", short(plan), short(statement.text()));
    let same = SAME_SCAN.iter().fold(plan.to_owned(), |plan, (other, scan)| plan.replace(other, scan));
    assert!(same.contains(scan), "{complaint}");
    assert!(!plan.contains("Seq Scan"), "{complaint}");
    let conditions: Vec<&str> = plan.lines().filter(|l| l.contains("Index Cond") || l.contains("TID Cond")).collect();
    assert!(!conditions.is_empty(), "{complaint}");
    for condition in conditions {
        assert!(columns.split(", ").all(|column| condition.contains(column)), "{complaint}");
        // Both ends stand in the condition, or the scan would go on to the end of the index, if no limit ends it.
        let both = condition.contains('>') && condition.contains('<');
        let limited = statement.text().contains("LIMIT 1 OFFSET");
        assert!(both || limited || condition.contains(" = "), "{complaint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_go_by_the_index_of_the_deadline() {
    let create = "CREATE TABLE items (id bigint PRIMARY KEY, deadline timestamptz, filler text); \
                  CREATE INDEX by_deadline ON items (deadline)";
    let (along, by_key) =
        ("Index Scan using by_deadline on items: deadline", "Index Scan using items_pkey on items: id");
    let native = || Deadline::column("deadline");
    check(Walk::Slices, create, "n, TIME, 'filler'", native(), along, by_key).await;
    let partial = &format!("{create} WHERE deadline IS NOT NULL");
    check(Walk::Slices, partial, "n, TIME, 'filler'", native(), along, by_key).await;
    let composite = &create.replace("(deadline)", "(deadline DESC, id)");
    check(Walk::Slices, composite, "n, TIME, 'filler'", native(), along, by_key).await;
    for (sql_type, deadline) in [("integer", seconds()), ("bigint", seconds()), ("numeric", seconds())] {
        let create = &create.replace("timestamptz", sql_type);
        check(Walk::Slices, create, "n, SECONDS, 'filler'", deadline, along, by_key).await;
    }
    let create = &create.replace("timestamptz", "timestamp");
    check(Walk::Slices, create, "n, TIME", native(), along, by_key).await;
}

/// To sort rows of one value for each page would be to read all of them for each page.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_one_value_are_taken_without_a_sort() {
    let create =
        "CREATE TABLE items (id bigint PRIMARY KEY, deadline date); CREATE INDEX by_deadline ON items (deadline)";
    let values = format!("n, to_timestamp({BOUNDARY_S} + (n / 10000 - 20) * 86400)");
    let stage = set(create, &values, Deadline::column("deadline")).await;
    let statement = stage.some_of(&Value::from("2026-11-01"));
    let plan = stage.explain(&statement).await;
    for part in ["Index Scan using by_deadline", "Index Cond: ((deadline", "Tid Scan on items"] {
        assert!(plan.contains(part), "{part} in {}", short(&plan));
    }
    assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{}", short(&plan));
}

/// Identifiers are their own deadline: the primary key leads.
#[tokio::test(flavor = "multi_thread")]
async fn identifiers_go_by_their_index() {
    let hex = format!(
        "lpad(to_hex(({BOUNDARY_S} - 20000 + n)::bigint * 1000), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0')"
    );
    let along = "Index Scan using items_pkey on items: id";
    let uuid7 = || Deadline::in_format("id", Format::Uuid7);
    for (sql_type, value) in [
        ("uuid", format!("({hex})::uuid")),
        ("text", format!("({hex})::uuid::text")),
        ("char(36)", format!("({hex})::uuid::text")),
        ("bytea", format!("decode({hex}, 'hex')")),
    ] {
        let create = format!("CREATE TABLE items (id {sql_type} PRIMARY KEY, filler text)");
        check(Walk::Slices, &create, &format!("{value}, 'filler'"), uuid7(), along, along).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scattered_table_goes_by_blocks() {
    let create = "CREATE TABLE items (id uuid PRIMARY KEY, deadline timestamptz, filler text); \
                  CREATE INDEX by_deadline ON items (deadline)";
    let values = "gen_random_uuid(), to_timestamp(BOUNDARY - 20000 + (n * 7919) % 50000), 'filler'"
        .replace("BOUNDARY", &BOUNDARY_S.to_string());
    let along = "Tid Range Scan on items: ctid";
    let native = || Deadline::column("deadline");
    check(Walk::Heap, create, &values, native(), along, "Index Scan using items_pkey on items: id").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_index_it_goes_by_blocks() {
    let along = "Tid Range Scan on items: ctid";
    let native = || Deadline::column("deadline");
    let create = "CREATE TABLE items (id bigint, deadline timestamptz, filler text)";
    check(Walk::Heap, create, "n, TIME, 'filler'", native(), along, "Tid Scan on items: ctid").await;
    let create = "CREATE TABLE items (part int, id text, deadline timestamptz, PRIMARY KEY (part, id))";
    let by_key = "Index Scan using items_pkey on items: part, id";
    check(Walk::Heap, create, "n / 100, n, TIME", native(), along, by_key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_go_by_their_key() {
    let create = "CREATE TABLE items (id bigint, deadline timestamptz, filler text, PRIMARY KEY (id)) PARTITION BY HASH (id); \
                  CREATE TABLE items_0 PARTITION OF items FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
                  CREATE TABLE items_1 PARTITION OF items FOR VALUES WITH (MODULUS 2, REMAINDER 1)";
    let along = "Index Scan using items_0_pkey on items_0: id";
    let stage = set(create, "n, TIME, 'filler'", Deadline::column("deadline")).await;
    stage.walks(Walk::Key);
    for statement in stage.along().await {
        // One value lies in one partition.
        let plan = stage.explain(&statement).await.replace("items_1", "items_0");
        assert_led(&plan, &statement, along);
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Int(n) => n.to_string(),
        Value::Instant(us) => format!("'epoch'::timestamptz + {us} * interval '1 microsecond'"),
        Value::Local(us) => format!("'epoch'::timestamp + {us} * interval '1 microsecond'"),
        other => panic!("no value of this table is {other:?}"),
    }
}

/// How the driver's own prepared statement of this text is run by now.
async fn explain_prepared(stage: &Stage, statement: &Query) -> String {
    let known = "SELECT name, generic_plans::int8, custom_plans::int8 FROM pg_prepared_statements WHERE statement = ";
    let known = Query::new(Engine::Postgres, known).bind(Value::from(statement.text()), Some("text"));
    let rows = stage.query(&known).await;
    let [row] = &rows[..] else { panic!("not prepared once: {}", statement.text()) };
    assert!(row[1].int().unwrap() + row[2].int().unwrap() >= 100, "{row:?}: {}", statement.text());
    let values: Vec<String> = statement.values().iter().map(literal).collect();
    let execute = format!("EXECUTE {}({})", row[0].text().unwrap(), values.join(", "));
    stage.explain(&Query::new(Engine::Postgres, execute)).await
}

/// Runs each statement of a page a hundred times through the driver, which keeps it prepared, and undoes it.
async fn run_a_hundred_times(stage: &Stage, statements: Vec<Query>, mode: &str) -> Vec<(Query, String)> {
    stage.run(&format!("SET plan_cache_mode = {mode}")).await;
    let mut explained = Vec::new();
    for statement in statements {
        for _ in 0..100 {
            stage.run("BEGIN").await;
            stage.query(&statement).await;
            stage.run("ROLLBACK").await;
        }
        let plan = explain_prepared(stage, &statement).await;
        explained.push((statement, plan));
    }
    explained
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hundredth_time_is_as_the_first() {
    let indexed = "CREATE TABLE items (id bigint PRIMARY KEY, deadline timestamptz, filler text); \
                   CREATE INDEX by_deadline ON items (deadline)";
    let bare = "CREATE TABLE items (id bigint PRIMARY KEY, deadline timestamptz, filler text)";
    for (create, expected) in
        [(indexed, "Index Scan using by_deadline on items: deadline"), (bare, "Tid Range Scan on items: ctid")]
    {
        // With the values; as PostgreSQL chooses by itself, which is how the session is set; and without the values.
        for mode in ["force_custom_plan", "auto", "force_generic_plan"] {
            let stage = set(create, "n, TIME, 'filler'", Deadline::column("deadline")).await;
            for (statement, plan) in run_a_hundred_times(&stage, stage.along().await, mode).await {
                assert_led(&plan, &statement, expected);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn families_go_by_their_indexes_the_hundredth_time_too() {
    let create = "CREATE TABLE items (id bigint PRIMARY KEY, deadline timestamptz, filler text); \
                  CREATE INDEX by_deadline ON items (deadline); \
                  CREATE TABLE parts (item bigint REFERENCES items); CREATE INDEX parts_item ON parts (item); \
                  CREATE TABLE pins (item bigint REFERENCES items); CREATE INDEX pins_item ON pins (item)";
    let parts =
        "INSERT INTO parts SELECT id FROM items; INSERT INTO pins SELECT id FROM items WHERE id % 7 = 0; ANALYZE";
    for mode in ["auto", "force_generic_plan"] {
        let mut stage = set(create, "n, TIME, 'filler'", Deadline::column("deadline")).await;
        stage.run(parts).await;
        let policy = RowPolicy {
            with: vec![vec![ColumnRef::new("parts", "item")]],
            unless_referenced_by: vec![ColumnRef::new("pins", "item")],
            ..RowPolicy::new("policy", "items", Deadline::column("deadline"))
        };
        let mut target = RowTarget::bind(&stage.source, &policy).await.unwrap();
        target.survey(Boundary::at(cutoff())).await.unwrap();
        stage.target = target;
        let Middle { from, to, .. } = stage.middle().await;
        let (binding, axis) = (&stage.target.binding, &stage.choice().axis);
        let (from, to) = (Position::From(from), Upper::Below(to));
        let lock = binding.lock_range(axis, &from, &to, cutoff());
        let remove = binding.remove_families(axis, &from, &to, cutoff());
        let explained = run_a_hundred_times(&stage, vec![lock, remove], mode).await;
        for ((statement, plan), indexes) in explained.iter().zip([1, 3]) {
            assert!(!plan.contains("Seq Scan"), "{}\n{}", statement.text(), short(plan));
            for index in &["by_deadline", "parts_item", "pins_item"][..indexes] {
                assert!(plan.contains(index), "{mode}: {index} is not in\n{}", short(plan));
            }
        }
    }
}
