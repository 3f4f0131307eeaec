//! What a sweep of a policy would do, in its own words: for `bygone plan` and `bygone check`.

use bygone_core::Boundary;
use serde::Serialize;

use crate::catalog::Reference;
use crate::engine::Engine;
use crate::newest::BoundNewest;
use crate::target::RowTarget;
use crate::walk::{Position, Upper, Walk};

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
    /// References that take or change rows elsewhere when a row goes here.
    pub cascades: Vec<Reference>,
    /// What a person should look at.
    pub warnings: Vec<String>,
    /// How long it would take, roughly.
    pub estimated_seconds: Option<u64>,
}

impl RowTarget {
    /// Describes the page that a sweep would run. Call it after a survey, which chooses the walk.
    pub fn plan(&self, boundary: Boundary, bygone: Option<u64>) -> Option<RowPlan> {
        let (choice, cutoff) = (self.choice()?, self.cutoff(boundary)?);
        let binding = &self.binding;
        let from = choice.axis.beginning();
        let end = choice.axis.start.clone().unwrap_or(crate::value::Value::Null);
        let mut statements = Vec::new();
        if choice.walk != Walk::Heap {
            let cut = (choice.walk == Walk::Slices).then_some(&end);
            statements.push(binding.bound(&choice.axis, &from, 1, cut).text().to_owned());
        }
        let remove = binding.remove_range(&choice.axis, &Position::From(end.clone()), &Upper::Below(end), cutoff);
        statements.push(remove.text().to_owned());
        let rate = rows_per_second(binding.table.engine);
        Some(RowPlan {
            table: binding.table.quoted.clone(),
            walk: choice.walk,
            why: choice.why.clone(),
            index: choice.index.clone(),
            statements,
            cascades: self.references().filter(touches).collect(),
            warnings: self.warnings(),
            estimated_seconds: bygone.map(|rows| rows.div_ceil(rate)),
        })
    }

    /// What points at the table.
    fn references(&self) -> impl Iterator<Item = Reference> {
        self.binding.table.incoming().map(|key| Reference::of(&self.binding.table, key))
    }

    fn warnings(&self) -> Vec<String> {
        let binding = &self.binding;
        let mut warnings = Vec::new();
        if binding.newest.as_ref().is_some_and(BoundNewest::is_grouped) {
            warnings.push("the newest of each group are found by looking at every row, on every sweep".to_owned());
        }
        if binding.lead().is_none() && !binding.deadline.is_empty() {
            warnings.push(format!("no index serves {}: every sweep reads the whole table", binding.deadline_names()));
        }
        for Reference { table, column, action } in self.references() {
            warnings.push(match action.as_str() {
                "cascade" => format!("rows of `{table}` go along with theirs ({column}, on delete cascade)"),
                "set null" | "set default" => format!("`{table}`.{column} is emptied where it points at a removed row"),
                _ => format!("rows that `{table}`.{column} points at cannot go and are kept back as conflict"),
            });
        }
        warnings
    }
}

fn touches(reference: &Reference) -> bool {
    matches!(reference.action.as_str(), "cascade" | "set null" | "set default")
}
