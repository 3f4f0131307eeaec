//! `[serve]`: how the daemon is reached, and by whom.

use bygone_server::AlarmRules;
use jiff::SignedDuration;

use super::super::error::Code;
use super::{codes, config, policy, refusal, rendered, with_policy_lines};

/// The codes of a file that is refused, and all that is shown of it.
fn refused(serve: &str) -> (Vec<String>, String) {
    let text = with_policy_lines(serve);
    let error = config(&text).map(|_| ()).expect_err(&text);
    (codes(&error), format!("{} {error:?}", rendered(&error)))
}

#[test]
fn a_token_in_the_place_of_its_hash_is_not_shown() {
    for token in [
        "name = \"a\"\nsha256 = \"hunter2\"\nscope = \"read\"",
        "name = \"a\"\nsha256 = 'hunter2'\nscope = \"root\"",
        "name = \"a\"\nsha265 = \"hunter2\"\nscope = \"read\"",
        "name = \"a\"\ntoken = \"hunter2\"\nscope = \"read\"",
        "name = \"a\"\nsha256 = hunter2\nscope = \"read\"",
        "sha256 = \"\"\"hunter2\"\"\"",
    ] {
        let (_, shown) = refused(&format!("[[serve.token]]\n{token}\n"));
        assert!(shown.contains("bygone.toml:"), "the place is shown: {shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let (_, shown) = refused("[serve]\ntoken = [{ name = \"a\", sha256 = \"hunter2\", scope = \"read\" }]\n");
    assert!(shown.contains("64 hexadecimal digits") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn all_that_is_wrong_with_a_token_is_told_at_once() {
    let token = "[[serve.token]]\nsha256 = \"00\"\nscope = \"root\"\nexpires = \"soon\"\n";
    let (codes, shown) = refused(token);
    assert_eq!(codes, [Code::MissingKey, Code::BadValue, Code::BadValue, Code::BadValue].map(Code::as_str), "{shown}");
    for told in ["has no `name`", "64 hexadecimal digits", "there is no scope \"root\"", "\"soon\" is no moment"] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
}

/// `printf %s secret | sha256sum`
const SECRET: &str = "sha256 = \"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"";

#[test]
fn a_token_has_rights_over_leases_by_namespace() {
    let tokens = |lines: &str| {
        let text = with_policy_lines(&format!("[[serve.token]]\nname = \"w\"\n{SECRET}\n{lines}\n"));
        format!("{:?}", config(&text).unwrap().serve.tokens)
    };
    let worker = tokens("leases = { jobs = \"write\", \"*\" = \"read\" }");
    assert!(worker.contains("scope: None") && worker.contains("{\"*\": Read, \"jobs\": Write}"), "{worker}");
    let both = tokens("scope = \"operate\"\nleases = { \"a b/c\" = \"read\" }");
    assert!(both.contains("scope: Some(Operate)") && both.contains("{\"a b/c\": Read}"), "{both}");
    assert!(tokens("scope = \"admin\"").contains("{\"*\": Write}"), "an admin may do everything");
    assert!(tokens("scope = \"operate\"").contains("Rights({})"), "nobody else may do anything");
    let tame = tokens("scope = \"admin\"\nleases = { jobs = \"read\" }");
    assert!(tame.contains("leases: Rights({\"jobs\": Read})"), "{tame}");
}

#[test]
fn rights_that_make_no_sense_are_refused() {
    for (lines, code, told) in [
        ("", Code::MissingKey, "has none of `scope`, `leases`, `stages`"),
        ("leases = {}", Code::BadValue, "`leases` is empty"),
        ("leases = \"write\"", Code::WrongType, "`leases` must be a table"),
        ("leases = [\"jobs\"]", Code::WrongType, "`leases` must be a table"),
        ("leases = { jobs = true }", Code::WrongType, "`leases.jobs` must be a string"),
        ("leases = { jobs = \"admin\" }", Code::BadValue, "there is no right \"admin\""),
        ("leases = { jobs = \"Write\" }", Code::BadValue, "there is no right \"Write\""),
        ("leases = { jobs = \"\" }", Code::BadValue, "there is no right \"\""),
        ("leases = { \"\" = \"read\" }", Code::BadValue, "is not a namespace: it is empty"),
        ("leases = { \"a\\nb\" = \"read\" }", Code::BadValue, "control characters"),
        ("lease = { jobs = \"read\" }", Code::UnknownKey, "did you mean `leases`?"),
    ] {
        let (codes, shown) = refused(&format!("[[serve.token]]\nname = \"w\"\n{SECRET}\n{lines}\n"));
        assert_eq!(codes, [code.as_str()], "{lines}: {shown}");
        assert!(shown.contains(told) && shown.contains("help: "), "{lines}: {shown}");
    }
}

#[test]
fn rights_in_staging_areas_stand_for_a_scope_and_are_read_strictly() {
    let token = |lines: &str| format!("[[serve.token]]\nname = \"a\"\n{SECRET}\n{lines}\n");
    for good in ["stages = { up = \"write\", \"*\" = \"read\" }", "scope = \"read\"\nstages = { up = \"read\" }"] {
        assert!(!config(&with_policy_lines(&token(good))).unwrap().serve.tokens.is_empty());
    }
    for (bad, code, told) in [
        ("", Code::MissingKey, "has none of `scope`, `leases`, `stages`"),
        ("stages = {}", Code::BadValue, "`stages`"),
        ("stages = \"write\"", Code::WrongType, "`stages` must be a table"),
        ("stages = { up = true }", Code::WrongType, "`stages.up` must be a string"),
        ("stages = { up = \"all\" }", Code::BadValue, "there is no right \"all\""),
        ("stage = { up = \"write\" }", Code::UnknownKey, "did you mean `stages`?"),
    ] {
        let (codes, shown) = refused(&token(bad));
        assert_eq!(codes, [code.as_str()], "{bad}: {shown}");
        assert!(shown.contains(told) && shown.contains("help: "), "{bad}: {shown}");
    }
}

#[test]
fn alarms_are_as_the_file_says_or_as_ever() {
    let alarms = |lines: &str| config(&with_policy_lines(lines)).unwrap().serve.alarms;
    assert_eq!(alarms(""), AlarmRules::default());
    assert_eq!(alarms("[serve]\nlisten = []"), AlarmRules::default());
    let AlarmRules { intervals, runs } = alarms("[serve.alarms]\nintervals = 7\nruns = 2");
    assert_eq!((intervals, runs), (7, 2));
    assert_eq!(alarms("[serve.alarms]\nruns = 16"), AlarmRules { runs: 16, ..AlarmRules::default() });
}

#[test]
fn alarms_that_could_not_sound_are_refused() {
    for (line, code, told) in [
        ("intervals = 0", Code::BadValue, "`intervals` must be from 1 to 1000"),
        ("intervals = -3", Code::BadValue, "`intervals` is negative"),
        ("intervals = 1001", Code::BadValue, "`intervals` must be from 1 to 1000"),
        ("runs = 0", Code::BadValue, "`runs` must be from 2 to 16"),
        ("runs = 1", Code::BadValue, "`runs` must be from 2 to 16"),
        ("runs = 17", Code::BadValue, "`runs` must be from 2 to 16"),
        ("runs = 5_000_000_000", Code::BadValue, "`runs` must be from 2 to 16"),
        ("runs = \"5\"", Code::WrongType, "`runs` must be a whole number"),
        ("interval = 3", Code::UnknownKey, "did you mean `intervals`?"),
    ] {
        let (codes, shown) = refused(&format!("[serve.alarms]\n{line}\n"));
        assert_eq!(codes, [code.as_str()], "{line}");
        assert!(shown.contains(told) && shown.contains("help: "), "{line}: {shown}");
    }
}

#[test]
fn a_lag_that_is_too_much_is_a_length_of_a_second_or_more() {
    assert_eq!(policy("lag_max = \"2h\"").lag_max, Some(SignedDuration::from_hours(2)));
    assert_eq!(policy("").lag_max, None);
    for (written, told) in [
        ("\"0s\"", "`lag_max` must be at least \"1s\""),
        ("\"999ms\"", "`lag_max` must be at least \"1s\""),
        ("\"-1h\"", "`lag_max` is negative"),
        ("3600", "lag_max"),
    ] {
        let shown = refusal(&with_policy_lines(&format!("lag_max = {written}")));
        assert!(shown.contains(told) && shown.contains("help: "), "{shown}");
    }
}

#[test]
fn the_history_is_kept_for_ninety_days_or_as_long_as_the_file_says() {
    let keep = |lines: &str| config(&with_policy_lines(lines)).unwrap().serve.history.keep;
    assert_eq!(keep(""), SignedDuration::from_hours(90 * 24));
    assert_eq!(keep("[serve]\nlisten = []"), SignedDuration::from_hours(90 * 24));
    assert_eq!(keep("[serve.history]\nkeep = \"1h\""), SignedDuration::from_hours(1));
    assert_eq!(keep("[serve]\nhistory = { keep = \"365d\" }"), SignedDuration::from_hours(365 * 24));
}

#[test]
fn a_history_that_makes_no_sense_is_refused() {
    for (line, code, told) in [
        ("keep = \"0s\"", Code::BadValue, "`keep` must be at least \"1h\""),
        ("keep = \"59m\"", Code::BadValue, "`keep` must be at least \"1h\""),
        ("keep = \"-1d\"", Code::BadDuration, "`keep` is negative"),
        ("keep = 90", Code::BadDuration, "`keep` is a number without a unit"),
        ("keep = \"forever\"", Code::BadDuration, "`keep` is not a duration"),
        ("kep = \"90d\"", Code::UnknownKey, "did you mean `keep`?"),
    ] {
        let (codes, shown) = refused(&format!("[serve.history]\n{line}\n"));
        assert_eq!(codes, [code.as_str()], "{line}");
        assert!(shown.contains(told) && shown.contains("help: "), "{line}: {shown}");
    }
}

#[test]
fn the_names_of_the_daemons_own_policy_are_taken() {
    let policy = |name: &str, source: &str| {
        format!(
            "[[policy]]\nname = \"{name}\"\nsource = \"{source}\"\ntable = \"t\"\ndeadline = \"d\"\nkeep = \"1d\"\n"
        )
    };
    let own_source = format!("[source.bygone-history]\nurl = \"sqlite:a.db\"\n{}", policy("p", "bygone-history"));
    let own_policy = format!("[source.s]\nurl = \"sqlite:a.db\"\n{}", policy("bygone-history", "s"));
    for (text, told) in [
        (own_source, "no source of a file may be called \"bygone-history\""),
        (own_policy, "no policy of a file may be called \"bygone-history\""),
    ] {
        let shown = refusal(&text);
        assert!(shown.contains(told) && shown.contains("[serve.history]"), "{shown}");
    }
    // There is no such source to name.
    let shown = refusal(&format!("[source.s]\nurl = \"sqlite:a.db\"\n{}", policy("p", "bygone-history")));
    assert!(shown.contains("there is no source \"bygone-history\""), "{shown}");
}
