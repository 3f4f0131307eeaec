//! A case as a person would tell it.

use std::fmt::Write as _;

use bygone_testkit::Kind;

use crate::case::{Becomes, Case, Cell, PointedAt, Policy};
use crate::moment::date_time;
use crate::sql;

/// What was there, and what was asked of it.
pub(crate) fn story(case: &Case) -> String {
    let mut story = String::new();
    for statement in sql::script(case) {
        let _ = writeln!(story, "{statement};");
    }
    let _ = writeln!(story, "\nthe boundary: {} UTC", date_time(case.boundary_us, ' ', 6));
    for policy in &case.policies {
        let _ = writeln!(story, "\n{}", tell(case, policy));
    }
    story
}

/// The command that plays one case again.
pub(crate) fn command(kind: Kind, seed: u64, number: u64) -> String {
    format!(
        "BYGONE_TEST_SEED={seed} BYGONE_ORACLE_CASE={number} cargo test -p bygone-sql --test oracle -- {} --exact --nocapture",
        crate::name(kind)
    )
}

fn tell(case: &Case, policy: &Policy) -> String {
    let table = &case.tables[policy.table];
    let name = |at: &usize| table.columns[*at].name.as_str();
    let names = |all: &[usize]| all.iter().map(name).collect::<Vec<_>>().join(", ");
    let link = |at: &usize| {
        let link = &case.links[*at];
        let from = &case.tables[link.from];
        format!("{}.{}", from.name, from.columns[link.columns[0]].name)
    };
    let mut lines = vec![format!("[{}] table = {}", policy.name, table.name)];
    let mut say = |key: &str, value: String| lines.push(format!("  {key} = {value}"));
    if !policy.deadline.is_empty() {
        let null = if policy.null_keeps { ", null = keep" } else { "" };
        say("deadline", format!("latest of {}{null}", names(&policy.deadline)));
        say("keep", format!("{} us", policy.keep_us));
    }
    if let Some(zone) = policy.zone {
        say("zone", zone.name().to_owned());
    }
    if let Some(filter) = &policy.filter {
        say("where", sql::condition(case.engine, table, filter));
    }
    if policy.names_key {
        say("key", names(table.key.columns()));
    }
    if let Some(newest) = &policy.newest {
        let by = newest.by.as_ref().map_or("the key", name);
        say("newest", format!("{} per ({}) by {by}", newest.rows, names(&newest.per)));
    }
    for change in &policy.changes {
        let value = match &change.value {
            Becomes::Now => "now".to_owned(),
            Becomes::This(Cell::Null) => "nothing".to_owned(),
            Becomes::This(cell) => format!("{cell:?}"),
        };
        say("set", format!("{} to {value}", name(&change.column)));
    }
    for chain in &policy.with {
        say("with", chain.iter().map(link).collect::<Vec<_>>().join(" -> "));
    }
    if !policy.unless_referenced_by.is_empty() {
        say("unless_referenced_by", policy.unless_referenced_by.iter().map(link).collect::<Vec<_>>().join(", "));
    }
    for guard in &policy.guards {
        let at = match guard.at {
            PointedAt::Link(at) => format!("via {}", link(&at)),
            PointedAt::Family(column) => format!("family by {}", name(&column)),
        };
        let there = &case.tables[guard.table(case, policy.table)];
        let filter = guard.filter.as_ref().map(|filter| sql::condition(case.engine, there, filter));
        let key = if guard.only_if { "only_if" } else { "unless" };
        say(key, format!("{at}, living = {}, where = {filter:?}", guard.living));
    }
    if let Some(misfit) = policy.misfit {
        say("misfit", format!("{misfit:?}"));
    }
    say("page", format!("{}, workers = {}", policy.page, policy.workers));
    lines.join("\n")
}
