//! MariaDB's plans.

use bygone_testkit::MariaDb;

use super::{BOUNDARY_S, ROWS, Stage, cutoff, seconds, short, shown};
use crate::policy::Deadline;
use crate::query::Query;
use crate::value::Value;
use crate::walk::{Position, Upper, Walk};

async fn set(create: &str, values: &str, deadline: Deadline) -> Stage {
    let database = MariaDb::shared().await.fresh_database().await;
    let values = values
        .replace("TIME", &format!("FROM_UNIXTIME({BOUNDARY_S} - 20000 + seq)"))
        .replace("SECONDS", &format!("{BOUNDARY_S} - 20000 + seq"));
    let fill = format!("INSERT INTO items SELECT {values} FROM seq_0_to_{}", ROWS - 1);
    Stage::set(&database.url(), &[create, &fill, "ANALYZE TABLE items"], deadline).await
}

/// Sets the stage and checks each of its statements; each may read a few pages' worth of rows and no more.
async fn check(walk: Walk, create: &str, values: &str, deadline: Deadline, along: &str, by_key: &str) {
    let stage = set(create, values, deadline).await;
    stage.walks(walk);
    for (statement, expected) in stage.statements(along, by_key).await {
        assert_led(&stage, &statement, expected).await;
    }
}

/// The columns of EXPLAIN: id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra.
async fn assert_led(stage: &Stage, statement: &Query, index: &str) {
    let rows = stage.query(&statement.explained()).await;
    let [row] = &rows[..] else { panic!("one step for {}", statement.text()) };
    let plan = stage.explain(statement).await;
    let text = |at: usize| row[at].text().unwrap_or_default();
    assert!(["range", "ref", "const", "eq_ref"].contains(&text(3)), "{plan}\nfor {}", short(statement.text()));
    assert_eq!(text(5), index, "{plan}\nfor {}", short(statement.text()));
    // An estimate: of a page that is bounded by a limit it counts on to the end of the index.
    let reads: u32 = shown(&row[8]).parse().unwrap();
    let bounded = statement.text().contains("LIMIT 1 OFFSET");
    assert!(reads <= if bounded { ROWS } else { 1_000 }, "{plan}\nfor {}", short(statement.text()));
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_go_by_the_index_of_the_deadline() {
    let create = "CREATE TABLE items (id BIGINT UNSIGNED PRIMARY KEY, deadline DATETIME(6) NOT NULL, filler TEXT, \
                  INDEX by_deadline (deadline))";
    let native = || Deadline::column("deadline");
    check(Walk::Slices, create, "seq, TIME, 'filler'", native(), "by_deadline", "PRIMARY").await;
    let create = &create.replace("DATETIME(6) NOT NULL", "TIMESTAMP(6) NULL");
    check(Walk::Slices, create, "seq, TIME, 'filler'", native(), "by_deadline", "PRIMARY").await;
    let create = "CREATE TABLE items (part INT, id BINARY(16), deadline INT UNSIGNED, PRIMARY KEY (part, id), \
                  INDEX by_deadline (deadline))";
    let values = "seq DIV 100, UNHEX(MD5(seq)), SECONDS";
    check(Walk::Slices, create, values, seconds(), "by_deadline", "PRIMARY").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scattered_table_goes_by_its_key() {
    let create = "CREATE TABLE items (id BINARY(16) PRIMARY KEY, deadline DATETIME(6), filler TEXT, \
                  INDEX by_deadline (deadline))";
    let native = Deadline::column("deadline");
    check(Walk::Key, create, "UNHEX(MD5(seq)), TIME, 'filler'", native, "PRIMARY", "PRIMARY").await;
}

/// Few are left that are due: by its own choice MariaDB would go to all of them for every page.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_page_goes_by_its_key_all_the_same() {
    let create = "CREATE TABLE items (id BINARY(16) PRIMARY KEY, deadline DATETIME(6), filler TEXT, \
                  INDEX by_deadline (deadline))";
    let stage = set(create, "UNHEX(MD5(seq)), TIME, 'filler'", Deadline::column("deadline")).await;
    stage.walks(Walk::Key);
    let page = |first: u8, last: u8| {
        let (from, to) = (Value::Blob(vec![first; 16]), Upper::Below(Value::Blob(vec![last; 16])));
        let cutoff = cutoff() - jiff::SignedDuration::from_secs(19_000);
        stage.target.binding.remove_range(&stage.choice().axis, &Position::From(from), &to, cutoff)
    };
    let plan = stage.explain(&page(0x10, 0xe0)).await;
    assert!(plan.contains("| range | PRIMARY | PRIMARY |"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_index_it_goes_by_the_key() {
    let create = "CREATE TABLE items (id INT PRIMARY KEY, deadline DATETIME(6), filler TEXT)";
    let native = || Deadline::column("deadline");
    check(Walk::Key, create, "seq, TIME, 'filler'", native(), "PRIMARY", "PRIMARY").await;
    let create = "CREATE TABLE items (part VARCHAR(20), id INT, deadline DATETIME(6), UNIQUE INDEX pair (part, id))"
        .replace("),", ") NOT NULL,")
        .replace("INT,", "INT NOT NULL,");
    let values = "LPAD(seq DIV 100, 4, '0'), seq, TIME";
    check(Walk::Key, &create, values, native(), "pair", "pair").await;
}
