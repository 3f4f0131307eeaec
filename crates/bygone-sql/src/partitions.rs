//! Partitions that are bygone as a whole: dropped, not swept row by row.
//!
//! Only where nothing but the deadline decides, where nothing elsewhere points at the rows, where no trigger, rule or
//! subscriber would have been told of them, and where no row policy hides any. Everything else goes row by row.

use bygone_core::{ErrorKind, Page, Tally};
use jiff::Timestamp;

use crate::bind::Binding;
use crate::comparison::{Comparison, Kind};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::source::Source;
use crate::target::first_count;
use crate::value::{Row, Value};

/// A partition of which every row is past the cutoff, if it has a deadline at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) name: String,
    quoted: String,
}

impl Binding {
    /// The partitions that lie wholly before the cutoff, the oldest first.
    pub(crate) async fn past_partitions(
        &self,
        source: &mut Source,
        cutoff: Timestamp,
    ) -> Result<Vec<Partition>, SqlError> {
        let Some((column, bound)) = self.partition_column(cutoff) else { return Ok(Vec::new()) };
        let query = match self.table.engine {
            Engine::Postgres => self.postgres_partitions(column, bound),
            Engine::MySql => self.mysql_partitions(column, bound, cutoff),
            Engine::Sqlite => return Ok(Vec::new()),
        };
        let rows = source.query(&query).await?;
        Ok(rows.iter().filter_map(|row| self.partition(row)).collect())
    }

    /// The column that alone decides, and the first value of it that is not bygone.
    fn partition_column(&self, cutoff: Timestamp) -> Option<(&Comparison, Value)> {
        let [column] = self.deadline.as_slice() else { return None };
        let plain = self.filter.is_none() && self.newest.is_none() && self.changes.is_empty() && self.family.is_empty();
        let comparable = matches!(column.kind, Kind::Instant | Kind::Local(_) | Kind::Date(_));
        let fits = self.table.partitioned && plain && comparable;
        let alone = self.table.incoming().next().is_none();
        (fits && alone).then(|| column.cutoff(cutoff)).flatten().map(|bound| (column, bound))
    }

    /// Partitions by range of that one column, whose upper end is not behind the bound. That end is exclusive.
    fn postgres_partitions(&self, column: &Comparison, bound: Value) -> Query {
        let end = "substring(pg_catalog.pg_get_expr(c.relpartbound, c.oid) from ' TO \\(''([^'']+)''\\)')";
        let sql_type = &column.sql_type;
        let text = "SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_inherits i \
             JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = i.inhparent \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] \
             WHERE pg_catalog.to_jsonb(i) ->> 'inhdetachpending' IS DISTINCT FROM 'true' \
             AND i.inhparent = pg_catalog.to_regclass(";
        Query::new(Engine::Postgres, text)
        .bind(Value::from(self.table.quoted.as_str()), Some("text"))
        .sql(") AND p.partstrat = 'r' AND p.partnatts = 1 AND c.relkind = 'r' AND a.attname = ")
        .bind(Value::from(column.column.as_str()), Some("text"))
        .sql(" AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class o WHERE o.oid IN (c.oid, i.inhparent) AND (o.relrowsecurity \
                  OR o.relhasrules OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t WHERE t.tgrelid = o.oid \
                  AND NOT t.tgisinternal) OR EXISTS (SELECT 1 FROM pg_catalog.pg_publication_tables p \
                  WHERE p.schemaname = n.nspname AND p.tablename IN (c.relname, o.relname))))")
        .sql(format!(
            " AND CASE WHEN p.partstrat = 'r' AND p.partnatts = 1 AND {end} IS NOT NULL THEN {end}::{sql_type} <= "
        ))
        .bind(bound, Some(sql_type))
        .sql(format!(" ELSE false END ORDER BY {end}::{sql_type}"))
    }

