//! `bygone plan`: what a sweep would do.

use serde_json::{Value, json};

use crate::support::{Engine, TOKENS, World, on_each_engine, policy_over};

/// The fields of a policy in a plan, in their order.
const FIELDS: [&str; 25] = [
    "policy",
    "source",
    "outcome",
    "action",
    "would_remove",
    "unreadable",
    "oldest",
    "lag_seconds",
    "bytes",
    "table",
    "path",
    "walk",
    "why",
    "index",
    "statements",
    "partitions",
    "children",
    "cascades",
    "warnings",
    "estimated_seconds",
    "schedule",
    "brake",
    "error",
    "help",
    "definition",
];

on_each_engine!(the_plan_says_what_would_be, a_sweep_does_what_the_plan_says);

async fn the_plan_says_what_would_be(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.run_sql("INSERT INTO tokens (id, expires_at) VALUES (101, NULL)").await;
    let run = world.refuses(0, &["plan", "--format", "json", "--now", "2024-01-01T00:00:00Z"]).await;
    assert_eq!(run.stderr, "", "there is nothing to talk about");
    let plan = run.json();
    assert_eq!(plan["boundary"], "2024-01-01T00:00:00.000000Z");
    assert_eq!(plan["outcome"], "complete");
    let policy = run.only_policy();
    let fields: Vec<&String> = policy.as_object().unwrap().keys().collect();
    assert_eq!(fields, FIELDS);
    let said = |key: &str| policy[key].clone();
    assert_eq!([said("policy"), said("source"), said("outcome")], ["tokens", "db", "complete"].map(Value::from));
    assert_eq!([said("would_remove"), said("unreadable")], [60, 1].map(Value::from));
    assert_eq!(said("oldest"), "2020-01-01T00:00:01.000000Z");
    // Four years, one of them a leap year, but for the second after midnight.
    assert_eq!(said("lag_seconds"), (4 * 365 + 1) * 86_400 - 1);
    assert!(said("table").as_str().unwrap().contains("tokens"));
    assert!(["slices", "heap", "key"].contains(&said("walk").as_str().unwrap()), "{policy:#}");
    assert!(!said("why").as_str().unwrap().is_empty());
    assert_eq!(said("index") == "tokens_expires_at", said("walk") == "slices", "{policy:#}");
    let statements = said("statements");
    let last = statements.as_array().and_then(|all| all.last()).and_then(Value::as_str).unwrap();
    assert!(last.starts_with("DELETE ") && last.contains("expires_at"), "{last}");
    assert_eq!([said("cascades"), said("warnings")], [json!([]), json!([])]);
    assert_eq!([said("brake"), said("error"), said("help"), said("schedule")], [const { Value::Null }; 4]);
    assert_eq!(said("estimated_seconds"), 1);
}

async fn a_sweep_does_what_the_plan_says(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let planned = world.refuses(0, &["plan", "--format", "json"]).await.only_policy()["would_remove"].clone();
    let swept = world.run(&["sweep", "--format", "json"]).ends(0).only_policy()["removed"].clone();
    assert_eq!(planned, swept);
    assert_eq!(world.run(&["plan", "--format", "json"]).ends(0).only_policy()["would_remove"], 0);
}

#[tokio::test]
async fn a_dry_run_is_a_plan() {
    let world = World::with_tokens(Engine::Sqlite).await;
    for format in ["json", "jsonl", "table"] {
        let frame = ["--format", format, "--now", "2024-01-01T00:00:00Z"];
        let plan = world.refuses(0, &[&["plan"], &frame[..]].concat()).await;
        let dry = world.refuses(0, &[&["sweep", "--dry-run"], &frame[..]].concat()).await;
        assert_eq!(plan.stdout, dry.stdout);
    }
}

#[tokio::test]
async fn work_has_an_exit_code_for_those_who_ask() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.refuses(2, &["plan", "--detailed-exitcode"]).await;
    world.refuses(0, &["plan"]).await;
    world.run(&["sweep"]).ends(0);
    world.run(&["plan", "--detailed-exitcode"]).ends(0);
    // What is wrong is graver than work.
    world.alter("table = \"tokens\"", "table = \"tokns\"");
    world.run(&["plan", "--detailed-exitcode"]).ends(65);
}

#[tokio::test]
async fn a_plan_may_look_ahead() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let run = world.refuses(0, &["plan", "--format", "json", "--now", "2200-01-01T00:01:30Z"]).await;
    // The living end from 61 seconds after midnight on; the one that ends at 90 is not over yet.
    assert_eq!(run.only_policy()["would_remove"], 60 + 29);
}

