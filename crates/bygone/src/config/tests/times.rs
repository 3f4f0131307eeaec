//! `schedule`, `every`, `jitter` and `window`.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::super::Schedule;
use super::{config, policy, refusal, with_policy_lines};

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

#[test]
fn a_zone_may_stand_behind_a_schedule() {
    for (written, pattern, wanted) in [
        ("0 5 */4 * * *", "0 5 */4 * * *", TimeZone::UTC),
        ("5 */4 * * *", "5 */4 * * *", TimeZone::UTC),
        ("5 */4 * * MON-FRI", "5 */4 * * MON-FRI", TimeZone::UTC),
        ("0 5 */4 * * SAT", "0 5 */4 * * SAT", TimeZone::UTC),
        ("5 */4 * * * Europe/Stockholm", "5 */4 * * *", zone("Europe/Stockholm")),
        (" 0 5 */4 * * MON-FRI  europe/stockholm ", "0 5 */4 * * MON-FRI", zone("Europe/Stockholm")),
        ("5 */4 * * * UTC", "5 */4 * * *", zone("UTC")),
        ("5 */4 * * * CET", "5 */4 * * *", zone("CET")),
    ] {
        let schedule = policy(&format!("schedule = {written:?}")).schedule;
        assert_eq!(schedule, Some(Schedule::Cron { pattern: pattern.to_owned(), zone: wanted }), "{written}");
    }
    let schedule = policy("schedule = \"0 30 2 * * * Europe/Stockholm\"").schedule.unwrap();
    assert_eq!(schedule.to_string(), "0 30 2 * * * Europe/Stockholm");
    let next = schedule.timed().unwrap().next_after("2026-11-18T00:00:00Z".parse().unwrap(), "p");
    assert_eq!(next, Some("2026-11-18T01:30:00Z".parse().unwrap()), "an hour ahead in winter");
}

#[test]
fn jitter_stands_beside_either() {
    for beside in ["every = \"1h\"", "schedule = \"0 * * * *\""] {
        assert_eq!(policy(&format!("{beside}\njitter = \"59m\"")).jitter, SignedDuration::from_mins(59));
    }
    assert_eq!(policy("schedule = \"0 9,10 * * *\"\njitter = \"59m\"").jitter, SignedDuration::from_mins(59));
}

#[test]
fn a_window_or_several() {
    let windows = |written: &str| -> Vec<String> {
        policy(&format!("window = {written}")).windows.iter().map(ToString::to_string).collect()
    };
    assert_eq!(windows(r#""22:00-05:00""#), ["22:00-05:00 UTC"]);
    assert_eq!(windows(r#"" 22:00-05:00  europe/stockholm ""#), ["22:00-05:00 Europe/Stockholm"]);
    assert_eq!(windows(r#"["22:00-00:00", "12:00-13:30 CET"]"#), ["22:00-00:00 UTC", "12:00-13:30 CET"]);
}

#[test]
fn a_file_may_say_all_of_them_for_the_policy_of_a_pack() {
    let text = format!(
        "{}[[use]]\npack = \"mas\"\nsource = \"auth\"\n[use.policy.mas-policy-data]\n\
         schedule = \"0 3 * * * Europe/Stockholm\"\njitter = \"10m\"\nwindow = \"02:00-04:00 Europe/Stockholm\"\n",
        with_policy_lines("")
    );
    let config = config(&text).unwrap();
    let policy = config.policies.iter().find(|policy| policy.name == "mas-policy-data").unwrap();
    assert_eq!(policy.schedule.as_ref().unwrap().to_string(), "0 3 * * * Europe/Stockholm");
    assert_eq!((policy.jitter, policy.windows.len()), (SignedDuration::from_mins(10), 1));
    let others = config.policies.iter().filter(|policy| policy.name != "mas-policy-data");
    assert!(others.into_iter().all(|policy| policy.jitter.is_zero() && policy.windows.is_empty()));
}

#[test]
fn a_zone_that_nobody_knows() {
    let text = with_policy_lines("schedule = \"0 0 3 * * * Europe/Stokholm\"\nwindow = \"22:00-05:00 Mars/Base\"");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_zone

      x `schedule` ends in something that is not the name of a time zone
        ,-[bygone.toml:9:25]
      8 | keep = "1d"
      9 | schedule = "0 0 3 * * * Europe/Stokholm"
        :                         ^^^^^^^|^^^^^^^
        :                                `-- did you mean "Europe/Stockholm"?
     10 | window = "22:00-05:00 Mars/Base"
        `----
      help: write a name of the IANA time zone database, such as "Europe/Berlin"
            or "UTC"

    Error: config::bad_zone

      x `window` ends in something that is not the name of a time zone
        ,-[bygone.toml:10:23]
      9 | schedule = "0 0 3 * * * Europe/Stokholm"
     10 | window = "22:00-05:00 Mars/Base"
        :                       ^^^^|^^^^
        :                           `-- not known
        `----
      help: write a name of the IANA time zone database, such as "Europe/Berlin"
            or "UTC"
    "#);
}

#[test]
fn hours_that_are_none() {
    let text = with_policy_lines("window = [\"22-5\", \"08:00-08:00\"]");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::bad_window

      x `window` is not a part of the day
       ,-[bygone.toml:9:11]
     8 | keep = "1d"
     9 | window = ["22-5", "08:00-08:00"]
       :           ^^^|^^
       :              `-- not such a window
       `----
      help: write two times of day and, unless they are UTC, a zone: "22:00-05:00
            Europe/Stockholm"; midnight is 00:00

    Error: config::bad_window

      x `window` ends when it begins
       ,-[bygone.toml:9:19]
     8 | keep = "1d"
     9 | window = ["22-5", "08:00-08:00"]
       :                   ^^^^^^|^^^^^^
       :                         `-- all of the day, or nothing of it
       `----
      help: leave `window` out to run at any time; or write two different times
    "#);
}

#[test]
fn jitter_that_is_too_long_or_alone() {
    insta::assert_snapshot!(refusal(&with_policy_lines("schedule = \"0 */5 * * * *\"\njitter = \"5m\"")), @r#"
    config::bad_value

      x `jitter` must be shorter than the time between two runs
        ,-[bygone.toml:10:10]
      9 | schedule = "0 */5 * * * *"
     10 | jitter = "5m"
        :          ^^|^
        :            `-- two runs may be 5m apart
        `----
      help: write a shorter time: a run that is put off must not come after the
            next one
    "#);
    insta::assert_snapshot!(refusal(&with_policy_lines("jitter = \"5m\"")), @r#"
    config::missing_key

      x `jitter` means nothing without `schedule` or `every`
       ,-[bygone.toml:9:10]
     8 | keep = "1d"
     9 | jitter = "5m"
       :          ^^|^
       :            `-- `schedule` or `every` is missing beside it
       `----
      help: say when it runs: `every = "1h"`; or remove `jitter`
    "#);
}
