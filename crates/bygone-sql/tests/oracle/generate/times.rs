//! Columns that hold times, and values for them: on a policy's boundary, the least bit before and behind it, far from it, and
//! such as are no time.

use bygone_testkit::Kind;

use crate::case::{Cell, Column, Holds, TimeForm, Unit, Written};
use crate::chance::Chance;
use crate::moment::{DAY, HOUR, Moment, SECOND, Zone, date, date_time};

type Known = (TimeForm, &'static str, Unit);

const MILLI: i64 = 1_000;

const POSTGRES: [Known; 14] = [
    (TimeForm::Instant, "timestamptz", 1),
    (TimeForm::Instant, "timestamptz", 1),
    (TimeForm::Local, "timestamp", 1),
    (TimeForm::Day, "date", DAY),
    (TimeForm::Epoch(SECOND), "bigint", SECOND),
    (TimeForm::Epoch(SECOND), "integer", SECOND),
    (TimeForm::Epoch(MILLI), "bigint", MILLI),
    (TimeForm::Epoch(1), "bigint", 1),
    (TimeForm::Epoch(SECOND), "numeric(20, 6)", 1),
    (TimeForm::Epoch(SECOND), "double precision", MILLI),
    (TimeForm::Uuid7(Written::Uuid), "uuid", MILLI),
    (TimeForm::Uuid7(Written::Lower), "text", MILLI),
    (TimeForm::Ulid(Written::Upper), "char(26)", MILLI),
    (TimeForm::Ulid(Written::Bytes), "bytea", MILLI),
];

const MARIADB: [Known; 15] = [
    (TimeForm::Instant, "TIMESTAMP(6)", 1),
    (TimeForm::Instant, "TIMESTAMP", SECOND),
    (TimeForm::Local, "DATETIME(6)", 1),
    (TimeForm::Local, "DATETIME(3)", MILLI),
    (TimeForm::Local, "DATETIME", SECOND),
    (TimeForm::Day, "DATE", DAY),
    (TimeForm::Epoch(SECOND), "INT", SECOND),
    (TimeForm::Epoch(MILLI), "BIGINT UNSIGNED", MILLI),
    (TimeForm::Epoch(1), "BIGINT", 1),
    (TimeForm::Epoch(SECOND), "DECIMAL(20, 6)", 1),
    (TimeForm::Epoch(SECOND), "DOUBLE", MILLI),
    (TimeForm::Uuid7(Written::Uuid), "UUID", MILLI),
    (TimeForm::Uuid7(Written::Bytes), "BINARY(16)", MILLI),
    (TimeForm::Ulid(Written::Lower), "VARCHAR(26)", MILLI),
    (TimeForm::Ulid(Written::Upper), "CHAR(26)", MILLI),
];

const SQLITE: [Known; 12] = [
    (TimeForm::Text, "TEXT", 1),
    (TimeForm::Text, "TEXT", 1),
    (TimeForm::Text, "DATETIME", 1),
    (TimeForm::Text, "TEXT COLLATE NOCASE", 1),
    (TimeForm::Epoch(SECOND), "INTEGER", SECOND),
    (TimeForm::Epoch(MILLI), "INTEGER", MILLI),
    (TimeForm::Epoch(1), "INTEGER", 1),
    (TimeForm::Epoch(SECOND), "REAL", MILLI),
    (TimeForm::Ulid(Written::Upper), "TEXT", MILLI),
    (TimeForm::Ulid(Written::Bytes), "BLOB", MILLI),
    (TimeForm::Uuid7(Written::Lower), "TEXT", MILLI),
    (TimeForm::Uuid7(Written::Bytes), "BLOB", MILLI),
];

fn known(engine: Kind) -> &'static [Known] {
    match engine {
        Kind::Postgres => &POSTGRES,
        Kind::MariaDb => &MARIADB,
        Kind::Sqlite => &SQLITE,
    }
}

/// What a column of time is.
pub(super) fn column(engine: Kind, chance: &mut Chance) -> (Holds, &'static str) {
    let (form, sql, unit) = chance.pick(known(engine));
    (Holds::Time(form, unit), sql)
}

