//! Files that are refused: every case has its code, and none gets through.

use std::path::Path;

use miette::Diagnostic;

use super::super::error::Code;
use super::super::{ConfigError, load};
use super::{POLICY, SOURCE, TestEnv, codes, config, rendered, with_policy_lines};

/// Lines that make a good policy a bad one, by the code they must give.
const POLICY_LINES: &[(Code, &[&str])] = &[
    (
        Code::UnknownKey,
        &[
            "keeep = \"1d\"",
            "unless = { via = \"a\", when = \"b\" }",
            "only_if = [{ via = \"a\" }, { via = \"a\", column = \"b\" }]",
            "newset = 10",
            "budget = { pages = 1 }",
            "brake = { items = 1 }",
            "[[use]]\npack = \"mas\"\nsource = \"auth\"\nname = \"mas\"",
            "[source.auth.pool]\nsize = 1",
        ],
    ),
    (
        Code::WrongType,
        &[
            "where = 1",
            "where = [\"a\"]",
            "key = 1",
            "key = [1]",
            "key = { a = 1 }",
            "zone = true",
            "every = true",
            "every = [\"1h\"]",
            "schedule = 5",
            "every = \"1h\"\njitter = true",
            "window = 5",
            "window = { from = \"22:00\" }",
            "window = [22]",
            "budget = 1000",
            "budget = { page = \"1000\" }",
            "budget = { page = 1.5 }",
            "brake = false",
            "brake = { fraction = \"0.5\" }",
            "brake = { fraction = 2026-01-01 }",
            "kind = 1",
            "with = \"a.b\"",
            "with = [[\"a.b\"]]",
            "unless_referenced_by = { a = \"b\" }",
            "unless = \"a\"",
            "unless = [\"a\"]",
            "only_if = { via = 1 }",
            "only_if = { via = \"a\", where = true }",
            "clear = \"a\"",
            "clear = [1]",
            "set = [\"a\"]",
            "set = { a = [1] }",
            "set = { a = { b = 1 } }",
            "set.a.b = 1",
            "set = { a = 2026-01-01 }",
            "newest = \"10\"",
            "newest = 1\nper = \"a\"",
            "newest = 1\nby = [\"a\"]",
            "after = \"a\"",
        ],
    ),
    (
        Code::BadValue,
        &[
            "kind = \"trees\"",
            "key = \"\"",
            "key = []",
            "key = [\"a\", \" \"]",
            "key = [\"a\", \"a\"]",
            "every = \"0s\"",
            "every = \"1h\"\njitter = \"1h\"",
            "schedule = \"0 */5 * * * *\"\njitter = \"5m\"",
            "schedule = \"0 9,10 * * *\"\njitter = \"61m\"",
            "budget = { page = 0 }",
            "budget = { items = 0 }",
            "budget = { requests = 0 }",
            "budget = { workers = 0 }",
            "budget = { pace = \"slow\" }",
            "budget = { duty = 0 }",
            "budget = { duty = 1.1 }",
            "budget = { duty = nan }",
            "budget = { workers = 17 }",
            "budget = { page = -1 }",
            "budget = { page = 9223372036854775808 }",
            "budget = { page_time = \"0s\" }",
            "budget = { run_time = \"0s\" }",
            "brake = { fraction = 0 }",
            "brake = { fraction = 0.0 }",
            "brake = { fraction = -0.5 }",
            "brake = { fraction = 1.1 }",
            "brake = { fraction = nan }",
            "brake = { fraction = inf }",
            "brake = { max_items = -1 }",
            "[clock]\nskew_max = \"0s\"",
            "[budget]\npage = 0",
            "[brake]\nfraction = 2",
            "with = []",
            "with = [\"\"]",
            "with = [\"a\"]",
            "with = [\".b\"]",
            "with = [\"a.\"]",
            "with = [\"a. b\"]",
            "with = [\"a.b ->\"]",
            "with = [\"a.b -> -> c.d\"]",
            "with = [\"a.b c.d -> e.f \\u0000.g\"]",
            "with = [\"a.b\", \" a.b \"]",
            "with = [\"a.b -> c.d\", \"a.b->c.d\"]",
            "unless_referenced_by = []",
            "unless_referenced_by = [\"a\"]",
            "unless_referenced_by = [\"a.b\", \"a.b\"]",
            "unless_referenced_by = [\"a.b -> c.d\"]",
            "unless = []",
            "only_if = []",
            "unless = { via = \"\" }",
            "only_if = { via = \"a\", table = \" \" }",
            "clear = []",
            "clear = [\"\"]",
            "clear = [\"a\", \"a\"]",
            "set = {}",
            "set = { \"\" = 1 }",
            "set = { a = 9223372036854775808 }",
            "set = { a = nan }",
            "set = { a = -inf }",
            "newest = 0",
            "newest = -1",
            "newest = 1\nper = []",
            "newest = 1\nper = [\"a\", \"a\"]",
            "newest = 1\nby = \"\"",
            "after = []",
        ],
    ),
    (
        Code::BadDuration,
        &[
            "every = \"1mo\"",
            "every = 60",
            "every = 1.5",
            "every = \"1h\"\njitter = 5",
            "every = \"1h\"\njitter = \"-5m\"",
            "budget = { pause = \"-1s\" }",
            "budget = { run_time = \"\" }",
            "[clock]\nskew_max = \"60\"",
        ],
    ),
    (
        Code::BadWhere,
        &[
            "where = \"\"",
            "where = \"  \"",
            "where = \"a; b\"",
            "where = \"(a\"",
            "where = \"a) OR (b\"",
            "where = \"a = 'b\"",
            "where = \"a -- b\"",
            "unless = { via = \"a\", where = \"\" }",
            "only_if = [{ via = \"a\", where = \"b) OR (c\" }]",
        ],
    ),
    (
        Code::BadZone,
        &[
            "zone = \"\"",
            "zone = \"Mars/Base\"",
            "zone = \"+01:00\"",
            "schedule = \"0 0 * * * Mars/Base\"",
            "schedule = \"0 0 0 * * * Europe/Stokholm\"",
            "window = \"22:00-05:00 Mars/Base\"",
            "window = [\"22:00-05:00\", \"12:00-13:00 +01:00\"]",
        ],
    ),
    (
        Code::BadWindow,
        &[
            "window = \"\"",
            "window = []",
            "window = \"22-5\"",
            "window = \"22:00\"",
            "window = \"22:00-24:00\"",
            "window = \"22:00-5:00\"",
            "window = \"22:00 - 05:00\"",
            "window = \"22:00-22:00\"",
            "window = \"Europe/Stockholm 22:00-05:00\"",
            "window = [\"22:00-05:00\", \"night\"]",
        ],
    ),
    (
        Code::BadSchedule,
        &[
            "schedule = \"\"",
            "schedule = \"* * * *\"",
            "schedule = \"* * * * * * *\"",
            "schedule = \"61 * * * *\"",
            "schedule = \"0 0 30 2 *\"",
            "schedule = \"a b c d e\"",
            "schedule = \"0 0 * * Europe/Stockholm\"",
            "schedule = \"Europe/Stockholm\"",
            "schedule = \"0 0 * * * Europe/Stockholm UTC\"",
        ],
    ),
    (
        Code::ConflictingKeys,
        &[
            "schedule = \"0 0 * * *\"\nevery = \"1d\"",
            "with = [\"a.b\"]\nclear = [\"c\"]",
            "with = [\"a.b\"]\nset = { c = 1 }",
            "with = [\"a.b\"]\nset = { c = 1 }\nclear = [\"d\"]",
            "clear = [\"a\"]\nset = { a = 1 }",
        ],
    ),
    (
        Code::MissingKey,
        &["unless = {}", "only_if = [{ where = \"a\" }]", "per = [\"a\"]", "by = \"a\"", "jitter = \"5m\""],
    ),
    (Code::MissingPolicy, &["after = [\"other\"]", "after = [\"${SECRET}\"]", "after = [\"\"]"]),
    (Code::CircularOrder, &["after = [\"tokens\"]"]),
    (Code::UnsetVariable, &["where = \"a = ${NOT_SET}\""]),
    (Code::UnreadableFile, &["where = \"${file:not-there}\""]),
    (Code::BadInterpolation, &["where = \"a = $1\"", "where = \"${A B}\""]),
    (Code::Syntax, &["where = ", "key", "keep = \"2d\"", "[[policy"]),
    (Code::EmptyPolicy, &["[[policy]]", "[[policy]]\n# nothing"]),
];

