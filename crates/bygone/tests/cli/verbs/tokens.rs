//! `tokens ddl`: the tables of the bygone-tokens library, as SQL.

use crate::support::{Run, bygone};

fn printed(arguments: &[&str]) -> String {
    Run::of(bygone(&["tokens", "ddl"]).args(arguments)).ends(0).stdout
}

/// Every statement ends, whatever the database is called.
#[test]
fn each_database_has_its_tables() {
    for (engine, also, digest) in
        [("postgres", "postgresql", "BYTEA"), ("mysql", "mariadb", "BINARY(32)"), ("sqlite", "sqlite", "BLOB")]
    {
        let text = printed(&[engine]);
        assert_eq!(text, printed(&[also]));
        assert_eq!(text.matches("CREATE TABLE IF NOT EXISTS").count(), 12, "{text}");
        assert!(text.contains(digest), "{text}");
        assert!(text.trim_end().ends_with("SET version = 1 WHERE id = 1;"), "{text}");
        let json: Vec<String> = serde_json::from_str(&printed(&[engine, "--format", "json"])).unwrap();
        assert_eq!(json.join(";\n") + ";\n", text);
    }
}

#[test]
fn a_schema_and_a_prefix_are_in_every_name() {
    let text = printed(&["postgres", "--schema", "auth", "--table-prefix", "acme_"]);
    assert!(text.starts_with("CREATE SCHEMA IF NOT EXISTS \"auth\";"), "{text}");
    for line in text.lines().filter(|line| line.starts_with("CREATE TABLE") || line.contains("REFERENCES")) {
        assert!(line.contains("\"auth\".\"acme_"), "{line}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_the_remedy() {
    let run = |arguments: &[&str]| Run::of(bygone(&["tokens", "ddl"]).args(arguments)).ends(64);
    run(&[]).says(&["<ENGINE>"]);
    run(&["oracle"]).says(&["postgres", "mysql", "sqlite"]);
    run(&["sqlite", "--schema", "auth"]).says(&["an SQLite file has no schemas", "leave it out"]);
    run(&["postgres", "--table-prefix", "an_extremely_long_prefix_"]).says(&["over 24 bytes"]);
    Run::of(&mut bygone(&["tokens"])).ends(64);
}
