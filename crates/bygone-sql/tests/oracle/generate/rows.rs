//! Random rows: keys first, then what points at them, then times around what policies compare them with.

use super::policies::is_zoned;
use super::times::cell;
use super::word;
use crate::case::{Case, Cell, Column, Holds, OnDelete, Policy};
use crate::chance::Chance;
use crate::moment::{DAY, When, Zone};

/// So many rows are due of a crowd, and so many more live.
const CROWD_DUE: i64 = 62_000;
const CROWD_LIVING: i64 = 3_000;

pub(super) fn fill(chance: &mut Chance, case: &mut Case) {
    for at in 0..case.tables.len() {
        let count = match chance.below(10) {
            0 => chance.between(0, 4),
            1..8 => chance.between(8, 40),
            _ => chance.between(41, 110),
        };
        put(chance, case, at, count);
    }
    defaults(chance, case);
    point(chance, case);
}

/// Rows by their numbers, each table with values of its own liking.
fn put(chance: &mut Chance, case: &mut Case, at: usize, count: i64) {
    let around: Vec<Vec<(i64, Zone)>> = (0..case.tables[at].columns.len()).map(|c| around(case, at, c)).collect();
    let (engine, table) = (case.engine, &case.tables[at]);
    // Many rows of few deadlines, or each with its own.
    let few = chance.percent(35);
    let pools: Vec<Vec<Cell>> = table
        .columns
        .iter()
        .zip(&around)
        .map(|(column, around)| {
            let pool = if few { chance.between(1, 5) } else { 0 };
            (0..pool).map(|_| cell(engine, chance, column, around, true)).collect()
        })
        .collect();
    let mut ids: Vec<i64> = (1..=count + count / 2).collect();
    if chance.percent(60) {
        chance.shuffle(&mut ids);
    }
    let mut rows = Vec::new();
    for n in 1..=count {
        let id = ids[usize::try_from(n - 1).unwrap()];
        let value = |(at, column): (usize, &Column)| {
            let pool: &[Cell] = if table.key.columns().contains(&at) { &[] } else { &pools[at] };
            // The first row tells what the column holds.
            value(chance, engine, table.key.columns(), (at, column), (n, id), &around[at], pool)
        };
        rows.push(table.columns.iter().enumerate().map(value).collect());
    }
    case.tables[at].rows = rows;
}

fn value(
    chance: &mut Chance,
    engine: bygone_testkit::Kind,
    key: &[usize],
    (at, column): (usize, &Column),
    (n, id): (i64, i64),
    around: &[(i64, Zone)],
    pool: &[Cell],
) -> Cell {
    let is_key = key.contains(&at);
    match (column.name.as_str(), column.holds) {
        ("n", _) => Cell::Number(n),
        ("a", _) => Cell::Number(id % 3),
        ("b" | "id", Holds::Number) => Cell::Number(id),
        ("code", _) => Cell::Text(format!("k{id:05}")),
        ("place", _) => Cell::Number(chance.between(0, 12)),
        ("filler", _) => Cell::Text("x".repeat(if n % 3 == 0 { 400 } else { 20 })),
        (_, Holds::Time(..)) if n > 1 && column.nullable && chance.percent(12) => Cell::Null,
        (_, Holds::Time(..)) if !pool.is_empty() && chance.percent(85) => chance.pick(pool),
        (_, Holds::Time(..)) => cell(engine, chance, column, around, n == 1 || is_key),
        // What points somewhere gets its value later.
        (name, _) if name.starts_with("to_") => Cell::Null,
        _ if chance.percent(25) => Cell::Null,
        ("family", _) => Cell::Number(chance.between(0, 6)),
        ("state", _) => word(chance),
        ("note", _) => Cell::Text(chance.pick(&["a", "b", "it's over"]).to_owned()),
        (_, Holds::Truth) => Cell::Truth(chance.percent(50)),
        (_, Holds::Real) => Cell::Real(chance.pick(&[1.5, 2.25])),
        _ => Cell::Null,
    }
}

