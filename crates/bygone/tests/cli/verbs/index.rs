//! `bygone index`: what is missing, printed and made.

use serde_json::json;

use crate::support::{Engine, World, on_each_engine};

async fn without_index(engine: Engine) -> World {
    let world = World::empty(engine).await;
    world
        .run_sql(&format!(
            "CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at {}); \
             CREATE TABLE uses (id INTEGER PRIMARY KEY, token INTEGER, FOREIGN KEY (token) REFERENCES tokens (id))",
            engine.instant_type()
        ))
        .await;
    world.fill().await;
    world
}

on_each_engine!(what_is_missing_is_printed_and_made);

async fn what_is_missing_is_printed_and_made(engine: Engine) {
    let world = without_index(engine).await;
    let run = world.refuses(0, &["index"]).await;
    assert!(run.stdout.contains("bygone_tokens_expires_at"), "{run:#?}");
    // MariaDB makes an index for every foreign key by itself.
    assert_eq!(run.stdout.contains("bygone_uses_token"), engine != Engine::MariaDb, "{run:#?}");
    let lines = world.refuses(0, &["index", "--format", "json"]).await.json();
    assert_eq!(
        [&lines[0]["policy"], &lines[0]["table"], &lines[0]["made"]],
        [&json!("tokens"), &json!("tokens"), &json!(false)]
    );
    let run = world.run(&["index", "--apply"]).ends(0);
    assert!(run.stdout.contains("(made)") && !run.stdout.contains("(not made)"), "{run:#?}");
    let run = world.run(&["index", "--apply"]).ends(0).says(&["no index is missing"]);
    assert_eq!(run.stdout, "", "{run:#?}");
    let plan = world.run(&["plan", "--format", "json"]).ends(0).only_policy();
    assert_eq!(plan["index"], "bygone_tokens_expires_at");
    assert!(!world.run(&["check"]).ends(0).stdout.contains("no_index"));
}

/// The printed statements are what somebody can run who wants to do it by hand.
#[tokio::test]
async fn the_printed_statements_run() {
    let world = without_index(Engine::Sqlite).await;
    let printed = world.run(&["index"]).ends(0).stdout;
    world.run_sql(&printed).await;
    world.run(&["index"]).ends(0).says(&["no index is missing"]);
}

/// An interruption leaves an index that serves nobody and takes its name.
#[tokio::test]
async fn a_half_made_index_is_cleaned_up() {
    let world = without_index(Engine::Postgres).await;
    world
        .run_sql(
            "CREATE INDEX bygone_tokens_expires_at ON tokens (expires_at); \
             UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'bygone_tokens_expires_at'::regclass",
        )
        .await;
    let run = world.refuses(0, &["index"]).await;
    assert!(run.stdout.contains("DROP INDEX CONCURRENTLY \"public\".\"bygone_tokens_expires_at\";"), "{run:#?}");
    world.run(&["index", "--apply"]).ends(0);
    let valid = "SELECT count(*) FROM pg_index WHERE indexrelid = 'bygone_tokens_expires_at'::regclass AND indisvalid";
    assert_eq!(world.client().await.number(valid).await, 1);
}

#[tokio::test]
async fn an_unknown_policy_is_a_mistake() {
    let world = without_index(Engine::Sqlite).await;
    world.refuses(64, &["index", "tokns"]).await.says(&["there is no policy `tokns`", "did you mean `tokens`?"]);
}
