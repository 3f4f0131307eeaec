//! Every statement that a rows policy runs, one pure function each.
//!
//! All of them carry the whole test of the policy: the statement that removes a row repeats, on the locked row, what
//! the one that found it has tested. Texts do not depend on data, so that they can stay prepared.

mod pages;

use jiff::Timestamp;

use crate::bind::Binding;
use crate::catalog::{Index, ROWID_INDEX};
use crate::comparison::Comparison;
use crate::engine::Engine;
use crate::policy::NullMeaning;
use crate::query::Query;
use crate::value::Value;

impl Binding {
    fn engine(&self) -> Engine {
        self.table.engine
    }

    fn query(&self, text: impl Into<String>) -> Query {
        Query::new(self.engine(), text)
    }

    /// Appends the whole test of the policy: past the cutoff, readable, and what `where` says.
    fn due(&self, query: Query, cutoff: Timestamp) -> Query {
        self.due_by(query, |query, column| column_due(query, column, cutoff))
    }

    /// The same with another test of a single column.
    fn due_by(&self, query: Query, test: impl Fn(Query, &Comparison) -> Query) -> Query {
        let query = self.past(query, test);
        let query = match &self.newest {
            Some(newest) => query.sql(" AND ").sql(newest.condition(&self.table, self.filter.as_deref())),
            None => query,
        };
        self.filtered(self.differing(query))
    }

    /// The same for rows that are locked. MySQL does not look at other rows of a table while it removes some, and which
    /// are newer was seen when these were locked.
    fn due_still(&self, query: Query, cutoff: Timestamp) -> Query {
        match self.engine() {
            Engine::MySql => {
                let past = self.past(query, |query, column| column_due(query, column, cutoff));
                self.filtered(self.differing(past))
            }
            Engine::Postgres | Engine::Sqlite => self.due(query, cutoff),
        }
    }

    /// Appends that the deadline is readable and past, as `test` says of a single column.
    fn past(&self, mut query: Query, test: impl Fn(Query, &Comparison) -> Query) -> Query {
        if self.deadline.is_empty() {
            query = query.sql("1 = 1");
        }
        let several = self.deadline.len() > 1 && self.null == NullMeaning::Ignored;
        for (at, column) in self.deadline.iter().enumerate() {
            if at > 0 {
                query = query.sql(" AND ");
            }
            query = if several && column.nullable {
                let query = query.sql(format!("({} IS NULL OR (", column.quoted()));
                test(query, column).sql("))")
            } else {
                test(query, column)
            };
        }
        if several && self.deadline.iter().all(|column| column.nullable) {
            let any: Vec<String> = self.deadline.iter().map(|c| format!("{} IS NOT NULL", c.quoted())).collect();
            query = query.sql(format!(" AND ({})", any.join(" OR ")));
        }
        query
    }

    /// Appends that some column is not yet as the policy wants it.
    fn differing(&self, mut query: Query) -> Query {
        for (at, change) in self.changes.iter().enumerate() {
            query = change.differs(query.sql(if at == 0 { " AND (" } else { " OR " }), self.engine());
        }
        if self.changes.is_empty() { query } else { query.sql(")") }
    }

    /// Appends the conditions on other rows.
    fn guarded(&self, query: Query, cutoff: Timestamp) -> Query {
        self.guarded_by(query, |query, column| column_due(query, column, cutoff))
    }

    /// The same with another test of a single column.
    fn guarded_by(&self, query: Query, test: impl Fn(Query, &Comparison) -> Query) -> Query {
        self.family.guards.iter().fold(query, |query, guard| {
            let mut query = query.sql(" AND ").sql(&guard.open);
            if guard.living {
                // A row without a deadline never ends.
                query = self.past(query.sql(" AND ("), &test).sql(") IS NOT TRUE");
            }
            query.sql(")")
        })
    }

    /// Appends `where`. It stands on lines of its own, so that a comment in it ends with it.
    fn filtered(&self, query: Query) -> Query {
        match &self.filter {
            Some(filter) => query.sql(format!(" AND (\n{filter}\n)")),
            None => query,
        }
    }

    /// Reads no row, but names all that the policy's `where` names.
    pub(crate) fn nothing(&self) -> Query {
        self.filtered(self.query(format!("SELECT 1 FROM {} WHERE 1 = 0", self.table.quoted)))
    }

    /// The same for the conditions on other rows.
    pub(crate) fn no_guarded_row(&self) -> Option<Query> {
        let text = format!("SELECT 1 FROM {} WHERE 1 = 0", self.table.quoted);
        (!self.family.guards.is_empty()).then(|| self.guarded(self.query(text), Timestamp::UNIX_EPOCH))
    }

    /// The same for the columns that change.
    pub(crate) fn no_changed_row(&self) -> Option<Query> {
        let text = format!("SELECT 1 FROM {} WHERE 1 = 0", self.table.quoted);
        (!self.changes.is_empty()).then(|| self.differing(self.query(text)))
    }

    /// Counts what is bygone, and finds the oldest of it by its first deadline.
    pub(crate) fn survey(&self, cutoff: Timestamp) -> Query {
        let text = format!("SELECT count(*) FROM {} WHERE ", self.table.quoted);
        self.bygone(self.query(text), cutoff)
    }

    /// Appends all that a row must meet to go: the policy's own test, and the conditions on other rows.
    pub(crate) fn bygone(&self, query: Query, cutoff: Timestamp) -> Query {
        self.guarded(self.due(query, cutoff), cutoff)
    }

