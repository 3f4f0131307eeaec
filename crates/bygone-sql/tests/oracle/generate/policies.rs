//! Random policies over the tables of a case.

use bygone_testkit::Kind;

use super::{is_native, is_time, word};
use crate::case::{
    Becomes, Cell, Change, Condition, Guard, Holds, Key, Link, Misfit, Newest, PointedAt, Policy, Table, TimeForm,
};
use crate::chance::Chance;
use crate::moment::{DAY, HOUR, Zone};

const PAGES: [u64; 9] = [1, 2, 3, 5, 8, 20, 300, 1_000, 100_000];

pub(super) fn policies(
    engine: Kind,
    chance: &mut Chance,
    boundary_us: i64,
    tables: &[Table],
    links: &[Link],
) -> Vec<Policy> {
    let count = chance.pick(&[1, 2, 2, 3, 3, 4]);
    let mut over: Vec<usize> = (0..tables.len()).collect();
    chance.shuffle(&mut over);
    let mut policies: Vec<Policy> = Vec::new();
    for number in 0..count {
        let table = over.get(number).copied().unwrap_or_else(|| chance.below(tables.len()));
        let mut policy = by_deadline(engine, chance, boundary_us, tables, table);
        policy.name = format!("policy_{number}");
        refine(chance, &mut policy, tables, links);
        // Two that undo what the other does have no right order.
        let elsewhere = |change: &Change| {
            let others = policies.iter().filter(|other| other.table == table).flat_map(|other| &other.changes);
            others.into_iter().any(|other| other.column == change.column && other.value != change.value)
        };
        policy.changes.retain(|change| !elsewhere(change));
        policies.push(policy);
    }
    if chance.percent(6) {
        let alone = chance.percent(25);
        let number = chance.below(policies.len());
        if alone {
            policies = vec![policies[number].clone()];
        }
        let number = number.min(policies.len() - 1);
        misfit(chance, &mut policies[number], tables, links);
    }
    policies
}

/// One policy over many rows, for several workers.
pub(super) fn crowd(engine: Kind, chance: &mut Chance, boundary_us: i64, tables: &[Table]) -> Vec<Policy> {
    let mut policy = by_deadline(engine, chance, boundary_us, tables, 0);
    policy.name = "policy_0".to_owned();
    policy.workers = 3;
    policy.page = chance.pick(&[700, 5_000, 100_000]);
    vec![policy]
}

fn by_deadline(engine: Kind, chance: &mut Chance, boundary_us: i64, tables: &[Table], table: usize) -> Policy {
    let times: Vec<usize> = times(&tables[table]);
    let deadline = if times.len() > 1 && chance.percent(30) { times.clone() } else { vec![chance.pick(&times)] };
    let (mut keep_us, zone) = loop {
        let keep_us = chance.pick(&[0, 0, 1, HOUR, HOUR + HOUR / 2, DAY, 30 * DAY]);
        let zone = if chance.percent(50) { Some(chance.pick(&Zone::ALL)) } else { None };
        if engine == Kind::Sqlite || !zone.unwrap_or(Zone::Utc).is_changing(boundary_us - keep_us) {
            break (keep_us, zone);
        }
    };
    if chance.percent(1) {
        keep_us = 365_000 * DAY;
    }
    Policy {
        name: String::new(),
        table,
        null_keeps: deadline.len() > 1 && chance.percent(40),
        deadline,
        keep_us,
        zone,
        filter: None,
        names_key: tables[table].key != Key::Nothing && chance.percent(15),
        newest: None,
        changes: Vec::new(),
        with: Vec::new(),
        unless_referenced_by: Vec::new(),
        guards: Vec::new(),
        misfit: None,
        page: chance.pick(&PAGES),
        workers: 1,
    }
}

fn times(table: &Table) -> Vec<usize> {
    (0..table.columns.len()).filter(|at| is_time(table.columns[*at].holds)).collect()
}

fn refine(chance: &mut Chance, policy: &mut Policy, tables: &[Table], links: &[Link]) {
    let table = &tables[policy.table];
    if chance.percent(35) {
        policy.filter = Some(condition(chance, table, 2));
    }
    if chance.percent(14) {
        policy.newest = Some(newest(chance, table));
        if chance.percent(40) {
            policy.deadline.clear();
            (policy.null_keeps, policy.keep_us) = (false, 0);
        }
    }
    if chance.percent(22) {
        policy.changes = changes(chance, policy, table, links);
    } else {
        policy.with = with(chance, policy.table, links);
    }
    for (at, link) in links.iter().enumerate() {
        let goes_along = policy.with.iter().any(|chain| chain.last() == Some(&at));
        if link.to == policy.table && chance.percent(if goes_along { 3 } else { 22 }) {
            policy.unless_referenced_by.push(at);
        }
        if link.from == policy.table && chance.percent(14) {
            let there = &tables[link.to];
            let filter = chance.percent(75).then(|| condition(chance, there, 1));
            let living = link.to == policy.table && !policy.deadline.is_empty() && chance.percent(40);
            policy.guards.push(Guard { only_if: chance.percent(40), at: PointedAt::Link(at), living, filter });
        }
    }
    if chance.percent(7) {
        let living = !policy.deadline.is_empty();
        let filter = (!living || chance.percent(20)).then(|| condition(chance, table, 1));
        let at = PointedAt::Family(table.column(chance.pick(&["family", "family", "place"])));
        policy.guards.push(Guard { only_if: chance.percent(15), at, living, filter });
    }
}

