//! `plan -o` and `sweep --plan`: what somebody read is what goes, and no more.

use serde_json::json;

use crate::support::{Engine, FUTURE, LAST, PAST, TOKENS, World, living, on_each_engine, policy_over};

on_each_engine!(exactly_what_was_planned_goes, more_than_was_planned_is_refused);

/// Rows that became bygone after the plan's boundary stay, although the clocks say that they are over.
async fn exactly_what_was_planned_goes(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let run = world.refuses(0, &["plan", "-o", "plan.json", "--now", "2021-01-01T00:00:00Z", "--format", "json"]).await;
    let saved = std::fs::read_to_string(world.path("plan.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&saved).unwrap(), run.json());
    world.add_at(101, "2021-01-01 00:00:00").await;
    world.add_at(102, "2022-06-01 12:00:00").await;
    let run = world.run(&["sweep", "--plan", "plan.json", "--format", "json"]).ends(0);
    assert_eq!(run.json()["boundary"], "2021-01-01T00:00:00.000000Z");
    assert_eq!(run.only_policy()["removed"], 60);
    assert_eq!(world.survivors().await, [living(), vec![101, 102]].concat());
}

/// With rows that were written with an old deadline since, the count is over the plan's.
async fn more_than_was_planned_is_refused(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.run(&["plan", "-o", "plan.json"]).ends(0);
    world.add("tokens", LAST + 1, LAST + 1, PAST).await;
    let run = world.refuses(3, &["sweep", "--plan", "plan.json", "--format", "json"]).await;
    assert_eq!(run.only_policy()["outcome"], "refused");
    run.says(&["61 items are bygone, over the 60 that the plan allows"]);
}

#[tokio::test]
async fn a_hundredth_more_is_within_the_margin() {
    let world = World::empty(Engine::Sqlite).await;
    world.make_table("tokens").await;
    world.add("tokens", 1, 200, PAST).await;
    world.run(&["plan", "-o", "plan.json"]).ends(0);
    world.add("tokens", 201, 202, PAST).await;
    let run = world.run(&["sweep", "--plan", "plan.json", "--format", "json"]).ends(0);
    assert_eq!(run.only_policy()["removed"], 202);
    world.add("tokens", 1, 203, PAST).await;
    world.refuses(3, &["sweep", "--plan", "plan.json"]).await;
}

/// Whoever read the plan has seen the number.
#[tokio::test]
async fn a_plan_releases_the_brake() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("brake = { max_items = 5 }");
    world.refuses(3, &["sweep"]).await;
    world.run(&["plan", "-o", "plan.json"]).ends(0);
    world.run(&["sweep", "--plan", "plan.json"]).ends(0);
    assert_eq!(world.survivors().await, living());
}

/// The plan of some policies is a sweep of those.
#[tokio::test]
async fn a_plan_of_one_policy_sweeps_one_policy() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.make_table("sessions").await;
    world.add("sessions", 1, 5, PAST).await;
    world.configure(&format!("{}{}", TOKENS, policy_over("sessions")));
    world.run(&["plan", "tokens", "-o", "plan.json"]).ends(0);
    let run = world.run(&["sweep", "--plan", "plan.json", "--format", "json"]).ends(0);
    assert_eq!(run.only_policy()["policy"], "tokens");
    assert_eq!(world.ids("sessions").await, [1, 2, 3, 4, 5]);
    assert_eq!(world.survivors().await, living());
}

/// Whatever else is asked for, a sweep by a plan goes no further than the plan did.
#[tokio::test]
async fn a_later_now_does_not_move_the_boundary_of_a_plan() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run(&["plan", "-o", "plan.json", "--now", "2020-01-01T00:00:31Z"]).ends(0);
    // One of the thirty that were planned is gone, so that the count alone would let another one go.
    world.run_sql("DELETE FROM tokens WHERE id = 1").await;
    let arguments = ["sweep", "--plan", "plan.json", "--format", "json", "--now", "2020-01-01T00:00:32Z"];
    let run = world.run(&arguments).ends(0);
    assert_eq!(run.json()["boundary"], "2020-01-01T00:00:31.000000Z");
    assert_eq!(world.survivors().await, (31..=LAST).collect::<Vec<_>>());
    let earlier = ["sweep", "--plan", "plan.json", "--format", "json", "--now", "2019-12-31T00:00:00Z"];
    assert_eq!(world.run(&earlier).ends(0).json()["boundary"], "2019-12-31T00:00:00.000000Z");
    world.run(&["sweep", "--plan", "plan.json", "--now", "2199-01-01T00:00:00Z"]).ends(64);
}

#[tokio::test]
async fn a_plan_without_work_allows_none() {
    let world = World::empty(Engine::Sqlite).await;
    world.make_table("tokens").await;
    world.add("tokens", 1, LAST, FUTURE).await;
    world.run(&["plan", "-o", "plan.json"]).ends(0);
    world.add("tokens", LAST + 1, LAST + 1, PAST).await;
    world.refuses(3, &["sweep", "--plan", "plan.json"]).await;
}

/// A plan that could not count promises nothing.
#[tokio::test]
async fn a_plan_that_was_refused_cannot_be_swept() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.alter("table = \"tokens\"", "table = \"tokns\"");
    let plan = world.refuses(65, &["plan", "-o", "plan.json", "--format", "json"]).await;
    assert_eq!(plan.only_policy()["would_remove"], json!(null));
    world.refuses(64, &["sweep", "--plan", "plan.json"]).await.says(&["could not count"]);
}
