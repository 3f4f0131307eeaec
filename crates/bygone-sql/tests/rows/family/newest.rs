//! `newest`: the newest rows stay, whatever their age.

use bygone_core::{Budget, Outcome};
use bygone_sql::{Deadline, Engine, Newest, RowPolicy};

use super::{ids, time};
use crate::world::{World, on_each_engine, sweep};

/// Twelve versions of two documents, `a` the odd ones; made in the order of their numbers, but 1 was touched last.
async fn versions(engine: Engine) -> World {
    let time = time(engine);
    let rows: Vec<String> = (1..=12)
        .map(|n| {
            let (document, day) = (if n % 2 == 1 { "a" } else { "b" }, if n == 1 { 20 } else { n });
            format!("({n}, '{document}', '2026-11-{day:02} 00:00:00')")
        })
        .collect();
    let script = format!(
        "CREATE TABLE versions (id INT NOT NULL PRIMARY KEY, document VARCHAR(9) NULL, made {time} NOT NULL); \
         INSERT INTO versions VALUES {}",
        rows.join(", ")
    );
    World::with(engine, &script).await
}

fn newest(rows: u64, per: &[&str], by: Option<&str>) -> RowPolicy {
    let per = per.iter().map(|&column| column.to_owned()).collect();
    RowPolicy::keeping("policy", "versions", Newest { rows, per, by: by.map(str::to_owned) })
}

on_each_engine!(
    the_newest_by_key_stay,
    the_newest_by_a_column_stay,
    the_newest_of_each_group_stay,
    a_condition_says_which_rows_count,
    beside_a_deadline_both_must_hold,
    fewer_than_that_all_stay,
    the_newest_by_key_are_not_those_that_came_last,
);

async fn kept(world: &World, policy: &RowPolicy) -> Vec<i64> {
    let target = world.bind(policy).await.unwrap();
    let report = sweep(target, Budget { page_items_max: 3, ..Budget::default() }).await;
    assert_eq!(report.outcome, Outcome::Complete, "{report:?}");
    let left = ids(&mut world.client().await, "versions").await;
    assert_eq!(world.sweep(policy).await.tally.examined, 0, "a second sweep finds nothing");
    left
}

async fn the_newest_by_key_stay(engine: Engine) {
    assert_eq!(kept(&versions(engine).await, &newest(3, &[], None)).await, [10, 11, 12]);
}

async fn the_newest_by_a_column_stay(engine: Engine) {
    assert_eq!(kept(&versions(engine).await, &newest(3, &[], Some("made"))).await, [1, 11, 12]);
}

async fn the_newest_of_each_group_stay(engine: Engine) {
    let world = versions(engine).await;
    world.client().await.run("UPDATE versions SET document = NULL WHERE id IN (3, 4, 5)").await;
    assert_eq!(kept(&world, &newest(2, &["document"], None)).await, [4, 5, 9, 10, 11, 12]);
}

async fn a_condition_says_which_rows_count(engine: Engine) {
    let policy = RowPolicy { filter: Some("document = 'a'".to_owned()), ..newest(2, &[], Some("made")) };
    assert_eq!(kept(&versions(engine).await, &policy).await, [1, 2, 4, 6, 8, 10, 11, 12]);
}

async fn beside_a_deadline_both_must_hold(engine: Engine) {
    let world = versions(engine).await;
    let deadline = Some(Deadline::column("made"));
    let keep = jiff::SignedDuration::from_hours(24 * 7);
    let policy = RowPolicy { deadline, keep, ..newest(2, &[], None) };
    // Past the 8th by noon are 2 to 8 only; 1 was touched later.
    assert_eq!(kept(&world, &policy).await, [1, 9, 10, 11, 12]);
    let policy = RowPolicy { keep: jiff::SignedDuration::ZERO, ..newest(4, &[], None) };
    assert_eq!(
        kept(&world, &RowPolicy { deadline: Some(Deadline::column("made")), ..policy }).await,
        [1, 9, 10, 11, 12]
    );
}

async fn fewer_than_that_all_stay(engine: Engine) {
    assert_eq!(kept(&versions(engine).await, &newest(12, &[], None)).await.len(), 12);
    assert_eq!(kept(&versions(engine).await, &newest(u64::from(u32::MAX), &["document"], None)).await.len(), 12);
}

/// SQLite numbers rows as they come, which is no key of anybody's.
async fn the_newest_by_key_are_not_those_that_came_last(engine: Engine) {
    let world = World::with(
        engine,
        "CREATE TABLE versions (id VARCHAR(9) NOT NULL PRIMARY KEY, name INT NOT NULL); \
         INSERT INTO versions VALUES ('d', 4), ('a', 1), ('c', 3), ('b', 2)",
    )
    .await;
    world.sweep(&newest(2, &[], None)).await;
    assert_eq!(world.client().await.texts("SELECT id FROM versions ORDER BY id").await, ["c", "d"]);
}
