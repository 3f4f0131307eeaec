//! How refusals look: the messages that people read.

use super::super::load;
use super::{POLICY, SOURCE, TestEnv, refusal, rendered, with_policy_lines};

fn with_url(url: &str) -> String {
    with_policy_lines("").replace("sqlite:a.db", url)
}

#[test]
fn unknown_key() {
    let text = with_policy_lines("keeep = \"30d\"\nunreferenced = [\"a.b\"]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::unknown_key

      x unknown key "keeep" in policy "tokens"
        ,-[bygone.toml:9:1]
      8 | keep = "1d"
      9 | keeep = "30d"
        : ^^|^^
        :   `-- did you mean `keep`?
     10 | unreferenced = ["a.b"]
        `----
      help: remove it, or use one of the keys known here: name, source, kind,
            table, deadline, keep, newest, per, by, where, unless, only_if,
            unless_referenced_by, with, clear, set, after, key, zone, schedule,
            every, jitter, window, lag_max, budget, brake, enabled

    Error: config::unknown_key

      x unknown key "unreferenced" in policy "tokens"
        ,-[bygone.toml:10:1]
      9 | keeep = "30d"
     10 | unreferenced = ["a.b"]
        : ^^^^^^|^^^^^
        :       `-- not known
        `----
      help: remove it, or use one of the keys known here: name, source, kind,
            table, deadline, keep, newest, per, by, where, unless, only_if,
            unless_referenced_by, with, clear, set, after, key, zone, schedule,
            every, jitter, window, lag_max, budget, brake, enabled
    "#);
}

#[test]
fn misspelt_and_required() {
    let text = with_policy_lines("").replace("deadline =", "deadlien =");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::unknown_key

      x unknown key "deadlien" in policy "tokens"
       ,-[bygone.toml:7:1]
     6 | table = "t"
     7 | deadlien = "d"
       : ^^^^|^^^
       :     `-- did you mean `deadline`?
     8 | keep = "1d"
       `----
      help: remove it, or use one of the keys known here: name, source, kind,
            table, deadline, keep, newest, per, by, where, unless, only_if,
            unless_referenced_by, with, clear, set, after, key, zone, schedule,
            every, jitter, window, lag_max, budget, brake, enabled
    "#);
}

#[test]
fn wrong_type() {
    let text = with_policy_lines("brake = false");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::wrong_type

      x `brake` must be a table, and this is a boolean
       ,-[bygone.toml:9:9]
     8 | keep = "1d"
     9 | brake = false
       :         ^^|^^
       :           `-- a boolean, not a table
       `----
      help: write `brake = { fraction = 0.5 }`; with `fraction = 1.0` any part of
            a table may go
    "#);
}

#[test]
fn missing_key() {
    let text = with_policy_lines("").replace("deadline = \"d\"\n", "");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::missing_key

      x policy "tokens" has neither `deadline` nor `newest`
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [[policy]]
       : ^^^^^|^^^^
       :      `-- one of them is missing here
     4 | name = "tokens"
       `----
      help: name the column that holds the deadline: `deadline = "expires_at"`; or
            say how many rows stay: `newest = 10`
    "#);
}

#[test]
fn missing_source() {
    let text = with_policy_lines("").replace("source = \"auth\"", "source = \"oauth\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::missing_source

      x there is no source "oauth"
       ,-[bygone.toml:5:10]
     4 | name = "tokens"
     5 | source = "oauth"
       :          ^^^|^^^
       :             `-- did you mean "auth"?
     6 | table = "t"
       `----
      help: name one of the sources (auth), or add a `[source.NAME]`
    "#);
}

#[test]
fn unset_variable() {
    let text = with_url("postgres://app:${DB_PASSWORD}@db/app");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::unset_variable

      x the environment variable `DB_PASSWORD` is not set
       ,-[bygone.toml:2:23]
     1 | [source.auth]
     2 | url = "postgres://app:${DB_PASSWORD}@db/app"
       :                       ^^^^^^^|^^^^^^
       :                              `-- needs it
     3 | [[policy]]
       `----
      help: set `DB_PASSWORD`, or give a default: `${DB_PASSWORD:-…}`
    "#);
}

#[test]
fn unreadable_file() {
    let text = with_url("postgres://app:${file:db.password}@db/app");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::unreadable_file

      x the file `/nowhere/db.password` cannot be read: No such file or directory
      | (os error 2)
       ,-[bygone.toml:2:23]
     1 | [source.auth]
     2 | url = "postgres://app:${file:db.password}@db/app"
       :                       ^^^^^^^^^|^^^^^^^^^
       :                                `-- needs it
     3 | [[policy]]
       `----
      help: the path is relative to the directory of the configuration file; the
            file must be text
    "#);
}

#[test]
fn bad_interpolation() {
    let text = with_policy_lines("where = \"name LIKE 'a$'\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_interpolation

      x a lone `$` means nothing
       ,-[bygone.toml:9:22]
     8 | keep = "1d"
     9 | where = "name LIKE 'a$'"
       :                      |
       :                      `-- here
       `----
      help: write `${VAR}`, `${VAR:-default}` or `${file:path}`, and `$$` where a
            dollar sign is meant
    "#);
}

#[test]
fn duplicate_name() {
    let text = format!("{SOURCE}{POLICY}\n{POLICY}");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::duplicate_name

      x two policies have the name "tokens"
       ,-[bygone.toml:4:8]
     3 | [[policy]]
     4 | name = "tokens"
       :        ^^^^|^^^
       :            `-- first here
     5 | source = "auth"
       `----
        ,-[bygone.toml:11:8]
     10 | [[policy]]
     11 | name = "tokens"
        :        ^^^^|^^^
        :            `-- and again here
     12 | source = "auth"
        `----
      help: give each policy a name of its own: reports and commands go by it
    "#);
}

#[test]
fn empty_policy() {
    let text = with_policy_lines("\n[[policy]]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::empty_policy

      x this policy is empty
        ,-[bygone.toml:10:1]
      9 | 
     10 | [[policy]]
        : ^^^^^|^^^^
        :      `-- nothing follows
        `----
      help: write `name`, `source`, `table`, `deadline` and `keep`, or remove it
    "#);
}

#[test]
fn bad_duration_number() {
    let text = with_policy_lines("").replace("\"1d\"", "30");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_duration

      x `keep` is a number without a unit
       ,-[bygone.toml:8:8]
     7 | deadline = "d"
     8 | keep = 30
       :        ^|
       :         `-- this length of time
     9 | 
       `----
      help: say "30d" for days; h, m, s and ms are hours, minutes, seconds and
            milliseconds
    "#);
}

#[test]
fn bad_duration_month() {
    let text = with_policy_lines("").replace("1d", "1mo");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_duration

      x `keep` has months or years, which have no fixed length
       ,-[bygone.toml:8:8]
     7 | deadline = "d"
     8 | keep = "1mo"
       :        ^^|^^
       :          `-- this length of time
     9 | 
       `----
      help: say it in weeks, days or hours: "30d" or "52w"
    "#);
}

#[test]
fn bad_duration_negative() {
    let text = with_policy_lines("").replace("1d", "-1d");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_duration

      x `keep` is negative
       ,-[bygone.toml:8:8]
     7 | deadline = "d"
     8 | keep = "-1d"
       :        ^^|^^
       :          `-- this length of time
     9 | 
       `----
      help: say "0s" or more, such as "30d"
    "#);
}

#[test]
fn bad_duration_overflow() {
    let text = with_policy_lines("").replace("1d", "9999999999d");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_duration

      x `keep` is longer than 1000 years
       ,-[bygone.toml:8:8]
     7 | deadline = "d"
     8 | keep = "9999999999d"
       :        ^^^^^^|^^^^^^
       :              `-- this length of time
     9 | 
       `----
      help: the longest is "365000d"; to keep for ever, write no policy
    "#);
}

#[test]
fn bad_url() {
    let text = with_url("ftp://ada:pw@host/x");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_url

      x the scheme `ftp:` is not supported
       ,-[bygone.toml:2:7]
     1 | [source.auth]
     2 | url = "ftp://ada:**@host/x"
       :       ^^^^^^^^^^|^^^^^^^^^^
       :                 `-- this URL
     3 | [[policy]]
       `----
      help: write `postgres://user@host/database`, `mysql://user@host/database`,
            `mariadb://user@host/database` or `sqlite:path/to/file.db`; `file:/
            path/to/directory`; `s3://bucket`, `az://container` or `gs://bucket`
    "#);
}

#[test]
fn bad_zone() {
    let text = with_policy_lines("zone = \"Europe/Berln\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_zone

      x `zone` is not the name of a time zone
       ,-[bygone.toml:9:8]
     8 | keep = "1d"
     9 | zone = "Europe/Berln"
       :        ^^^^^^^|^^^^^^
       :               `-- did you mean "Europe/Berlin"?
       `----
      help: write a name of the IANA time zone database, such as "Europe/Berlin"
            or "UTC"
    "#);
}

#[test]
fn bad_where() {
    let text = with_policy_lines("where = \"a = 1) OR (b = 2\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_where

      x `where` closes a parenthesis that it did not open
       ,-[bygone.toml:9:9]
     8 | keep = "1d"
     9 | where = "a = 1) OR (b = 2"
       :         ^^^^^^^^^|^^^^^^^^
       :                  `-- this condition
       `----
      help: write as many `)` as `(`, each after its `(`
    "#);
}

#[test]
fn bad_value() {
    let text = with_policy_lines("budget = { page = 0 }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `page` must be at least 1
       ,-[bygone.toml:9:19]
     8 | keep = "1d"
     9 | budget = { page = 0 }
       :                   |
       :                   `-- nothing could be done with 0
       `----
      help: write 1 or more; to set no bound, leave `page` out
    "#);
}

#[test]
fn bad_schedule() {
    let text = with_policy_lines("schedule = \"every day\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_schedule

      x `schedule` must have five fields, or six with seconds first
       ,-[bygone.toml:9:12]
     8 | keep = "1d"
     9 | schedule = "every day"
       :            ^^^^^|^^^^^
       :                 `-- 2 fields
       `----
      help: "0 5 */4 * * *" is every four hours, five minutes past; a zone may
            follow, as in "0 30 2 * * * Europe/Stockholm"; or write `every = "4h"`
    "#);
}

#[test]
fn conflicting_keys() {
    let text = with_policy_lines("schedule = \"0 0 * * *\"\nevery = \"1d\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::conflicting_keys

      x `schedule` and `every` exclude each other
        ,-[bygone.toml:10:9]
      8 | keep = "1d"
      9 | schedule = "0 0 * * *"
        :            ^^^^^|^^^^^
        :                 `-- a schedule here
     10 | every = "1d"
        :         ^^|^
        :           `-- and an interval here
        `----
      help: keep one of them
    "#);
}

#[test]
fn bad_deadline() {
    let text = with_policy_lines("").replace("\"d\"", "[\"a\", { epoch = \"b\" }, 3]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::unknown_key

      x unknown key "epoch" in `deadline`
       ,-[bygone.toml:7:20]
     6 | table = "t"
     7 | deadline = ["a", { epoch = "b" }, 3]
       :                    ^^|^^
       :                      `-- did you mean `epoch_s`?
     8 | keep = "1d"
       `----
      help: remove it, or use one of the keys known here: epoch_s, epoch_ms,
            epoch_us, ulid, uuid7, key

    Error: config::wrong_type

      x `deadline` must be a column, and this is an integer
       ,-[bygone.toml:7:35]
     6 | table = "t"
     7 | deadline = ["a", { epoch = "b" }, 3]
       :                                   |
       :                                   `-- an integer, not a column
     8 | keep = "1d"
       `----
      help: write `deadline = "expires_at"`, several columns as `["a", "b"]`, or
            another form as `{ epoch_ms = "at" }` or `{ ulid = "id" }`
    "#);
}

#[test]
fn no_policies() {
    insta::assert_snapshot!(refusal(SOURCE), @r#"
    config::no_policies

      x bygone.toml has no policies
      help: add a `[[policy]]` with `name`, `source`, `table`, `deadline` and
            `keep`, or a `[[use]]` with `pack` and `source`
    "#);
}

#[test]
fn syntax() {
    let text = with_policy_lines("where = a = 1");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::syntax

      x this is not TOML: string values must be quoted, expected literal string
       ,-[bygone.toml:9:9]
     8 | keep = "1d"
     9 | where = a = 1
       :         |
       :         `-- here
       `----
      help: strings stand in quotes, tables are headed `[source.NAME]` and
            `[[policy]]`, and a key stands once in a table
    "#);
}

#[test]
fn policy_with_one_bracket() {
    let text = with_policy_lines("").replace("[[policy]]", "[policy]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::wrong_type

      x `policy` must be an array of tables, and this is a table
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [policy]
       : ^^^^|^^^
       :     `-- a table, not an array of tables
     4 | name = "tokens"
       `----
      help: write the header with two brackets: `[[policy]]`
    "#);
}

#[test]
fn source_without_a_name() {
    let text = with_policy_lines("").replace("[source.auth]", "[source]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::wrong_type

      x `source.url` must be a table, and this is a string
       ,-[bygone.toml:2:1]
     1 | [source]
     2 | url = "sqlite:a.db"
       : ^|^
       :  `-- a string, not a table
     3 | [[policy]]
       `----
      help: name the source in its header, `[source.NAME]`, and write the keys
            below it

    Error: config::missing_source

      x there is no source "auth"
       ,-[bygone.toml:5:10]
     4 | name = "tokens"
     5 | source = "auth"
       :          ^^^|^^
       :             `-- not a source of this file
     6 | table = "t"
       `----
      help: add the source: a `[source.NAME]` with its `url`
    "#);
}

#[test]
fn missing_file() {
    let error = load("/nowhere/bygone.toml".as_ref(), &TestEnv).map(|_| ());
    let shown = rendered(&error.unwrap_err());
    insta::assert_snapshot!(shown, @r#"
    config::missing_file

      x there is no configuration file `/nowhere/bygone.toml`
      help: write one, or pass --config FILE (docs/configuration.md has all keys)
    "#);
}
