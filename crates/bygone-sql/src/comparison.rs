//! A deadline column and how the boundary is compared with it.
//!
//! Whatever a column holds, the test comes down to `column >= floor AND column < cutoff`, in the column's own type
//! and order, so that its index serves. Where that order alone cannot decide (text, identifiers), an exact test of
//! the value stands beside it. The law is the same everywhere: strictly before the cutoff, and readable.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::connection::{TEXT_US, ULID_US, UUID7_US};
use crate::engine::Engine;
use crate::local_time::{date_cut, end_of_day, local_cut};
use crate::policy::Format;
use crate::text_time;
use crate::time_id;
use crate::value::Value;

/// The beginning of the year 1, in microseconds since 1970.
const YEAR_ONE_US: i64 = -62_135_596_800_000_000;

/// What the column holds.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// An instant: timestamptz, MySQL's TIMESTAMP.
    Instant,
    /// A local time in a zone.
    Local(TimeZone),
    /// A date in a zone.
    Date(TimeZone),
    /// A number of units since 1970.
    Epoch {
        /// Microseconds per unit.
        unit_us: i64,
        /// Whether the column can hold only whole numbers.
        whole: bool,
    },
    /// An identifier with its time inside.
    Id {
        /// UUIDv7 rather than ULID.
        uuid7: bool,
        /// How it is stored.
        shape: IdShape,
    },
    /// Text in SQLite.
    Text(TimeZone),
}

/// How an identifier is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdShape {
    /// In a type of its own.
    Uuid,
    /// As sixteen bytes.
    Bytes,
    /// As text; its letters are of one case.
    Text {
        /// That case.
        upper: bool,
    },
}

/// A deadline column with its way of comparing.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) engine: Engine,
    pub(crate) column: String,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    /// The column's type as a cast understands it.
    pub(crate) sql_type: String,
}

impl Comparison {
    /// The quoted column.
    pub(crate) fn quoted(&self) -> String {
        self.engine.quote(&self.column)
    }

    /// The first value that is not bygone; `None` when nothing can be.
    pub(crate) fn cutoff(&self, cutoff: Timestamp) -> Option<Value> {
        Some(match &self.kind {
            Kind::Instant if self.engine == Engine::Postgres => Value::Instant(cutoff.as_microsecond()),
            Kind::Local(zone) if self.engine == Engine::Postgres => Value::Local(local_us(local_cut(cutoff, zone))),
            Kind::Instant => Value::Text(civil(TimeZone::UTC.to_datetime(cutoff)) + self.utc_suffix()),
            Kind::Local(zone) => Value::Text(civil(local_cut(cutoff, zone))),
            Kind::Date(zone) => Value::Text(date_cut(cutoff, zone)?.to_string()),
            // As decimal text, since a cast from a float to numeric keeps only fifteen digits.
            Kind::Epoch { unit_us, whole: false } if self.engine == Engine::Postgres => {
                Value::Text(decimal(cutoff.as_microsecond(), *unit_us))
            }
            Kind::Epoch { unit_us, whole } => epoch(cutoff.as_microsecond(), *unit_us, *whole),
            Kind::Id { uuid7, shape } => id_value(*uuid7, *shape, time_id::lower_bound(cutoff)),
            // Offsets reach a day to either side, so in text order this is only near; the exact test decides.
            Kind::Text(_) => {
                let near = cutoff.checked_add(jiff::SignedDuration::from_hours(48)).unwrap_or(Timestamp::MAX);
                Value::Text(TimeZone::UTC.to_datetime(near).date().to_string())
            }
        })
    }

    /// The first value that is a deadline at all: below lie zero dates, minus infinity, 0 for "none".
    pub(crate) fn floor(&self) -> Value {
        match &self.kind {
            Kind::Instant if self.engine == Engine::Postgres => Value::Instant(YEAR_ONE_US),
            Kind::Local(_) if self.engine == Engine::Postgres => Value::Local(YEAR_ONE_US),
            Kind::Instant => Value::Text(format!("0001-01-01 00:00:00{}", self.utc_suffix())),
            Kind::Local(_) => Value::from("0001-01-01 00:00:00"),
            Kind::Date(_) => Value::from("0001-01-01"),
            Kind::Epoch { whole: false, .. } if self.engine == Engine::Postgres => Value::from("1"),
            Kind::Epoch { .. } => Value::Int(1),
            Kind::Id { uuid7, shape } => id_value(*uuid7, *shape, time_id::first_of(1)),
            Kind::Text(_) => Value::from("0"),
        }
    }

    /// How a bound value becomes the column's type.
    pub(crate) fn cast(&self) -> Option<&str> {
        (self.engine == Engine::Postgres).then_some(self.sql_type.as_str())
    }

