//! What can be known without touching anything: counts, the oldest deadline, the clock, what else would go.

use bygone_core::{SystemClock, Target};
use bygone_sql::{Deadline, Engine, RowPolicy};
use jiff::SignedDuration;

use crate::world::{World, boundary, instant, on_each_engine, policy};

const CREATE: &str = "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, kind VARCHAR(9), deadline TIMESTAMP NULL)";
const FILL: &str = "INSERT INTO items VALUES (1, 'a', '2020-01-01 00:00:00'), (2, 'a', '2020-01-01 00:00:10'), \
                    (3, 'b', '2019-01-01 00:00:00'), (4, 'a', '2030-01-01 00:00:00'), (5, 'a', NULL), (6, 'b', NULL)";

async fn items(engine: Engine) -> World {
    World::with(engine, &format!("{CREATE}; {FILL}")).await
}

fn by_deadline() -> RowPolicy {
    policy("items", Deadline::column("deadline"))
}

on_each_engine!(
    a_survey_counts_what_the_policy_covers_and_changes_nothing,
    what_is_left_has_an_age,
    a_table_is_counted_no_further_than_asked,
    the_clock_of_the_source_can_be_read,
    references_to_the_table_are_known,
);

async fn a_survey_counts_what_the_policy_covers_and_changes_nothing(engine: Engine) {
    let world = items(engine).await;
    let all = "SELECT id, kind, deadline FROM items ORDER BY id";
    let before = world.client().await.rows(all).await;
    let survey = world.bind(&by_deadline()).await.unwrap().survey(boundary()).await.unwrap();
    assert_eq!((survey.bygone, survey.unreadable), (Some(3), 2), "{survey:?}");
    assert_eq!(survey.oldest, Some(instant("2019-01-01T00:00:00Z")));
    let only_a = RowPolicy { filter: Some("kind = 'a'".to_owned()), ..by_deadline() };
    let survey = world.bind(&only_a).await.unwrap().survey(boundary()).await.unwrap();
    assert_eq!((survey.bygone, survey.unreadable), (Some(2), 1), "{survey:?}");
    assert_eq!(survey.oldest, Some(instant("2020-01-01T00:00:00Z")));
    assert_eq!(world.client().await.rows(all).await, before);
}

async fn what_is_left_has_an_age(engine: Engine) {
    let world = items(engine).await;
    let keep = SignedDuration::from_hours(24);
    let mut target = world.bind(&RowPolicy { keep, ..by_deadline() }).await.unwrap();
    let since = boundary().instant() - keep - instant("2019-01-01T00:00:00Z");
    let lag = target.lag(boundary()).await.unwrap().unwrap();
    assert_eq!(lag, SignedDuration::try_from(since).unwrap());
    world.client().await.run("DELETE FROM items WHERE deadline < '2026-01-01 00:00:00'").await;
    assert_eq!(target.lag(boundary()).await.unwrap(), None);
}

async fn a_table_is_counted_no_further_than_asked(engine: Engine) {
    let mut target = items(engine).await.bind(&by_deadline()).await.unwrap();
    for (rows, there) in [(0, true), (6, true), (7, false), (u64::MAX, false)] {
        assert_eq!(target.holds_at_least(rows).await.unwrap(), there, "{rows}");
    }
}

async fn the_clock_of_the_source_can_be_read(engine: Engine) {
    let source = World::with(engine, CREATE).await.source().await;
    let reading = source.lock().await.read_clock(&SystemClock::new()).await.unwrap();
    // The test's server has this machine's clock.
    assert!(reading.checked(SignedDuration::from_secs(5)).is_ok(), "{reading:?}");
}

async fn references_to_the_table_are_known(engine: Engine) {
    let world = items(engine).await;
    let mut client = world.client().await;
    for (table, action) in [("follows", " ON DELETE CASCADE"), ("forgets", " ON DELETE SET NULL"), ("holds", "")] {
        let foreign_key = format!("FOREIGN KEY (item) REFERENCES items (id){action}");
        client.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, item INT NULL, {foreign_key})")).await;
    }
    let mut target = world.bind(&by_deadline()).await.unwrap();
    target.survey(boundary()).await.unwrap();
    let plan = target.plan(boundary(), Some(3)).unwrap();
    let cascades: Vec<_> = plan.cascades.iter().map(|r| (&*r.table, &*r.column, &*r.action)).collect();
    assert_eq!(cascades, [("follows", "item", "cascade"), ("forgets", "item", "set null")]);
}