    /// The same of MySQL, where the range is of the column itself, or of the seconds that a TIMESTAMP counts.
    fn mysql_partitions(&self, column: &Comparison, bound: Value, cutoff: Timestamp) -> Query {
        let (name, schema) = (self.table.name.as_str(), self.table.schema.as_deref().unwrap_or_default());
        let table = |query: Query| {
            query.bind(Value::from(schema), None).sql(" AND p.TABLE_NAME = ").bind(Value::from(name), None)
        };
        let quoted = column.quoted();
        table(Query::new(
            Engine::MySql,
            "SELECT CAST(p.PARTITION_NAME AS CHAR) FROM information_schema.PARTITIONS p WHERE p.TABLE_SCHEMA = ",
        ))
        .sql(" AND p.SUBPARTITION_NAME IS NULL AND p.PARTITION_DESCRIPTION <> 'MAXVALUE'")
        .sql(" AND NOT EXISTS (SELECT 1 FROM information_schema.TRIGGERS t WHERE t.EVENT_MANIPULATION = 'DELETE'")
        .sql(" AND t.EVENT_OBJECT_SCHEMA = p.TABLE_SCHEMA AND t.EVENT_OBJECT_TABLE = p.TABLE_NAME)")
        .sql(" AND CASE WHEN p.PARTITION_METHOD = 'RANGE COLUMNS' AND p.PARTITION_EXPRESSION = ")
        .bind(Value::from(quoted.as_str()), None)
        .sql(" THEN CAST(TRIM(BOTH '\\'' FROM p.PARTITION_DESCRIPTION) AS DATETIME(6)) <= CAST(")
        .bind(bound, None)
        .sql(" AS DATETIME(6)) WHEN p.PARTITION_METHOD = 'RANGE' AND LOWER(p.PARTITION_EXPRESSION) = ")
        .bind(Value::from(format!("unix_timestamp({})", quoted.to_lowercase()).as_str()), None)
        .sql(" THEN CAST(p.PARTITION_DESCRIPTION AS SIGNED) <= ")
        .bind(Value::Int(cutoff.as_second()), None)
        .sql(" ELSE FALSE END ORDER BY p.PARTITION_ORDINAL_POSITION")
    }

    /// Drops a partition, unless a row of it is not past or has no deadline that can be read, it has too many rows, or
    /// the database does not let it go.
    pub(crate) async fn drop_partition(
        &self,
        source: &mut Source,
        partition: &Partition,
        cutoff: Timestamp,
        items_max: u64,
    ) -> Result<Option<Page>, SqlError> {
        let table = &self.table.quoted;
        // Nobody writes to it from here on, so what is counted is what goes.
        let begin = match self.table.engine {
            Engine::MySql => format!("LOCK TABLES {table} WRITE"),
            _ => "BEGIN".to_owned(),
        };
        let dropped = match source.run(&begin).await {
            Ok(()) => self.drop_inside(source, partition, cutoff, items_max).await,
            Err(error) => Err(error),
        };
        let end = match (self.table.engine, &dropped) {
            (Engine::MySql, _) => "UNLOCK TABLES",
            (_, Ok(Some(_))) => "COMMIT",
            _ => "ROLLBACK",
        };
        let ended = source.run(end).await;
        match dropped {
            Err(error) if matches!(error.kind(), ErrorKind::Lost | ErrorKind::Unreachable) => Err(error),
            // In use just now, somebody else's, or something hangs on it: its rows go one by one.
            Err(_) => Ok(None),
            Ok(page) => ended.map(|()| page),
        }
    }

    async fn drop_inside(
        &self,
        source: &mut Source,
        partition: &Partition,
        cutoff: Timestamp,
        items_max: u64,
    ) -> Result<Option<Page>, SqlError> {
        let Some((column, bound)) = self.partition_column(cutoff) else { return Ok(None) };
        let (quoted, name, engine) = (&partition.quoted, column.quoted(), self.table.engine);
        let (rows_of, drop) = if engine == Engine::MySql {
            let table = &self.table.quoted;
            (format!("{table} PARTITION ({quoted})"), format!("ALTER TABLE {table} DROP PARTITION {quoted}"))
        } else {
            source.run(&format!("LOCK TABLE {quoted} IN SHARE ROW EXCLUSIVE MODE")).await?;
            (quoted.clone(), format!("DROP TABLE {quoted}"))
        };
        // Before it was locked it may have been detached, to be kept elsewhere, or been given another range.
        if !self.past_partitions(source, cutoff).await?.contains(partition) {
            return Ok(None);
        }
        let readable = column.readable().map(|readable| format!(" OR NOT ({readable})")).unwrap_or_default();
        let staying = format!("SELECT count(*) FROM {rows_of} WHERE {name} IS NULL{readable} OR {name} < ");
        let staying = Query::new(engine, staying)
            .bind(column.floor(), column.cast())
            .sql(format!(" OR {name} >= "))
            .bind(bound, column.cast());
        let counted = source.query(&Query::new(engine, format!("SELECT count(*) FROM {rows_of}"))).await?;
        let (Some(rows), Some(0)) = (first_count(&counted), first_count(&source.query(&staying).await?)) else {
            return Ok(None);
        };
        if rows > items_max {
            return Ok(None);
        }
        source.run(&drop).await?;
        Ok(Some(Page { tally: Tally::removed(rows), requests: 0, next: None }))
    }

    fn partition(&self, row: &Row) -> Option<Partition> {
        let engine = self.table.engine;
        let (schema, name) = match engine {
            Engine::MySql => (None, row.first()?.text()?),
            _ => (Some(row.first()?.text()?), row.get(1)?.text()?),
        };
        Some(Partition { name: name.to_owned(), quoted: engine.quote_in(schema, name) })
    }
}