/// Values in place of those of a good file, by the code they must give.
const VALUES: &[(Code, &str, &[&str])] = &[
    (
        Code::BadUrl,
        "\"sqlite:a.db\"",
        &["\"\"", "\"host\"", "\"ftp://bucket\"", "\"mongodb://h/d\"", "\"postgres://\"", "\"${SECRET}\""],
    ),
    (Code::WrongType, "\"sqlite:a.db\"", &["1", "{ host = \"h\" }"]),
    (Code::BadValue, "\"sqlite:a.db\"", &["\"sqlite:a.db\"\nschema = \"\"", "\"sqlite:a.db\"\ntable_prefix = \" \""]),
    (
        Code::BadValue,
        "\"sqlite:a.db\"",
        &["\"sqlite:a.db\"\nstatement_timeout = \"0s\"", "\"sqlite:a.db\"\nlock_timeout = \"25d\""],
    ),
    (Code::BadValue, "\"tokens\"", &["\"\"", "\" \"", "\"a\\tb\"", "\"a\\u0000\""]),
    (Code::MissingSource, "\"auth\"", &["\"aut\"", "\"\"", "\"${SECRET}\""]),
    (Code::BadValue, "\"t\"", &["\"\"", "\"\\n\""]),
    (
        Code::BadValue,
        "\"d\"",
        &[
            "\"\"",
            "[]",
            "{}",
            "[\"a\", \"a\"]",
            "[\"a\", \"\"]",
            "{ ulid = \"a\", uuid7 = \"b\" }",
            "{ ulid = \"\" }",
            "{ latest = [] }",
            "{ latest = [\"a\"], null = \"drop\" }",
        ],
    ),
    (
        Code::UnknownKey,
        "\"d\"",
        &["{ epoch = \"a\" }", "{ latest = [\"a\"], nulls = \"keep\" }", "[{ latest = [\"a\"] }]"],
    ),
    (Code::MissingKey, "\"d\"", &["{ null = \"keep\" }"]),
    (Code::WrongType, "\"d\"", &["1", "true", "[1]", "{ ulid = 1 }", "{ latest = \"a\" }", "2026-01-01"]),
    (
        Code::BadDuration,
        "\"1d\"",
        &["30", "\"30\"", "\"\"", "\"-1d\"", "\"1y\"", "\"365001d\"", "\"99999999999999999999d\"", "1.5"],
    ),
    (Code::WrongType, "\"1d\"", &["true", "[\"1d\"]", "{ d = 1 }"]),
    (Code::UnsetVariable, "\"1d\"", &["\"${NOT_SET}\""]),
];