    /// The column as a value that can travel.
    pub(crate) fn selected(&self) -> String {
        let column = self.quoted();
        match (self.engine, &self.kind) {
            (Engine::Postgres, Kind::Epoch { whole: true, .. }) => format!("{column}::int8"),
            (Engine::Postgres, Kind::Id { shape: IdShape::Bytes, .. }) => column,
            (Engine::Postgres, _) => format!("{column}::text"),
            (Engine::MySql, Kind::Epoch { whole: false, .. }) => format!("CAST({column} AS DOUBLE)"),
            (Engine::MySql, Kind::Instant | Kind::Local(_) | Kind::Date(_) | Kind::Id { shape: IdShape::Uuid, .. }) => {
                format!("CAST({column} AS CHAR)")
            }
            _ => column,
        }
    }

    /// A condition that a readable value meets, where its type does not see to that.
    pub(crate) fn readable(&self) -> Option<String> {
        let column = self.quoted();
        Some(match (self.engine, &self.kind) {
            (Engine::MySql, Kind::Instant | Kind::Local(_) | Kind::Date(_)) => {
                format!("MONTH({column}) > 0 AND DAYOFMONTH({column}) > 0")
            }
            (Engine::Sqlite, Kind::Epoch { .. }) => format!("typeof({column}) IN ('integer', 'real')"),
            (Engine::Sqlite, Kind::Text(_) | Kind::Id { .. }) => format!("{} IS NOT NULL", self.micros()?),
            (Engine::Postgres, Kind::Id { uuid7: true, shape: IdShape::Uuid }) => {
                format!("substr({column}::text, 15, 1) = '7'")
            }
            (Engine::Postgres, Kind::Id { uuid7, shape: IdShape::Bytes }) => {
                let version = if *uuid7 { format!("get_byte({column}, 6) >> 4 = 7") } else { "true".to_owned() };
                format!("CASE WHEN length({column}) = 16 THEN {version} ELSE false END")
            }
            (Engine::Postgres, Kind::Id { uuid7, shape: IdShape::Text { upper } }) => {
                format!("{column}::text COLLATE \"C\" ~ '{}'", id_pattern(*uuid7, *upper))
            }
            (Engine::MySql, Kind::Id { uuid7, shape: IdShape::Bytes }) => {
                let version =
                    if *uuid7 { format!(" AND ASCII(SUBSTR({column}, 7, 1)) >> 4 = 7") } else { String::new() };
                format!("LENGTH({column}) = 16{version}")
            }
            (Engine::MySql, Kind::Id { uuid7: true, shape: IdShape::Uuid }) => {
                format!("SUBSTR(CAST({column} AS CHAR), 15, 1) = '7'")
            }
            (Engine::MySql, Kind::Id { uuid7, shape: IdShape::Text { upper } }) => {
                format!("{} REGEXP '{}'", mysql_binary(&column), id_pattern(*uuid7, *upper))
            }
            _ => return None,
        })
    }

    /// A condition that values meet which are no deadline although they lie behind all others in order.
    pub(crate) fn no_number(&self) -> Option<String> {
        let broken = matches!(self.kind, Kind::Epoch { whole: false, .. });
        (broken && self.engine == Engine::Postgres).then(|| format!("{} = 'NaN'", self.quoted()))
    }

    /// The exact test beside the index's range, where the range alone is not exact.
    pub(crate) fn exact(&self, cutoff: Timestamp) -> Option<(String, Value)> {
        match (self.engine, &self.kind) {
            (Engine::Sqlite, Kind::Text(_) | Kind::Id { .. }) => {
                Some((format!("{} < ", self.micros()?), Value::Int(cutoff.as_microsecond())))
            }
            // A column's collation may order letters and digits in its own way.
            (Engine::Postgres, Kind::Id { shape: IdShape::Text { .. }, .. }) => {
                Some((format!("{}::text COLLATE \"C\" < ", self.quoted()), self.cutoff(cutoff)?))
            }
            (Engine::MySql, Kind::Id { shape: IdShape::Text { .. }, .. }) => {
                Some((format!("{} < ", mysql_binary(&self.quoted())), self.cutoff(cutoff)?))
            }
            _ => None,
        }
    }

    /// SQLite: the value in microseconds, by our own functions.
    fn micros(&self) -> Option<String> {
        let column = self.quoted();
        match &self.kind {
            Kind::Text(zone) => {
                let name = zone.iana_name().unwrap_or("UTC").replace('\'', "''");
                Some(format!("{TEXT_US}({column}, '{name}')"))
            }
            Kind::Id { uuid7: true, .. } => Some(format!("{UUID7_US}({column})")),
            Kind::Id { .. } => Some(format!("{ULID_US}({column})")),
            _ => None,
        }
    }

