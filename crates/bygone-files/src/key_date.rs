//! Dates in the names of things.
//!
//! Logs, exports and backups carry their date in their key: `logs/2026/11/15/x`, `backup-2026-11-15T0400.tar.gz`. A
//! [`KeyDate`] reads it by a pattern. A key names a period rather than an instant, and the deadline is the *end* of that
//! period: what is named for a day is not older than that day's last moment. Where a key can be read in several ways the
//! latest reading counts, and where there are too many to try them all, none: a date that is not certain keeps its object.

mod pattern;
mod reading;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use pattern::{Piece, Unit};

/// A pattern that finds a date in a key. It stands for the whole key, from its first character to its last.
///
/// | in the pattern | in the key |
/// |---|---|
/// | `%Y` | the year, four digits |
/// | `%m` `%d` | month and day, two digits each |
/// | `%j` | the day of the year, three digits |
/// | `%H` `%M` `%S` | hour, minute, second, two digits each |
/// | `%L` `%f` | milliseconds in three digits, microseconds in six; after `%S` or `%s` |
/// | `%s` | seconds since 1970, up to twelve digits (`%s%L` reads milliseconds since 1970) |
/// | `*` | any run of characters without `/`, also none |
/// | `**` | any run of characters, also none |
/// | `%%` `%*` | a percent sign, an asterisk |
/// | anything else | itself |
///
/// A unit may stand more than once (`%Y/%m/%Y-%m-%d.log`); a key in which it then differs has no deadline.
///
/// ```
/// use bygone_files::key_date::KeyDate;
/// use jiff::tz::TimeZone;
///
/// let days = KeyDate::parse("logs/%Y/%m/%d/**", TimeZone::UTC)?;
/// // The end of the day that is named.
/// assert_eq!(days.deadline("logs/2026/11/15/web.gz"), Some("2026-11-16T00:00:00Z".parse()?));
/// assert_eq!(days.deadline("logs/2026/02/30/web.gz"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyDate {
    text: String,
    pieces: Vec<Piece>,
    /// Where the date begins and ends among the pieces.
    first_unit: usize,
    after_last_unit: usize,
    zone: TimeZone,
}

/// A pattern that cannot tell a deadline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyDateError {
    /// A directive that is not known.
    #[error(
        "the date pattern `{pattern}` has `%{directive}`: use %Y %m %d %j %H %M %S %L %f %s, and %% for a percent sign"
    )]
    ReadDirective {
        /// The pattern.
        pattern: String,
        /// What stands after the percent sign; empty at the end of the pattern.
        directive: String,
    },
    /// Neither a year nor seconds since 1970.
    #[error("the date pattern `{pattern}` names no year: give it %Y (or %s), as in `logs/%Y/%m/%d/**`")]
    FindYear {
        /// The pattern.
        pattern: String,
    },
    /// A unit without the larger ones that it is part of.
    #[error("the date pattern `{pattern}` has %{unit} without {larger}: name every larger unit too")]
    FindLarger {
        /// The pattern.
        pattern: String,
        /// The unit.
        unit: char,
        /// What it is part of.
        larger: &'static str,
    },
    /// Units that say the same in two ways.
    #[error("the date pattern `{pattern}` has both %{one} and %{other}: keep one of them")]
    Combine {
        /// The pattern.
        pattern: String,
        /// The one.
        one: char,
        /// The other.
        other: char,
    },
    /// A pattern that is too long to be tried on every key.
    #[error("the date pattern `{pattern}` has over {pieces_max} parts: shorten it")]
    Bound {
        /// The pattern.
        pattern: String,
        /// The most parts that it may have.
        pieces_max: usize,
    },
}

impl KeyDate {
    /// Reads a pattern. The dates in the keys are those of `zone`.
    pub fn parse(pattern: &str, zone: TimeZone) -> Result<Self, KeyDateError> {
        let pieces = pattern::parse(pattern)?;
        pattern::check_units(pattern, &pieces)?;
        let is_unit = |piece: &Piece| matches!(piece, Piece::Unit(_));
        let first_unit = pieces.iter().position(is_unit).unwrap_or(0);
        let after_last_unit = pieces.iter().rposition(is_unit).map_or(0, |at| at + 1);
        Ok(Self { text: pattern.to_owned(), pieces, first_unit, after_last_unit, zone })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The deadline that a key carries: the end of the period it names. `None` if it names none.
    pub fn deadline(&self, key: &str) -> Option<Timestamp> {
        self.deadline_bytes(key.as_bytes())
    }

    /// The same for a name that need not be UTF-8, such as a path. The pattern's own text is compared byte by byte.
    pub fn deadline_bytes(&self, key: &[u8]) -> Option<Timestamp> {
        reading::latest(self, key)
    }

    /// Whether keys that carry a date sort as their deadlines do, and behind which text they stand. Then a listing in the
    /// order of keys may end at the first one that is not yet due.
    ///
    /// So it is when the date stands at fixed places, from the year down, with nothing but fixed text before and between.
    /// Hours of a zone that puts its clocks forward do not sort: there is no order then.
    pub fn ordered_prefix(&self) -> Option<&str> {
        let dated = &self.pieces[..self.after_last_unit];
        // Each unit as it first comes: one that is repeated adds nothing to the order and takes nothing from it.
        let mut units: Vec<Unit> = Vec::new();
        for piece in dated {
            match piece {
                Piece::Text(_) => {}
                Piece::Unit(Unit::Epoch) | Piece::Run | Piece::DeepRun => return None,
                Piece::Unit(unit) if units.contains(unit) => {}
                Piece::Unit(unit) => units.push(*unit),
            }
        }
        if !units.is_sorted() {
            return None;
        }
        let by_the_hour = units.last().is_some_and(|finest| *finest > Unit::YearDay);
        if by_the_hour && self.zone.to_fixed_offset().is_err() {
            return None;
        }
        match dated.first()? {
            Piece::Text(text) => Some(text),
            _ => Some(""),
        }
    }
}

#[cfg(test)]
mod tests;
