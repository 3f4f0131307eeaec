use jiff::civil::{DateTime, date};
use jiff::{SignedDuration, ToSpan};
use proptest::prelude::*;

use super::*;

fn utc(pattern: &str) -> KeyDate {
    KeyDate::parse(pattern, TimeZone::UTC).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "what a deadline is compared with")]
fn ts(text: &str) -> Option<Timestamp> {
    Some(text.parse().unwrap())
}

#[test]
fn the_deadline_is_the_end_of_the_period() {
    let cases = [
        ("%Y/**", "2026/x", "2027-01-01T00:00:00Z"),
        ("%Y/%m/**", "2026/12/x", "2027-01-01T00:00:00Z"),
        ("%Y/%m/**", "2024/02/x", "2024-03-01T00:00:00Z"),
        ("logs/%Y/%m/%d/**", "logs/2024/02/29/a/b", "2024-03-01T00:00:00Z"),
        ("dt=%Y-%m-%d/**", "dt=2026-11-15/part-0", "2026-11-16T00:00:00Z"),
        ("%Y.%j", "2024.366", "2025-01-01T00:00:00Z"),
        ("%Y%m%d%H", "2026111523", "2026-11-16T00:00:00Z"),
        ("%Y%m%dT%H%M", "20261115T1259", "2026-11-15T13:00:00Z"),
        ("**/backup-%Y-%m-%dT%H%M%SZ.tar.gz", "a/b/backup-2026-11-15T040506Z.tar.gz", "2026-11-15T04:05:07Z"),
        ("%Y%m%d%H%M%S%L", "20261115040506999", "2026-11-15T04:05:07Z"),
        ("%s.log", "1794744000.log", "2026-11-15T12:00:01Z"),
        ("%s%L.log", "1794744000123.log", "2026-11-15T12:00:00.124Z"),
        ("%s%f-*", "1794744000123456-7", "2026-11-15T12:00:00.123457Z"),
        ("%Y/%m/%Y-%m-%d.log", "2026/11/2026-11-15.log", "2026-11-16T00:00:00Z"),
        ("100%%/%*/%Y", "100%/*/2026", "2027-01-01T00:00:00Z"),
        ("é*/%Y", "éà/2026", "2027-01-01T00:00:00Z"),
    ];
    for (pattern, key, end) in cases {
        assert_eq!(utc(pattern).deadline(key), ts(end), "{pattern} on {key}");
    }
}

#[test]
fn what_names_no_date_has_no_deadline() {
    let cases = [
        ("logs/%Y/%m/%d/**", "logs/2026/02/30/x"),
        ("logs/%Y/%m/%d/**", "logs/2026/13/01/x"),
        ("logs/%Y/%m/%d/**", "logs/2026/1/01/x"),
        ("logs/%Y/%m/%d/**", "logs/2026/01/01"),
        ("logs/%Y/%m/%d/**", "x/logs/2026/01/01/x"),
        ("%Y-*.gz", "2026-a/b.gz"),
        ("%Y-*.gz", "2026-a.gz.bak"),
        ("%Y%m%d%H", "2026010124"),
        ("%Y%m%dT%H%M%S", "20260101T235960"),
        ("%Y.%j", "2026.366"),
        ("%Y/%Y", "2025/2026"),
        ("%s", "999999999999"),
        ("%s", "-1"),
        ("%Y", "２０２６"),
        ("%Y", ""),
    ];
    for (pattern, key) in cases {
        assert_eq!(utc(pattern).deadline(key), None, "{pattern} on {key}");
    }
    assert_eq!(utc("%Y*").deadline_bytes(b"2026\xff"), ts("2027-01-01T00:00:00Z"), "names need not be UTF-8");
}

