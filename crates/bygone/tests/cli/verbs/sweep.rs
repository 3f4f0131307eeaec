//! `bygone sweep`: the report, in its formats, and the rows that it tells of.

use serde_json::{Value, json};

use crate::support::{BYGONE_LAST, Engine, FUTURE, LAST, PAST, TOKENS, World, living, on_each_engine, policy_over};

on_each_engine!(the_report_tells_what_was_done, a_budget_is_kept_to_the_item, a_second_sweep_finds_nothing);

async fn the_report_tells_what_was_done(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.run_sql("INSERT INTO tokens (id, expires_at) VALUES (101, NULL), (102, NULL), (103, NULL)").await;
    let run = world.run(&["sweep", "--format", "json", "--now", "2024-01-01T00:00:00Z"]).ends(0);
    assert_eq!(run.stderr, "", "there is nothing to talk about");
    let mut report = run.json();
    let sweep = report["sweep"].take();
    assert_eq!(sweep.as_str().map(|name| (name.len(), &name[14..15])), Some((36, "7")), "a UUID of version 7: {sweep}");
    let policy = &mut report["policies"][0];
    for measured in ["pages", "requests", "elapsed_ms"] {
        assert!(policy[measured].take().is_u64(), "{measured}");
    }
    let expected = json!({
        "sweep": null, "boundary": "2024-01-01T00:00:00.000000Z", "outcome": "complete",
        "policies": [{
            "policy": "tokens", "source": "db", "outcome": "complete",
            "examined": 63, "removed": 60, "cleared": 0,
            "kept_back": { "referenced": 0, "locked": 0, "unreadable": 3, "conflict": 0 },
            "children": {}, "bytes": null, "pages": null, "requests": null, "elapsed_ms": null, "lag_seconds": 0,
            "error": null, "help": null, "warnings": [],
        }]
    });
    assert_eq!(report, expected);
    assert_eq!(world.survivors().await, [living(), vec![101, 102, 103]].concat());
}

async fn a_budget_is_kept_to_the_item(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.add_lines("budget = { items = 7 }");
    let run = world.run(&["sweep", "--format", "json"]).ends(0);
    let policy = run.only_policy();
    assert_eq!(
        (&policy["outcome"], &policy["removed"], &policy["examined"]),
        (&json!("budget_items"), &json!(7), &json!(7))
    );
    assert_eq!(run.json()["outcome"], "partial");
    assert!(policy["lag_seconds"].as_u64() > Some(3600), "what is left has been bygone for years: {run:#?}");
    let left = world.survivors().await;
    assert_eq!(left.len(), 93);
    assert!(left.ends_with(&living()), "{left:?}");
}

async fn a_second_sweep_finds_nothing(engine: Engine) {
    let world = World::with_tokens(engine).await;
    for removed in [60, 0] {
        let run = world.run(&["sweep", "--format", "json"]).ends(0);
        assert_eq!(run.only_policy()["removed"], removed);
        assert_eq!(world.survivors().await, living());
    }
}

/// Two tables with a policy each.
async fn two_policies() -> World {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.make_table("sessions").await;
    world.add("sessions", 1, 5, PAST).await;
    world.add("sessions", 6, 9, FUTURE).await;
    world.configure(&format!("{TOKENS}{}", policy_over("sessions")));
    world
}

#[tokio::test]
async fn one_line_for_each_policy() {
    let world = two_policies().await;
    let run = world.run(&["sweep", "--format", "jsonl"]).ends(0);
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> =
        lines.iter().map(|line| (line["policy"].as_str().unwrap(), line["removed"].as_u64().unwrap())).collect();
    assert_eq!(told, [("tokens", 60), ("sessions", 5)]);
    assert_eq!(world.survivors().await, living());
    assert_eq!(world.ids("sessions").await, [6, 7, 8, 9]);
}

#[tokio::test]
async fn a_table_for_people() {
    let world = two_policies().await;
    let run = world.run(&["sweep", "--now", "2024-01-01T00:00:00Z"]).ends(0);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = run.stdout.lines().map(words).collect();
    assert_eq!(lines[0], ["policy", "outcome", "removed", "kept", "back", "pages", "time", "lag"]);
    assert_eq!(lines[2][..4], ["tokens", "complete", "60", "–"]);
    assert_eq!(lines[3][..4], ["sessions", "complete", "5", "–"]);
    assert!(run.stdout.contains("complete: 65 removed in "), "{}", run.stdout);
    assert!(run.stdout.ends_with("boundary 2024-01-01T00:00:00.000000Z\n"), "{}", run.stdout);
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn only_the_policies_that_were_named() {
    let world = two_policies().await;
    let run = world.run(&["sweep", "sessions", "--format", "json"]).ends(0);
    assert_eq!(run.only_policy()["policy"], "sessions");
    assert_eq!(world.survivors().await.len(), LAST as usize);
    assert_eq!(world.ids("sessions").await, [6, 7, 8, 9]);
}

#[tokio::test]
async fn a_release_holds_for_the_named_policy() {
    let world = two_policies().await;
    let brake = "brake = { max_items = 1 }\nkeep =";
    world.configure(&format!("{TOKENS}{}", policy_over("sessions")).replace("keep =", brake));
    world.run(&["sweep", "--release-brake", "sessions"]).ends(3).says(&["tokens: refused: the brake holds"]);
    assert_eq!(world.survivors().await.len(), LAST as usize);
    assert_eq!(world.ids("sessions").await, [6, 7, 8, 9]);
    world.run(&["sweep", "--release-brake", "tokens", "--release-brake", "sessions"]).ends(0);
    assert_eq!(world.survivors().await, living());
}

/// A condition makes the sweep smaller; rows that it leaves out live on, however old.
#[tokio::test]
async fn where_is_kept_to() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("where = \"id % 2 = 0\"");
    let run = world.run(&["sweep", "--format", "json"]).ends(0);
    assert_eq!(run.only_policy()["removed"], 30);
    let expected: Vec<u32> = (1..=LAST).filter(|id| *id > BYGONE_LAST || id % 2 == 1).collect();
    assert_eq!(world.survivors().await, expected);
}

/// A row that something else holds on to is kept back, told of, and in nobody's way.
#[tokio::test]
async fn what_cannot_go_is_kept_back() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run_sql("CREATE TABLE uses (token INTEGER REFERENCES tokens (id)); INSERT INTO uses VALUES (7), (33)").await;
    let run = world.run(&["sweep", "--format", "json"]).ends(0);
    let policy = run.only_policy();
    assert_eq!((&policy["removed"], &policy["kept_back"]["conflict"]), (&json!(58), &json!(2)), "{run:#?}");
    assert!(policy["lag_seconds"].as_u64() > Some(3600), "they are still bygone");
    assert_eq!(world.survivors().await, [vec![7, 33], living()].concat());
}

/// What `check` finds stands in the report too, uncounted: somebody may never have run it.
#[tokio::test]
async fn a_report_carries_what_was_found_before_the_first_page() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run_sql("CREATE TABLE uses (token INTEGER REFERENCES tokens (id) ON DELETE CASCADE)").await;
    let policy = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    let warnings = policy["warnings"].to_string();
    assert!(warnings.contains("\"rows of `uses` go along with theirs (token, on delete cascade)\""), "{warnings}");
}