/// A key that has its time inside.
pub(super) fn identifier(engine: Kind, chance: &mut Chance) -> (Holds, &'static str) {
    let is_identifier = |(form, ..): &&Known| matches!(form, TimeForm::Ulid(_) | TimeForm::Uuid7(_));
    let all: Vec<Known> = known(engine).iter().filter(is_identifier).copied().collect();
    let (form, sql, unit) = chance.pick(&all);
    (Holds::Time(form, unit), sql)
}

/// Around what values of a column are made: the first instants that are not due, each with the zone it is read in.
pub(super) type Around<'a> = &'a [(i64, Zone)];

/// A value of a column; `sound` if it must be one that can be read.
pub(super) fn cell(engine: Kind, chance: &mut Chance, column: &Column, around: Around<'_>, sound: bool) -> Cell {
    let Holds::Time(form, unit) = column.holds else { return Cell::Null };
    if !sound && chance.percent(8) {
        return strange(engine, chance, column, form);
    }
    let (cutoff, zone) = chance.pick(around);
    let step = if form == TimeForm::Text { chance.pick(&[1, MILLI, SECOND, 60 * SECOND]) } else { unit };
    let cutoff = match form {
        TimeForm::Local | TimeForm::Day | TimeForm::Text => cutoff + zone.offset(cutoff),
        _ => cutoff,
    };
    let on_it = cutoff.div_euclid(step) * step;
    let at = on_it
        + match chance.below(10) {
            0..3 => 0,
            3 => step,
            4 | 5 => -step,
            6 => chance.between(-3, 3) * step,
            7 => (chance.between(-30, 30) * HOUR).div_euclid(step) * step,
            8 => -(chance.between(0, 90) * DAY).div_euclid(step) * step,
            _ => (chance.between(0, 30) * DAY).div_euclid(step) * step,
        };
    match form {
        TimeForm::Instant => plain(Moment::At(at), format!("'{}{}'", date_time(at, ' ', 6), utc(engine))),
        TimeForm::Local => plain(Moment::Shown(at), format!("'{}'", date_time(at, ' ', 6))),
        TimeForm::Day => plain(Moment::Day(at.div_euclid(DAY)), format!("'{}'", date(at.div_euclid(DAY)))),
        TimeForm::Epoch(per) if unit < per => {
            plain(Moment::At(at), format!("{}.{:06}", at.div_euclid(per), at.rem_euclid(per)))
        }
        TimeForm::Epoch(per) => plain(Moment::At(at), (at / per).to_string()),
        TimeForm::Text => text(chance, at, step, zone),
        TimeForm::Ulid(written) => identity(engine, chance, at / MILLI, written, false),
        TimeForm::Uuid7(written) => identity(engine, chance, at / MILLI, written, true),
    }
}

fn plain(moment: Moment, sql: String) -> Cell {
    Cell::Time { moment, sql, order: 0 }
}

/// What says that an instant is in UTC, where that is not said to the session.
fn utc(engine: Kind) -> &'static str {
    if engine == Kind::Postgres { "+00" } else { "" }
}

/// A time in one of the forms that SQLite's users have. `at` is what the clocks of a zone show.
fn text(chance: &mut Chance, at: i64, step: i64, zone: Zone) -> Cell {
    let between = chance.pick(&[' ', 'T']);
    let digits = match step {
        1 => chance.pick(&[6, 9]),
        MILLI => 3,
        _ => chance.pick(&[0, 0, 3]),
    };
    let mut shown = date_time(at, between, digits);
    if step == 60 * SECOND && chance.percent(40) {
        shown.truncate(16);
    }
    let instant = zone.latest(at);
    let (moment, behind) = match chance.below(6) {
        0 => (Moment::At(at), chance.pick(&["Z", "+00:00", " UTC", " +0000 UTC"]).to_owned()),
        1 => {
            let (ahead, text) =
                chance.pick(&[(2 * HOUR, "+02:00"), (-5 * HOUR - HOUR / 2, "-0530"), (14 * HOUR, "+14")]);
            shown = date_time(instant + ahead, between, digits);
            (Moment::At(instant), text.to_owned())
        }
        2 if step >= SECOND => {
            let day = at.div_euclid(DAY);
            return plain(Moment::Day(day), format!("'{}'", date(day)));
        }
        _ => (Moment::Shown(at), String::new()),
    };
    plain(moment, format!("'{shown}{behind}'"))
}

