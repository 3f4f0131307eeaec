//! Instants in text, read by SQLite's own functions: a view cannot call ours, since other programs ask it.
//!
//! What `text_time` reads is taken apart here step by step, because SQLite's functions alone take more (`now`, day
//! numbers, 24:00, the 30th of February) and keep only milliseconds.

/// Two digits, as GLOB knows them.
const DD: &str = "[0-9][0-9]";

/// The text in a column in microseconds since 1970; NULL for what cannot be read.
pub(super) fn micros(column: &str) -> String {
    let date = format!("{DD}{DD}-{DD}-{DD}");
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
    let parts = format!(
        "SELECT t, clock, digits, CASE WHEN zone GLOB '* UTC' THEN substr(zone, 1, length(zone) - 4) ELSE zone END \
         AS zone FROM ({parts})"
    );
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