    /// The instant that a selected value means.
    pub(crate) fn instant(&self, value: &Value) -> Option<Timestamp> {
        match &self.kind {
            Kind::Instant => text_time::parse(value.text()?, &TimeZone::UTC),
            Kind::Local(zone) | Kind::Text(zone) => text_time::parse(value.text()?, zone),
            Kind::Date(zone) => end_of_day(value.text()?.parse().ok()?, zone),
            Kind::Epoch { unit_us, .. } => epoch_instant(value, *unit_us),
            Kind::Id { uuid7, .. } => {
                let bytes = match value {
                    Value::Blob(bytes) => bytes.as_slice().try_into().ok()?,
                    Value::Text(text) if *uuid7 => time_id::parse_uuid(text)?,
                    Value::Text(text) => time_id::parse_ulid(text).or_else(|| time_id::parse_uuid(text))?,
                    _ => return None,
                };
                Timestamp::from_millisecond(time_id::millis(&bytes)?).ok()
            }
        }
    }

    fn utc_suffix(&self) -> &'static str {
        if self.engine == Engine::Postgres { "+00" } else { "" }
    }
}

/// Microseconds per unit of a format that counts from 1970.
pub(crate) fn unit_us(format: Format) -> Option<i64> {
    match format {
        Format::EpochSeconds => Some(1_000_000),
        Format::EpochMillis => Some(1_000),
        Format::EpochMicros => Some(1),
        _ => None,
    }
}

/// Microseconds since 1970, on the same clock.
fn local_us(local: jiff::civil::DateTime) -> i64 {
    TimeZone::UTC.to_timestamp(local).map_or(i64::MIN / 2, Timestamp::as_microsecond)
}

fn civil(local: jiff::civil::DateTime) -> String {
    local.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// A cutoff in units. In whole numbers it rounds up: `n < ceil(c)` iff `n < c`.
#[expect(
    clippy::cast_precision_loss,
    reason = "the nearest number to the cutoff is what a stored one is compared with"
)]
fn epoch(cutoff_us: i64, unit_us: i64, whole: bool) -> Value {
    if whole || cutoff_us % unit_us == 0 {
        Value::Int(cutoff_us.div_euclid(unit_us) + i64::from(cutoff_us.rem_euclid(unit_us) != 0))
    } else {
        Value::Real(cutoff_us as f64 / unit_us as f64)
    }
}

/// A cutoff in units, exactly.
fn decimal(cutoff_us: i64, unit_us: i64) -> String {
    let sign = if cutoff_us < 0 { "-" } else { "" };
    let (units, rest) = (cutoff_us.abs() / unit_us, cutoff_us.abs() % unit_us);
    let digits = unit_us.ilog10();
    if digits == 0 {
        format!("{sign}{units}")
    } else {
        format!("{sign}{units}.{rest:0width$}", width = digits as usize)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "only shown, and the cast saturates")]
fn epoch_instant(value: &Value, unit_us: i64) -> Option<Timestamp> {
    let micros = match value {
        Value::Int(n) => n.checked_mul(unit_us)?,
        Value::Real(x) => (x * unit_us as f64) as i64,
        Value::Text(text) => (text.parse::<f64>().ok()? * unit_us as f64) as i64,
        _ => return None,
    };
    Timestamp::from_microsecond(micros).ok()
}

fn id_value(uuid7: bool, shape: IdShape, bytes: [u8; 16]) -> Value {
    match shape {
        IdShape::Bytes => Value::Blob(bytes.to_vec()),
        IdShape::Uuid => Value::Text(time_id::uuid_text(bytes, false)),
        IdShape::Text { upper } if uuid7 => Value::Text(time_id::uuid_text(bytes, upper)),
        IdShape::Text { upper } => Value::Text(time_id::ulid_text(bytes, upper)),
    }
}

fn id_pattern(uuid7: bool, upper: bool) -> &'static str {
    match (uuid7, upper) {
        (false, true) => "^[0-7][0-9A-HJKMNP-TV-Z]{25}$",
        (false, false) => "^[0-7][0-9a-hjkmnp-tv-z]{25}$",
        (true, true) => "^[0-9A-F]{8}-[0-9A-F]{4}-7[0-9A-F]{3}-[0-9A-F]{4}-[0-9A-F]{12}$",
        (true, false) => "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$",
    }
}

/// A MySQL text column as text that compares byte by byte, whatever its own character set and collation.
fn mysql_binary(column: &str) -> String {
    format!("CONVERT({column} USING utf8mb4) COLLATE utf8mb4_bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_round_the_cutoff_up_and_fractions_do_not() {
        let at = |us: i64, whole: bool| epoch(us, 1_000_000, whole);
        assert_eq!(at(5_000_000, true), Value::Int(5), "5 s is not before 5 s");
        assert_eq!(at(5_000_001, true), Value::Int(6), "5 s is before 5.000001 s");
        assert_eq!(at(5_000_000, false), Value::Int(5));
        assert_eq!(at(5_500_000, false), Value::Real(5.5), "5.7 s is not before 5.5 s");
        assert_eq!(decimal(1_763_208_000_123_456, 1_000_000), "1763208000.123456");
        assert_eq!(decimal(1_763_208_000_123_456, 1_000), "1763208000123.456");
        assert_eq!(decimal(-5, 1), "-5");
    }
}
