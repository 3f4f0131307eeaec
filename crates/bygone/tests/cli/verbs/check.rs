//! `bygone check`: the configuration against the live sources.

use serde_json::json;

use crate::support::{Engine, TOKENS, World, on_each_engine, policy_over};

on_each_engine!(a_good_file_passes, a_missing_index_is_a_warning);

async fn a_good_file_passes(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let run = world.refuses(0, &["check"]).await;
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("1 policies checked: 0 errors, 0 warnings\n", ""));
    let run = world.refuses(0, &["check", "--format", "json"]).await;
    assert_eq!(run.json(), json!({ "policies": 1, "findings": [] }));
}

async fn a_missing_index_is_a_warning(engine: Engine) {
    let world = World::empty(engine).await;
    world.run_sql(&format!("CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at {})", engine.instant_type())).await;
    world.fill().await;
    let run = world.refuses(0, &["check"]).await;
    assert!(run.stdout.contains("warning[rows::no_index]: tokens (line 8): no index serves expires_at"), "{run:#?}");
    assert!(run.stdout.contains("  help: `bygone index` prints it"), "{run:#?}");
    assert!(run.stdout.ends_with("1 policies checked: 0 errors, 1 warnings\n"), "{run:#?}");
    let run = world.refuses(0, &["check", "--format", "json"]).await;
    let finding = &run.json()["findings"][0];
    assert_eq!([&finding["policy"], &finding["severity"], &finding["code"]], ["tokens", "warning", "rows::no_index"]);
    assert_eq!(finding["line"], 8, "{finding}");
}

/// Every policy is checked, whatever was found in the others.
#[tokio::test]
async fn errors_have_their_place_and_remedy() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let down = policy_over("elsewhere").replace("\"db\"", "\"down\"");
    let source = "[source.down]\nurl = \"postgres://ada:geheim@127.0.0.1:1/app\"\n";
    world.configure(&format!("{TOKENS}{}{down}{source}", policy_over("tokn")));
    let run = world.refuses(69, &["check", "--format", "json"]).await;
    let json = run.json();
    assert_eq!(json["policies"], 3);
    let findings = json["findings"].as_array().unwrap();
    let told: Vec<_> =
        findings.iter().map(|finding| (&finding["policy"], &finding["severity"], &finding["code"])).collect();
    let (error, unfit, unreachable) = (json!("error"), json!("policy::unfit"), json!("source::unreachable"));
    assert_eq!(told, [(&json!("tokn"), &error, &unfit), (&json!("elsewhere"), &error, &unreachable)]);
    assert!(findings[0]["help"].as_str().unwrap().contains("tokens"), "{run:#?}");
    let lines = world.refuses(69, &["check", "--format", "jsonl"]).await.stdout;
    assert_eq!(lines.lines().count(), 2);
    let run =
        world.refuses(69, &["check"]).await.says(&["policy::unfit", "source::unreachable", "did you mean `tokens`?"]);
    assert_eq!(run.stdout, "3 policies checked: 2 errors, 0 warnings\n");
}
