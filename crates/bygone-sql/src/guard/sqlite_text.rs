//! Instants in text, read by SQLite's own functions: a view cannot call ours, since other programs ask it.
//!
//! What `text_time` reads is taken apart here step by step, because SQLite's functions alone take more (`now`, day
//! numbers, 24:00, the 30th of February) and keep only milliseconds.

use crate::text_time::ZERO_OFFSETS;

/// Two digits, as GLOB knows them.
const DD: &str = "[0-9][0-9]";

/// The text in a column in microseconds since 1970; NULL for what cannot be read.
pub(super) fn micros(column: &str) -> String {
    let date = format!("{DD}{DD}-{DD}-{DD}");
    let zeros = ZERO_OFFSETS.map(|offset| format!("'{offset} UTC'")).join(", ");
    // Minute, seconds and what follows them; then the fraction and what follows it; then the offset alone.
    let parts =
        format!("SELECT {column} AS t, substr({column}, 17) GLOB ':[0-5][0-9]*' AS full, substr({column}, 17) AS tail");
    let parts = format!(
        "SELECT t, substr(t, 1, 16) || CASE WHEN full THEN substr(tail, 1, 3) ELSE ':00' END AS clock, \
         CASE WHEN full THEN substr(tail, 4) ELSE tail END AS tail FROM ({parts})"
    );
    let parts = format!(
        "SELECT t, clock, CASE WHEN tail GLOB '.[0-9]*' THEN ltrim(substr(tail, 2), '0123456789') ELSE tail END AS zone, \
         CASE WHEN tail GLOB '.[0-9]*' THEN substr(tail, 2) ELSE '' END AS digits FROM ({parts})"
    );
    let parts = format!(
        "SELECT t, clock, substr(digits, 1, length(digits) - length(zone)) AS digits, \
         CASE WHEN zone GLOB ' *' THEN substr(zone, 2) ELSE zone END AS zone FROM ({parts})"
    );
    let parts =
        format!("SELECT t, clock, digits, CASE WHEN zone IN ({zeros}) THEN 'UTC' ELSE zone END AS zone FROM ({parts})");
    // A fraction rounds up to the next microsecond: the later instant is the safe one.
    let fraction = "substr(digits || '000000', 1, 6) + (rtrim(substr(digits, 7), '0') <> '')";
    let offset = "(substr(zone, 2, 2) * 3600 + replace(substr(zone, 4), ':', '') * 60)";
    format!(
        "(SELECT CASE WHEN typeof(t) <> 'text' OR length(CAST(t AS BLOB)) <> length(t) \
         OR date(substr(t, 1, 10), '+0 days') <> substr(t, 1, 10) THEN NULL \
         WHEN t GLOB '{date}' THEN (strftime('%s', t) + 86400) * 1000000 \
         WHEN NOT t GLOB '{date}[ T]{DD}:[0-5][0-9]*' OR substr(t, 12, 2) > '23' THEN NULL \
         WHEN zone IN ('', 'Z', 'z', 'UTC') THEN strftime('%s', clock) * 1000000 + {fraction} \
         WHEN substr(zone, 2, 2) > '25' OR NOT (zone GLOB '[+-]{DD}' OR zone GLOB '[+-]{DD}:' \
         OR zone GLOB '[+-]{DD}[0-5][0-9]' OR zone GLOB '[+-]{DD}:[0-5][0-9]') THEN NULL \
         WHEN zone GLOB '+*' THEN (strftime('%s', clock) - {offset}) * 1000000 + {fraction} \
         ELSE (strftime('%s', clock) + {offset}) * 1000000 + {fraction} END FROM ({parts}))"
    )
}

#[cfg(test)]
mod fuzz {
    use std::panic::AssertUnwindSafe;
    use std::time::Duration;

    use jiff::tz::TimeZone;
    use rusqlite::Connection;

    use super::micros;
    use crate::fuzz::{Written, end_of_time};
    use crate::text_time;

    /// A guard shows what a sweep leaves, so both read every text alike, to the microsecond.
    #[test]
    fn guards_read_every_text_as_sweeps_do() {
        let sqlite = Connection::open_in_memory().unwrap();
        let sql = format!("SELECT {} FROM (SELECT ?1 AS deadline)", micros("deadline"));
        let guarded = AssertUnwindSafe(|text: &str| -> Option<i64> {
            let mut statement = sqlite.prepare_cached(&sql).unwrap();
            statement.query_row([text], |row| row.get(0)).unwrap()
        });
        bolero::check!().with_iterations(6_000).with_test_time(Duration::from_secs(6)).with_type::<Written>().for_each(
            |written| {
                let text = written.text();
                if end_of_time(&text) {
                    return;
                }
                let read = &*guarded;
                let swept = text_time::parse(&text, &TimeZone::UTC).map(|at| {
                    let nanos = at.as_nanosecond();
                    nanos.div_euclid(1_000) + i128::from(nanos.rem_euclid(1_000) != 0)
                });
                assert_eq!(read(&text).map(i128::from), swept, "{text:?}");
            },
        );
    }
}
