//! `unless_referenced_by`, `unless` and `only_if`: rows elsewhere that keep a row.

use bygone_core::{Budget, Outcome};
use bygone_sql::{ColumnRef, Deadline, Engine, RowCondition, RowPolicy};

use super::{ended_sessions, ids, sessions, time};
use crate::world::{World, on_each_engine, policy, sweep};

fn guarded() -> RowPolicy {
    RowPolicy { unless_referenced_by: vec![ColumnRef::new("tokens", "session")], ..ended_sessions() }
}

on_each_engine!(
    a_row_is_kept_while_something_points_at_it,
    a_guard_keeps_what_the_children_would_follow,
    guarded_rows_are_looked_at_once_each_in_bounded_pages,
    a_successor_keeps_its_predecessor_until_it_is_consumed_itself,
    only_if_asks_for_a_row_that_is_there,
    a_relative_that_lives_keeps_the_whole_family,
    guards_that_do_not_fit_are_refused,
);

async fn a_row_is_kept_while_something_points_at_it(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    client.run("DELETE FROM uses WHERE token IN (20, 21); DELETE FROM tokens WHERE session = 2").await;
    let report = world.sweep(&guarded()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 1), "{report:?}");
    assert_eq!((report.tally.examined, report.tally.kept_back.referenced), (4, 2), "one never ends: {report:?}");
    assert_eq!(ids(&mut client, "sessions").await, [1, 3, 4, 5, 6]);
    client.run("DELETE FROM uses WHERE token IN (10, 11); DELETE FROM tokens WHERE session = 1").await;
    let report = world.sweep(&guarded()).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.referenced), (1, 1), "{report:?}");
    assert_eq!(ids(&mut client, "sessions").await, [3, 4, 5, 6]);
}

async fn a_guard_keeps_what_the_children_would_follow(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    client
        .run(
            "CREATE TABLE notes (id INT NOT NULL PRIMARY KEY, session INT, FOREIGN KEY (session) REFERENCES sessions (id)); \
             INSERT INTO notes VALUES (1, 1), (2, 2), (5, 5); CREATE TABLE pins (id INT PRIMARY KEY, session INT); \
             INSERT INTO pins VALUES (1, 1); DELETE FROM uses; DELETE FROM tokens",
        )
        .await;
    let with = vec![vec![ColumnRef::new("notes", "session")]];
    let unless_referenced_by = vec![ColumnRef::new("pins", "session")];
    let report = world.sweep(&RowPolicy { with, unless_referenced_by, ..ended_sessions() }).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.referenced), (2, 1), "{report:?}");
    assert_eq!(ids(&mut client, "notes").await, [1, 5], "the note of a pinned session stays");
}

async fn guarded_rows_are_looked_at_once_each_in_bounded_pages(engine: Engine) {
    let world = World::with(
        engine,
        &format!(
            "CREATE TABLE sessions (id INT NOT NULL PRIMARY KEY, ended {} NULL); CREATE INDEX by_end ON sessions (ended); \
             CREATE TABLE tokens (id INT NOT NULL PRIMARY KEY, session INT, FOREIGN KEY (session) REFERENCES sessions (id)); \
             CREATE INDEX by_session ON tokens (session)",
            time(engine)
        ),
    )
    .await;
    let mut client = world.client().await;
    let values: Vec<String> = (0..7_000).map(|n| format!("({n}, '2026-10-{:02} 00:00:00')", 1 + n % 28)).collect();
    client.run(&format!("INSERT INTO sessions VALUES {}", values.join(", "))).await;
    client.run("INSERT INTO tokens SELECT id, id FROM sessions").await;
    let target = world.bind(&guarded()).await.unwrap();
    let report = sweep(target, Budget { page_items_max: 500, ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 0), "{report:?}");
    assert_eq!((report.tally.examined, report.tally.kept_back.referenced), (7_000, 7_000), "{report:?}");
    // Each value of the deadline has 250 rows: pages end with a value or within it, and never begin again.
    assert!(report.pages >= 14 && report.pages <= 60, "{report:?}");
    assert!(report.requests <= 8 * report.pages + 20, "{report:?}");
}

/// A chain of refresh tokens: each was exchanged for the next.
async fn a_successor_keeps_its_predecessor_until_it_is_consumed_itself(engine: Engine) {
    let world = World::with(
        engine,
        &format!(
            "CREATE TABLE refresh (id INT NOT NULL PRIMARY KEY, next INT NULL, consumed {} NULL, \
             FOREIGN KEY (next) REFERENCES refresh (id) ON DELETE SET NULL); \
             INSERT INTO refresh VALUES (3, NULL, NULL), (9, NULL, '2026-11-01 00:00:00'); \
             INSERT INTO refresh VALUES (2, 3, '2026-11-02 00:00:00'), (5, 9, '2026-11-15 12:00:00'); \
             INSERT INTO refresh VALUES (1, 2, '2026-11-01 00:00:00')",
            time(engine)
        ),
    )
    .await;
    let unless =
        vec![RowCondition { via: "next".into(), filter: Some("consumed IS NULL".into()), ..RowCondition::default() }];
    let consumed = RowPolicy { unless, ..policy("refresh", Deadline::column("consumed")) };
    let report = world.sweep(&consumed).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 2), "{report:?}");
    assert_eq!(report.tally.kept_back.referenced, 1, "{report:?}");
    let mut client = world.client().await;
    assert_eq!(ids(&mut client, "refresh").await, [2, 3, 5]);
    client.run("UPDATE refresh SET consumed = '2026-11-03 00:00:00' WHERE id = 3").await;
    assert_eq!(world.sweep(&consumed).await.tally.removed, 2);
    assert_eq!(ids(&mut client, "refresh").await, [5]);
}