#[tokio::test]
async fn only_the_policies_that_were_named() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.configure(&format!("{TOKENS}{}", policy_over("missing")));
    world.run(&["plan", "tokens"]).ends(0);
    let run = world.run(&["plan", "--format", "jsonl"]).ends(65);
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!([&lines[0]["outcome"], &lines[1]["outcome"]], [&json!("complete"), &json!("refused")]);
    assert!(lines[1]["error"].as_str().unwrap().contains("there is no table `missing`"));
}

#[tokio::test]
async fn a_table_for_people() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let run = world.refuses(0, &["plan", "--now", "2024-01-01T00:00:00Z"]).await;
    let row: Vec<&str> = run.stdout.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], ["tokens", "\"tokens\"", "60", "2020-01-01T00:00:01Z"]);
    let last = run.stdout.lines().last().unwrap();
    assert_eq!(last, "60 would be removed, boundary 2024-01-01T00:00:00.000000Z; nothing was written");
}

#[tokio::test]
async fn a_plan_names_the_brake_that_would_hold() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("brake = { max_items = 5 }");
    let run = world.refuses(0, &["plan", "--format", "json"]).await;
    let policy = run.only_policy();
    assert_eq!(policy["outcome"], "refused");
    assert_eq!(policy["would_remove"], 60);
    assert!(policy["brake"].as_str().unwrap().contains("over the limit of 5"), "{policy:#}");
}

/// What goes along with a row is named, and so is what stands in its way.
#[tokio::test]
async fn a_plan_names_what_hangs_on_the_rows() {
    let world = World::empty(Engine::Sqlite).await;
    world
        .run_sql(
            "CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at TEXT); \
                   CREATE TABLE uses (token INTEGER REFERENCES tokens (id) ON DELETE CASCADE); \
                   CREATE TABLE audits (token INTEGER REFERENCES tokens (id))",
        )
        .await;
    world.fill().await;
    let policy = world.refuses(0, &["plan", "--format", "json"]).await.only_policy();
    assert_eq!(policy["cascades"], json!([{ "table": "uses", "column": "token", "action": "cascade" }]));
    let warnings = policy["warnings"].to_string();
    for warning in ["no index serves expires_at", "rows of `uses` go along", "`audits`.token points at cannot go"] {
        assert!(warnings.contains(warning), "{warning:?} is not in {warnings}");
    }
}

#[tokio::test]
async fn a_plan_tells_what_changes_from_what_goes() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world
        .run_sql(
            "ALTER TABLE tokens ADD COLUMN address TEXT; UPDATE tokens SET address = 'x'; \
             CREATE TABLE uses (id INTEGER PRIMARY KEY, token INTEGER REFERENCES tokens (id))",
        )
        .await;
    world.add_lines("clear = [\"address\"]");
    let policy = world.refuses(0, &["plan", "--format", "json"]).await.only_policy();
    assert_eq!((&policy["action"], &policy["would_remove"]), (&json!("change"), &json!(60)));
    let text = world.refuses(0, &["plan"]).await.stdout;
    assert!(text.contains("60 (changed)") && text.contains("0 would be removed"), "{text}");
    world.add_lines("with = [\"uses.token\"]");
    let policy = world.refuses(0, &["plan", "--format", "json"]).await.only_policy();
    assert_eq!((&policy["action"], &policy["children"]), (&json!("remove"), &json!(["uses"])));
    assert!(world.refuses(0, &["plan"]).await.stdout.contains("rows of uses go along"));
}

#[tokio::test]
async fn a_plan_names_the_partitions_that_go_as_a_whole() {
    let world = World::empty(Engine::Postgres).await;
    world
        .run_sql(
            "CREATE TABLE tokens (id int, expires_at timestamptz, PRIMARY KEY (id, expires_at)) PARTITION BY RANGE (expires_at); \
             CREATE TABLE tokens_old PARTITION OF tokens FOR VALUES FROM ('2000-01-01Z') TO ('2021-01-01Z'); \
             CREATE TABLE tokens_new PARTITION OF tokens FOR VALUES FROM ('2021-01-01Z') TO ('2300-01-01Z')",
        )
        .await;
    world.fill().await;
    let policy = world.refuses(0, &["plan", "--format", "json"]).await.only_policy();
    assert_eq!((&policy["partitions"], &policy["would_remove"]), (&json!(["tokens_old"]), &json!(60)));
    assert!(world.refuses(0, &["plan"]).await.stdout.contains("partitions that go as a whole: tokens_old"));
    let report = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!((&report["removed"], &report["pages"]), (&json!(60), &json!(2)), "{report:#}");
    let tables = "SELECT count(*) FROM pg_class WHERE relname = 'tokens_old'";
    assert_eq!(world.client().await.number(tables).await, 0);
}
