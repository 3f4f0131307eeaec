//! `with` and `unless_referenced_by`.

use super::super::model::ColumnRef;
use super::{at, policy, refusal, rows, with_policy_lines};

fn names(links: &[ColumnRef]) -> Vec<(&str, &str)> {
    links.iter().map(|link| (link.table.as_str(), link.column.as_str())).collect()
}

#[test]
fn chains_are_taken_in_the_order_written() {
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("logins.user_id", &[("logins", "user_id")]),
        ("a.b -> c.d", &[("a", "b"), ("c", "d")]),
        ("a.b->c.d", &[("a", "b"), ("c", "d")]),
        (" a.b  ->  c.d -> e.f ", &[("a", "b"), ("c", "d"), ("e", "f")]),
        ("other schema.logins.user id", &[("other schema.logins", "user id")]),
        ("a.${COLUMN} -> c.d", &[("a", "expires_at"), ("c", "d")]),
    ];
    for (written, wanted) in cases {
        let with = rows(&format!("with = [{written:?}]")).with;
        assert_eq!(with.len(), 1);
        assert_eq!(names(&with[0].links), wanted, "{written}");
    }
    let with = rows(r#"with = ["a.x -> b.y", "b.y", "a.z"]"#).with;
    let chains: Vec<_> = with.iter().map(|chain| names(&chain.links)).collect();
    assert_eq!(chains, [vec![("a", "x"), ("b", "y")], vec![("b", "y")], vec![("a", "z")]]);
}

#[test]
fn references_are_taken_in_the_order_written() {
    let columns = rows(r#"unless_referenced_by = ["b.x", "a.y", "s.a.y", "a.${COLUMN}"]"#).unless_referenced_by;
    assert_eq!(names(&columns), [("b", "x"), ("a", "y"), ("s.a", "y"), ("a", "expires_at")]);
}

#[test]
fn spans_point_at_links() {
    let lines = "with = [\"é.b ->  c.d\", 'e.f', \"g.${COLUMN} -> h.i\", \"j\\u002ek -> l.m\"]\n\
                 unless_referenced_by = [\"x.y\"]";
    let policy = policy(lines);
    let at = |span| at(lines, span);
    let places = |chain: usize| -> Vec<String> {
        policy.rows().unwrap().with[chain].links.iter().map(|link| at(link.span)).collect()
    };
    assert_eq!(places(0), ["é.b", "c.d"]);
    assert_eq!(places(1), ["'e.f'"]);
    // Where the value does not stand there as it is, the whole is shown.
    assert_eq!(places(2), ["\"g.${COLUMN} -> h.i\"", "\"g.${COLUMN} -> h.i\""]);
    assert_eq!(places(3), ["\"j\\u002ek -> l.m\"", "\"j\\u002ek -> l.m\""]);
    assert_eq!(at(policy.rows().unwrap().with[0].span), "\"é.b ->  c.d\"");
    assert_eq!(at(policy.rows().unwrap().unless_referenced_by[0].span), "\"x.y\"");
    assert!(at(policy.spans.keys.get("with").copied().unwrap()).starts_with("[\"é"));
    assert_eq!(policy.spans.keys.get("unless_referenced_by").copied().map(at).as_deref(), Some("[\"x.y\"]"));
}

#[test]
fn no_column() {
    let text = with_policy_lines(r#"with = ["refresh_tokens.token_id -> access_tokens", "logins"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_value

      x `with` needs a table and a column: "table.column"
       ,-[bygone.toml:9:37]
     8 | keep = "1d"
     9 | with = ["refresh_tokens.token_id -> access_tokens", "logins"]
       :                                     ^^^^^^|^^^^^^
       :                                           `-- not a table and a column
       `----
      help: name the table, a dot, and its column that points at the other table:
            "logins.user_id"

    Error: config::bad_value

      x `with` needs a table and a column: "table.column"
       ,-[bygone.toml:9:53]
     8 | keep = "1d"
     9 | with = ["refresh_tokens.token_id -> access_tokens", "logins"]
       :                                                     ^^^^|^^^
       :                                                         `-- not a table and a column
       `----
      help: name the table, a dot, and its column that points at the other table:
            "logins.user_id"
    "#);
}

#[test]
fn an_arrow_to_nowhere() {
    let text = with_policy_lines(r#"with = ["refresh_tokens.token_id ->"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `with` needs a table and a column: "table.column"
       ,-[bygone.toml:9:9]
     8 | keep = "1d"
     9 | with = ["refresh_tokens.token_id ->"]
       :         ^^^^^^^^^^^^^^|^^^^^^^^^^^^^
       :                       `-- not a table and a column
       `----
      help: name the table, a dot, and its column that points at the other table:
            "logins.user_id"
    "#);
}

#[test]
fn a_chain_twice() {
    let text = with_policy_lines(r#"with = ["a.b -> c.d", "c.d", "a.b->c.d"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `with` says the same twice
       ,-[bygone.toml:9:30]
     8 | keep = "1d"
     9 | with = ["a.b -> c.d", "c.d", "a.b->c.d"]
       :         ^^^^^^|^^^^^         ^^^^^|^^^^
       :               |                   `-- and again here
       :               `-- first here
       `----
      help: say it once
    "#);
}

#[test]
fn a_reference_twice() {
    let text = with_policy_lines(r#"unless_referenced_by = ["a.b", "a.b"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `unless_referenced_by` says the same twice
       ,-[bygone.toml:9:32]
     8 | keep = "1d"
     9 | unless_referenced_by = ["a.b", "a.b"]
       :                         ^^|^^  ^^|^^
       :                           |      `-- and again here
       :                           `-- first here
       `----
      help: say it once
    "#);
}

#[test]
fn a_chain_where_none_may_be() {
    let text = with_policy_lines(r#"unless_referenced_by = ["a.b -> c.d"]"#);
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `unless_referenced_by` takes no chains
       ,-[bygone.toml:9:25]
     8 | keep = "1d"
     9 | unless_referenced_by = ["a.b -> c.d"]
       :                         ^^^^^^|^^^^^
       :                               `-- a chain
       `----
      help: name the column that points at the policy's own rows: "table.column"
    "#);
}

#[test]
fn an_empty_list() {
    let text = with_policy_lines("with = []");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::bad_value

      x `with` is empty
       ,-[bygone.toml:9:8]
     8 | keep = "1d"
     9 | with = []
       :        ^|
       :         `-- nothing in it
       `----
      help: write what belongs here, or leave `with` out
    "#);
}

#[test]
fn not_a_list() {
    let text = with_policy_lines("with = \"a.b\"\nunless_referenced_by = [\"a.b\", 1]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::wrong_type

      x `with` must be a list of strings, and this is a string
        ,-[bygone.toml:9:8]
      8 | keep = "1d"
      9 | with = "a.b"
        :        ^^|^^
        :          `-- a string, not a list of strings
     10 | unless_referenced_by = ["a.b", 1]
        `----
      help: write a list of strings: `with = ["…", "…"]`

    Error: config::wrong_type

      x `unless_referenced_by[…]` must be a string, and this is an integer
        ,-[bygone.toml:10:32]
      9 | with = "a.b"
     10 | unless_referenced_by = ["a.b", 1]
        :                                |
        :                                `-- an integer, not a string
        `----
      help: write a list of strings: `unless_referenced_by = ["…", "…"]`
    "#);
}
