//! Rows that belong together: children that go first, and rows elsewhere that keep a row.
//!
//! Which columns join two tables is read from their foreign key. Where there is none, a column points at the primary
//! key of the other table.

use std::collections::BTreeSet;

use bygone_core::{ErrorKind, TargetError};

use crate::catalog::{ForeignKey, Table};
use crate::engine::Engine;
use crate::policy::{Chain, ColumnRef, RowCondition, RowPolicy};
use crate::query::Query;
use crate::source::Source;

/// What a guard calls the table it looks at: the policy's own may be that table too.
const GUARD: &str = "bygone_guard";

/// Rows of another table that go before the policy's row does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// The table for people.
    pub(crate) name: String,
    /// From the child to the policy's table.
    pub(crate) hops: Vec<Hop>,
}

/// One step of a chain: a table and how it points at the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// The table, quoted.
    pub(crate) table: String,
    /// Its columns, quoted.
    pub(crate) columns: Vec<String>,
    /// The columns of the next table that they point at, quoted.
    pub(crate) to: Vec<String>,
}

/// A condition on rows elsewhere, in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Up to its closing parenthesis.
    pub(crate) open: String,
    /// Whether the row there must be one that is not past the policy's own deadline.
    pub(crate) living: bool,
}

/// What belongs to a policy's rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    /// In the order in which they go.
    pub(crate) children: Vec<Child>,
    /// Conditions in SQL without which a row is kept back as referenced.
    pub(crate) guards: Vec<Guard>,
    /// The tables that guards look at, quoted: what changes there may free rows here.
    pub(crate) watched: Vec<String>,
    /// The schemas of all these tables.
    pub(crate) schemas: BTreeSet<String>,
}

impl Family {
    /// Finds everything that the policy names in the catalogue.
    pub(crate) async fn bind(source: &mut Source, table: &Table, policy: &RowPolicy) -> Result<Self, TargetError> {
        let mut family = Self::default();
        let mut found: Vec<(Child, Table)> = Vec::new();
        for chain in &policy.with {
            bind_chain(source, table, chain, &mut found).await.map_err(|error| error.about("with"))?;
        }
        family.schemas = found.iter().filter_map(|(_, table)| table.schema.clone()).collect();
        family.children = farthest_first(found);
        for reference in &policy.unless_referenced_by {
            let bound = bind_guard(source, table, reference).await;
            let (there, text) = bound.map_err(|e| e.about("unless_referenced_by"))?;
            family.watch(there, Guard { open: format!("NOT EXISTS {text}"), living: false });
        }
        for (conditions, key, holds) in
            [(&policy.unless, "unless", "NOT EXISTS"), (&policy.only_if, "only_if", "EXISTS")]
        {
            for condition in conditions {
                let (there, text) = bind_condition(source, table, condition).await.map_err(|e| e.about(key))?;
                family.watch(there, Guard { open: format!("{holds} {text}"), living: condition.living });
            }
        }
        Ok(family)
    }

    fn watch(&mut self, there: Table, guard: Guard) {
        self.guards.push(guard);
        self.watched.push(there.quoted);
        self.schemas.extend(there.schema);
    }

    /// Whether a row's page has more to do than to remove it.
    pub(crate) fn is_empty(&self) -> bool {
        self.children.is_empty() && self.guards.is_empty()
    }
}

/// Every table of a chain goes along, not only the farthest.
async fn bind_chain(
    source: &mut Source,
    table: &Table,
    chain: &Chain,
    found: &mut Vec<(Child, Table)>,
) -> Result<(), TargetError> {
    let mut hops: Vec<Hop> = Vec::new();
    let mut nearer = table.clone();
    for link in chain.iter().rev() {
        let here = Table::read(source, &link.table).await?;
        hops.insert(0, join(&here, &link.column, &nearer)?);
        let child = Child { name: here.name.clone(), hops: hops.clone() };
        if !found.iter().any(|(known, _)| *known == child) {
            found.push((child, here.clone()));
        }
        nearer = here;
    }
    Ok(())
}

/// How a column of one table points at another.
fn join(from: &Table, column: &str, to: &Table) -> Result<Hop, TargetError> {
    let column = &from.column(column)?.name;
    let quote = |names: &[String]| names.iter().map(|name| from.engine.quote(name)).collect();
    let table = from.quoted.clone();
    if let Some(key) = from.outgoing().find(|key| to.is(&key.to) && key.columns.contains(column)) {
        return Ok(Hop { table, columns: quote(&key.columns), to: quote(&key.to_columns) });
    }
    Ok(Hop { table, columns: quote(std::slice::from_ref(column)), to: quote(&[sole_key(to)?]) })
}

/// The one column that names a row of a table.
fn sole_key(table: &Table) -> Result<String, TargetError> {
    match table.natural_key().as_deref() {
        Some([column]) => Ok(column.clone()),
        _ => Err(TargetError::new(
            ErrorKind::Unfit,
            format!("no foreign key says which column of `{}` is meant, and its key is not one column", table.name),
        )
        .with_help("declare the foreign key in the database")),
    }
}