/// The first instants that are not due by the policies that read the column.
fn around(case: &Case, table: usize, column: usize) -> Vec<(i64, Zone)> {
    let reads = |policy: &&Policy| policy.table == table && policy.deadline.contains(&column);
    let cutoff = |policy: &Policy| {
        let zoned = is_zoned(case.tables[table].columns[column].holds);
        let zone = policy.zone.filter(|_| zoned).unwrap_or(Zone::Utc);
        let keep_us = if policy.keep_us > 1_000 * DAY { 0 } else { policy.keep_us };
        (case.boundary_us - keep_us, zone)
    };
    let all: Vec<(i64, Zone)> = case.policies.iter().filter(reads).map(cutoff).collect();
    if all.is_empty() { vec![(case.boundary_us, Zone::Utc)] } else { all }
}

/// What columns become that lose what they point at: a row that is there, one that is not, or nothing.
fn defaults(chance: &mut Chance, case: &mut Case) {
    for link in &case.links {
        let has_default = link.foreign_key.is_some_and(|key| key.on_delete == OnDelete::SetDefault);
        let ([column], [there]) = (link.columns.as_slice(), link.to_columns.as_slice()) else { continue };
        if !has_default || chance.percent(30) {
            continue;
        }
        let keys: Vec<Cell> = case.tables[link.to].rows.iter().map(|row| row[*there].clone()).collect();
        let nobody = match case.tables[link.to].columns[*there].holds {
            Holds::Number => Cell::Number(-1),
            _ => Cell::Text("nobody".to_owned()),
        };
        let default = if keys.is_empty() || chance.percent(15) { nobody } else { chance.pick(&keys) };
        case.tables[link.from].columns[*column].default = Some(default);
    }
}

/// Lets rows point at rows.
fn point(chance: &mut Chance, case: &mut Case) {
    for link in case.links.clone() {
        let keys: Vec<Vec<Cell>> = case.tables[link.to]
            .rows
            .iter()
            .map(|row| link.to_columns.iter().map(|at| row[*at].clone()).collect())
            .collect();
        let first = link.columns[0];
        let share = chance.pick(&[15, 40, 75]);
        // At rows that were there before, most of the time, as those do who know their parent.
        let backwards = link.from == link.to && chance.percent(75);
        for row in 0..case.tables[link.from].rows.len() {
            let nullable = case.tables[link.from].columns[first].nullable;
            let known = if backwards { row } else { keys.len() };
            if (nullable && !chance.percent(share)) || known == 0 {
                continue;
            }
            let key = keys[chance.below(known)].clone();
            let mut key = if link.foreign_key.is_none() && chance.percent(12) { nobody(&key) } else { key };
            if key.len() > 1 && nullable && chance.percent(8) {
                key[1] = Cell::Null;
            }
            for (column, cell) in link.columns.iter().zip(key) {
                case.tables[link.from].rows[row][*column] = cell;
            }
        }
    }
    while settle(case) {}
}

/// Nobody points at a table without rows; who must cannot be there. Says whether that took rows away.
fn settle(case: &mut Case) -> bool {
    let mut cleared = false;
    for link in case.links.clone() {
        let empty = case.tables[link.to].rows.is_empty();
        let from = &mut case.tables[link.from];
        if !empty || from.rows.is_empty() {
            continue;
        }
        if from.columns[link.columns[0]].nullable {
            from.rows.iter_mut().for_each(|row| link.columns.iter().for_each(|column| row[*column] = Cell::Null));
        } else {
            from.rows.clear();
            cleared = true;
        }
    }
    cleared
}

fn nobody(key: &[Cell]) -> Vec<Cell> {
    let other = |cell: &Cell| match cell {
        Cell::Number(n) => Cell::Number(n + 100_000),
        _ => Cell::Text("nobody".to_owned()),
    };
    key.iter().map(other).collect()
}

/// Many rows of which most are due.
pub(super) fn fill_crowd(chance: &mut Chance, case: &mut Case) {
    put(chance, case, 0, CROWD_DUE + CROWD_LIVING);
    let policy = &case.policies[0];
    let (engine, cutoff) = (case.engine, case.boundary_us - policy.keep_us);
    for at in policy.deadline.clone() {
        let around = around(case, 0, at);
        let zone = around[0].1;
        for row in 0..usize::try_from(CROWD_DUE).unwrap() {
            let column = &case.tables[0].columns[at];
            let due =
                |cell: &Cell| matches!(cell, Cell::Time { moment, .. } if moment.when(zone) < Some(When::At(cutoff)));
            let mut tries = (0..30).map(|_| cell(engine, chance, column, &around, true));
            if let Some(cell) = tries.find(due) {
                case.tables[0].rows[row][at] = cell;
            }
        }
    }
}
