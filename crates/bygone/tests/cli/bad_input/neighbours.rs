//! One policy that fails, is refused or is braked never stops the others, and the exit code still tells of it.

use serde_json::Value;

use crate::support::{Engine, FUTURE, PAST, Run, TOKENS, World, living, on_each_engine, policy_over};

/// The outcomes of a report, by policy.
fn outcomes(run: &Run) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let json = run.json();
    let policies = json["policies"].as_array().unwrap();
    policies.iter().map(|policy| (text(&policy["policy"]), text(&policy["outcome"]))).collect()
}

fn named(policies: &[(&str, &str)]) -> Vec<(String, String)> {
    policies.iter().map(|(policy, outcome)| ((*policy).to_owned(), (*outcome).to_owned())).collect()
}

on_each_engine!(an_unfit_policy_beside_a_good_one, the_brake_holds_one_policy_only);

async fn an_unfit_policy_beside_a_good_one(engine: Engine) {
    let world = World::with_tokens(engine).await;
    // Before the good one and behind it.
    let (source, good) = TOKENS.split_once("\n\n").unwrap();
    world.configure(&format!("{source}\n{}{good}{}", policy_over("first_missing"), policy_over("last_missing")));
    let run = world.run(&["sweep", "--format", "json"]).ends(65).says(&["first_missing", "last_missing"]);
    assert_eq!(
        outcomes(&run),
        named(&[("first_missing", "refused"), ("tokens", "complete"), ("last_missing", "refused")])
    );
    assert_eq!(run.json()["outcome"], "partial");
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn an_unreachable_source_beside_a_good_one() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let down = policy_over("elsewhere").replace("\"db\"", "\"down\"");
    world.configure(&format!("[source.down]\nurl = \"postgres://ada:geheim@127.0.0.1:1/app\"\n{down}\n{TOKENS}"));
    let run = world.run(&["sweep", "--format", "json"]).ends(69).says(&["source::unreachable"]);
    assert_eq!(outcomes(&run), named(&[("elsewhere", "failed"), ("tokens", "complete")]));
    assert_eq!(run.json()["outcome"], "partial");
    assert_eq!(world.survivors().await, living());
}

/// Of 1,001 rows 501 are bygone: one more than half of a table of over 1,000.
async fn the_brake_holds_one_policy_only(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.make_table("sessions").await;
    world.add("sessions", 1, 501, PAST).await;
    world.add("sessions", 502, 1001, FUTURE).await;
    world.configure(&format!("{TOKENS}{}", policy_over("sessions")));
    let run = world.run(&["sweep", "--format", "json"]).ends(3).says(&["the brake holds", "--release-brake"]);
    assert_eq!(outcomes(&run), named(&[("tokens", "complete"), ("sessions", "refused")]));
    assert_eq!(run.json()["policies"][1]["removed"], 0);
    assert_eq!(world.ids("sessions").await, (1..=1001).collect::<Vec<_>>());
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn the_brake_by_number() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("brake = { max_items = 59 }");
    let run =
        world.refuses(3, &["sweep", "--format", "json"]).await.says(&["60 items are bygone, over the limit of 59"]);
    assert_eq!(run.json()["outcome"], "refused");
    world.add_lines("brake = { max_items = 60 }");
    world.run(&["sweep"]).ends(0);
    assert_eq!(world.survivors().await, living());
}

/// A failure is graver than a source that is down, that than a wrong policy, that than a brake.
#[tokio::test]
async fn the_gravest_exit_code_wins() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let down = policy_over("elsewhere").replace("\"db\"", "\"down\"");
    let braked = TOKENS.replace("keep =", "brake = { max_items = 0 }\nkeep =");
    world.configure(&format!("{braked}{}", policy_over("missing")));
    world.refuses(65, &["sweep"]).await;
    world.configure(&format!(
        "{braked}{}{down}\n[source.down]\nurl = \"mysql://a:b@127.0.0.1:1/app\"\n",
        policy_over("missing")
    ));
    world.refuses(69, &["sweep"]).await;
}
