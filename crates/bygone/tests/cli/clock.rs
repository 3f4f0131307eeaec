//! The boundary: taken once, never later than a clock, and strict.

use bygone_core::{Boundary, Clock as _, SystemClock};
use jiff::Timestamp;

use crate::support::{Engine, World, living, on_each_engine};

on_each_engine!(now_is_the_boundary_and_what_ends_on_it_stays, the_clocks_are_the_boundary, keep_moves_the_boundary);

/// Rows around an instant: one that ends a microsecond before it, one on it, one a microsecond behind it.
async fn three_around(world: &World, second: &str, before: &str) {
    world.add_at(201, before).await;
    world.add_at(202, &format!("{second}.000000")).await;
    world.add_at(203, &format!("{second}.000001")).await;
}

async fn now_is_the_boundary_and_what_ends_on_it_stays(engine: Engine) {
    let world = World::with_tokens(engine).await;
    three_around(&world, "2024-05-01 12:00:00", "2024-05-01 11:59:59.999999").await;
    // A part of a microsecond is cut off: the boundary is never later than what was asked for.
    for now in ["2024-05-01T12:00:00Z", "2024-05-01T12:00:00.000000999Z", "2024-05-01T14:00:00+02:00"] {
        let plan = world.run(&["plan", "--format", "json", "--now", now]).ends(0);
        assert_eq!(plan.json()["boundary"], "2024-05-01T12:00:00.000000Z", "{now}");
        assert_eq!(plan.only_policy()["would_remove"], 61, "{now}");
    }
    let run = world.run(&["sweep", "--format", "json", "--now", "2024-05-01T12:00:00.000000999Z"]).ends(0);
    assert_eq!(run.json()["boundary"], "2024-05-01T12:00:00.000000Z");
    assert_eq!(run.only_policy()["removed"], 61);
    assert_eq!(world.survivors().await, [living(), vec![202, 203]].concat());
}

async fn keep_moves_the_boundary(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("\"0s\"", "\"30d\"");
    three_around(&world, "2024-05-01 12:00:00", "2024-05-01 11:59:59.999999").await;
    // Thirty days after the first of May.
    let run = world.run(&["sweep", "--format", "json", "--now", "2024-05-31T12:00:00Z"]).ends(0);
    assert_eq!(run.only_policy()["removed"], 61);
    assert_eq!(world.survivors().await, [living(), vec![202, 203]].concat());
}

async fn the_clocks_are_the_boundary(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let clock = SystemClock::new();
    let before = Boundary::at(clock.now()).instant();
    let run = world.run(&["sweep", "--format", "json"]).ends(0);
    let boundary: Timestamp = run.json()["boundary"].as_str().unwrap().parse().unwrap();
    assert!(before <= boundary && boundary <= clock.now(), "{before} <= {boundary}");
    assert_eq!(world.survivors().await, living());
}
