//! Random cases: tables and what points at what; `policies` and `rows` fill them.

mod policies;
mod rows;
mod times;

use bygone_testkit::Kind;

use crate::case::{Case, Cell, Column, ForeignKey, Holds, Index, Key, Link, OnDelete, Table, TimeForm};
use crate::chance::Chance;
use crate::moment::HOUR;

/// The boundaries of sweeps, in seconds since 1970.
const BOUNDARIES: [i64; 8] = [
    1_794_744_000, // 2026-11-15 12:00
    1_794_744_000,
    1_792_890_000, // the end of summer time in Stockholm
    1_792_891_800, // in the doubled hour's second pass there
    1_794_783_600, // midnight in Stockholm, in winter
    1_782_856_800, // and in summer
    1_794_766_500, // midnight in Kathmandu
    1_794_787_200, // midnight UTC
];

/// The case of a number.
pub(crate) fn case(engine: Kind, seed: u64, number: u64) -> Case {
    let chance = &mut Chance::of(seed, number);
    if engine == Kind::Postgres && number % 100 == 99 {
        return crowd(chance);
    }
    let boundary_us = boundary(chance);
    let count = chance.pick(&[1, 1, 2, 2, 2, 3, 3, 3, 4]);
    let mut names = ["items", "order", "Parts", "log lines", "visits"].map(str::to_owned);
    chance.shuffle(&mut names);
    let mut tables: Vec<Table> = names.into_iter().take(count).map(|name| table(engine, chance, name)).collect();
    let links = links(engine, chance, &mut tables);
    let policies = policies::policies(engine, chance, boundary_us, &tables, &links);
    let mut case = Case {
        engine,
        boundary_us,
        tables,
        links,
        policies,
        analyzed: chance.percent(40),
        logged: chance.percent(40),
        prefix: if chance.percent(15) { "app_" } else { "" },
    };
    indexes(chance, &mut case);
    rows::fill(chance, &mut case);
    case
}

/// So many rows of one table that several workers share them.
fn crowd(chance: &mut Chance) -> Case {
    let engine = Kind::Postgres;
    let boundary_us = boundary(chance);
    let mut tables = vec![table(engine, chance, "crowd".to_owned())];
    let number = tables[0].columns.iter().position(|column| column.name == "id").is_some();
    if !number {
        tables[0] = Table { key: Key::Nothing, ..tables[0].clone() };
    }
    let policies = policies::crowd(engine, chance, boundary_us, &tables);
    let analyzed = chance.percent(50);
    let mut case =
        Case { engine, boundary_us, tables, links: Vec::new(), policies, analyzed, logged: false, prefix: "" };
    indexes(chance, &mut case);
    rows::fill_crowd(chance, &mut case);
    case
}

fn boundary(chance: &mut Chance) -> i64 {
    let whole = chance.pick(&BOUNDARIES) * 1_000_000;
    match chance.below(4) {
        0 => whole + 1,
        1 => whole + chance.between(0, HOUR / 2),
        _ => whole,
    }
}

fn column(name: impl Into<String>, holds: Holds, sql: &'static str, nullable: bool) -> Column {
    Column { name: name.into(), holds, sql, nullable, default: None }
}

fn table(engine: Kind, chance: &mut Chance, name: String) -> Table {
    let mut columns = vec![column("n", Holds::Number, "INT", false)];
    let unique = chance.percent(12);
    let key = match chance.below(10) {
        0..4 => {
            // In SQLite only this word makes it the rowid itself.
            let sql = if engine == Kind::Sqlite && chance.percent(50) { "INTEGER" } else { "BIGINT" };
            columns.push(column("id", Holds::Number, sql, false));
            vec![1]
        }
        4..6 => {
            columns.push(column("a", Holds::Number, "INT", false));
            columns.push(column("b", Holds::Number, "INT", false));
            vec![1, 2]
        }
        6..8 => {
            columns.push(column("code", Holds::Text, "VARCHAR(12)", false));
            vec![1]
        }
        8 => {
            let (holds, sql) = times::identifier(engine, chance);
            columns.push(column("id", holds, sql, false));
            vec![1]
        }
        // What has no key at all, MariaDB's sweeps refuse.
        _ if engine == Kind::MariaDb => {
            columns.push(column("id", Holds::Number, "INT", false));
            vec![1]
        }
        _ => Vec::new(),
    };
    let key = match key {
        none if none.is_empty() => Key::Nothing,
        key if unique => Key::Unique(key),
        key => Key::Primary(key),
    };
    let truth = if engine == Kind::Sqlite { "INTEGER" } else { "BOOLEAN" };
    let real = if engine == Kind::Postgres { "double precision" } else { "DOUBLE" };
    columns.push(column("state", Holds::Text, "VARCHAR(10)", true));
    columns.push(column("place", Holds::Number, "INT", false));
    columns.push(column("family", Holds::Number, "INT", true));
    columns.push(column("flag", Holds::Truth, truth, true));
    columns.push(column("note", Holds::Text, "VARCHAR(20)", true));
    columns.push(column("amount", Holds::Real, real, true));
    for at in 0..chance.pick(&[1, 1, 2, 2, 3]) {
        let (holds, sql) = times::column(engine, chance);
        let nullable = chance.percent(65);
        columns.push(column(format!("time_{at}"), holds, sql, nullable));
    }
    if chance.percent(20) {
        columns.push(column("filler", Holds::Text, "VARCHAR(2000)", true));
    }
    let without_rowid = engine == Kind::Sqlite && matches!(key, Key::Primary(_)) && chance.percent(20);
    Table { name, key, without_rowid, columns, indexes: Vec::new(), rows: Vec::new() }
}

