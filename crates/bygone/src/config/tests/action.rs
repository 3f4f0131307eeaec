//! `clear` and `set`.

use super::super::model::{Action, Assignment, NewValue};
use super::{at, policy, refusal, rows, with_policy_lines};

/// The assignments of a policy with these lines.
fn columns(lines: &str) -> Vec<Assignment> {
    match rows(lines).action {
        Action::Update { columns } => columns,
        Action::Remove => panic!("{lines}"),
    }
}

fn values(columns: &[Assignment]) -> Vec<(&str, &NewValue)> {
    columns.iter().map(|assignment| (assignment.column.as_str(), &assignment.value)).collect()
}

#[test]
fn columns_are_cleared_in_the_order_written() {
    let columns = columns(r#"clear = ["ip", "${COLUMN}", "agent"]"#);
    let wanted = [("ip", &NewValue::Null), ("expires_at", &NewValue::Null), ("agent", &NewValue::Null)];
    assert_eq!(values(&columns), wanted);
}

#[test]
fn every_kind_of_value() {
    for (written, wanted) in [
        (r#""now""#, NewValue::Now),
        ("'now'", NewValue::Now),
        (r#""Now""#, NewValue::Text("Now".to_owned())),
        (r#""closed""#, NewValue::Text("closed".to_owned())),
        (r#""""#, NewValue::Text(String::new())),
        (r#""${SECRET}$$""#, NewValue::Text("hunter2$".to_owned())),
        ("0", NewValue::Int(0)),
        ("-9223372036854775808", NewValue::Int(i64::MIN)),
        ("1_000", NewValue::Int(1000)),
        ("0xff", NewValue::Int(255)),
        ("-0.5", NewValue::Real(-0.5)),
        ("1e3", NewValue::Real(1000.0)),
        ("true", NewValue::Bool(true)),
        ("false", NewValue::Bool(false)),
    ] {
        let columns = columns(&format!("set = {{ a = {written} }}"));
        assert_eq!(values(&columns), [("a", &wanted)], "{written}");
    }
}

#[test]
fn both_together_and_the_spans() {
    let lines = "set = { z = 1, \"a b\" = true }\nclear = [\"m\"]";
    let found = columns(lines);
    let wanted = [("m", &NewValue::Null), ("z", &NewValue::Int(1)), ("a b", &NewValue::Bool(true))];
    assert_eq!(values(&found), wanted);
    let places: Vec<String> = found.iter().map(|assignment| at(lines, assignment.span)).collect();
    assert_eq!(places, ["\"m\"", "z", "\"a b\""]);
    let spans = policy(lines).spans;
    assert_eq!(at(lines, spans.keys["clear"]), "[\"m\"]");
    assert_eq!(at(lines, spans.keys["set"]), "{ z = 1, \"a b\" = true }");
    let headed = columns("[policy.set]\nb = 1\na = 2");
    assert_eq!(values(&headed), [("b", &NewValue::Int(1)), ("a", &NewValue::Int(2))]);
}

#[test]
fn a_column_twice() {
    let text = with_policy_lines(r#"clear = ["ip", "ip"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `clear` says the same twice
       ,-[bygone.toml:9:16]
     8 | keep = "1d"
     9 | clear = ["ip", "ip"]
       :          ^^|^  ^^|^
       :            |     `-- and again here
       :            `-- first here
       `----
      help: say it once
    "#);
}

#[test]
fn a_column_cleared_and_set() {
    let text = with_policy_lines("clear = [\"ip\"]\nset = { seen = \"now\", ip = \"\" }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::conflicting_keys

      x `clear` and `set` name the same column
        ,-[bygone.toml:10:23]
      8 | keep = "1d"
      9 | clear = ["ip"]
        :          ^^|^
        :            `-- cleared here
     10 | set = { seen = "now", ip = "" }
        :                       ^|
        :                        `-- and set here
        `----
      help: keep one of them: `clear` makes it NULL
    "#);
}

#[test]
fn with_beside_clear() {
    let text = with_policy_lines("clear = [\"ip\"]\nwith = [\"logins.user_id\"]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::conflicting_keys

      x `with` and `clear` exclude each other
        ,-[bygone.toml:9:9]
      8 | keep = "1d"
      9 | clear = ["ip"]
        :         ^^^|^^
        :            `-- and here rows stay
     10 | with = ["logins.user_id"]
        :        ^^^^^^^^^|^^^^^^^^
        :                 `-- removed along with rows
        `----
      help: `clear` removes nothing, so nothing goes along: keep one of them
    "#);
}

#[test]
fn with_beside_set() {
    let text = with_policy_lines("with = [\"logins.user_id\"]\nset = { closed = true }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::conflicting_keys

      x `with` and `set` exclude each other
        ,-[bygone.toml:10:7]
      8 | keep = "1d"
      9 | with = ["logins.user_id"]
        :        ^^^^^^^^^|^^^^^^^^
        :                 `-- removed along with rows
     10 | set = { closed = true }
        :       ^^^^^^^^|^^^^^^^^
        :               `-- and here rows stay
        `----
      help: `set` removes nothing, so nothing goes along: keep one of them
    "#);
}

#[test]
fn values_of_no_column() {
    let text = with_policy_lines("set = { a = [1], b = 2026-01-01, c = nan, d = 9223372036854775808, e = {} }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 5 errors

    Error: config::wrong_type

      x `set.a` must be a string, a number or a boolean, and this is an array
       ,-[bygone.toml:9:13]
     8 | keep = "1d"
     9 | set = { a = [1], b = 2026-01-01, c = nan, d = 9223372036854775808, e = {} }
       :             ^|^
       :              `-- an array, not a string, a number or a boolean
       `----
      help: write `set = { status = "closed", closed_at = "now" }`; for NULL write
            `clear = ["column"]`

    Error: config::wrong_type

      x `set.b` must be a string, a number or a boolean, and this is a date or
      | time
       ,-[bygone.toml:9:22]
     8 | keep = "1d"
     9 | set = { a = [1], b = 2026-01-01, c = nan, d = 9223372036854775808, e = {} }
       :                      ^^^^^|^^^^
       :                           `-- a date or time, not a string, a number or a boolean
       `----
      help: write `set = { status = "closed", closed_at = "now" }`; for NULL write
            `clear = ["column"]`

    Error: config::bad_value

      x `set.c` is no finite number
       ,-[bygone.toml:9:38]
     8 | keep = "1d"
     9 | set = { a = [1], b = 2026-01-01, c = nan, d = 9223372036854775808, e = {} }
       :                                      ^|^
       :                                       `-- not finite
       `----
      help: write a number; for NULL write `clear = ["column"]`

    Error: config::bad_value

      x `set.d` is out of range
       ,-[bygone.toml:9:47]
     8 | keep = "1d"
     9 | set = { a = [1], b = 2026-01-01, c = nan, d = 9223372036854775808, e = {} }
       :                                               ^^^^^^^^^|^^^^^^^^^
       :                                                        `-- more than 64 bits hold
       `----
      help: write a smaller number, or the number as a text

    Error: config::wrong_type

      x `set.e` must be a string, a number or a boolean, and this is a table
       ,-[bygone.toml:9:72]
     8 | keep = "1d"
     9 | set = { a = [1], b = 2026-01-01, c = nan, d = 9223372036854775808, e = {} }
       :                                                                        ^|
       :                                                                         `-- a table, not a string, a number or a boolean
       `----
      help: write `set = { status = "closed", closed_at = "now" }`; for NULL write
            `clear = ["column"]`
    "#);
}

#[test]
fn not_a_table() {
    let text = with_policy_lines(r#"set = ["ip"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::wrong_type

      x `set` must be a table, and this is an array
       ,-[bygone.toml:9:7]
     8 | keep = "1d"
     9 | set = ["ip"]
       :       ^^^|^^
       :          `-- an array, not a table
       `----
      help: write `set = { status = "closed", closed_at = "now" }`; for NULL write
            `clear = ["column"]`
    "#);
}

#[test]
fn nothing_to_do() {
    let text = with_policy_lines("clear = []\nset = {}");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_value

      x `clear` is empty
        ,-[bygone.toml:9:9]
      8 | keep = "1d"
      9 | clear = []
        :         ^|
        :          `-- nothing in it
     10 | set = {}
        `----
      help: write what belongs here, or leave `clear` out

    Error: config::bad_value

      x `set` is empty
        ,-[bygone.toml:10:7]
      9 | clear = []
     10 | set = {}
        :       ^|
        :        `-- nothing in it
        `----
      help: write what belongs here, or leave `set` out
    "#);
}

#[test]
fn names_of_nothing() {
    let text = with_policy_lines("clear = [\"\"]\nset = { \" \" = 1 }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_value

      x `clear` holds an empty or unprintable name
        ,-[bygone.toml:9:10]
      8 | keep = "1d"
      9 | clear = [""]
        :          ^|
        :           `-- not a name
     10 | set = { " " = 1 }
        `----
      help: write the name as the database knows it, or remove it

    Error: config::bad_value

      x `set` holds an empty or unprintable name
        ,-[bygone.toml:10:9]
      9 | clear = [""]
     10 | set = { " " = 1 }
        :         ^|^
        :          `-- not a name
        `----
      help: write the name as the database knows it, or remove it
    "#);
}
