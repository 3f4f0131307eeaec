//! When policies run: zones, jitter and windows, as the program takes them from the file.

use jiff::{SignedDuration, Timestamp, Zoned};
use rustix::process::Signal;

use crate::support::{Engine, Running, World, everyone, living, until_told};

/// Hours of Stockholm that begin so far from now, and last for three.
#[expect(clippy::disallowed_methods, reason = "the daemon goes by the clock")]
fn hours_from_now(hours: i64) -> String {
    let local = |hours: i64| -> Zoned {
        (Timestamp::now() + SignedDuration::from_hours(hours)).in_tz("Europe/Stockholm").unwrap()
    };
    format!("{}-{} Europe/Stockholm", local(hours).strftime("%H:%M"), local(hours + 3).strftime("%H:%M"))
}

#[tokio::test]
async fn outside_of_its_window_a_policy_does_nothing_until_somebody_asks_for_it() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let closed = hours_from_now(2);
    world.add_lines(&format!("every = \"1s\"\nwindow = {closed:?}"));
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", "state"]));
    running.until_it_says("serving: 1 policy runs");
    until_told(&world, "state", "window", 1).await;
    assert_eq!(world.survivors().await, everyone());

    // A file that opens a window beside the other takes over.
    world.add_lines(&format!("every = \"1s\"\nwindow = [{closed:?}, {:?}]", hours_from_now(-1)));
    let said = running.until_it_says("read anew");
    assert!(said.contains(&format!("outside of its window {closed}")), "{said}");
    until_told(&world, "state", "complete", 1).await;
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn who_asks_for_a_sweep_is_in_no_window() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines(&format!("window = {:?}", hours_from_now(2)));
    let policy = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!((&policy["outcome"], policy.get("stopped_by")), (&"complete".into(), None));
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn a_plan_tells_when_a_policy_runs() {
    let world = World::with_tokens(Engine::Sqlite).await;
    for (lines, told) in [
        ("schedule = \"0 30 2 * * * Europe/Stockholm\"", "0 30 2 * * * Europe/Stockholm"),
        ("schedule = \"30 2 * * *\"", "30 2 * * *"),
        (
            "every = \"1h\"\njitter = \"5m\"\nwindow = [\"22:00-05:00 Europe/Stockholm\", \"12:00-13:00\"]",
            "every 1h, up to 5m later, within 22:00-05:00 Europe/Stockholm or 12:00-13:00 UTC",
        ),
    ] {
        world.add_lines(lines);
        let policy = world.run(&["plan", "--format", "json"]).ends(0).only_policy();
        assert_eq!(policy["schedule"], told);
    }
    world.add_lines("schedule = \"30 2 * * * Europe/Stokholm\"");
    world.refuses(65, &["sweep"]).await.says(&["config::bad_zone", "did you mean \"Europe/Stockholm\"?"]);
}