/// Whole files, by the code they must give.
const FILES: &[(Code, &str)] = &[
    (Code::NoPolicies, ""),
    (Code::NoPolicies, "# nothing\n"),
    (Code::NoPolicies, "policy = []\n"),
    (Code::NoPolicies, "[source.a]\nurl = \"sqlite:a\"\n"),
    (Code::WrongType, "policy = 1\n"),
    (Code::WrongType, "policy = [1]\n"),
    (Code::WrongType, "[policy]\nname = \"a\"\n"),
    (Code::WrongType, "[source]\nurl = \"sqlite:a\"\n"),
    (Code::WrongType, "source = 1\n"),
    (Code::MissingKey, "[source.a]\n"),
    (Code::BadValue, "[source.\"\"]\nurl = \"sqlite:a\"\n"),
    (Code::UnknownKey, "[[polcy]]\nname = \"a\"\n"),
    (Code::Syntax, "a = 1\na = 2\n"),
    (Code::Syntax, "\u{0}"),
];

/// Every file that must be refused, and the one code it must give.
fn cases() -> Vec<(Code, String)> {
    let mut cases = Vec::new();
    for (code, lines) in POLICY_LINES {
        cases.extend(lines.iter().map(|lines| (*code, with_policy_lines(lines))));
    }
    for (code, good, values) in VALUES {
        let with = |value: &&str| (*code, with_policy_lines("").replacen(good, value, 1));
        cases.extend(values.iter().map(with));
    }
    cases.extend(FILES.iter().map(|(code, text)| (*code, (*text).to_owned())));
    for key in ["name", "source", "table", "deadline", "keep"] {
        let without: Vec<&str> = POLICY.lines().filter(|line| !line.starts_with(key)).collect();
        cases.push((Code::MissingKey, format!("{SOURCE}{}", without.join("\n"))));
    }
    cases.push((Code::MissingKey, with_policy_lines("newest = 1").replace("deadline = \"d\"\n", "")));
    cases.push((Code::MissingKey, with_policy_lines("newest = 1").replace("keep = \"1d\"\n", "")));
    let misspelt = [("deadline", "deadlien"), ("keep", "kepe"), ("deadline = \"d\"\nkeep = \"1d\"", "newset = 1")];
    cases.extend(misspelt.map(|(from, to)| (Code::UnknownKey, with_policy_lines("").replace(from, to))));
    let circle = POLICY.replace("tokens", "other");
    cases.push((Code::CircularOrder, format!("{SOURCE}{POLICY}after = [\"other\"]\n{circle}after = [\"tokens\"]\n")));
    cases.push((Code::DuplicateName, format!("{SOURCE}{POLICY}{POLICY}")));
    cases.push((Code::MissingSource, POLICY.to_owned()));
    cases.push((Code::MissingPack, with_policy_lines("[[use]]\npack = \"masse\"\nsource = \"auth\"")));
    cases.push((Code::NoPolicies, with_policy_lines("enabled = false")));
    let long = with_policy_lines("").replace("tokens", &"x".repeat(101));
    cases.push((Code::BadValue, long));
    cases
}

