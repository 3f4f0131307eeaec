//! `newest`, `per` and `by`, and what becomes of `deadline` and `keep` beside
//! them.

use jiff::SignedDuration;

use super::super::model::Newest;
use super::{at, config, policy, refusal, with_policy_lines};

/// A good file whose policy has `lines` in place of a deadline.
fn without_deadline(lines: &str) -> String {
    with_policy_lines(lines).replace("deadline = \"d\"\nkeep = \"1d\"\n", "")
}

#[test]
fn alone_and_with_a_deadline() {
    let lines = "newest = 3\nper = [\"user\", \"${COLUMN}\"]\nby = \"made_at\"";
    let wanted =
        Newest { rows: 3, per: vec!["user".to_owned(), "expires_at".to_owned()], by: Some("made_at".to_owned()) };
    let both = policy(lines);
    assert_eq!(both.rows().unwrap().newest.as_ref(), Some(&wanted));
    assert_eq!(both.rows().unwrap().keep, SignedDuration::from_hours(24));
    assert!(both.rows().unwrap().deadline.is_some());
    let spans = &both.spans;
    assert_eq!(at(lines, spans.keys["newest"]), "3");
    assert_eq!(at(lines, spans.keys["per"]), "[\"user\", \"${COLUMN}\"]");
    assert_eq!(at(lines, spans.keys["by"]), "\"made_at\"");
    let alone = config(&without_deadline("newest = 1")).unwrap().policies.remove(0);
    assert_eq!(alone.rows().unwrap().newest, Some(Newest { rows: 1, per: Vec::new(), by: None }));
    assert_eq!((alone.rows().unwrap().deadline.clone(), alone.rows().unwrap().keep), (None, SignedDuration::ZERO));
    assert!(alone.spans.keys.get("deadline").copied().is_none());
}

#[test]
fn neither_newest_nor_deadline() {
    insta::assert_snapshot!(refusal(&without_deadline("per = [\"user\"]")), @r#"
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
fn newest_misspelt() {
    insta::assert_snapshot!(refusal(&without_deadline("newset = 10")), @r#"
    config::unknown_key

      x unknown key "newset" in policy "tokens"
       ,-[bygone.toml:7:1]
     6 | table = "t"
     7 | newset = 10
       : ^^^|^^
       :    `-- did you mean `newest`?
       `----
      help: remove it, or use one of the keys known here: name, source, kind,
            table, deadline, keep, newest, per, by, where, unless, only_if,
            unless_referenced_by, with, clear, set, after, key, zone, schedule,
            every, jitter, window, lag_max, budget, brake, enabled
    "#);
}

#[test]
fn keep_without_deadline() {
    let text = with_policy_lines("newest = 10").replace("deadline = \"d\"\n", "");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::missing_key

      x `keep` means nothing without `deadline`
       ,-[bygone.toml:7:8]
     6 | table = "t"
     7 | keep = "1d"
       :        ^^|^
       :          `-- `deadline` is missing beside it
     8 | newest = 10
       `----
      help: name the deadline that it counts from: `deadline = "created_at"`; or
            remove `keep`
    "#);
}

#[test]
fn deadline_without_keep() {
    let text = with_policy_lines("newest = 10").replace("keep = \"1d\"\n", "");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::missing_key

      x policy "tokens" has no `keep`
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [[policy]]
       : ^^^^^|^^^^
       :      `-- `keep` is missing here
     4 | name = "tokens"
       `----
      help: say how long rows stay after their deadline: `keep = "30d"`, or "0s"
    "#);
}

#[test]
fn per_and_by_without_newest() {
    let text = with_policy_lines("per = [\"user\"]\nby = \"made_at\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::missing_key

      x `per` means nothing without `newest`
        ,-[bygone.toml:9:7]
      8 | keep = "1d"
      9 | per = ["user"]
        :       ^^^^|^^^
        :           `-- `newest` is missing beside it
     10 | by = "made_at"
        `----
      help: say how many of each group stay: `newest = 10`; or remove `per`

    Error: config::missing_key

      x `by` means nothing without `newest`
        ,-[bygone.toml:10:6]
      9 | per = ["user"]
     10 | by = "made_at"
        :      ^^^^|^^^^
        :          `-- `newest` is missing beside it
        `----
      help: say how many rows stay: `newest = 10`; or remove `by`
    "#);
}

#[test]
fn none_at_all() {
    insta::assert_snapshot!(refusal(&without_deadline("newest = 0")), @r#"
    config::bad_value

      x `newest` must be at least 1
       ,-[bygone.toml:7:10]
     6 | table = "t"
     7 | newest = 0
       :          |
       :          `-- would keep none
       `----
      help: write how many rows to keep; to remove rows by age alone, write
            `deadline` and `keep` instead
    "#);
}

#[test]
fn groups_of_nothing() {
    insta::assert_snapshot!(refusal(&without_deadline("newest = 1\nper = []\nby = \"\"")), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_value

      x `per` is empty
       ,-[bygone.toml:8:7]
     7 | newest = 1
     8 | per = []
       :       ^|
       :        `-- nothing in it
     9 | by = ""
       `----
      help: write what belongs here, or leave `per` out

    Error: config::bad_value

      x `by` holds an empty or unprintable name
       ,-[bygone.toml:9:6]
     8 | per = []
     9 | by = ""
       :      ^|
       :       `-- not a name
       `----
      help: write the name as the database knows it, or remove it
    "#);
}

#[test]
fn a_group_column_twice() {
    insta::assert_snapshot!(refusal(&without_deadline("newest = 1\nper = [\"user\", \"user\"]")), @r#"
    config::bad_value

      x `per` says the same twice
       ,-[bygone.toml:8:16]
     7 | newest = 1
     8 | per = ["user", "user"]
       :        ^^^|^^  ^^^|^^
       :           |       `-- and again here
       :           `-- first here
       `----
      help: say it once
    "#);
}
