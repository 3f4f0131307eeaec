//! Holding a pattern against a key, in every way that it fits.
//!
//! A regular expression finds one reading of `**%Y%m%d**`, and which one is chance. Here all of them are found and the
//! latest counts. The work is bounded: a key over which it is not done in time has no deadline, and stays.

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::KeyDate;
use super::pattern::{Piece, UNITS, Unit};

/// How many steps a key may take. Any sensible pattern is done in a few thousand on the longest of keys.
const STEPS_MAX: usize = 200_000;

/// The numbers found so far, by [`Unit::place`].
type Numbers = [Option<i64>; UNITS];

/// The latest deadline among all readings.
pub(super) fn latest(dates: &KeyDate, key: &[u8]) -> Option<Timestamp> {
    let mut search = Search { dates, key, steps: 0, latest: None };
    // Before the first unit nothing is read, so it only matters where the date may begin.
    let begins = reached(&dates.pieces[..dates.first_unit], key);
    for at in (0..=key.len()).filter(|at| begins[*at]) {
        search.go(dates.first_unit, at, [None; UNITS])?;
    }
    search.latest
}

struct Search<'a> {
    dates: &'a KeyDate,
    key: &'a [u8],
    steps: usize,
    latest: Option<Timestamp>,
}

impl Search<'_> {
    /// Tries the pieces from `piece` on at `at`. `None` when it takes too long.
    fn go(&mut self, piece: usize, at: usize, numbers: Numbers) -> Option<()> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return None;
        }
        if piece >= self.dates.after_last_unit {
            self.finish(piece, at, &numbers);
            return Some(());
        }
        let rest = &self.key[at..];
        match &self.dates.pieces[piece] {
            Piece::Text(text) if rest.starts_with(text.as_bytes()) => self.go(piece + 1, at + text.len(), numbers),
            Piece::Text(_) => Some(()),
            Piece::Unit(unit) => self.read(*unit, piece, at, numbers),
            Piece::Run => {
                let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
                (0..=end).try_for_each(|length| self.go(piece + 1, at + length, numbers))
            }
            Piece::DeepRun => (0..=rest.len()).try_for_each(|length| self.go(piece + 1, at + length, numbers)),
        }
    }

    /// What follows the date does not change what was read; it only has to fit.
    fn finish(&mut self, piece: usize, at: usize, numbers: &Numbers) {
        let rest = &self.key[at..];
        let fits = match &self.dates.pieces[piece..] {
            [] => rest.is_empty(),
            [Piece::DeepRun] => true,
            pieces => {
                self.steps += rest.len() * pieces.len();
                reached(pieces, rest)[rest.len()]
            }
        };
        if fits {
            self.latest = self.latest.max(deadline(self.dates, numbers));
        }
    }

    fn read(&mut self, unit: Unit, piece: usize, at: usize, numbers: Numbers) -> Option<()> {
        let mut number: i64 = 0;
        for (index, byte) in self.key[at..].iter().enumerate().take(*unit.digits().end()) {
            if !byte.is_ascii_digit() {
                break;
            }
            number = number * 10 + i64::from(byte - b'0');
            let same = numbers[unit.place()].is_none_or(|before| before == number);
            if unit.digits().contains(&(index + 1)) && same {
                let mut numbers = numbers;
                numbers[unit.place()] = Some(number);
                self.go(piece + 1, at + index + 1, numbers)?;
            }
        }
        Some(())
    }
}

/// The places of a text at which pieces without a date can end, when they begin at its start.
fn reached(pieces: &[Piece], text: &[u8]) -> Vec<bool> {
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for piece in pieces {
        let mut next = vec![false; text.len() + 1];
        for at in (0..=text.len()).filter(|at| reached[*at]) {
            match piece {
                Piece::Text(own) if text[at..].starts_with(own.as_bytes()) => next[at + own.len()] = true,
                Piece::Text(_) | Piece::Unit(_) => {}
                Piece::Run | Piece::DeepRun => next[at] = true,
            }
        }
        // A run that reached a place reaches the next one too.
        if matches!(piece, Piece::Run | Piece::DeepRun) {
            for at in 0..text.len() {
                next[at + 1] |= next[at] && (*piece == Piece::DeepRun || text[at] != b'/');
            }
        }
        reached = next;
    }
    reached
}

/// The end of the period that the numbers name; `None` for the thirtieth of February.
fn deadline(dates: &KeyDate, numbers: &Numbers) -> Option<Timestamp> {
    let number = |unit: Unit| numbers[unit.place()];
    let fraction = match (number(Unit::Milli), number(Unit::Micro)) {
        (Some(milli), _) => Some((SignedDuration::from_millis(milli), SignedDuration::from_millis(1))),
        (_, Some(micro)) => Some((SignedDuration::from_micros(micro), SignedDuration::from_micros(1))),
        _ => None,
    };
    if let Some(epoch) = number(Unit::Epoch) {
        let (after, length) = fraction.unwrap_or((SignedDuration::ZERO, SignedDuration::from_secs(1)));
        return Timestamp::from_second(epoch).ok()?.checked_add(after).ok()?.checked_add(length).ok();
    }
    let end = civil_end(number, fraction)?;
    // An hour that comes twice ends when it has come twice; one that is left out ends after the gap.
    dates.zone.to_ambiguous_zoned(end).later().ok().map(|zoned| zoned.timestamp())
}

fn civil_end(
    number: impl Fn(Unit) -> Option<i64>,
    fraction: Option<(SignedDuration, SignedDuration)>,
) -> Option<DateTime> {
    let small = |unit: Unit| number(unit).map(i8::try_from).transpose().ok();
    let year = i16::try_from(number(Unit::Year)?).ok()?;
    let (month, day) = (small(Unit::Month)?, small(Unit::Day)?);
    let year_day = number(Unit::YearDay).map(i16::try_from).transpose().ok()?;
    let (date, length) = match (year_day, month, day) {
        (Some(year_day), ..) => {
            let first = Date::new(year, 1, 1).ok()?;
            (first.with().day_of_year(year_day).build().ok()?, 1.day())
        }
        (_, Some(month), Some(day)) => (Date::new(year, month, day).ok()?, 1.day()),
        (_, Some(month), None) => (Date::new(year, month, 1).ok()?, 1.month()),
        _ => (Date::new(year, 1, 1).ok()?, 1.year()),
    };
    let Some(hour) = small(Unit::Hour)? else {
        return date.to_datetime(Time::midnight()).checked_add(length).ok();
    };
    let (minute, second) = (small(Unit::Minute)?, small(Unit::Second)?);
    let time = Time::new(hour, minute.unwrap_or(0), second.unwrap_or(0), 0).ok()?;
    let start = date.to_datetime(time);
    match (minute, second, fraction) {
        (None, ..) => start.checked_add(1.hour()).ok(),
        (_, None, _) => start.checked_add(1.minute()).ok(),
        (_, _, None) => start.checked_add(1.second()).ok(),
        (_, _, Some((after, length))) => start.checked_add(after).ok()?.checked_add(length).ok(),
    }
}
