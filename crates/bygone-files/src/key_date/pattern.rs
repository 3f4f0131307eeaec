//! The text of a pattern, and whether its units tell a date.

use super::KeyDateError;

/// More parts than any pattern needs, and few enough to try on every key.
const PIECES_MAX: usize = 64;

/// One part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Itself.
    Text(String),
    /// A number of a fixed meaning.
    Unit(Unit),
    /// `*`: anything without a slash.
    Run,
    /// `**`: anything.
    DeepRun,
}

/// A part of a date, from the largest down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    YearDay,
    Hour,
    Minute,
    Second,
    Epoch,
    Milli,
    Micro,
}

/// How many units there are: the places of a reading.
pub(super) const UNITS: usize = 10;

impl Unit {
    fn of(directive: char) -> Option<Self> {
        Some(match directive {
            'Y' => Self::Year,
            'm' => Self::Month,
            'd' => Self::Day,
            'j' => Self::YearDay,
            'H' => Self::Hour,
            'M' => Self::Minute,
            'S' => Self::Second,
            's' => Self::Epoch,
            'L' => Self::Milli,
            'f' => Self::Micro,
            _ => return None,
        })
    }

    fn directive(self) -> char {
        ['Y', 'm', 'd', 'j', 'H', 'M', 'S', 's', 'L', 'f'][self.place()]
    }

    /// Its place in a reading.
    pub(super) fn place(self) -> usize {
        self as usize
    }

    /// How many digits it may have.
    pub(super) fn digits(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::Year => 4..=4,
            Self::YearDay | Self::Milli => 3..=3,
            Self::Micro => 6..=6,
            // Twelve digits of seconds reach further than the calendar.
            Self::Epoch => 1..=12,
            Self::Month | Self::Day | Self::Hour | Self::Minute | Self::Second => 2..=2,
        }
    }
}

pub(super) fn parse(pattern: &str) -> Result<Vec<Piece>, KeyDateError> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let piece = match character {
            '%' => match characters.next() {
                Some(sign @ ('%' | '*')) => Piece::Text(sign.to_string()),
                directive => {
                    let Some(unit) = directive.and_then(Unit::of) else {
                        let directive = directive.map_or_else(String::new, String::from);
                        return Err(KeyDateError::ReadDirective { pattern: pattern.to_owned(), directive });
                    };
                    Piece::Unit(unit)
                }
            },
            '*' if characters.next_if_eq(&'*').is_some() => Piece::DeepRun,
            '*' => Piece::Run,
            other => Piece::Text(other.to_string()),
        };
        match (pieces.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            // Runs beside each other are one, and tried as one.
            (Some(Piece::DeepRun), Piece::Run | Piece::DeepRun) => {}
            (_, piece) => pieces.push(piece),
        }
    }
    if pieces.len() > PIECES_MAX {
        return Err(KeyDateError::Bound { pattern: pattern.to_owned(), pieces_max: PIECES_MAX });
    }
    Ok(pieces)
}

/// A date needs each unit with all that are larger, and says nothing twice in different ways.
pub(super) fn check_units(pattern: &str, pieces: &[Piece]) -> Result<(), KeyDateError> {
    let has = |unit: Unit| pieces.contains(&Piece::Unit(unit));
    let pattern = || pattern.to_owned();
    if !has(Unit::Year) && !has(Unit::Epoch) {
        return Err(KeyDateError::FindYear { pattern: pattern() });
    }
    let exclusive = [
        (Unit::Epoch, Unit::Year),
        (Unit::Epoch, Unit::Second),
        (Unit::YearDay, Unit::Month),
        (Unit::YearDay, Unit::Day),
        (Unit::Milli, Unit::Micro),
    ];
    if let Some((one, other)) = exclusive.into_iter().find(|(one, other)| has(*one) && has(*other)) {
        return Err(KeyDateError::Combine { pattern: pattern(), one: one.directive(), other: other.directive() });
    }
    let day = has(Unit::Day) || has(Unit::YearDay);
    let second = has(Unit::Second) || has(Unit::Epoch);
    let needed = [
        (Unit::Month, has(Unit::Year), "%Y"),
        (Unit::YearDay, has(Unit::Year), "%Y"),
        (Unit::Day, has(Unit::Month), "%m"),
        (Unit::Hour, day, "%d (or %j)"),
        (Unit::Minute, has(Unit::Hour), "%H"),
        (Unit::Second, has(Unit::Minute), "%M"),
        (Unit::Milli, second, "%S (or %s)"),
        (Unit::Micro, second, "%S (or %s)"),
    ];
    match needed.into_iter().find(|(unit, there, _)| has(*unit) && !there) {
        Some((unit, _, larger)) => Err(KeyDateError::FindLarger { pattern: pattern(), unit: unit.directive(), larger }),
        None => Ok(()),
    }
}
