//! What a sweep of a policy would do, in its own words: for `bygone plan` and `bygone check`.

use bygone_core::{Boundary, TargetError};
use jiff::Timestamp;
use serde::Serialize;

use crate::bind::Binding;
use crate::catalog::Reference;
use crate::engine::Engine;
use crate::query::Query;
use crate::source::SharedSource;
use crate::target::RowTarget;
use crate::value::Value;
use crate::walk::{Choice, Position, Upper, Walk, skips_locked};

/// Rows per second that a sweep reaches at the least on small machines; for an estimate, nothing more.
fn rows_per_second(engine: Engine) -> u64 {
    match engine {
        Engine::Postgres => 300_000,
        Engine::MySql => 30_000,
        Engine::Sqlite => 50_000,
    }
}

/// How a sweep would go about a policy.
#[derive(Clone, Debug, Serialize)]
pub struct RowPlan {
    /// The table, quoted, with its schema.
    pub table: String,
    /// The way through the table.
    pub walk: Walk,
    /// Why that way.
    pub why: String,
    /// The index in use.
    pub index: Option<String>,
    /// The statements of a page.
    pub statements: Vec<String>,
    /// Partitions that go as a whole, before any rows.
    pub partitions: Vec<String>,
    /// Tables whose rows go first, in that order.
    pub children: Vec<String>,
    /// References that take or change rows elsewhere when a row goes here.
    pub cascades: Vec<Reference>,
    /// How long it would take, roughly.
    pub estimated_seconds: Option<u64>,
}

impl RowTarget {
    /// Describes the page that a sweep would run. Call it after a survey, which chooses the walk.
    pub fn plan(&self, boundary: Boundary, bygone: Option<u64>) -> Option<RowPlan> {
        let (choice, cutoff) = (self.choice()?, self.cutoff(boundary)?);
        let binding = &self.binding;
        let statements = statements(binding, choice, cutoff);
        let rate = rows_per_second(binding.table.engine);
        Some(RowPlan {
            table: binding.table.quoted.clone(),
            walk: choice.walk,
            why: choice.why.clone(),
            index: choice.index.clone(),
            statements: statements.iter().map(|statement| statement.text().to_owned()).collect(),
            partitions: self.past_partitions.iter().map(|partition| partition.name.clone()).collect(),
            children: binding.family.children.iter().map(|child| child.name.clone()).collect(),
            cascades: self.references().filter(touches).collect(),
            estimated_seconds: bygone.map(|rows| rows.div_ceil(rate)),
        })
    }

    /// The same without a survey: the walk is chosen by the statistics alone, and nothing is counted.
    pub async fn outline(&mut self, boundary: Boundary) -> Result<Option<RowPlan>, TargetError> {
        let Some(cutoff) = self.cutoff(boundary) else { return Ok(None) };
        let shared = SharedSource::clone(self.shared_source());
        self.choose(&mut *shared.lock().await, None, cutoff).await?;
        Ok(self.plan(boundary, None))
    }

    /// What points at the table.
    fn references(&self) -> impl Iterator<Item = Reference> {
        self.binding.table.incoming().map(|key| Reference::of(&self.binding.table, key))
    }
}

/// The statements of a page: the end of its range, then a range at once, or row by row.
fn statements(binding: &Binding, choice: &Choice, cutoff: Timestamp) -> Vec<Query> {
    let (axis, from) = (&choice.axis, choice.axis.beginning());
    let end = axis.start.clone().unwrap_or(Value::Null);
    let (position, upper) = (Position::From(end.clone()), Upper::Below(end.clone()));
    let mut statements = Vec::new();
    if choice.walk != Walk::Heap {
        statements.push(binding.bound(axis, &from, 1, (choice.walk == Walk::Slices).then_some(&end)));
    }
    if !binding.goes_by_lists() && !binding.family.is_empty() {
        if !binding.family.guards.is_empty() {
            statements.push(binding.lock_range(axis, &position, &upper, cutoff));
        }
        statements.push(binding.remove_families(axis, &position, &upper, cutoff));
        return statements;
    }
    if !binding.goes_by_lists() {
        statements.push(binding.remove_range(axis, &position, &upper, cutoff));
        return statements;
    }
    let keys = [vec![Value::Null; binding.key.len()]];
    statements.push(binding.candidates(axis, &position, &upper, cutoff, 1));
    if skips_locked(binding.table.engine) {
        statements.push(binding.lock(&keys, cutoff));
    }
    if !binding.family.guards.is_empty() {
        statements.push(binding.unguarded(&keys, cutoff));
    }
    statements.extend(binding.family.children.iter().map(|child| binding.remove_children(child, &keys)));
    statements.push(binding.remove_rows(&keys, cutoff));
    statements
}

fn touches(reference: &Reference) -> bool {
    matches!(reference.action.as_str(), "cascade" | "set null" | "set default")
}
