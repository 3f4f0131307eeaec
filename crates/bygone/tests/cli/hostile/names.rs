//! Values and names at the edge of what systems take, through the program: what is past its time goes, and nothing else.

use std::fs;

use crate::support::{Engine, Run, World, on_each_engine};

/// Keys and groups that a careless statement would take for something else.
fn odd_values() -> Vec<String> {
    let odd = [
        "",
        " ",
        "'",
        "''",
        "\"",
        "`",
        "\\",
        "\\'",
        "%",
        "_",
        ";",
        "--",
        "/*",
        "*/",
        "NULL",
        "$1",
        "?",
        ":a",
        "{}",
        "\n",
        "\r\n",
        "\t",
        "\u{1b}[2J",
        "\u{1}",
        "\u{7f}",
        "\u{202e}",
        "ü",
        "u\u{308}",
        "期限",
        "x'; DELETE FROM items; --",
        "0x00",
        "1e1",
        "TRUE",
        "a,b",
        "(1)",
    ];
    odd.iter().map(|value| (*value).to_owned()).collect()
}

on_each_engine!(rows_with_odd_keys_go_by_their_own_deadline, the_newest_of_odd_groups_stay);

/// Keys of text, in each engine's own order, listed row by row since all have one deadline, in pages of three.
async fn rows_with_odd_keys_go_by_their_own_deadline(engine: Engine) {
    let world = World::empty(engine).await;
    let (text, binary) = kinds(engine);
    world
        .run_sql(&format!(
            "CREATE TABLE items (name {text} {binary} NOT NULL PRIMARY KEY, at {})",
            engine.instant_type()
        ))
        .await;
    let long = "k".repeat(if engine == Engine::Sqlite { 10_000 } else { 500 });
    let names: Vec<String> = odd_values().into_iter().chain([long]).collect();
    for (at, name) in names.iter().enumerate() {
        let day = if at % 3 == 0 { "2200-01-01" } else { "2020-01-01" };
        world.run_sql(&format!("INSERT INTO items VALUES ({}, '{day} 00:00:00')", literal(engine, name))).await;
    }
    world.configure(
        "[source.db]\nurl = \"${DATABASE_URL}\"\n[[policy]]\nname = \"items\"\nsource = \"db\"\ntable = \"items\"\n\
         deadline = \"at\"\nkeep = \"0s\"\nbudget = { page = 3 }\nbrake = { fraction = 1.0 }\n",
    );
    let plan = world.run(&["plan", "--format", "json"]).ends(0).only_policy();
    let report = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!(plan["would_remove"], report["removed"]);
    let mut left = world.client().await.texts("SELECT name FROM items").await;
    let mut living: Vec<String> = names.iter().step_by(3).cloned().collect();
    left.sort();
    living.sort();
    assert_eq!(left, living, "{report:#}");
}

/// The newest two of each group stay, whatever the group is called.
async fn the_newest_of_odd_groups_stay(engine: Engine) {
    let world = World::empty(engine).await;
    let (text, binary) = kinds(engine);
    world.run_sql(&format!("CREATE TABLE items (id INTEGER PRIMARY KEY, room {text} {binary} NOT NULL)")).await;
    let rooms = odd_values();
    let mut id = 0;
    for room in &rooms {
        for _ in 0..3 {
            id += 1;
            world.run_sql(&format!("INSERT INTO items VALUES ({id}, {})", literal(engine, room))).await;
        }
    }
    world.configure(
        "[source.db]\nurl = \"${DATABASE_URL}\"\n[[policy]]\nname = \"items\"\nsource = \"db\"\ntable = \"items\"\n\
         newest = 2\nper = [\"room\"]\nby = \"id\"\nbudget = { page = 4 }\nbrake = { fraction = 1.0 }\n",
    );
    let report = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!(report["removed"], rooms.len(), "{report:#}");
    let left = world.client().await.texts("SELECT id FROM items ORDER BY id").await;
    let living: Vec<String> = (1..=id).filter(|id| id % 3 != 1).map(|id| id.to_string()).collect();
    assert_eq!(left, living);
}

/// The type for such values, compared byte by byte: the engines' own ideas of what is equal are another matter.
fn kinds(engine: Engine) -> (&'static str, &'static str) {
    match engine {
        Engine::Sqlite => ("TEXT", ""),
        Engine::Postgres => ("TEXT", "COLLATE \"C\""),
        Engine::MariaDb => ("VARCHAR(600)", "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"),
    }
}

fn literal(engine: Engine, value: &str) -> String {
    let doubled = value.replace('\'', "''");
    if engine == Engine::MariaDb { format!("'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}

/// Names of leases and queues of every kind that is none are refused before anything is written, and long ones are taken to
/// the last byte.
#[test]
fn names_of_leases_are_taken_whole_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = crate::support::bygone(arguments);
        Run::of(command.current_dir(directory.path()).env("BYGONE_STORE", "file:store"))
    };
    run(&["lease", "acquire", "--key", "bystander", "--ttl", "10m"]).ends(0);
    let long = "k".repeat(10_000);
    for name in ["", "a\nb", "\u{1b}[2J", "\u{9b}", &long, &"ü".repeat(129)] {
        for arguments in [
            &["lease", "acquire", "--key", name][..],
            &["lease", "acquire", "--key", "k", "--namespace", name],
            &["queue", "send", "--queue", name, "--text", "x"],
        ] {
            let refused = run(arguments);
            assert!(matches!(refused.code, Some(1 | 64 | 65)), "{arguments:?}: {refused:#?}");
        }
    }
    for name in [
        "../../../etc/passwd",
        "a/b",
        ".",
        "..",
        "~",
        "-rf",
        "'; DROP TABLE x; --",
        "%2e%2e",
        "\u{202e}",
        "ü",
        &"k".repeat(256),
    ] {
        // A name may begin like a flag.
        let named = [&*format!("--key={name}"), &format!("--namespace={name}")];
        run(&[&["lease", "acquire", "--ttl", "10m", "--owner", "ada"], &named[..]].concat()).ends(0);
        let seen = run(&[&["lease", "describe", "--json"], &named[..]].concat()).ends(0).json();
        assert_eq!(seen["owner"], "ada", "{name}");
        let queue = format!("--queue={name}");
        run(&["queue", "send", &queue, "--text", "x"]).ends(0);
        assert_eq!(run(&["queue", "stats", &queue, "--json"]).ends(0).json()["messages"], 1, "{name}");
    }
    assert_eq!(run(&["lease", "describe", "--key", "k", "--json"]).code, Some(1), "no other key was made");
    let beside: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["store"], "nothing was written beside the store");
}