/// What points at what: at other tables in either direction, in chains and circles, and at the table itself.
fn links(engine: Kind, chance: &mut Chance, tables: &mut [Table]) -> Vec<Link> {
    let mut links = Vec::new();
    let most = if tables.len() == 1 { 1 } else { 2 * tables.len() - 1 };
    for number in 0..chance.below(most + 1) {
        let (from, to) = (chance.below(tables.len()), chance.below(tables.len()));
        // At itself is one way of many.
        let to = if from == to && chance.percent(50) { (to + 1) % tables.len() } else { to };
        let to_columns = tables[to].key.columns().to_vec();
        let plain = |at: &usize| matches!(tables[to].columns[*at].holds, Holds::Number | Holds::Text);
        if to_columns.is_empty() || !to_columns.iter().all(plain) {
            continue;
        }
        let enforced = to_columns.len() > 1 || chance.percent(82);
        let foreign_key = enforced.then(|| foreign_key(engine, chance));
        let loses = foreign_key.is_some_and(|key| matches!(key.on_delete, OnDelete::SetNull | OnDelete::SetDefault));
        // Where it loses what it points at, MariaDB wants it to be able to; elsewhere that keeps the other row.
        let nullable = from == to || (loses && (engine == Kind::MariaDb || chance.percent(85))) || chance.percent(80);
        let columns = (0..to_columns.len()).map(|at| tables[from].columns.len() + at).collect();
        for at in &to_columns {
            let there = tables[to].columns[*at].clone();
            let sql = if there.sql == "INTEGER" { "BIGINT" } else { there.sql };
            let name = format!("to_{number}_{}", there.name);
            tables[from].columns.push(Column { name, sql, nullable, ..there });
        }
        links.push(Link { from, columns, to, to_columns, foreign_key });
    }
    links
}

fn foreign_key(engine: Kind, chance: &mut Chance) -> ForeignKey {
    let actions = [
        OnDelete::NoAction,
        OnDelete::NoAction,
        OnDelete::Restrict,
        OnDelete::Cascade,
        OnDelete::SetNull,
        OnDelete::SetDefault,
    ];
    // InnoDB knows no defaults here.
    let known = if engine == Kind::MariaDb { &actions[..5] } else { &actions[..] };
    let deferrable = if engine == Kind::MariaDb || chance.percent(70) {
        ""
    } else {
        chance.pick(&[" DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY DEFERRED"])
    };
    ForeignKey { on_delete: chance.pick(known), deferrable }
}

/// Indexes that serve a policy, some that do not, and none.
fn indexes(chance: &mut Chance, case: &mut Case) {
    for policy in &case.policies {
        let Some(&lead) = policy.deadline.first() else { continue };
        let table = &case.tables[policy.table];
        let other = table.column("place");
        let can_be_partial = case.engine != Kind::MariaDb;
        let is_not_null = crate::sql::condition(case.engine, table, &crate::case::Condition::IsNotNull(lead));
        let (columns, only) = match chance.below(8) {
            0 | 1 => (vec![lead], None),
            2 => (vec![lead, other], None),
            3 => (vec![other, lead], None),
            4 if can_be_partial => (vec![lead], Some(is_not_null)),
            5 if can_be_partial && policy.filter.is_some() => {
                let filter = policy.filter.as_ref().map(|filter| crate::sql::condition(case.engine, table, filter));
                (vec![lead], filter)
            }
            6 => (policy.deadline.clone(), None),
            _ => continue,
        };
        case.tables[policy.table].indexes.push(Index { columns, only });
    }
    for link in &case.links {
        if chance.percent(50) {
            case.tables[link.from].indexes.push(Index { columns: link.columns.clone(), only: None });
        }
    }
}

/// Whether a column can take part in the order of a key: identifiers do by their bytes.
fn is_time(holds: Holds) -> bool {
    matches!(holds, Holds::Time(..))
}

/// Whether a column holds a time in its own type.
fn is_native(holds: Holds) -> bool {
    let native = |form| matches!(form, TimeForm::Instant | TimeForm::Local | TimeForm::Day | TimeForm::Text);
    matches!(holds, Holds::Time(form, _) if native(form))
}

fn word(chance: &mut Chance) -> Cell {
    Cell::Text(chance.pick(&["open", "done", "new", "it's"]).to_owned())
}
