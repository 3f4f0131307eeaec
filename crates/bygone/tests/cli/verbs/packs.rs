//! `bygone packs`, and what a pack does over a live source.

use serde_json::Value;

use crate::support::{BYGONE_LAST, Engine, Run, TOKENS, World, bygone, living};

const NAMES: [&str; 10] =
    ["attesto", "django", "hydra", "keycloak", "mas", "oban", "pg-boss", "river", "solid-queue", "tokens"];

fn stdout(arguments: &[&str]) -> String {
    let run = Run::of(&mut bygone(arguments)).ends(0);
    assert_eq!(run.stderr, "", "{arguments:?}");
    run.stdout
}

#[test]
fn the_list_names_every_pack() {
    let table = stdout(&["packs"]);
    for text in NAMES.iter().chain(&["about", "schema", "policies", "Matrix Authentication Service", "AttestoPhoenix"])
    {
        assert!(table.contains(text), "{text} is not in:\n{table}");
    }
}

#[test]
fn the_list_for_machines() {
    let list: Value = serde_json::from_str(&stdout(&["packs", "--format", "json"])).unwrap();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|pack| pack["name"].as_str().unwrap()).collect();
    assert_eq!(names, NAMES);
    for pack in list.as_array().unwrap() {
        assert!(pack["about"].is_string() && pack["schema"].is_string(), "{pack}");
        assert_eq!(pack.as_object().unwrap().len(), 4, "{pack}");
    }
    assert_eq!(list[4]["policies"], 22);
    let lines: Vec<Value> =
        stdout(&["packs", "--format", "jsonl"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(lines), list);
}

#[test]
fn a_pack_is_shown_as_it_is() {
    for name in NAMES {
        let path = format!("{}/packs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(stdout(&["packs", "show", name]), std::fs::read_to_string(path).unwrap());
    }
}

#[test]
fn a_pack_that_is_not_there() {
    let run = Run::of(&mut bygone(&["packs", "show", "kaycloak"])).ends(64);
    let run = run.says(&["there is no pack `kaycloak`", "did you mean `keycloak`?"]);
    assert_eq!(run.stdout, "");
    Run::of(&mut bygone(&["packs", "show", "zebra"])).ends(64).says(&["`bygone packs` lists them"]);
    Run::of(&mut bygone(&["packs", "show"])).ends(64);
    Run::of(&mut bygone(&["packs", "hide"])).ends(64);
}

/// Neither verb needs a configuration.
#[test]
fn a_broken_file_is_not_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bygone.toml"), "= nonsense").unwrap();
    Run::of(bygone(&["packs"]).current_dir(&directory)).ends(0);
}

/// Of the pack only the policy over the table that is there is on, and another key says what is kept.
#[tokio::test]
async fn a_pack_is_swept() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let (source, _) = TOKENS.split_once("[[policy]]").unwrap();
    let pack = "[[use]]\npack = \"django\"\nsource = \"db\"\nprefix = \"shop-\"\n\
                [use.policy.django-sessions]\ntable = \"tokens\"\ndeadline = \"expires_at\"\n";
    world.configure(&format!("{source}{pack}"));
    let run = world.refuses(64, &["sweep", "shop-django-oauth-grants"]).await;
    run.says(&["the policy `shop-django-oauth-grants` is switched off", "`on` and `off`"]);
    let policy = world.refuses(0, &["plan", "--format", "json"]).await.only_policy();
    assert_eq!((&policy["policy"], &policy["would_remove"]), (&"shop-django-sessions".into(), &BYGONE_LAST.into()));
    world.run(&["sweep", "shop-django-sessions", "--release-brake", "shop-django-sessions"]).ends(0);
    assert_eq!(world.survivors().await, living());
}

/// What the source refuses is shown where the file names the pack.
#[tokio::test]
async fn a_pack_that_does_not_fit() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("[[use]]\npack = \"river\"\nsource = \"db\"\noff = [\"river-cancelled\", \"river-discarded\"]");
    let run = world.refuses(65, &["check"]).await;
    assert_eq!(run.stdout, "2 policies checked: 1 errors, 0 warnings\n");
    run.says(&["policy::unfit", "pack = \"river\"", "policy `river-completed`"]);
}