#[test]
fn each_case_gives_its_code_and_a_remedy() {
    for (code, text) in cases() {
        let error = config(&text).map(|_| ()).expect_err(&text);
        // A file that is not TOML may be wrong in several places.
        let mut found = codes(&error);
        found.dedup();
        assert_eq!(found, [code.as_str()], "{text}");
        let shown = rendered(&error);
        assert!(shown.contains("help: "), "{shown}");
        if code != Code::NoPolicies {
            assert!(shown.contains("[bygone.toml:"), "{shown}");
        }
    }
}

#[test]
fn each_code_is_documented_and_reached() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let reached: Vec<&str> = cases().into_iter().map(|(code, _)| code.as_str()).collect();
    let documented: Vec<&str> =
        manual.lines().filter_map(|line| line.strip_prefix("| `config::")?.split('`').next()).collect();
    for code in &reached {
        let name = code.strip_prefix("config::").unwrap();
        assert!(documented.contains(&name), "{code} is not documented");
    }
    for name in documented {
        let elsewhere = ["missing_file", "invalid"].contains(&name);
        let code = format!("config::{name}");
        assert!(elsewhere || reached.contains(&code.as_str()), "{code} is not reached");
    }
}

#[test]
fn no_message_shows_what_was_filled_in() {
    let mut texts = Vec::new();
    // The secret in place of every value of a good file, alone and in part.
    for good in ["sqlite:a.db", "tokens", "auth\"\ntable", "t\"\ndeadline", "d\"\nkeep", "1d"] {
        for secret in ["${SECRET}", "x:${SECRET}", "'${SECRET}", "${SECRET}\\u0000"] {
            let value = good.split('"').next().unwrap();
            let with = good.replacen(value, secret, 1);
            texts.push(format!("{SOURCE}{POLICY}").replacen(good, &with, 1));
        }
    }
    for key in ["where", "zone", "schedule", "every", "jitter", "window", "key", "kind"] {
        texts.push(with_policy_lines(&format!("{key} = \"${{SECRET}};(\"")));
    }
    for key in ["with", "unless_referenced_by", "clear", "after"] {
        texts.push(with_policy_lines(&format!("{key} = [\"${{SECRET}}\", \"${{SECRET}}\"]")));
    }
    texts.push(with_policy_lines("with = [\"a.b -> ${SECRET} -> c.d\"]"));
    texts.push(with_policy_lines("unless = { via = \"${SECRET}\", where = \"${SECRET})\" }"));
    texts.push(with_policy_lines("clear = [\"hunter${TWO:-2}\"]\nset = { a = \"${SECRET}\", b = [] }"));
    let named = POLICY.replace("tokens", "${SECRET}");
    texts.push(format!("{SOURCE}{named}{POLICY}after = [\"hunter${{THREE:-3}}\"]\n"));
    texts.push(format!("{SOURCE}{named}after = [\"tokens\"]\n{POLICY}after = [\"${{SECRET}}\"]\n"));
    texts.push(with_policy_lines("[[policy]]\nname = \"${SECRET}\"\n[[policy]]\nname = \"${SECRET}\""));
    texts.push("[source.a]\nurl = \"postgres://ada:hunter2@h/d\"\nx = 1\n[[policy]]".to_owned());
    texts.push("[source.a]\nurl = \"postgres://ada:hunter2@h/d\nx".to_owned());
    let mut refused = 0;
    for text in texts {
        if let Err(error) = config(&text) {
            refused += 1;
            let shown = format!("{} {error} {error:?}", rendered(&error));
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
    assert!(refused > 20, "only {refused} were refused");
}

#[test]
fn all_errors_are_reported_at_once_in_the_order_of_the_file() {
    let text = "colour = 1\n[source.a]\nurl = 1\nport = 2\n[[policy]]\nname = \"p\"\nsource = \"b\"\n\
                table = \"\"\ndeadline = \"d\"\nkeep = 30\nsize = 1\n[[policy]]\n";
    let error = config(text).unwrap_err();
    let wanted = [
        Code::UnknownKey,
        Code::WrongType,
        Code::UnknownKey,
        Code::MissingSource,
        Code::BadValue,
        Code::BadDuration,
        Code::UnknownKey,
        Code::EmptyPolicy,
    ];
    assert_eq!(codes(&error), wanted.map(Code::as_str));
    assert_eq!(error.to_string(), "bygone.toml has 8 errors");
    assert_eq!(error.code().unwrap().to_string(), "config::invalid");
}

#[test]
fn a_flood_of_errors_is_cut_and_counted() {
    let lines: Vec<String> = (0..2000).map(|n| format!("k{n} = {n}")).collect();
    let text = lines.join("\n");
    let error = config(&text).unwrap_err();
    assert_eq!(error.to_string(), "bygone.toml has 2000 errors, of which these are the first 50");
    assert_eq!(codes(&error).len(), 50);
}

#[test]
fn files_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let missing = load(&dir.path().join("bygone.toml"), &TestEnv).unwrap_err();
    assert!(matches!(missing, ConfigError::Missing { .. }));
    assert_eq!(codes(&missing), ["config::missing_file"]);
    assert!(missing.help().unwrap().to_string().contains("--config"));
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let binary = write("binary", &[0xff, 0x00]);
    let large = write("large", &vec![b'#'; (1 << 20) + 1]);
    for path in [Path::new("/"), &binary, &large] {
        let unreadable = load(path, &TestEnv).unwrap_err();
        assert!(matches!(unreadable, ConfigError::Unreadable { .. }));
        assert_eq!(codes(&unreadable), ["config::unreadable_file"]);
    }
    let full = write("full", &vec![b'#'; 1 << 20]);
    assert_eq!(codes(&load(&full, &TestEnv).unwrap_err()), ["config::no_policies"]);
}

/// Every file that is one slip away from the reference must be judged without
/// a panic, and its judgement must be showable.
#[test]
fn no_slip_of_the_pen_is_a_panic() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bygone.reference.toml");
    let reference = std::fs::read_to_string(path).unwrap();
    // Comments only make it slow.
    let reference: String = reference
        .lines()
        .map(|line| line.split(" #").next().unwrap_or(line))
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .fold(String::new(), |text, line| text + line.trim_end() + "\n");
    let judge = |text: &str| {
        if let Err(error) = config(text) {
            assert!(!rendered(&error).is_empty());
        }
    };
    let slips = ["", "\"", "$", "{", "[", "=", "\n", "é", "\u{0}", "-9"];
    for (turn, (at, c)) in reference.char_indices().enumerate() {
        let (before, after) = reference.split_at(at);
        let slip = slips[turn % slips.len()];
        judge(&format!("{before}{slip}{}", &after[c.len_utf8()..]));
        if turn % 7 == 0 {
            judge(before);
            judge(after);
        }
    }
}
