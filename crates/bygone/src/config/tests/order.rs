//! `after`.

use super::{POLICY, SOURCE, codes, config, policy, refusal, with_policy_lines};

/// A file of policies, each with its name and the names it runs after.
fn file(policies: &[(&str, &[&str])]) -> String {
    let written = policies.iter().map(|(name, after)| {
        let good = POLICY.replace("tokens", name);
        if after.is_empty() { good } else { format!("{good}after = {after:?}\n") }
    });
    SOURCE.to_owned() + &written.collect::<String>()
}

#[test]
fn any_order_without_a_circle() {
    let text = file(&[("a", &["c", "b"]), ("b", &["d"]), ("c", &["d", "b"]), ("d", &[])]);
    let config = config(&text).unwrap();
    let after: Vec<&[String]> = config.policies.iter().map(|policy| policy.after.as_slice()).collect();
    assert_eq!(after, [&["c", "b"] as &[&str], &["d"], &["d", "b"], &[]]);
}

#[test]
fn names_are_filled_in() {
    let lines =
        "after = [\"${NAME:-first}\"]\n[[policy]]\nname = \"first\"\nsource = \"auth\"\ntable = \"t\"\nnewest = 1";
    let config = config(&with_policy_lines(lines)).unwrap();
    assert_eq!(config.policies[0].after, ["first"]);
    assert!(policy("").after.is_empty());
}

#[test]
fn an_unknown_name() {
    insta::assert_snapshot!(refusal(&file(&[("sessions", &[]), ("users", &["sesions", "mails"])])), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::missing_policy

      x there is no policy "sesions"
        ,-[bygone.toml:15:10]
     14 | keep = "1d"
     15 | after = ["sesions", "mails"]
        :          ^^^^|^^^^
        :              `-- did you mean "sessions"?
        `----
      help: name another policy of this file, or remove it

    Error: config::missing_policy

      x there is no policy "mails"
        ,-[bygone.toml:15:21]
     14 | keep = "1d"
     15 | after = ["sesions", "mails"]
        :                     ^^^|^^^
        :                        `-- not a policy of this file
        `----
      help: name another policy of this file, or remove it
    "#);
}

#[test]
fn its_own_name() {
    insta::assert_snapshot!(refusal(&file(&[("sessions", &["sessions"])])), @r#"
    config::circular_order

      x a policy cannot run after itself
       ,-[bygone.toml:9:10]
     8 | keep = "1d"
     9 | after = ["sessions"]
       :          ^^^^^|^^^^
       :               `-- its own name
       `----
      help: name another policy of this file, or remove it
    "#);
}

#[test]
fn a_circle() {
    insta::assert_snapshot!(refusal(&file(&[("a", &["b"]), ("b", &["c"]), ("c", &["d", "b"]), ("d", &[])])), @r#"
    config::circular_order

      x `after` goes round in a circle: "b" after "c" after "b"
        ,-[bygone.toml:23:15]
     22 | keep = "1d"
     23 | after = ["d", "b"]
        :               ^|^
        :                `-- closes the circle
     24 | [[policy]]
        `----
      help: remove one of these names from its `after`
    "#);
}

#[test]
fn two_circles() {
    let text = file(&[("a", &["b"]), ("b", &["a"]), ("c", &["d", "a"]), ("d", &["c", "b"])]);
    let shown = refusal(&text);
    assert!(shown.contains("2 errors"), "{shown}");
    for circle in [r#""a" after "b" after "a""#, r#""c" after "d" after "c""#] {
        assert!(shown.contains(circle), "{shown}");
    }
}

#[test]
fn a_long_circle_does_not_exhaust_the_stack() {
    let names: Vec<String> = (0..5000).map(|n| format!("p{n}")).collect();
    let after: Vec<[&str; 1]> = (1..=5000).map(|n| [names[n % names.len()].as_str()]).collect();
    let policies: Vec<(&str, &[&str])> =
        names.iter().zip(&after).map(|(name, after)| (name.as_str(), after.as_slice())).collect();
    assert_eq!(codes(&config(&file(&policies)).unwrap_err()), ["config::circular_order"]);
    let last = policies.len() - 1;
    assert!(config(&file(&[&policies[..last], &[("p4999", &[])]].concat())).is_ok());
}

/// What a refused name leaves unknown is not reported again.
#[test]
fn a_policy_whose_name_was_refused() {
    let text = format!("{SOURCE}{}{POLICY}after = [\"a\"]\n", POLICY.replace("name = \"tokens\"", "nmae = \"a\""));
    let shown = refusal(&text);
    assert!(shown.contains("nmae") && !shown.contains("no policy"), "{shown}");
}

#[test]
fn a_name_twice() {
    insta::assert_snapshot!(refusal(&file(&[("a", &[]), ("b", &["a", "a"])])), @r#"
    config::bad_value

      x `after` says the same twice
        ,-[bygone.toml:15:15]
     14 | keep = "1d"
     15 | after = ["a", "a"]
        :          ^|^  ^|^
        :           |    `-- and again here
        :           `-- first here
        `----
      help: say it once
    "#);
}

#[test]
fn an_empty_list() {
    insta::assert_snapshot!(refusal(&with_policy_lines("after = []")), @r#"
    config::bad_value

      x `after` is empty
       ,-[bygone.toml:9:9]
     8 | keep = "1d"
     9 | after = []
       :         ^|
       :          `-- nothing in it
       `----
      help: write what belongs here, or leave `after` out
    "#);
}
