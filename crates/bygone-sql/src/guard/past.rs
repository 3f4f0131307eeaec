//! The test of a deadline by the database's own clock, for what is stored there and asked by others.
//!
//! It gives the same answer as the sweeper's own test, whatever time zone the asking session is in.

use bygone_core::{ErrorKind, TargetError};
use jiff::tz::TimeZone;

use super::sqlite_text;
use crate::comparison::{Comparison, IdShape, Kind};
use crate::engine::Engine;

const DAY_US: i128 = 86_400_000_000;

/// Microseconds since 1970. PostgreSQL 13 says seconds as a float, which is near enough for rounding to be exact.
const POSTGRES_NOW_US: &str = "round(extract(epoch FROM now()) * 1000000)::int8";
const MYSQL_NOW_US: &str = "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP '1970-01-01 00:00:00', UTC_TIMESTAMP(6))";
/// SQLite's clock counts milliseconds. The days are a float, which is near enough for rounding to be exact.
const SQLITE_NOW_US: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000";

/// Holds for a readable value that was past `keep_us` microseconds ago.
pub(super) fn past(column: &Comparison, keep_us: i128) -> Result<String, TargetError> {
    if let Kind::Local(zone) | Kind::Date(zone) | Kind::Text(zone) = &column.kind
        && !is_utc(zone)
    {
        return Err(inexact(
            format!("`{}` is read in a zone, and a guard reads local times only as UTC", column.column),
            "keep the deadline as an instant or in UTC, and leave `zone` out",
        ));
    }
    let test = match column.engine {
        Engine::Postgres => postgres(column, keep_us),
        Engine::MySql => mysql(column, keep_us),
        Engine::Sqlite => sqlite(column, keep_us),
    };
    test.ok_or_else(|| {
        inexact(
            format!("the time inside the identifiers of `{}` cannot be read without bygone", column.column),
            "name a column of time as the deadline, or keep the identifiers as 16 bytes in PostgreSQL or MySQL",
        )
    })
}

fn inexact(message: String, help: &'static str) -> TargetError {
    TargetError::new(ErrorKind::Unfit, message).with_help(help).about("deadline")
}

fn is_utc(zone: &TimeZone) -> bool {
    *zone == TimeZone::UTC || matches!(zone.iana_name(), Some("UTC" | "Etc/UTC"))
}

fn postgres(column: &Comparison, keep_us: i128) -> Option<String> {
    let c = column.quoted();
    let ago = |us: i128| match us {
        0 => String::new(),
        us => format!(" - interval '{}.{:06} seconds'", us / 1_000_000, us % 1_000_000),
    };
    let test = match &column.kind {
        Kind::Instant => format!("{c} >= timestamptz '0001-01-01 00:00:00+00' AND {c} < now(){}", ago(keep_us)),
        Kind::Local(_) => {
            format!("{c} >= timestamp '0001-01-01 00:00:00' AND {c} < (now() AT TIME ZONE 'UTC'){}", ago(keep_us))
        }
        // A date lasts through its day.
        Kind::Date(_) => {
            format!("{c} >= date '0001-01-01' AND {c} < (now() AT TIME ZONE 'UTC'){}", ago(keep_us + DAY_US))
        }
        Kind::Epoch { unit_us, whole } => {
            let units = units(POSTGRES_NOW_US, keep_us, *unit_us);
            let bound = if *whole { format!("ceil({units})") } else { format!("({units})::{}", column.sql_type) };
            format!("{c} >= 1 AND {c} < {bound}")
        }
        Kind::Id { uuid7: false, shape: IdShape::Text { .. } } | Kind::Text(_) => return None,
        Kind::Id { shape, .. } => {
            let hex = match shape {
                IdShape::Bytes => format!("encode(substr({c}, 1, 6), 'hex')"),
                IdShape::Uuid | IdShape::Text { .. } => format!("lower(left(replace({c}::text, '-', ''), 12))"),
            };
            let bound = format!("lpad(to_hex(ceil({})::int8), 12, '0')", units(POSTGRES_NOW_US, keep_us, 1_000));
            format!("{hex} COLLATE \"C\" >= '000000000001' AND {hex} COLLATE \"C\" < {bound}")
        }
    };
    Some(readable(column, test))
}

fn mysql(column: &Comparison, keep_us: i128) -> Option<String> {
    let c = column.quoted();
    let ago = |us: i128| match (us / 1_000_000, us % 1_000_000) {
        (0, 0) => String::new(),
        (seconds, 0) => format!(" - INTERVAL {seconds} SECOND"),
        (seconds, us) => format!(" - INTERVAL {seconds} SECOND - INTERVAL {us} MICROSECOND"),
    };
    let test = match &column.kind {
        // As a time it would be read in the zone of the asking session.
        Kind::Instant => {
            format!("UNIX_TIMESTAMP({c}) > 0 AND UNIX_TIMESTAMP({c}) < {}", units(MYSQL_NOW_US, keep_us, 1_000_000))
        }
        Kind::Local(_) => {
            format!("{c} >= TIMESTAMP '0001-01-01 00:00:00' AND {c} < UTC_TIMESTAMP(6){}", ago(keep_us))
        }
        Kind::Date(_) => format!("{c} >= DATE '0001-01-01' AND {c} < UTC_TIMESTAMP(6){}", ago(keep_us + DAY_US)),
        Kind::Epoch { unit_us, whole } => {
            let units = units(MYSQL_NOW_US, keep_us, *unit_us);
            let bound = if *whole { format!("CEIL({units})") } else { units };
            format!("{c} >= 1 AND {c} < {bound}")
        }
        Kind::Id { uuid7: false, shape: IdShape::Text { .. } } | Kind::Text(_) => return None,
        Kind::Id { shape, .. } => {
            let hex = match shape {
                IdShape::Bytes => format!("HEX(LEFT({c}, 6))"),
                IdShape::Uuid | IdShape::Text { .. } => format!("LEFT(REPLACE(CAST({c} AS CHAR), '-', ''), 12)"),
            };
            let millis = format!("CAST(CONV({hex}, 16, 10) AS UNSIGNED)");
            format!("{millis} >= 1 AND {millis} < {}", units(MYSQL_NOW_US, keep_us, 1_000))
        }
    };
    Some(readable(column, test))
}

fn sqlite(column: &Comparison, keep_us: i128) -> Option<String> {
    let c = column.quoted();
    match &column.kind {
        Kind::Epoch { unit_us, .. } => {
            let test = format!("{c} >= 1 AND {c} < ({SQLITE_NOW_US} - {keep_us}) / {unit_us}.0");
            Some(readable(column, test))
        }
        Kind::Text(_) => Some(format!("{} < {SQLITE_NOW_US} - {keep_us}", sqlite_text::micros(&c))),
        _ => None,
    }
}

/// The cutoff in units, exactly: a product of decimals loses nothing, a quotient may.
fn units(now_us: &str, keep_us: i128, unit_us: i64) -> String {
    let factor = match unit_us {
        1_000_000 => "0.000001",
        1_000 => "0.001",
        _ => "1.0",
    };
    format!("({now_us} - {keep_us}) * {factor}")
}

fn readable(column: &Comparison, test: String) -> String {
    match column.readable() {
        Some(readable) => format!("{test} AND {readable}"),
        None => test,
    }
}