async fn only_if_asks_for_a_row_that_is_there(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    client
        .run(
            "CREATE TABLE closed (session INT NOT NULL PRIMARY KEY, audited INT); DELETE FROM uses; DELETE FROM tokens",
        )
        .await;
    client.run("INSERT INTO closed VALUES (1, 1), (2, 0), (5, 1)").await;
    let condition = RowCondition {
        via: "id".into(),
        table: Some("closed".into()),
        filter: Some("audited = 1".into()),
        ..RowCondition::default()
    };
    let report = world.sweep(&RowPolicy { only_if: vec![condition], ..ended_sessions() }).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.referenced), (1, 2), "{report:?}");
    assert_eq!(ids(&mut client, "sessions").await, [2, 3, 4, 5, 6]);
}

async fn guards_that_do_not_fit_are_refused(engine: Engine) {
    let world = sessions(engine).await;
    let condition = |via: &str, filter: &str| RowCondition {
        via: via.into(),
        table: Some("tokens".into()),
        filter: Some(filter.into()),
        ..RowCondition::default()
    };
    let nowhere = RowCondition { via: "id".into(), ..RowCondition::default() };
    for (policy, key) in [
        (
            RowPolicy { unless_referenced_by: vec![ColumnRef::new("tokens", "nobody")], ..ended_sessions() },
            "unless_referenced_by",
        ),
        (RowPolicy { unless: vec![nowhere], ..ended_sessions() }, "unless"),
        (RowPolicy { only_if: vec![condition("idd", "1 = 1")], ..ended_sessions() }, "only_if"),
        (RowPolicy { unless: vec![condition("id", "no_such_column = 1")], ..ended_sessions() }, "unless"),
        // A column of the policy's own table is none of the other's.
        (RowPolicy { unless: vec![condition("id", "ended IS NULL")], ..ended_sessions() }, "unless"),
    ] {
        let Err(error) = world.bind(&policy).await else { panic!("{policy:?}") };
        assert_eq!(error.key(), Some(key), "{error:?}");
    }
    assert_eq!(ids(&mut world.client().await, "sessions").await.len(), 6);
}

/// Rows of one family, by a column that is no key: all of them stay until the last is past.
async fn a_relative_that_lives_keeps_the_whole_family(engine: Engine) {
    let world = World::with(
        engine,
        &format!(
            "CREATE TABLE tokens (id INT NOT NULL PRIMARY KEY, family INT NULL, ends {} NULL, revoked INT NOT NULL); \
             INSERT INTO tokens VALUES (1, 1, '2026-11-01 00:00:00', 0), (2, 1, '2026-11-02 00:00:00', 0), \
             (3, 2, '2026-11-01 00:00:00', 0), (4, 2, '2026-11-15 12:00:00', 0), (5, 3, '2026-11-01 00:00:00', 0), \
             (6, 3, NULL, 0), (7, 4, '2026-11-01 00:00:00', 0), (8, 4, '2026-12-01 00:00:00', 1), \
             (9, NULL, '2026-11-01 00:00:00', 0), (10, NULL, '2026-12-01 00:00:00', 0)",
            time(engine)
        ),
    )
    .await;
    let relative = RowCondition {
        via: "family".into(),
        to: Some("family".into()),
        living: true,
        filter: Some("revoked = 0".into()),
        ..RowCondition::default()
    };
    let policy = RowPolicy { unless: vec![relative.clone()], ..policy("tokens", Deadline::column("ends")) };
    let report = world.sweep(&policy).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 4), "{report:?}");
    assert_eq!(report.tally.kept_back.referenced, 2, "{report:?}");
    assert_eq!(ids(&mut world.client().await, "tokens").await, [3, 4, 5, 6, 8, 10]);
    let elsewhere = RowCondition { table: Some("others".into()), to: Some("id".into()), ..relative };
    world.client().await.run("CREATE TABLE others (id INT NOT NULL PRIMARY KEY, revoked INT)").await;
    let Err(error) = world.bind(&RowPolicy { unless: vec![elsewhere], ..policy }).await else { panic!("no deadline") };
    assert_eq!(error.key(), Some("unless"), "{error:?}");
}
