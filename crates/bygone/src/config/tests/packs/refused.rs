//! What is refused of a pack's use, and how that looks.

use super::super::{POLICY, SOURCE, codes, rendered};
use super::{USE, config, file};

fn refusal(text: &str) -> String {
    rendered(&config(text).map(|_| ()).expect_err(text))
}

#[test]
fn an_unknown_pack() {
    let own = POLICY.to_owned() + "after = [\"shop-carts\"]\n";
    insta::assert_snapshot!(refusal(&format!("{SOURCE}{}{own}", USE.replace("shop", "shpo"))), @r#"
    config::missing_pack

      x there is no pack "shpo"
       ,-[bygone.toml:4:8]
     3 | [[use]]
     4 | pack = "shpo"
       :        ^^^|^^
       :           `-- did you mean "shop"?
     5 | source = "auth"
       `----
      help: name one of the packs (shop); `bygone packs` says what they are for
    "#);
    insta::assert_snapshot!(refusal(&file("").replace("\"shop\"", "\"${SECRET}\"")), @r#"
    config::missing_pack

      x there is no pack "${SECRET}"
       ,-[bygone.toml:4:8]
     3 | [[use]]
     4 | pack = "${SECRET}"
       :        ^^^^^|^^^^^
       :             `-- not a pack
     5 | source = "auth"
       `----
      help: name one of the packs (shop); `bygone packs` says what they are for
    "#);
}

#[test]
fn an_unknown_source() {
    insta::assert_snapshot!(refusal(&file("").replace("\"auth\"", "\"auht\"")), @r#"
    config::missing_source

      x there is no source "auht"
       ,-[bygone.toml:5:10]
     4 | pack = "shop"
     5 | source = "auht"
       :          ^^^|^^
       :             `-- did you mean "auth"?
       `----
      help: name one of the sources (auth), or add a `[source.NAME]`
    "#);
}

#[test]
fn what_a_use_needs() {
    insta::assert_snapshot!(refusal(&format!("{SOURCE}[[use]]\npak = \"shop\"\n")), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::missing_key

      x the use of a pack has no `source`
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [[use]]
       : ^^^|^^^
       :    `-- `source` is missing here
     4 | pak = "shop"
       `----
      help: name a source of this file: `source = "…"`

    Error: config::unknown_key

      x unknown key "pak" in the use of a pack
       ,-[bygone.toml:4:1]
     3 | [[use]]
     4 | pak = "shop"
       : ^|^
       :  `-- did you mean `pack`?
       `----
      help: remove it, or use one of the keys known here: pack, source, prefix,
            off, on, policy
    "#);
    insta::assert_snapshot!(refusal(&format!("{SOURCE}[[use]]\n")), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::missing_key

      x the use of a pack has no `pack`
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [[use]]
       : ^^^|^^^
       :    `-- `pack` is missing here
       `----
      help: name the pack: `pack = "…"`; `bygone packs` lists them

    Error: config::missing_key

      x the use of a pack has no `source`
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [[use]]
       : ^^^|^^^
       :    `-- `source` is missing here
       `----
      help: name a source of this file: `source = "…"`
    "#);
}

#[test]
fn a_use_with_one_bracket() {
    insta::assert_snapshot!(refusal(&file("").replace("[[use]]", "[use]")), @r#"
    config::wrong_type

      x `use` must be an array of tables, and this is a table
       ,-[bygone.toml:3:1]
     2 | url = "sqlite:a.db"
     3 | [use]
       : ^^|^^
       :   `-- a table, not an array of tables
     4 | pack = "shop"
       `----
      help: write the header with two brackets: `[[use]]`
    "#);
}

#[test]
fn unknown_policies() {
    let lines = "prefix = \"eu-\"\noff = [\"shop-cart\"]\non = [\"${SECRET}\"]\n\
                 [use.policy.eu-shop-carts]\nkeep = \"1d\"\n";
    insta::assert_snapshot!(refusal(&file(lines)), @r#"
    config::invalid

      x bygone.toml has 3 errors

    Error: config::missing_policy

      x the pack "shop" has no policy "shop-cart"
       ,-[bygone.toml:7:8]
     6 | prefix = "eu-"
     7 | off = ["shop-cart"]
       :        ^^^^^|^^^^^
       :             `-- did you mean "shop-carts"?
     8 | on = ["${SECRET}"]
       `----
      help: write a name as `bygone packs show` shows it, without `prefix`; or
            remove it

    Error: config::missing_policy

      x the pack "shop" has no policy "${SECRET}"
       ,-[bygone.toml:8:7]
     7 | off = ["shop-cart"]
     8 | on = ["${SECRET}"]
       :       ^^^^^|^^^^^
       :            `-- not a policy of this pack
     9 | [use.policy.eu-shop-carts]
       `----
      help: write a name as `bygone packs show` shows it, without `prefix`; or
            remove it

    Error: config::missing_policy

      x the pack "shop" has no policy "eu-shop-carts"
        ,-[bygone.toml:9:13]
      8 | on = ["${SECRET}"]
      9 | [use.policy.eu-shop-carts]
        :             ^^^^^^|^^^^^^
        :                   `-- did you mean "shop-carts"?
     10 | keep = "1d"
        `----
      help: write a name as `bygone packs show` shows it, without `prefix`; or
            remove it
    "#);
}

#[test]
fn on_and_off() {
    insta::assert_snapshot!(refusal(&file("on = [\"shop-carts\"]\noff = [\"shop-carts\"]")), @r#"
    config::conflicting_keys

      x "shop-carts" is both on and off
       ,-[bygone.toml:6:7]
     5 | source = "auth"
     6 | on = ["shop-carts"]
       :       ^^^^^^|^^^^^
       :             `-- and on here
     7 | off = ["shop-carts"]
       :        ^^^^^^|^^^^^
       :              `-- off here
       `----
      help: name it in one of them
    "#);
}

#[test]
fn off_and_enabled() {
    let lines = "off = [\"shop-carts\"]\n[use.policy.shop-carts]\nenabled = true\n";
    insta::assert_snapshot!(refusal(&file(lines)), @r#"
    config::conflicting_keys

      x `off` and `enabled` speak of the same policy
       ,-[bygone.toml:8:11]
     5 | source = "auth"
     6 | off = ["shop-carts"]
       :        ^^^^^^|^^^^^
       :              `-- here
     7 | [use.policy.shop-carts]
     8 | enabled = true
       :           ^^|^
       :             `-- and here
       `----
      help: keep one of them
    "#);
}

#[test]
fn lists_that_say_nothing_or_too_much() {
    insta::assert_snapshot!(refusal(&file("on = []\noff = [\"shop-carts\", \"shop-carts\"]")), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_value

      x `on` is empty
       ,-[bygone.toml:6:6]
     5 | source = "auth"
     6 | on = []
       :      ^|
       :       `-- nothing in it
     7 | off = ["shop-carts", "shop-carts"]
       `----
      help: write what belongs here, or leave `on` out

    Error: config::bad_value

      x `off` says the same twice
       ,-[bygone.toml:7:22]
     6 | on = []
     7 | off = ["shop-carts", "shop-carts"]
       :        ^^^^^^|^^^^^  ^^^^^^|^^^^^
       :              |             `-- and again here
       :              `-- first here
       `----
      help: say it once
    "#);
}

#[test]
fn prefixes_that_make_no_names() {
    insta::assert_snapshot!(refusal(&file("prefix = \"\"")), @r#"
    config::bad_value

      x `prefix` with the name of a policy behind it must be 1 to 100 characters
      | of text
       ,-[bygone.toml:6:10]
     5 | source = "auth"
     6 | prefix = ""
       :          ^|
       :           `-- not a name
       `----
      help: write a short name without control characters, such as "expired-
            tokens"
    "#);
    for prefix in ["\\n".to_owned(), "x".repeat(90)] {
        assert_eq!(codes(&config(&file(&format!("prefix = \"{prefix}\""))).unwrap_err()), ["config::bad_value"]);
    }
    assert!(config(&file(&format!("prefix = \"{}\"", "x".repeat(89)))).is_ok());
}

#[test]
fn keys_that_cannot_be_replaced() {
    let lines = "[use.policy.shop-carts]\nname = \"carts\"\nsource = \"auth\"\nsorce = \"auth\"\nkeeep = \"1d\"\n";
    insta::assert_snapshot!(refusal(&file(lines)), @r#"
    config::invalid

      x bygone.toml has 4 errors

    Error: config::unknown_key

      x `name` of a pack's policy cannot be replaced
       ,-[bygone.toml:7:1]
     6 | [use.policy.shop-carts]
     7 | name = "carts"
       : ^^|^
       :   `-- not here
     8 | source = "auth"
       `----
      help: remove it; `prefix` in `[[use]]` is put before the names of all
            policies of the pack

    Error: config::unknown_key

      x `source` of a pack's policy cannot be replaced
       ,-[bygone.toml:8:1]
     7 | name = "carts"
     8 | source = "auth"
       : ^^^|^^
       :    `-- not here
     9 | sorce = "auth"
       `----
      help: remove it; `source` in `[[use]]` holds for all policies of the pack

    Error: config::unknown_key

      x unknown key "sorce" in policy "shop-carts" of pack "shop"
        ,-[bygone.toml:9:1]
      8 | source = "auth"
      9 | sorce = "auth"
        : ^^|^^
        :   `-- not known
     10 | keeep = "1d"
        `----
      help: remove it, or use one of the keys known here: kind, table, deadline,
            keep, newest, per, by, where, unless, only_if, unless_referenced_by,
            with, clear, set, after, key, zone, schedule, every, jitter, window,
            lag_max, budget, brake, enabled

    Error: config::unknown_key

      x unknown key "keeep" in policy "shop-carts" of pack "shop"
        ,-[bygone.toml:10:1]
      9 | sorce = "auth"
     10 | keeep = "1d"
        : ^^|^^
        :   `-- did you mean `keep`?
        `----
      help: remove it, or use one of the keys known here: kind, table, deadline,
            keep, newest, per, by, where, unless, only_if, unless_referenced_by,
            with, clear, set, after, key, zone, schedule, every, jitter, window,
            lag_max, budget, brake, enabled
    "#);
}

#[test]
fn replacements_of_another_form() {
    insta::assert_snapshot!(refusal(&file("policy = \"shop-carts\"")), @r#"
    config::wrong_type

      x `policy` must be a table of policies, and this is a string
       ,-[bygone.toml:6:10]
     5 | source = "auth"
     6 | policy = "shop-carts"
       :          ^^^^^^|^^^^^
       :                `-- a string, not a table of policies
       `----
      help: name the policy in the header, `[use.policy.NAME]`, and write the keys
            below it
    "#);
    insta::assert_snapshot!(refusal(&file("policy = { shop-carts = \"1d\", shop-orders = {} }")), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::wrong_type

      x `use.policy.shop-carts` must be a table, and this is a string
       ,-[bygone.toml:6:25]
     5 | source = "auth"
     6 | policy = { shop-carts = "1d", shop-orders = {} }
       :                         ^^|^
       :                           `-- a string, not a table
       `----
      help: name the policy in the header, `[use.policy.NAME]`, and write the keys
            below it

    Error: config::bad_value

      x `use.policy.shop-orders` is empty
       ,-[bygone.toml:6:31]
     5 | source = "auth"
     6 | policy = { shop-carts = "1d", shop-orders = {} }
       :                               ^^^^^|^^^^^
       :                                    `-- nothing in it
       `----
      help: write what belongs here, or leave `use.policy.shop-orders` out
    "#);
}

#[test]
fn a_bad_value_in_the_place_of_the_packs() {
    insta::assert_snapshot!(refusal(&file("[use.policy.shop-carts]\nkeep = \"1 month\"\n")), @r#"
    config::bad_duration

      x `keep` has months or years, which have no fixed length
       ,-[bygone.toml:7:8]
     6 | [use.policy.shop-carts]
     7 | keep = "1 month"
       :        ^^^^|^^^^
       :            `-- this length of time
       `----
      help: say it in weeks, days or hours: "30d" or "52w"
    "#);
}

#[test]
fn keys_that_do_not_go_with_the_packs() {
    insta::assert_snapshot!(refusal(&file("[use.policy.shop-orders]\nclear = [\"note\"]\n")), @r#"
    config::conflicting_keys

      x `with` and `clear` exclude each other
       ,-[bygone.toml:7:9]
     3 | [[use]]
     4 | pack = "shop"
       :        ^^^|^^
       :           `-- removed along with rows, by this pack
     5 | source = "auth"
     6 | [use.policy.shop-orders]
     7 | clear = ["note"]
       :         ^^^^|^^^
       :             `-- and here rows stay
       `----
      help: `clear` removes nothing, so nothing goes along: switch the pack's
            policy `off` and write one of your own
    "#);
    let both = "[use.policy.shop-orders]\nschedule = \"0 0 * * *\"\nevery = \"1h\"\n";
    assert_eq!(codes(&config(&file(both)).unwrap_err()), ["config::conflicting_keys"]);
}

#[test]
fn what_is_missing_beside_the_packs() {
    insta::assert_snapshot!(refusal(&file("[use.policy.shop-visits]\ndeadline = \"at\"\n")), @r#"
    config::missing_key

      x policy "shop-visits" of pack "shop" has no `keep`
       ,-[bygone.toml:6:1]
     5 | source = "auth"
     6 | [use.policy.shop-visits]
       : ^^^^^^^^^^^^|^^^^^^^^^^^
       :             `-- `keep` is missing here
     7 | deadline = "at"
       `----
      help: say how long rows stay after their deadline: `keep = "30d"`, or "0s"
    "#);
}

#[test]
fn a_name_that_the_pack_has_too() {
    insta::assert_snapshot!(refusal(&format!("{}{}", file(""), POLICY.replace("tokens", "shop-carts"))), @r#"
    config::duplicate_name

      x two policies have the name "shop-carts"
       ,-[bygone.toml:4:8]
     3 | [[use]]
     4 | pack = "shop"
       :        ^^^|^^
       :           `-- and again here, by this pack
     5 | source = "auth"
     6 | [[policy]]
     7 | name = "shop-carts"
       :        ^^^^^^|^^^^^
       :              `-- first here
     8 | source = "auth"
       `----
      help: put something before the names of a pack's policies: `prefix = "…"` in
            its `[[use]]`
    "#);
    insta::assert_snapshot!(refusal(&format!("{}{USE}", file(""))), @r#"
    config::duplicate_name

      x two policies have the name "shop-carts"
       ,-[bygone.toml:7:8]
     3 | [[use]]
     4 | pack = "shop"
       :        ^^^|^^
       :           `-- first here, by this pack
     5 | source = "auth"
     6 | [[use]]
     7 | pack = "shop"
       :        ^^^|^^
       :           `-- and again here, by this pack
     8 | source = "auth"
       `----
      help: put something before the names of a pack's policies: `prefix = "…"` in
            its `[[use]]`
    "#);
}

#[test]
fn a_circle_through_a_pack() {
    insta::assert_snapshot!(refusal(&file("[use.policy.shop-carts]\nafter = [\"shop-orders\"]\n")), @r#"
    config::circular_order

      x `after` goes round in a circle: "shop-carts" after "shop-orders" after
      | "shop-carts"
       ,-[bygone.toml:7:10]
     6 | [use.policy.shop-carts]
     7 | after = ["shop-orders"]
       :          ^^^^^^|^^^^^^
       :                `-- closes the circle
       `----
      help: remove one of these names from its `after`
    "#);
}

#[test]
fn a_prefix_that_is_a_secret() {
    let lines = "prefix = \"${SECRET}\"\n[use.policy.shop-carts]\nafter = [\"${SECRET}shop-orders\"]\n";
    let shown = refusal(&file(lines));
    assert!(shown.contains("${SECRET}") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn enabled_is_a_boolean() {
    insta::assert_snapshot!(super::super::refusal(&format!("{SOURCE}{POLICY}enabled = \"no\"\n")), @r#"
    config::wrong_type

      x `enabled` must be a boolean, and this is a string
       ,-[bygone.toml:9:11]
     8 | keep = "1d"
     9 | enabled = "no"
       :           ^^|^
       :             `-- a string, not a boolean
       `----
      help: write `enabled = true` or `enabled = false`, without quotes
    "#);
}

#[test]
fn all_policies_off() {
    insta::assert_snapshot!(refusal(&file("off = [\"shop-carts\", \"shop-orders\"]")), @r#"
    config::no_policies

      x every policy of bygone.toml is switched off
      help: remove `enabled = false` from one of them, or name one of a pack's in
            `on` of its `[[use]]`
    "#);
    let own = super::super::config(&format!("{SOURCE}{POLICY}enabled = false\n")).unwrap_err();
    assert_eq!(codes(&own), ["config::no_policies"]);
}