/// Links that point at the table, and sometimes links that point at those.
fn with(chance: &mut Chance, table: usize, links: &[Link]) -> Vec<Vec<usize>> {
    let mut with = Vec::new();
    for (near, link) in links.iter().enumerate() {
        if link.to != table || !chance.percent(if link.from == table { 10 } else { 35 }) {
            continue;
        }
        let is_farther = |far: &usize| links[*far].to == link.from && links[*far].from != table && *far != near;
        let farther: Vec<usize> = (0..links.len()).filter(is_farther).collect();
        if !farther.is_empty() && chance.percent(45) {
            with.push(vec![chance.pick(&farther), near]);
        }
        with.push(vec![near]);
    }
    with
}

fn newest(chance: &mut Chance, table: &Table) -> Newest {
    let per = match chance.below(4) {
        0 => Vec::new(),
        1 => vec![table.column("state"), table.column("flag")],
        _ => vec![table.column(chance.pick(&["family", "state"]))],
    };
    let by_key = table.key != Key::Nothing && chance.percent(50);
    Newest { rows: chance.pick(&[1, 1, 2, 3, 5]), per, by: (!by_key).then(|| table.column("place")) }
}

fn changes(chance: &mut Chance, policy: &Policy, table: &Table, links: &[Link]) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |name: &str, value: Becomes| all.push(Change { column: table.column(name), value });
    let this = |cell| Becomes::This(cell);
    add("note", this(Cell::Null));
    add("state", this(Cell::Null));
    add("amount", this(Cell::Null));
    add("note", this(Cell::Text("it's over".to_owned())));
    add("state", this(word(chance)));
    add("place", this(Cell::Number(7)));
    add("flag", this(Cell::Truth(chance.percent(50))));
    add("amount", this(Cell::Real(1.5)));
    for (at, column) in table.columns.iter().enumerate() {
        if is_native(column.holds) && !table.key.columns().contains(&at) {
            all.push(Change { column: at, value: Becomes::Now });
            all.push(Change { column: at, value: Becomes::Now });
            if column.nullable && (policy.deadline.len() > 1 || chance.percent(10)) {
                all.push(Change { column: at, value: Becomes::This(Cell::Null) });
            }
        }
    }
    for link in links.iter().filter(|link| link.from == policy.table) {
        for &column in link.columns.iter().filter(|column| table.columns[**column].nullable) {
            all.push(Change { column, value: Becomes::This(Cell::Null) });
        }
    }
    // What says who is newer does not change under those who are asked.
    let asked = |column: &usize| {
        policy.newest.as_ref().is_some_and(|newest| newest.by == Some(*column) || newest.per.contains(column))
    };
    all.retain(|change| !asked(&change.column));
    let mut chosen: Vec<Change> = Vec::new();
    for _ in 0..chance.pick(&[1, 1, 2, 3]) {
        let one = chance.pick(&all);
        if !chosen.iter().any(|other| other.column == one.column) {
            chosen.push(one);
        }
    }
    chosen
}

fn condition(chance: &mut Chance, table: &Table, depth: u32) -> Condition {
    if depth > 0 && chance.percent(30) {
        let (one, other) = (condition(chance, table, depth - 1), condition(chance, table, depth - 1));
        return match chance.below(3) {
            0 => Condition::Not(Box::new(one)),
            1 => Condition::Both(Box::new(one), Box::new(other)),
            _ => Condition::Either(Box::new(one), Box::new(other)),
        };
    }
    let plain = |at: &usize| !is_time(table.columns[*at].holds) && table.columns[*at].nullable;
    let nullable: Vec<usize> = (0..table.columns.len()).filter(plain).collect();
    match chance.below(5) {
        0 => Condition::IsNull(chance.pick(&nullable)),
        1 => Condition::IsNotNull(chance.pick(&nullable)),
        2 => Condition::Is(table.column("state"), word(chance)),
        3 => Condition::Is(table.column("family"), Cell::Number(chance.between(0, 4))),
        _ => Condition::Less(table.column("place"), chance.between(3, 9)),
    }
}

/// Spoils a policy.
fn misfit(chance: &mut Chance, policy: &mut Policy, tables: &[Table], links: &[Link]) {
    let table = &tables[policy.table];
    let points = links.iter().any(|link| link.columns.contains(&table.column("place")) && link.from == policy.table);
    let choices = [
        Misfit::NoSuchDeadline,
        Misfit::NumberIsNoTime,
        Misfit::ClearsWhatIsNeverNull,
        Misfit::NoSuchColumnInWhere,
        Misfit::PointsNowhere,
        Misfit::NoSuchTable,
    ];
    policy.misfit = Some(chance.pick(&choices)).filter(|misfit| !(points && *misfit == Misfit::PointsNowhere));
    if policy.misfit == Some(Misfit::ClearsWhatIsNeverNull) {
        policy.with.clear();
        policy.changes = vec![Change { column: table.column("place"), value: Becomes::This(Cell::Null) }];
    }
}

/// Whether values of the column are read in the policy's zone.
pub(super) fn is_zoned(holds: Holds) -> bool {
    matches!(holds, Holds::Time(TimeForm::Local | TimeForm::Day | TimeForm::Text, _))
}
