//! Files that are taken, and what becomes of them.

use std::num::NonZeroUsize;

use bygone_core::Duty;
use jiff::SignedDuration;

use super::super::model::Budget;
use super::super::{Action, Brake, Format, Nulls, Schedule, load};
use super::{POLICY, SOURCE, TestEnv, config, policy, with_policy_lines};

#[test]
fn what_is_left_out_has_its_default() {
    let config = config(&with_policy_lines("")).unwrap();
    assert_eq!(config.skew_max, SignedDuration::from_secs(60));
    let source = &config.sources["auth"];
    assert_eq!((source.name.as_str(), source.url.expose()), ("auth", "sqlite:a.db"));
    assert_eq!((&source.schema, &source.table_prefix), (&None, &None));
    assert_eq!((source.statement_timeout, source.lock_timeout), (None, None));
    assert_eq!((&source.gates.hold_file, source.gates.active_sessions, source.gates.replica_lag), (&None, None, None));
    let policy = &config.policies[0];
    assert_eq!(policy.name, "tokens");
    assert_eq!((policy.source.as_str(), policy.rows().unwrap().table.as_str()), ("auth", "t"));
    assert_eq!(policy.rows().unwrap().keep, SignedDuration::from_hours(24));
    assert_eq!(
        (&policy.rows().unwrap().where_, &policy.rows().unwrap().key, &policy.rows().unwrap().zone),
        (&None, &None, &None)
    );
    assert_eq!((&policy.schedule, policy.jitter, &policy.windows), (&None, SignedDuration::ZERO, &Vec::new()));
    assert_eq!((&policy.rows().unwrap().newest, &policy.rows().unwrap().action), (&None, &Action::Remove));
    assert!(policy.rows().unwrap().unless.is_empty() && policy.rows().unwrap().only_if.is_empty());
    assert!(
        policy.rows().unwrap().unless_referenced_by.is_empty()
            && policy.rows().unwrap().with.is_empty()
            && policy.after.is_empty()
    );
    let budget = Budget {
        page: None,
        page_time: SignedDuration::from_millis(50),
        items: None,
        requests: None,
        run_time: None,
        pause: SignedDuration::ZERO,
        duty: Duty::FULL,
        workers: NonZeroUsize::MIN,
    };
    assert_eq!(policy.budget, budget);
    let brake = Brake { fraction: 0.5, over_items: 1000, max_items: None };
    assert_eq!(policy.brake, brake);
}

#[test]
fn policies_keep_their_order_and_spans_point_at_values() {
    let text = format!("{SOURCE}{}{POLICY}where = \"x\"\nkey = [\"k\"]\n", POLICY.replace("tokens", "a"));
    let config = config(&text).unwrap();
    let names: Vec<&str> = config.policies.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["a", "tokens"]);
    let at = |span: miette::SourceSpan| &text[span.offset()..span.offset() + span.len()];
    let spans = &config.policies[1].spans;
    assert_eq!(at(spans.name), "\"tokens\"");
    assert_eq!(at(spans.source), "\"auth\"");
    assert_eq!(at(spans.keys["table"]), "\"t\"");
    assert_eq!(spans.keys.get("deadline").copied().map(at), Some("\"d\""));
    assert_eq!(spans.keys.get("where").copied().map(at), Some("\"x\""));
    assert_eq!(spans.keys.get("key").copied().map(at), Some("[\"k\"]"));
    let deadline = config.policies[1].rows().unwrap().deadline.as_ref().unwrap();
    assert_eq!(at(deadline.columns[0].span), "\"d\"");
    assert_eq!(at(config.sources["auth"].url_span), "\"sqlite:a.db\"");
}