#[test]
fn of_several_readings_the_latest_counts() {
    assert_eq!(utc("**%Y-%m-%d**").deadline("2020-01-01..2026-01-01"), ts("2026-01-02T00:00:00Z"));
    assert_eq!(utc("**%Y-%m-%d**").deadline("2026-01-01..2020-01-01"), ts("2026-01-02T00:00:00Z"));
    assert_eq!(utc("**%Y**").deadline("19990"), ts("9991-01-01T00:00:00Z"), "any four digits may be meant");
    assert_eq!(utc("%Y*%m*%d").deadline("2026-01-12-03"), ts("2026-12-04T00:00:00Z"));
    assert_eq!(utc("*-%s*").deadline("a-1794744000"), ts("2026-11-15T12:00:01Z"));
}

#[test]
fn a_key_that_takes_too_long_has_no_deadline() {
    let pattern = utc("%Y*%m*%d*%H*%M*x");
    assert_eq!(pattern.deadline(&"1".repeat(1_024)), None);
    assert_eq!(utc("**/**/*/**%Y").deadline(&format!("{}2026", "a/".repeat(500))), ts("2027-01-01T00:00:00Z"));
}

#[test]
fn a_pattern_that_tells_no_date_is_refused_with_the_remedy() {
    let refused = |pattern: &str| KeyDate::parse(pattern, TimeZone::UTC).unwrap_err().to_string();
    insta::assert_snapshot!(refused("logs/%m/%d"), @"the date pattern `logs/%m/%d` names no year: give it %Y (or %s), as in `logs/%Y/%m/%d/**`");
    insta::assert_snapshot!(refused("%Y-%d"), @"the date pattern `%Y-%d` has %d without %m: name every larger unit too");
    insta::assert_snapshot!(refused("%Y-%m %H"), @"the date pattern `%Y-%m %H` has %H without %d (or %j): name every larger unit too");
    insta::assert_snapshot!(refused("%Y%m%d%L"), @"the date pattern `%Y%m%d%L` has %L without %S (or %s): name every larger unit too");
    insta::assert_snapshot!(refused("%Y/%s"), @"the date pattern `%Y/%s` has both %s and %Y: keep one of them");
    insta::assert_snapshot!(refused("%y"), @"the date pattern `%y` has `%y`: use %Y %m %d %j %H %M %S %L %f %s, and %% for a percent sign");
    insta::assert_snapshot!(refused("%Y%"), @"the date pattern `%Y%` has `%`: use %Y %m %d %j %H %M %S %L %f %s, and %% for a percent sign");
    assert!(refused(&format!("%Y{}", "*a".repeat(40))).contains("over 64 parts"));
}

#[test]
fn order_is_claimed_only_where_there_is_one() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let ordered = |pattern: &str, zone: &TimeZone| {
        KeyDate::parse(pattern, zone.clone()).unwrap().ordered_prefix().map(str::to_owned)
    };
    let utc = TimeZone::UTC;
    assert_eq!(ordered("logs/%Y/%m/%d/**", &utc).as_deref(), Some("logs/"));
    assert_eq!(ordered("%Y%j%H**", &utc).as_deref(), Some(""));
    assert_eq!(ordered("%Y/%m/%Y-%m-%d/*", &utc).as_deref(), Some(""));
    assert_eq!(ordered("%Y-%m-%d", &zone).as_deref(), Some(""));
    assert_eq!(ordered("%Y-%m-%dT%H", &zone), None, "an hour is left out in spring");
    assert_eq!(ordered("%d.%m.%Y", &utc), None);
    assert_eq!(ordered("*/%Y", &utc), None);
    assert_eq!(ordered("%Y*%m", &utc), None);
    assert_eq!(ordered("%s", &utc), None, "seconds may differ in length");
}

