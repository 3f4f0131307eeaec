//! `unless` and `only_if`.

use super::super::model::Condition;
use super::{at, policy, refusal, rows, with_policy_lines};

type Parts<'c> = (&'c str, Option<&'c str>, Option<&'c str>);

fn parts(conditions: &[Condition]) -> Vec<Parts<'_>> {
    conditions.iter().map(|c| (c.via.as_str(), c.table.as_deref(), c.where_.as_deref())).collect()
}

#[test]
fn one_and_several_conditions() {
    let cases: [(&str, &[Parts<'_>]); 6] = [
        (r#"unless = { via = "user_id" }"#, &[("user_id", None, None)]),
        (
            r#"unless = { via = "user_id", table = "users", where = "locked" }"#,
            &[("user_id", Some("users"), Some("locked"))],
        ),
        (r#"unless = [{ via = "b" }, { via = "a", where = "x" }]"#, &[("b", None, None), ("a", None, Some("x"))]),
        ("[policy.unless]\nvia = \"${COLUMN}\"\nwhere = \"a = '$$'\"", &[("expires_at", None, Some("a = '$'"))]),
        ("[[policy.unless]]\nvia = \"a\"\n[[policy.unless]]\nvia = \"b\"", &[("a", None, None), ("b", None, None)]),
        ("unless.via = \"a\"", &[("a", None, None)]),
    ];
    for (lines, wanted) in cases {
        assert_eq!(parts(&rows(lines).unless), wanted, "{lines}");
        let lines = lines.replace("unless", "only_if");
        let policy = policy(&lines);
        assert_eq!(parts(&policy.rows().unwrap().only_if), wanted, "{lines}");
        assert!(policy.rows().unwrap().unless.is_empty());
    }
}

#[test]
fn spans_point_at_tables() {
    let lines = "unless = { via = \"a\" }\nonly_if = [{ via = \"b\" }, { via = \"c\" }]";
    let found = policy(lines);
    assert_eq!(at(lines, found.rows().unwrap().unless[0].span), "{ via = \"a\" }");
    assert_eq!(at(lines, found.spans.keys.get("unless").copied().unwrap()), "{ via = \"a\" }");
    assert_eq!(at(lines, found.rows().unwrap().only_if[1].span), "{ via = \"c\" }");
    assert_eq!(at(lines, found.spans.keys.get("only_if").copied().unwrap()), "[{ via = \"b\" }, { via = \"c\" }]");
    let lines = "[policy.unless]\nvia = \"a\"\n[[policy.only_if]]\nvia = \"a\"\n[[policy.only_if]]\nvia = \"b\"";
    let found = policy(lines);
    assert_eq!(at(lines, found.spans.keys.get("unless").copied().unwrap()), "[policy.unless]");
    assert_eq!(at(lines, found.spans.keys.get("only_if").copied().unwrap()), "[[policy.only_if]]");
    assert_eq!(at(lines, found.rows().unwrap().only_if[1].span), "[[policy.only_if]]");
}

#[test]
fn no_via() {
    let text = with_policy_lines(r#"unless = { where = "locked" }"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::missing_key

      x `unless` has no `via`
       ,-[bygone.toml:9:10]
     8 | keep = "1d"
     9 | unless = { where = "locked" }
       :          ^^^^^^^^^^|^^^^^^^^^
       :                    `-- `via` is missing here
       `----
      help: name the column that points at the other row: `via = "user_id"`
    "#);
}

#[test]
fn an_unknown_key() {
    let text = with_policy_lines(r#"only_if = { via = "user_id", when = "locked" }"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::unknown_key

      x unknown key "when" in `only_if`
       ,-[bygone.toml:9:30]
     8 | keep = "1d"
     9 | only_if = { via = "user_id", when = "locked" }
       :                              ^^|^
       :                                `-- not known
       `----
      help: remove it, or use one of the keys known here: via, where, table, to,
            living
    "#);
}

#[test]
fn a_condition_that_reaches_out() {
    let text = with_policy_lines(r#"only_if = { via = "user_id", where = "locked) OR (1 = 1" }"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_where

      x `where` closes a parenthesis that it did not open
       ,-[bygone.toml:9:38]
     8 | keep = "1d"
     9 | only_if = { via = "user_id", where = "locked) OR (1 = 1" }
       :                                      ^^^^^^^^^|^^^^^^^^^
       :                                               `-- this condition
       `----
      help: write as many `)` as `(`, each after its `(`
    "#);
}

#[test]
fn not_a_table() {
    let text = with_policy_lines(r#"unless = "user_id""#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::wrong_type

      x `unless` must be a table or a list of tables, and this is a string
       ,-[bygone.toml:9:10]
     8 | keep = "1d"
     9 | unless = "user_id"
       :          ^^^^|^^^^
       :              `-- a string, not a table or a list of tables
       `----
      help: write `unless = { via = "user_id", where = "locked" }`, or several
            such in `[…]`
    "#);
}

#[test]
fn no_conditions() {
    let text = with_policy_lines("unless = []");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `unless` is empty
       ,-[bygone.toml:9:10]
     8 | keep = "1d"
     9 | unless = []
       :          ^|
       :           `-- nothing in it
       `----
      help: write what belongs here, or leave `unless` out
    "#);
}

#[test]
fn names_of_nothing() {
    let text = with_policy_lines(r#"unless = { via = "", table = " " }"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_value

      x `via` holds an empty or unprintable name
       ,-[bygone.toml:9:18]
     8 | keep = "1d"
     9 | unless = { via = "", table = " " }
       :                  ^|
       :                   `-- not a name
       `----
      help: write the name as the database knows it, or remove it

    Error: config::bad_value

      x `table` holds an empty or unprintable name
       ,-[bygone.toml:9:30]
     8 | keep = "1d"
     9 | unless = { via = "", table = " " }
       :                              ^|^
       :                               `-- not a name
       `----
      help: write the name as the database knows it, or remove it
    "#);
}

#[test]
fn a_row_of_the_same_family() {
    let unless = &rows(r#"unless = { via = "family", to = "family", living = true }"#).unless[0];
    assert_eq!((unless.to.as_deref(), unless.living, &unless.table), (Some("family"), true, &None));
    let unless = &rows(r#"unless = { via = "family" }"#).unless[0];
    assert_eq!((&unless.to, unless.living), (&None, false));
}