/// Children first: whoever points at another's table, or is found through it, goes before it. Where they point at each
/// other the longest chain goes first, and then the order of the policy stands.
fn farthest_first(found: Vec<(Child, Table)>) -> Vec<Child> {
    let goes_before = |(child, table): &(Child, Table), (other, there): &(Child, Table)| {
        let through = child.hops.iter().skip(1).any(|hop| hop.table == there.quoted);
        let points = table.outgoing().any(|key| there.is(&key.to) && !table.is(&key.to));
        child != other && (through || points)
    };
    let mut left = found;
    let mut sorted = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let free = (0..left.len()).find(|&at| !left.iter().any(|other| goes_before(other, &left[at])));
        let farthest = || (0..left.len()).min_by_key(|&at| std::cmp::Reverse(left[at].0.hops.len())).unwrap_or(0);
        let next = free.unwrap_or_else(farthest);
        sorted.push(left.remove(next).0);
    }
    sorted
}

/// The table of a guard, and its row that points at the policy's.
async fn bind_guard(source: &mut Source, table: &Table, reference: &ColumnRef) -> Result<(Table, String), TargetError> {
    let here = Table::read(source, &reference.table).await?;
    let hop = join(&here, &reference.column, table)?;
    let pairs = equal(&hop.columns, &table.quoted, &hop.to);
    let text = format!("(SELECT 1 FROM {} AS {GUARD} WHERE {pairs}", hop.table);
    Ok((here, text))
}

/// The table that a column points at, and the row there that meets the condition.
async fn bind_condition(
    source: &mut Source,
    table: &Table,
    condition: &RowCondition,
) -> Result<(Table, String), TargetError> {
    let via = &table.column(&condition.via)?.name;
    let there = match (&condition.table, pointing(table, via)) {
        (Some(name), _) => Table::read(source, name).await?,
        (None, Some(key)) => Table::read_named(source, &key.to).await?,
        (None, None) if condition.to.is_some() => table.clone(),
        (None, None) => {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("column `{via}` of `{}` has no foreign key that says where it points", table.name),
            )
            .with_help("name the table it points at: `table = \"…\"` beside `via`"));
        }
    };
    if condition.living && there.quoted != table.quoted {
        return Err(TargetError::new(
            ErrorKind::Unfit,
            format!("`living` asks for the policy's own deadline, which `{}` does not have", there.name),
        )
        .with_help("say in `where` when a row there lives"));
    }
    let hop = match &condition.to {
        Some(to) => Hop {
            table: table.quoted.clone(),
            columns: vec![table.engine.quote(via)],
            to: vec![table.engine.quote(&there.column(to)?.name)],
        },
        None => join(table, via, &there)?,
    };
    if let Some(filter) = &condition.filter {
        // By itself: beside the policy's own table, a name that is not there would quietly mean a column of that.
        let text = format!("SELECT 1 FROM {} AS {GUARD} WHERE 1 = 0 AND (\n{filter}\n)", there.quoted);
        source.query(&Query::new(table.engine, text)).await?;
    }
    let pairs = equal(&hop.to, &table.quoted, &hop.columns);
    let filter = condition.filter.as_ref().map(|filter| format!(" AND (\n{filter}\n)")).unwrap_or_default();
    let text = format!("(SELECT 1 FROM {} AS {GUARD} WHERE {pairs}{filter}", there.quoted);
    Ok((there, text))
}

fn pointing<'a>(table: &'a Table, column: &String) -> Option<&'a ForeignKey> {
    table.outgoing().find(|key| key.columns.contains(column))
}

/// `guard.a = table.x AND guard.b = table.y`.
fn equal(guarded: &[String], table: &str, columns: &[String]) -> String {
    let pairs: Vec<String> =
        guarded.iter().zip(columns).map(|(there, here)| format!("{GUARD}.{there} = {table}.{here}")).collect();
    pairs.join(" AND ")
}

impl Child {
    /// The statement that removes the children of some rows: its beginning, up to where those rows are named, what the
    /// columns of the policy's table are called there, and its end.
    pub(crate) fn delete(&self, engine: Engine, parent: &str, parent_led: &str) -> (String, String, String) {
        if engine == Engine::MySql {
            // A list of what another query finds would be looked up for every row of the child's table.
            let mut text = format!("DELETE bygone_0 FROM {parent_led}");
            let mut near = parent.to_owned();
            for (at, hop) in self.hops.iter().enumerate().rev() {
                let alias = format!("bygone_{at}");
                let pair = |(from, to): (&String, &String)| format!("{alias}.{from} = {near}.{to}");
                let pairs: Vec<String> = hop.columns.iter().zip(&hop.to).map(pair).collect();
                text = format!("{text} STRAIGHT_JOIN {} AS {alias} ON {}", hop.table, pairs.join(" AND "));
                near = alias;
            }
            return (format!("{text} WHERE "), format!("{parent}."), String::new());
        }
        let mut text = format!("DELETE FROM {} WHERE ", self.hops[0].table);
        for (at, hop) in self.hops.iter().enumerate() {
            let next = self.hops.get(at + 1).map_or(parent_led, |hop| &hop.table);
            text = format!("{text}{} IN (SELECT {} FROM {next} WHERE ", list(&hop.columns), hop.to.join(", "));
        }
        (text, String::new(), ")".repeat(self.hops.len()))
    }
}

fn list(columns: &[String]) -> String {
    match columns {
        [column] => column.clone(),
        several => format!("({})", several.join(", ")),
    }
}
