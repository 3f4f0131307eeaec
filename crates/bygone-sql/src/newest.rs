//! Keeping the newest rows: a row goes once there are enough newer ones.

use bygone_core::{ErrorKind, TargetError};

use crate::bind::KeyColumn;
use crate::catalog::{Storage, Table};
use crate::engine::Engine;
use crate::policy::Newest;

/// What newer rows are called beside the policy's own.
const NEWER: &str = "bygone_newer";

/// `newest`, bound to its table.
#[derive(Clone, Debug)]
pub(crate) struct BoundNewest {
    rows: u64,
    /// How a newer row is of the same group, in SQL.
    same_group: Vec<String>,
    /// What tells newer from older, quoted: each decides where those before it are equal.
    order: Vec<String>,
}

impl BoundNewest {
    pub(crate) fn bind(table: &Table, key: &[KeyColumn], newest: &Newest) -> Result<Self, TargetError> {
        let mut order = Vec::new();
        if let Some(by) = &newest.by {
            order.push(table.engine.quote(&table.column(by).map_err(|e| e.about("by"))?.name));
        }
        if key.iter().any(|column| *column == KeyColumn::place()) && order.is_empty() {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("`{}` has no key that says which row is newer", table.name),
            )
            .with_help("name the column that does: `by = \"created_at\"`")
            .about("newest"));
        }
        let names = match (&table.storage, table.natural_key()) {
            // Pages name rows by SQLite's own number for them, which says nothing about who is newer.
            (Storage::Rowid(number), Some(columns)) if key.iter().all(|column| column.quoted == *number) => {
                columns.iter().map(|column| table.engine.quote(column)).collect()
            }
            _ => key.iter().map(|column| column.quoted.clone()).collect::<Vec<_>>(),
        };
        order.extend(names.into_iter().filter(|name| !order.contains(name)).collect::<Vec<_>>());
        let mut same_group = Vec::new();
        for name in &newest.per {
            let column = table.column(name).map_err(|e| e.about("per"))?;
            let quoted = table.engine.quote(&column.name);
            let equal = match table.engine {
                _ if !column.nullable => "=",
                Engine::Postgres => "IS NOT DISTINCT FROM",
                Engine::MySql => "<=>",
                Engine::Sqlite => "IS",
            };
            same_group.push(format!("{NEWER}.{quoted} {equal} {}.{quoted}", table.quoted));
        }
        Ok(Self { rows: newest.rows, same_group, order })
    }

    /// Holds for a row that has enough newer ones. `filter` is what makes a row one of the policy's.
    pub(crate) fn condition(&self, table: &Table, filter: Option<&str>) -> String {
        let mut conditions = self.same_group.clone();
        conditions.push(newer(&self.order, &table.quoted));
        conditions.extend(filter.map(|filter| format!("(\n{filter}\n)")));
        let offset = self.rows.saturating_sub(1);
        format!(
            "(SELECT 1 FROM {} AS {NEWER} WHERE {} LIMIT 1 OFFSET {offset}) IS NOT NULL",
            table.quoted,
            conditions.join(" AND ")
        )
    }

    /// Whether groups are kept apart.
    pub(crate) fn is_grouped(&self) -> bool {
        !self.same_group.is_empty()
    }
}

/// Newer in the order of tuples, spelt out: not every engine serves tuples by an index.
fn newer(order: &[String], table: &str) -> String {
    match order {
        [] => "1 = 0".to_owned(),
        [last] => format!("{NEWER}.{last} > {table}.{last}"),
        [first, rest @ ..] => format!(
            "{NEWER}.{first} >= {table}.{first} AND ({NEWER}.{first} > {table}.{first} OR {})",
            newer(rest, table)
        ),
    }
}
