//! The indexes that a policy needs: to find what is due, and to ask quickly whether anything points at it.

use std::time::Duration;

use bygone_core::{Clock, TargetError};
use serde::Serialize;

use crate::catalog::Table;
use crate::engine::Engine;
use crate::query::Query;
use crate::source::{SharedSource, Source};
use crate::target::{RowTarget, first_count};
use crate::value::Value;

/// What an entry of an index over one short column takes, roughly.
const ENTRY_BYTES: u64 = 32;
/// How often somebody looks how far it is.
const LOOK: Duration = Duration::from_millis(500);
/// The longest name that every engine takes.
const NAME_BYTES_MAX: usize = 60;

/// An index that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingIndex {
    /// The table it is on.
    pub table: String,
    /// Its name.
    pub name: String,
    /// What makes it, without holding writers up where the engine can.
    pub statement: String,
    /// What removes a half-made one of that name first.
    pub cleanup: Option<String>,
    /// What it is for.
    pub why: String,
    /// How large it would be, roughly.
    pub estimated_bytes: Option<u64>,
}

/// Whom an index is for, and which rows it holds.
struct Wanted<'a> {
    table: &'a Table,
    columns: Vec<String>,
    /// Only rows that meet this.
    predicate: Option<String>,
    why: String,
}

impl RowTarget {
    /// The indexes that this policy lacks.
    pub async fn missing_indexes(&self) -> Result<Vec<MissingIndex>, TargetError> {
        let mut source = self.shared_source().lock().await;
        let mut missing = Vec::new();
        if let Some(wanted) = self.deadline_index() {
            missing.push(missing_index(&mut source, &wanted).await?);
        }
        let table = &self.binding.table;
        let keys: Vec<_> = table.incoming().filter(|_| self.binding.changes.is_empty()).cloned().collect();
        for key in keys {
            let there =
                if table.is(&key.from) { table.clone() } else { Table::read_named(&mut source, &key.from).await? };
            if !there.leads(&key.columns) {
                let why = format!("`{}` is asked for every row that goes from `{}`", there.name, table.name);
                let wanted = Wanted { table: &there, columns: key.columns, predicate: None, why };
                missing.push(missing_index(&mut source, &wanted).await?);
            }
        }
        Ok(missing)
    }

    fn deadline_index(&self) -> Option<Wanted<'_>> {
        let binding = &self.binding;
        if binding.lead().is_some() {
            return None;
        }
        let column = binding.may_lead().next()?;
        // Where rows stay, those that are done would fill an index that does not leave them out.
        let predicate = match (&binding.filter, binding.changes.is_empty(), column.nullable) {
            _ if binding.table.engine == Engine::MySql => None,
            (Some(filter), false, _) => Some(filter.clone()),
            (_, _, true) => Some(format!("{} IS NOT NULL", column.quoted())),
            _ => None,
        };
        let why = format!("it leads policy `{}` to what is due", self.policy_name());
        Some(Wanted { table: &binding.table, columns: vec![column.column.clone()], predicate, why })
    }
}

async fn missing_index(source: &mut Source, wanted: &Wanted<'_>) -> Result<MissingIndex, TargetError> {
    let Wanted { table, columns, predicate, why } = wanted;
    let engine = table.engine;
    let mut name = format!("bygone_{}_{}", table.name, columns.join("_"));
    while name.len() > NAME_BYTES_MAX {
        name.pop();
    }
    let quoted: Vec<String> = columns.iter().map(|column| engine.quote(column)).collect();
    let filter = predicate.as_ref().map(|predicate| format!(" WHERE {predicate}")).unwrap_or_default();
    let (on, by) = (&table.quoted, quoted.join(", "));
    let (statement, cleanup) = match engine {
        Engine::Postgres => {
            let index = engine.quote(&name);
            let schema = table.schema.as_deref();
            let cleanup = is_invalid(source, table, &name)
                .await?
                .then(|| format!("DROP INDEX CONCURRENTLY {}", engine.quote_in(schema, &name)));
            (format!("CREATE INDEX CONCURRENTLY {index} ON {on} ({by}){filter}"), cleanup)
        }
        Engine::MySql => {
            let index = engine.quote(&name);
            (format!("ALTER TABLE {on} ADD INDEX {index} ({by}), ALGORITHM = INPLACE, LOCK = NONE"), None)
        }
        Engine::Sqlite => (format!("CREATE INDEX {} ON {on} ({by}){filter}", engine.quote(&name)), None),
    };
    let estimated_bytes = table.rows_estimate.map(|rows| rows.saturating_mul(ENTRY_BYTES));
    Ok(MissingIndex { table: table.name.clone(), name, statement, cleanup, why: why.clone(), estimated_bytes })
}

/// Whether an interruption has left a half-made index of this name.
async fn is_invalid(source: &mut Source, table: &Table, name: &str) -> Result<bool, TargetError> {
    let text = "SELECT count(*) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid \
                WHERE NOT i.indisvalid AND i.indrelid = to_regclass(";
    let query = Query::new(Engine::Postgres, text)
        .bind(Value::from(table.quoted.as_str()), Some("text"))
        .sql(") AND x.relname = ")
        .bind(Value::from(name), Some("text"));
    let rows = source.query(&query).await?;
    Ok(first_count(&rows).unwrap_or(0) > 0)
}

/// Makes an index, as long as the source's limits let it take. `told` hears how far it is, in percent, where the server says so.
pub async fn create_index(
    source: &SharedSource,
    watcher: &SharedSource,
    index: &MissingIndex,
    clock: &dyn Clock,
    told: impl Fn(u64),
) -> Result<(), TargetError> {
    let mut making = source.lock().await;
    let engine = making.engine();
    for statement in index.cleanup.iter().chain([&index.statement]) {
        let run = making.run(statement);
        tokio::pin!(run);
        loop {
            tokio::select! {
                done = &mut run => break done?,
                () = clock.sleep(LOOK), if engine == Engine::Postgres => {
                    if let Some(percent) = percent_done(watcher).await {
                        told(percent);
                    }
                }
            }
        }
    }
    Ok(())
}

async fn percent_done(watcher: &SharedSource) -> Option<u64> {
    let text = "SELECT coalesce(max(100 * blocks_done / nullif(blocks_total, 0)), 0)::int8 \
                FROM pg_catalog.pg_stat_progress_create_index";
    let rows = watcher.lock().await.query(&Query::new(Engine::Postgres, text)).await.ok()?;
    first_count(&rows)
}