    /// The same with another test of a single column.
    pub(crate) fn bygone_by(&self, query: Query, test: impl Fn(Query, &Comparison) -> Query) -> Query {
        self.guarded_by(self.due_by(query, &test), &test)
    }

    /// The oldest deadline that is bygone, along a column.
    pub(crate) fn oldest(&self, column: &Comparison, cutoff: Timestamp) -> Query {
        let text = format!("SELECT {} FROM {} WHERE ", column.selected(), self.table.quoted);
        let query = self.due(self.query(text), cutoff);
        let quoted = column.quoted();
        query.sql(format!(" AND {quoted} IS NOT NULL ORDER BY {} LIMIT 1", self.by(&quoted)))
    }

    /// Counts rows whose deadline cannot be read, but which the policy would otherwise cover.
    pub(crate) fn unreadable(&self) -> Query {
        let text = format!("SELECT count(*) FROM {} WHERE ", self.table.quoted);
        let several = self.deadline.len() > 1 && self.null == NullMeaning::Ignored;
        let mut query = self.query(text).sql("(");
        for (at, column) in self.deadline.iter().enumerate() {
            if at > 0 {
                query = query.sql(" OR ");
            }
            let quoted = column.quoted();
            query = query.sql(format!("{quoted} < ")).bind(column.floor(), column.cast());
            if let Some(readable) = column.readable() {
                query = query.sql(format!(" OR ({quoted} IS NOT NULL AND NOT ({readable}))"));
            }
            if let Some(no_number) = column.no_number() {
                query = query.sql(format!(" OR {no_number}"));
            }
            if column.nullable && !several {
                query = query.sql(format!(" OR {quoted} IS NULL"));
            }
        }
        if several && self.deadline.iter().all(|column| column.nullable) {
            let all: Vec<String> = self.deadline.iter().map(|c| format!("{} IS NULL", c.quoted())).collect();
            query = query.sql(format!(" OR ({})", all.join(" AND ")));
        }
        self.filtered(query.sql(")"))
    }

    /// Whether the table holds at least so many rows: counts no further than that.
    pub(crate) fn holds(&self, rows: u64) -> Query {
        let text = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT ", self.table.quoted);
        self.query(text).bind(Value::from(rows), self.int8()).sql(") AS some_rows")
    }

    /// Counts rows that are surely not bygone, no further than `rows` of them, by the deadline's index; `None` where no
    /// index leads there.
    pub(crate) fn living(&self, cutoff: Timestamp, rows: u64) -> Option<Query> {
        let (column, index) = self.lead()?;
        let bound = column.cutoff(cutoff)?;
        let table = self.led_by(Some(&index.name));
        let text = format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {} >= ", column.quoted());
        let mut query = self.query(text).bind(bound, column.cast());
        if self.needs_filter(index, column) {
            query = self.filtered(query);
        }
        Some(query.sql(" LIMIT ").bind(Value::from(rows), self.int8()).sql(") AS some_rows"))
    }

    /// Where rows lie that are neighbours in time.
    pub(crate) fn neighbours(
        &self,
        place: &str,
        column: &Comparison,
        index: &Index,
        cutoff: Timestamp,
        rows: u64,
    ) -> Query {
        let text = format!("SELECT {place} FROM {} WHERE ", self.table.quoted);
        let mut query = column_due(self.query(text), column, cutoff);
        if index.predicate.is_some() {
            query = self.filtered(query);
        }
        query.sql(format!(" ORDER BY {} LIMIT ", self.by(&column.quoted()))).bind(Value::from(rows), self.int8())
    }

    /// The table, read by this index, where the engine would otherwise not always do so: MySQL may choose to read all of
    /// the table, and wait for rows that others hold anywhere; SQLite may choose the index of another condition, and
    /// read it whole for every page. Without an index SQLite goes by the rowid.
    fn led_by(&self, index: Option<&str>) -> String {
        let table = &self.table.quoted;
        match (self.engine(), index) {
            (Engine::MySql, Some(index)) => format!("{table} FORCE INDEX ({})", Engine::MySql.quote(index)),
            (Engine::Sqlite, Some(index)) if index != ROWID_INDEX => {
                format!("{table} INDEXED BY {}", Engine::Sqlite.quote(index))
            }
            (Engine::Sqlite, _) => format!("{table} NOT INDEXED"),
            _ => table.clone(),
        }
    }

    /// A column to order by. It is named with its table, since a bare name means what is selected under it, which may
    /// be the column as text.
    fn by(&self, quoted: &str) -> String {
        format!("{}.{quoted}", self.table.quoted)
    }

    fn int8(&self) -> Option<&'static str> {
        (self.engine() == Engine::Postgres).then_some("int8")
    }
}

/// `column >= floor AND column < cutoff`, with the exact tests that the type needs.
fn column_due(query: Query, column: &Comparison, cutoff: Timestamp) -> Query {
    let quoted = column.quoted();
    // A cutoff before all time: nothing is past it.
    let Some(bound) = column.cutoff(cutoff) else { return query.sql("1 = 0") };
    let mut query = query
        .sql(format!("{quoted} >= "))
        .bind(column.floor(), column.cast())
        .sql(format!(" AND {quoted} < "))
        .bind(bound, column.cast());
    if let Some((test, value)) = column.exact(cutoff) {
        query = query.sql(format!(" AND {test}")).bind(value, (column.engine == Engine::Postgres).then_some("text"));
        // SQLite's functions give NULL for what cannot be read, so there the exact test is both.
        if column.engine == Engine::Sqlite {
            return query;
        }
    }
    match column.readable() {
        Some(readable) => query.sql(format!(" AND {readable}")),
        None => query,
    }
}

#[cfg(test)]
mod tests;
