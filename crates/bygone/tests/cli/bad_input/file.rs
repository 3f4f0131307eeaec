//! A wrong configuration file, found before any source is opened: exit 65.

use crate::support::{Engine, TOKENS, World};

/// A test for each: the policy over the tokens with one thing written otherwise, and what the refusal says.
macro_rules! refused {
    ($($name:ident: $from:expr => $to:expr, $says:expr;)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let world = World::with_tokens(Engine::Sqlite).await;
                world.alter($from, $to);
                world.refuses(65, &["sweep"]).await.says(&$says);
            }
        )*
    };
}

refused! {
    unknown_key: "keep =" => "keeep =", ["config::unknown_key", "unknown key \"keeep\"", "did you mean `keep`?", "bygone.toml:9:1"];
    wrong_type: "keep = \"0s\"" => "keep = true", ["config::wrong_type", "bygone.toml:9"];
    missing_source: "source = \"db\"" => "source = \"dbb\"", ["config::missing_source", "did you mean \"db\"?"];
    unset_variable: "DATABASE_URL" => "DATABASE_ULR", ["config::unset_variable", "DATABASE_ULR"];
    negative_keep: "\"0s\"" => "\"-1d\"", ["config::bad_duration"];
    overflowing_keep: "\"0s\"" => "\"99999999999999999999y\"", ["config::bad_duration"];
    a_keep_of_more_than_all_time: "\"0s\"" => "\"9999999d\"", ["config::bad_duration"];
    missing_keep: "keep = \"0s\"\n" => "", ["config::missing_key", "has no `keep`"];
    missing_deadline: "deadline = \"expires_at\"\n" => "", ["config::missing_key", "neither `deadline` nor `newest`"];
    empty_policy: "keep = \"0s\"\n" => "keep = \"0s\"\n[[policy]]\n", ["config::empty_policy"];
    duplicate_names: TOKENS.split_once("\n\n").unwrap().1 => &TOKENS.split_once("\n\n").unwrap().1.repeat(2), ["config::duplicate_name", "tokens"];
    no_toml: "[source.db]" => "[source.db", ["config::syntax", "this is not TOML", "bygone.toml:1"];
    a_where_that_reaches_out: "keep =" => "where = \"1 = 1) OR (1 = 1\"\nkeep =", ["config::bad_where"];
    a_where_with_a_comment: "keep =" => "where = \"1 = 1 --\"\nkeep =", ["config::bad_where"];
    an_unknown_url: "\"${DATABASE_URL}\"" => "\"oracle://db/app\"", ["config::bad_url"];
    an_unknown_zone: "keep =" => "zone = \"Europe/Atlantis\"\nkeep =", ["config::bad_zone"];
    a_brake_of_nothing: "keep =" => "brake = { fraction = 0.0 }\nkeep =", ["config::bad_value"];
    a_budget_of_nothing: "keep =" => "budget = { items = 0 }\nkeep =", ["config::bad_value"];
}

#[tokio::test]
async fn no_file() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.refuses(65, &["sweep", "--config", "elsewhere.toml"]).await.says(&["elsewhere.toml"]);
    std::fs::remove_file(world.path("bygone.toml")).unwrap();
    for verb in ["sweep", "plan", "check"] {
        world.refuses(65, &[verb]).await.says(&["bygone.toml"]);
    }
}

#[tokio::test]
async fn an_empty_file() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.configure("");
    world.refuses(65, &["sweep"]).await.says(&["config::no_policies"]);
}

#[tokio::test]
async fn a_directory_for_a_file() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.refuses(65, &["sweep", "--config", "."]).await;
}

#[tokio::test]
async fn every_mistake_is_shown_at_once() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.configure(&TOKENS.replace("keep =", "keeep =").replace("\"expires_at\"", "7"));
    world.refuses(65, &["sweep"]).await.says(&["config::unknown_key", "config::wrong_type", "2 errors"]);
}

/// The other verbs read the same file.
#[tokio::test]
async fn no_verb_takes_a_wrong_file() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.alter("keep =", "keeep =");
    for verb in ["check", "plan", "sweep"] {
        let run = world.refuses(65, &[verb, "--format", "json"]).await.says(&["config::unknown_key"]);
        assert_eq!(run.stdout, "", "{verb}");
    }
}
