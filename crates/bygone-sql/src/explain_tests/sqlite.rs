//! SQLite's own plans, with and without statistics.

use bygone_testkit::Sqlite;

use super::{BOUNDARY_S, ROWS, Stage, seconds, short};
use crate::policy::Deadline;
use crate::query::Query;
use crate::walk::Walk;

fn fill(values: &str) -> String {
    format!(
        "WITH RECURSIVE rows(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM rows WHERE n < {ROWS} - 1) \
         INSERT INTO items SELECT {} FROM rows",
        values.replace("SECONDS", &format!("{BOUNDARY_S} - 20000 + n"))
    )
}

/// Sets the stage and checks each of its statements, before and after ANALYZE.
async fn check(walk: Walk, create: &str, values: &str, deadline: Deadline, along: &str, by_key: &str) {
    for last in ["SELECT 1", "ANALYZE"] {
        let file = Sqlite::fresh();
        file.connect().execute_batch(create).unwrap();
        let stage = Stage::set(&file.url(), &[&fill(values), last], deadline.clone()).await;
        stage.walks(walk);
        for (statement, expected) in stage.statements(along, by_key).await {
            assert_led(&stage, &statement, expected).await;
        }
    }
}

async fn assert_led(stage: &Stage, statement: &Query, search: &str) {
    let plan = stage.explain(statement).await;
    let expected = search.split('*').all(|part| plan.contains(part));
    assert!(expected, "not `{search}` but\n{plan}\nfor {}", short(statement.text()));
    assert!(!plan.contains("SCAN items") && !plan.contains("TEMP B-TREE"), "{plan}\nfor {}", short(statement.text()));
}

const BY_ROWID: &str = "SEARCH items USING INTEGER PRIMARY KEY (rowid=?)";

#[tokio::test(flavor = "multi_thread")]
async fn slices_go_by_the_index_of_the_deadline() {
    let search = "SEARCH items USING * by_deadline (deadline";
    let text = "n, strftime('%Y-%m-%d %H:%M:%S', SECONDS, 'unixepoch'), 'filler'";
    let create = "CREATE TABLE items (id INTEGER PRIMARY KEY, deadline TEXT, filler TEXT); \
                  CREATE INDEX by_deadline ON items (deadline)";
    check(Walk::Slices, create, text, Deadline::column("deadline"), search, BY_ROWID).await;
    let create = &create.replace("deadline TEXT", "deadline INTEGER");
    check(Walk::Slices, create, "n, SECONDS, 'filler'", seconds(), search, BY_ROWID).await;
    let create = "CREATE TABLE items (id TEXT PRIMARY KEY, deadline INTEGER) WITHOUT ROWID; \
                  CREATE INDEX by_deadline ON items (deadline)";
    let by_key = "SEARCH items USING PRIMARY KEY (id=?)";
    check(Walk::Slices, create, "printf('%06d', n), SECONDS", seconds(), search, by_key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scattered_table_goes_by_its_rowid() {
    let create = "CREATE TABLE items (id TEXT, deadline INTEGER, filler TEXT); \
                  CREATE INDEX by_deadline ON items (deadline)";
    let values = "n, BOUNDARY - 20000 + (n * 7919) % 50000, 'filler'".replace("BOUNDARY", &BOUNDARY_S.to_string());
    let search = "SEARCH items USING INTEGER PRIMARY KEY (rowid";
    check(Walk::Key, create, &values, seconds(), search, BY_ROWID).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_index_it_goes_by_the_key() {
    let create = "CREATE TABLE items (id TEXT, deadline INTEGER, filler TEXT)";
    let search = "SEARCH items USING INTEGER PRIMARY KEY (rowid";
    check(Walk::Key, create, "n, SECONDS, 'filler'", seconds(), search, BY_ROWID).await;
    let create = "CREATE TABLE items (part INTEGER, id TEXT, deadline INTEGER, PRIMARY KEY (part, id)) WITHOUT ROWID";
    let search = "SEARCH items USING PRIMARY KEY (part";
    let by_key = "SEARCH items USING PRIMARY KEY (part=? AND id=?)";
    check(Walk::Key, create, "n / 100, printf('%06d', n), SECONDS", seconds(), search, by_key).await;
}

/// SQLite takes an equality for better than a range, and would read the whole of that index for every page.
#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_the_condition_does_not_get_in_the_way() {
    let file = Sqlite::fresh();
    let create = "CREATE TABLE items (id INTEGER PRIMARY KEY, deadline INTEGER, kind TEXT); \
                  CREATE INDEX by_deadline ON items (deadline); CREATE INDEX by_kind ON items (kind)";
    file.connect().execute_batch(create).unwrap();
    let rows = fill("n, SECONDS, 'kind ' || (n % 2)");
    let stage = Stage::set_with(&file.url(), &[&rows], seconds(), Some("kind = 'kind 1'")).await;
    stage.walks(Walk::Slices);
    for (statement, expected) in stage.statements("SEARCH items USING * by_deadline (deadline", BY_ROWID).await {
        assert_led(&stage, &statement, expected).await;
    }
}
