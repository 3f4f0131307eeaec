//! A wrong command line: exit 64.

use crate::support::{Engine, World};

/// A test for each: arguments, and what the refusal says.
macro_rules! refused {
    ($($name:ident: $arguments:expr, $says:expr;)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let world = World::with_tokens(Engine::Sqlite).await;
                let run = world.refuses(64, &$arguments).await.says(&$says);
                assert_eq!(run.stdout, "", "a refusal is no data");
            }
        )*
    };
}

refused! {
    no_verb: [], ["Usage: bygone"];
    unknown_verb: ["swep"], ["unrecognized subcommand 'swep'", "sweep"];
    unknown_flag: ["sweep", "--force"], ["unexpected argument '--force'"];
    misspelt_dry_run: ["sweep", "--dryrun"], ["unexpected argument '--dryrun'", "--dry-run"];
    dry_run_as_a_policy: ["sweep", "dry-run"], ["there is no policy `dry-run`"];
    unknown_policy: ["sweep", "tokns"], ["there is no policy `tokns`", "did you mean `tokens`?"];
    unknown_policy_in_a_plan: ["plan", "tokns"], ["there is no policy `tokns`", "did you mean `tokens`?"];
    one_unknown_policy_of_two: ["sweep", "tokens", "tokns"], ["there is no policy `tokns`"];
    unknown_policy_to_release: ["sweep", "--release-brake", "tokns"], ["there is no policy `tokns`"];
    unknown_policy_to_guard: ["guard", "tokns"], ["there is no policy `tokns`", "did you mean `tokens`?"];
    row_security_of_a_file: ["guard", "--row-security"], ["policy `tokens`: only PostgreSQL has row-level security"];
    grants_without_a_role: ["grants"], ["<ROLE>"];
    grants_to_nobody: ["grants", ""], ["a value is required for '<ROLE>'"];
    unknown_policy_to_grant: ["grants", "ada", "tokns"], ["there is no policy `tokns`", "did you mean `tokens`?"];
    grants_on_a_file: ["grants", "ada"], ["an SQLite file has no roles"];
    unknown_format: ["sweep", "--format", "yaml"], ["invalid value 'yaml'"];
    unreadable_now: ["sweep", "--now", "yesterday"], ["invalid value 'yesterday'"];
    now_in_the_future: ["sweep", "--now", "2199-01-01T00:00:00Z"], ["2199-01-01T00:00:00.000000Z lies in the future", "`plan` takes any"];
    missing_plan: ["sweep", "--plan", "plan.json"], ["cannot read the plan plan.json"];
    dry_run_of_a_plan: ["sweep", "--dry-run", "--plan", "plan.json"], ["cannot be used with"];
    dry_run_with_a_release: ["sweep", "--dry-run", "--release-brake", "tokens"], ["cannot be used with"];
}

#[tokio::test]
async fn a_file_that_is_no_plan() {
    let world = World::with_tokens(Engine::Sqlite).await;
    for text in ["", "{}", "not json", "{ \"boundary\": \"2024-01-01T00:00:00Z\", \"policies\": 7 }"] {
        std::fs::write(world.path("plan.json"), text).unwrap();
        world.refuses(64, &["sweep", "--plan", "plan.json"]).await.says(&["plan.json is not a plan"]);
    }
}

#[tokio::test]
async fn a_policy_that_changed_since_the_plan() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run(&["plan", "-o", "plan.json"]).ends(0);
    for (from, to) in [
        ("keep = \"0s\"", "keep = \"1s\""),
        ("keep =", "where = \"id > 0\"\nkeep ="),
        ("[source.db]", "[source.db]\ntable_prefix = \"t\""),
    ] {
        world.alter(from, to);
        world.refuses(64, &["sweep", "--plan", "plan.json"]).await.says(&["the policy `tokens` has changed since"]);
    }
}

#[tokio::test]
async fn a_policy_that_the_plan_does_not_know() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run(&["plan", "-o", "plan.json"]).ends(0);
    world.alter("name = \"tokens\"", "name = \"renamed\"");
    world.refuses(64, &["sweep", "--plan", "plan.json"]).await.says(&["there is no policy `tokens`"]);
    world.refuses(64, &["sweep", "renamed", "--plan", "plan.json"]).await.says(&["does not know the policy `renamed`"]);
}

/// A plan may look ahead; a sweep by it would remove what still lives.
#[tokio::test]
async fn a_plan_of_the_future() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let run = world.refuses(0, &["plan", "--now", "2201-01-01T00:00:00Z", "-o", "plan.json", "--format", "json"]).await;
    assert_eq!(run.only_policy()["would_remove"], 100);
    world.refuses(64, &["sweep", "--plan", "plan.json"]).await.says(&["lies in the future"]);
}
