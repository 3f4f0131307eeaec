//! `clear` and `set`: rows stay and change, once.

use bygone_core::Outcome;
use bygone_sql::{Action, Assignment, Deadline, Engine, NewValue, RowPolicy};

use super::time;
use crate::world::{World, on_each_engine, policy};

/// Visits 1 and 2 are bygone, 3 stands on the boundary; 2 has nothing left to clear.
async fn visits(engine: Engine) -> World {
    let time = time(engine);
    let script = format!(
        "CREATE TABLE visits (id INT NOT NULL PRIMARY KEY, seen {time} NOT NULL, address VARCHAR(20) NULL, \
         closed {time} NULL, state VARCHAR(9) NOT NULL, rank INT NULL); \
         INSERT INTO visits VALUES (1, '2026-11-01 00:00:00', '10.0.0.1', NULL, 'open', 3), \
         (2, '2026-11-01 00:00:00', NULL, '2026-11-02 00:00:00', 'shut', NULL), \
         (3, '2026-11-15 12:00:00', '10.0.0.3', NULL, 'open', 3)"
    );
    World::with(engine, &script.replace("rank", "place")).await
}

fn becomes(columns: &[(&str, NewValue)]) -> RowPolicy {
    let assignment = |(column, value): &(&str, NewValue)| Assignment { column: (*column).into(), value: value.clone() };
    let action = Action::Update(columns.iter().map(assignment).collect());
    RowPolicy { action, ..policy("visits", Deadline::column("seen")) }
}

on_each_engine!(
    a_column_is_cleared_once,
    a_time_is_set_to_the_boundary_and_never_moved,
    literals_are_set_where_they_differ,
    what_cannot_be_set_is_refused,
);

async fn a_column_is_cleared_once(engine: Engine) {
    let world = visits(engine).await;
    let policy = becomes(&[("address", NewValue::Null)]);
    let report = world.sweep(&policy).await;
    assert_eq!((report.outcome, report.tally.cleared, report.tally.removed), (Outcome::Complete, 1, 0), "{report:?}");
    assert_eq!(report.tally.examined, 1, "{report:?}");
    let rows = world.client().await.rows("SELECT id, address FROM visits ORDER BY id").await;
    assert_eq!(rows[0][1], None);
    assert_eq!(rows[2][1].as_deref(), Some("10.0.0.3"), "on the boundary is not past it");
    assert_eq!(world.sweep(&policy).await.tally.examined, 0, "what is cleared is not touched again");
}

async fn a_time_is_set_to_the_boundary_and_never_moved(engine: Engine) {
    let world = visits(engine).await;
    let policy = becomes(&[("address", NewValue::Null), ("closed", NewValue::Now)]);
    let policy = RowPolicy { keep: jiff::SignedDuration::from_hours(24), ..policy };
    assert_eq!(world.sweep(&policy).await.tally.cleared, 1);
    let closed = match engine {
        Engine::Postgres => "to_char(closed AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')",
        Engine::MySql => "DATE_FORMAT(closed, '%Y-%m-%d %H:%i:%s')",
        Engine::Sqlite => "closed",
    };
    let closed = format!("SELECT coalesce({closed}, 'open') FROM visits ORDER BY id");
    let mut client = world.client().await;
    assert_eq!(client.texts(&closed).await, ["2026-11-15 12:00:00", "2026-11-02 00:00:00", "open"]);
    client.run("UPDATE visits SET address = 'again' WHERE id = 2").await;
    assert_eq!(world.sweep(&policy).await.tally.cleared, 1, "only the address of the second");
    assert_eq!(client.texts(&closed).await, ["2026-11-15 12:00:00", "2026-11-02 00:00:00", "open"]);
}

async fn literals_are_set_where_they_differ(engine: Engine) {
    let world = visits(engine).await;
    let policy = becomes(&[("state", NewValue::Text("it's".into())), ("place", NewValue::Int(7))]);
    assert_eq!(world.sweep(&policy).await.tally.cleared, 2);
    let mut client = world.client().await;
    assert_eq!(client.texts("SELECT state FROM visits ORDER BY id").await, ["it's", "it's", "open"]);
    assert_eq!(client.texts("SELECT place FROM visits ORDER BY id").await, ["7", "7", "3"]);
    assert_eq!(world.sweep(&policy).await.tally.cleared, 0);
}

async fn what_cannot_be_set_is_refused(engine: Engine) {
    let world = visits(engine).await;
    for (column, value, key) in [
        ("state", NewValue::Null, "clear"),
        ("nobody", NewValue::Null, "clear"),
        ("place", NewValue::Now, "set"),
        ("nobody", NewValue::Int(1), "set"),
        ("nobody", NewValue::Now, "set"),
    ] {
        let Err(error) = world.bind(&becomes(&[(column, value)])).await else { panic!("{column}") };
        assert_eq!(error.key(), Some(key), "{error:?}");
        let is_misspelt = column == "nobody";
        assert_eq!(error.help().is_some_and(|help| help.contains("its columns are")), is_misspelt, "{error:?}");
    }
}