const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// An identifier of a millisecond. It has letters, so that nobody is in doubt how its column writes them.
fn identity(engine: Kind, chance: &mut Chance, millis: i64, written: Written, uuid7: bool) -> Cell {
    let tail = (chance.bits() >> 48) & !0xfff | 0xabc;
    let version = if uuid7 { (0x7 << 76, !(0xf << 76)) } else { (0, !0) };
    let id = (u128::try_from(millis).unwrap() << 80 | tail) & version.1 | version.0;
    let at = Moment::At(millis * MILLI);
    Cell::Time { moment: at, sql: written_as(engine, id, written, uuid7), order: id }
}

fn written_as(engine: Kind, id: u128, written: Written, uuid7: bool) -> String {
    let hex = format!("{id:032x}");
    let hyphens = || [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    let ulid = || -> String {
        (0..26).rev().map(|at| char::from(LETTERS[usize::try_from((id >> (5 * at)) & 31).unwrap()])).collect()
    };
    match written {
        Written::Bytes if engine == Kind::Postgres => format!("'\\x{hex}'"),
        Written::Bytes => format!("x'{hex}'"),
        Written::Uuid => format!("'{}'", hyphens()),
        Written::Lower if uuid7 => format!("'{}'", hyphens()),
        Written::Upper if uuid7 => format!("'{}'", hyphens().to_uppercase()),
        Written::Lower => format!("'{}'", ulid().to_lowercase()),
        Written::Upper => format!("'{}'", ulid()),
    }
}

/// What is no time, or one that never comes.
fn strange(engine: Kind, chance: &mut Chance, column: &Column, form: TimeForm) -> Cell {
    let none = |sql: &str| plain(Moment::Unreadable, sql.to_owned());
    let never = |sql: &str| plain(Moment::Never, sql.to_owned());
    let unsigned = column.sql.contains("UNSIGNED");
    let choices = match (engine, form) {
        (Kind::Postgres, TimeForm::Instant | TimeForm::Local | TimeForm::Day) => {
            vec![none("'-infinity'"), never("'infinity'"), none("'0044-03-15 BC'")]
        }
        (Kind::MariaDb, TimeForm::Instant) => vec![none("'0000-00-00 00:00:00'"), never("'2037-12-31 00:00:00'")],
        (Kind::MariaDb, TimeForm::Local) => {
            vec![none("'0000-00-00 00:00:00'"), none("'2020-00-10 00:00:00'"), never("'9999-12-31 23:59:59'")]
        }
        (Kind::MariaDb, TimeForm::Day) => vec![none("'0000-00-00'"), none("'2020-05-00'"), never("'9999-12-31'")],
        (_, TimeForm::Text | TimeForm::Instant | TimeForm::Local | TimeForm::Day) => vec![
            none("''"),
            none("'never'"),
            none("'2020-02-30 00:00:00'"),
            none("' 2020-01-01'"),
            none("'2020-01-01 00:00:00 CET'"),
            none("x'00ff'"),
            never("'9999-12-31 23:59:59'"),
        ],
        (Kind::Sqlite, TimeForm::Epoch(_)) => vec![none("0"), none("-86400"), none("'soon'"), none("x'01'")],
        (_, TimeForm::Epoch(_)) if unsigned => vec![none("0")],
        (_, TimeForm::Epoch(_)) => vec![none("0"), none("-86400")],
        (_, TimeForm::Uuid7(written)) => {
            let old: u128 = 0x0123_4567_89ab_4cde_8123_4567_89ab_cdef;
            let mut all = vec![none(&written_as(engine, old, written, true))];
            if matches!(written, Written::Lower | Written::Upper) {
                all.extend([none("''"), none("'none'")]);
            }
            all
        }
        (_, TimeForm::Ulid(written)) => {
            let mut all = vec![none(&written_as(engine, 0, written, false))];
            if matches!(written, Written::Lower | Written::Upper) {
                all.extend([none("''"), none("'none'"), none("'80000000000000000000000000'")]);
            }
            all
        }
    };
    chance.pick(&choices)
}