#[test]
fn local_times_end_with_their_later_instant() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let local = |pattern: &str| KeyDate::parse(pattern, zone.clone()).unwrap();
    // 02:00 to 03:00 came twice on the 25th of October 2026.
    assert_eq!(local("%Y%m%dT%H").deadline("20261025T01"), ts("2026-10-25T01:00:00Z"));
    assert_eq!(local("%Y%m%dT%H").deadline("20261025T02"), ts("2026-10-25T02:00:00Z"));
    // And not at all on the 29th of March.
    assert_eq!(local("%Y%m%dT%H%M").deadline("20260329T0210"), ts("2026-03-29T01:11:00Z"));
    assert_eq!(local("%Y-%m-%d").deadline("2026-11-15"), ts("2026-11-15T23:00:00Z"));
}

const PATTERNS: [(&str, &str); 8] = [
    ("%Y", "year"),
    ("a/%Y-%m/**", "month"),
    ("**/%Y/%m/%d/*", "day"),
    ("%Y.%j", "day"),
    ("x-%Y%m%d%H", "hour"),
    ("%Y%m%dT%H:%M", "minute"),
    ("b-%Y-%m-%dT%H%M%SZ.gz", "second"),
    ("%s", "second"),
];

/// The key that a program with this pattern would write at that moment.
fn written(pattern: &str, at: &jiff::Zoned) -> String {
    let pattern = pattern.replace("**", "some/where").replace('*', "else");
    at.strftime(&pattern).to_string()
}

fn moments() -> impl Strategy<Value = DateTime> {
    let spread = (0i64..4_000_000_000).prop_map(|seconds| date(1970, 1, 1).at(0, 0, 0, 0) + seconds.seconds());
    // Around the changes of the clocks, which chance would hardly ever meet.
    let changes = (0i64..4 * 3_600, prop::sample::select(vec![date(2026, 3, 29), date(2026, 10, 25)]))
        .prop_map(|(seconds, day)| day.at(0, 0, 0, 0) + seconds.seconds());
    prop_oneof![spread, changes]
}

proptest! {
    #[test]
    fn never_before_any_instant_of_the_period(
        moment in moments(),
        (pattern, unit) in prop::sample::select(PATTERNS.to_vec()),
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe"]),
        later in any::<bool>(),
    ) {
        let zone = TimeZone::get(zone).unwrap();
        let ambiguous = zone.to_ambiguous_zoned(moment);
        let at = if later { ambiguous.later() } else { ambiguous.earlier() }.unwrap();
        let key = written(pattern, &at);
        let deadline = KeyDate::parse(pattern, zone).unwrap().deadline(&key);
        let deadline = deadline.ok_or_else(|| TestCaseError::fail(format!("{key} has no deadline")))?;
        prop_assert!(deadline > at.timestamp(), "{key}, written at {at}, ends at {deadline}");
        // And no later than the period is long, the hours of a changed clock aside.
        let longest = match unit { "year" => 366 * 24, "month" => 31 * 24, "day" => 24, _ => 1 };
        let slack = SignedDuration::from_hours(longest + 2);
        prop_assert!(deadline.duration_since(at.timestamp()) <= slack, "{key}, written at {at}, ends at {deadline}");
    }

    #[test]
    fn an_ordered_pattern_sorts_keys_as_their_deadlines(one in moments(), other in moments()) {
        for pattern in ["%Y/%m/%d/**", "a-%Y%j", "%Y-%m-%dT%H%M%S*"] {
            let dates = utc(pattern);
            prop_assert!(dates.ordered_prefix().is_some());
            let key = |at: DateTime| written(pattern, &at.to_zoned(TimeZone::UTC).unwrap());
            let (one, other) = (key(one), key(other));
            if one < other {
                prop_assert!(dates.deadline(&one) <= dates.deadline(&other), "{one} {other}");
            }
        }
    }

    #[test]
    fn any_key_is_answered(pattern in "[%YmdHMSjsLf*/a-]{0,12}", key in "[0-9/a-]{0,40}") {
        if let Ok(dates) = KeyDate::parse(&pattern, TimeZone::UTC) {
            let _ = dates.deadline(&key);
        }
    }
}