#[test]
fn every_form_of_deadline() {
    use Format::{EpochMicros, EpochMillis, EpochSeconds, Native, Ulid, Uuid7};
    type Wanted = (&'static [(&'static str, Format)], Nulls);
    let cases: [(&str, Wanted); 12] = [
        (r#""at""#, (&[("at", Native)], Nulls::Ignore)),
        (r#""${COLUMN}""#, (&[("expires_at", Native)], Nulls::Ignore)),
        (r#"["a", "b"]"#, (&[("a", Native), ("b", Native)], Nulls::Ignore)),
        (r#"["a"]"#, (&[("a", Native)], Nulls::Ignore)),
        (r#"{ ulid = "id" }"#, (&[("id", Ulid)], Nulls::Ignore)),
        (r#"{ uuid7 = "id" }"#, (&[("id", Uuid7)], Nulls::Ignore)),
        (r#"{ epoch_s = "at" }"#, (&[("at", EpochSeconds)], Nulls::Ignore)),
        (r#"{ epoch_ms = "at" }"#, (&[("at", EpochMillis)], Nulls::Ignore)),
        (r#"{ epoch_us = "at" }"#, (&[("at", EpochMicros)], Nulls::Ignore)),
        (
            r#"["a", { epoch_ms = "b" }, { ulid = "c" }]"#,
            (&[("a", Native), ("b", EpochMillis), ("c", Ulid)], Nulls::Ignore),
        ),
        (r#"{ latest = ["a", { uuid7 = "b" }] }"#, (&[("a", Native), ("b", Uuid7)], Nulls::Ignore)),
        (r#"{ latest = ["a", "b"], null = "keep" }"#, (&[("a", Native), ("b", Native)], Nulls::Keep)),
    ];
    for (written, (columns, nulls)) in cases {
        let text = with_policy_lines("").replace("deadline = \"d\"", &format!("deadline = {written}"));
        let deadline = config(&text).expect(written).policies.remove(0).rows().unwrap().deadline.clone().unwrap();
        let found: Vec<(&str, Format)> =
            deadline.columns.iter().map(|column| (column.column.as_str(), column.format)).collect();
        assert_eq!((found.as_slice(), deadline.nulls), (columns, nulls), "{written}");
    }
    let ignored = with_policy_lines("").replace("\"d\"", r#"{ latest = ["a"], null = "ignore" }"#);
    let deadline = config(&ignored).unwrap().policies.remove(0).rows().unwrap().deadline.clone();
    assert_eq!(deadline.unwrap().nulls, Nulls::Ignore);
}

#[test]
fn the_policy_goes_before_the_file_key_by_key() {
    let text = format!(
        "{}budget = {{ page = 10, pause = \"1s\" }}\nbrake = {{ fraction = 1 }}\n\
         [budget]\npage = 20\nitems = 30\npage_time = \"10ms\"\nworkers = 2\n\
         [brake]\nfraction = 0.1\nover_items = 0\nmax_items = 7\n\
         [clock]\nskew_max = \"5s\"\n",
        with_policy_lines("")
    );
    let mut config = config(&text).unwrap();
    assert_eq!(config.skew_max, SignedDuration::from_secs(5));
    let policy = config.policies.remove(0);
    let budget = Budget {
        page: Some(10),
        page_time: SignedDuration::from_millis(10),
        items: Some(30),
        requests: None,
        run_time: None,
        pause: SignedDuration::from_secs(1),
        duty: Duty::FULL,
        workers: NonZeroUsize::new(2).unwrap(),
    };
    assert_eq!(policy.budget, budget);
    let brake = Brake { fraction: 1.0, over_items: 0, max_items: Some(7) };
    assert_eq!(policy.brake, brake);
}

#[test]
fn a_polite_pace_is_small_pages_and_rests_unless_numbers_say_otherwise() {
    let paces = |lines: &str| {
        let budget = policy(lines).budget;
        (budget.page_time, budget.duty)
    };
    let (quick, fifth) = (SignedDuration::from_millis(4), Duty::of(0.2).unwrap());
    assert_eq!(paces("budget = { pace = \"polite\" }"), (quick, fifth));
    assert_eq!(paces("budget = { pace = \"full\" }"), (SignedDuration::from_millis(50), Duty::FULL));
    assert_eq!(paces("budget = { pace = \"polite\", duty = 0.5 }"), (quick, Duty::of(0.5).unwrap()));
    assert_eq!(paces("budget = { pace = \"polite\", page_time = \"5ms\" }"), (SignedDuration::from_millis(5), fifth));
    assert_eq!(
        paces("budget = { pace = \"full\" }\n[budget]\npace = \"polite\""),
        (SignedDuration::from_millis(50), Duty::FULL)
    );
    assert_eq!(paces("budget = { page = 7 }\n[budget]\npace = \"polite\""), (quick, fifth));
}

#[test]
fn keys_zones_and_intervals() {
    let one = policy("key = \"id\"");
    assert_eq!(one.rows().unwrap().key.clone().unwrap(), ["id"]);
    let two = policy("key = [\"tenant\", \"id\"]");
    assert_eq!(two.rows().unwrap().key.clone().unwrap(), ["tenant", "id"]);
    for (written, wanted) in [("Europe/Berlin", "Europe/Berlin"), ("europe/berlin", "Europe/Berlin"), ("UTC", "UTC")] {
        let zoned = policy(&format!("zone = {written:?}"));
        assert_eq!(zoned.rows().unwrap().zone.as_deref(), Some(wanted));
    }
    let every = policy("every = \"90m\"").schedule;
    assert_eq!(every, Some(Schedule::Every(SignedDuration::from_mins(90))));
    let condition = policy("kind = \"rows\"\nwhere = \"cost > '5$$'\"");
    assert_eq!(condition.rows().unwrap().where_.as_deref(), Some("cost > '5$'"));
}

#[test]
fn other_ways_to_write_tables() {
    let inline = "source = { auth = { url = 'sqlite:a.db' } }\n\
                  policy = [{ name = 'p', source = 'auth', table = 't', deadline = 'd', keep = '0s' }]";
    assert_eq!(config(inline).unwrap().policies[0].rows().unwrap().keep, SignedDuration::ZERO);
    let headed = with_policy_lines("budget.page = 5\n[policy.brake]\nfraction = 0.9");
    let policy = config(&headed).unwrap().policies.remove(0);
    assert_eq!(policy.budget.page, Some(5));
    assert!((policy.brake.fraction - 0.9).abs() < f64::EPSILON);
}

#[test]
fn what_editors_leave_behind() {
    let text = with_policy_lines("where = \"a\"").replace('\n', "\r\n");
    let marked = format!("\u{feff}{text}");
    for text in [text, marked] {
        let config = config(&text).unwrap();
        let span = config.policies[0].spans.keys.get("where").copied().unwrap();
        assert_eq!(&text[span.offset()..span.offset() + span.len()], "\"a\"");
    }
}

#[test]
fn secrets_are_filled_in_and_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pw"), "geheim\n").unwrap();
    let text = format!(
        "[source.auth]\nurl = \"${{DATABASE_URL}}\"\nschema = \"s\"\ntable_prefix = \"p_\"\n\
         statement_timeout = \"30s\"\nlock_timeout = \"500ms\"\n\
         [source.b]\nurl = \"mysql://u:${{file:pw}}@h/d\"\n\
         [source.c]\nurl = \"mysql://u:written@h/d\"\n{POLICY}"
    );
    let path = dir.path().join("bygone.toml");
    std::fs::write(&path, text).unwrap();
    let config = load(&path, &TestEnv).unwrap();
    let source = &config.sources["auth"];
    assert_eq!(source.url.expose(), "postgres://ada:hunter2@db.example/app");
    assert_eq!(source.url.to_string(), "postgres://ada:***@db.example/app");
    assert_eq!(source.schema.as_deref(), Some("s"));
    assert_eq!(source.table_prefix.as_deref(), Some("p_"));
    assert_eq!(source.statement_timeout, Some(SignedDuration::from_secs(30)));
    assert_eq!(source.lock_timeout, Some(SignedDuration::from_millis(500)));
    assert_eq!(config.sources["b"].url.expose(), "mysql://u:geheim@h/d");
    assert_eq!(config.sources["c"].url.expose(), "mysql://u:written@h/d");
    let shown = format!("{config:?}");
    for secret in ["hunter2", "geheim", "written"] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
}

#[test]
fn the_reference_file_is_right() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("archive.password"), "pw\n").unwrap();
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bygone.reference.toml");
    let path = dir.path().join("bygone.toml");
    std::fs::copy(reference, &path).unwrap();
    let config = load(&path, &TestEnv).map_err(|error| super::rendered(&error));
    let config = config.unwrap_or_else(|shown| panic!("{shown}"));
    assert_eq!(config.sources.len(), 7);
    assert_eq!((config.policies.len(), config.disabled.len()), (18, 4));
    assert_eq!(config.sources["archive"].url.expose(), "mysql://sweeper:pw@localhost/archive");
}
