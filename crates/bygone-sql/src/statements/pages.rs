//! The statements of a page: where it ends, what it removes at once, and what it does row by row.

use jiff::Timestamp;

use crate::bind::{Binding, KeyColumn};
use crate::catalog::Storage;
use crate::engine::Engine;
use crate::family::Child;
use crate::query::Query;
use crate::value::{Row, Value};
use crate::walk::{Axis, Position, Upper};

impl Binding {
    /// Where along the axis the page ends that begins at `from` and passes `rows` rows, and whether that is still the
    /// value it began at. The database says so: what is equal to it may be written in more than one way.
    ///
    /// On PostgreSQL what travels is made outside, of the one row that is found: inside it would be made of every row
    /// that is passed.
    pub(crate) fn bound(&self, axis: &Axis, from: &Position, rows: u64, cutoff: Option<&Value>) -> Query {
        let (open, close) = match self.engine() {
            Engine::Postgres => (format!("(SELECT {} FROM ", axis.quoted), ") AS page_end"),
            Engine::MySql | Engine::Sqlite => (String::new(), ""),
        };
        let mut query = self.query(format!("SELECT {}", axis.selected));
        if let Some(first) = from.first() {
            query = query.sql(format!(", {} = ", axis.quoted)).bind(first.clone(), axis.cast());
        }
        let table = self.led_by(axis.index.as_deref());
        query = lower(query.sql(format!(" FROM {open}{table} WHERE ")), axis, from);
        if let Some(cutoff) = cutoff {
            query = query.sql(format!(" AND {} < ", axis.quoted)).bind(cutoff.clone(), axis.cast());
        }
        if axis.needs_filter {
            query = self.filtered(query);
        }
        query
            .sql(format!(" ORDER BY {} LIMIT 1 OFFSET ", self.by(&axis.quoted)))
            .bind(Value::from(rows), self.int8())
            .sql(close)
    }

    /// Removes every bygone row of a range: the swift page.
    pub(crate) fn remove_range(&self, axis: &Axis, from: &Position, upper: &Upper, cutoff: Timestamp) -> Query {
        let query = lower(self.change(axis.index.as_deref(), cutoff), axis, from);
        self.due(upper_end(query, axis, upper).sql(" AND "), cutoff)
    }

    /// Removes bygone rows of one value along the axis that nobody else holds, no more than `limit` and in no order: an
    /// index on the deadline alone has none among them, so that every page would sort all that are left. PostgreSQL's
    /// heaps only; `None` elsewhere, where the order of the index goes on with the key.
    ///
    /// The whole test stands where the rows are locked. Beside the places it would be taken for a better way to find them.
    pub(crate) fn remove_some(&self, axis: &Axis, value: &Value, cutoff: Timestamp, limit: u64) -> Option<Query> {
        let plain = matches!(self.table.storage, Storage::Heap { ranges: true, .. }) && self.family.is_empty();
        if !plain {
            return None;
        }
        let text = format!("ctid = ANY(ARRAY(SELECT ctid FROM {} WHERE ", self.table.quoted);
        let query = self.change(axis.index.as_deref(), cutoff).sql(text);
        let some = upper_end(lower(query, axis, &Position::From(value.clone())), axis, &Upper::At(value.clone()));
        let some = self.due(some.sql(" AND "), cutoff).sql(" LIMIT ").bind(Value::from(limit), self.int8());
        Some(some.sql(" FOR UPDATE SKIP LOCKED))"))
    }

    /// Locks every bygone row of a range and counts them: what points at a locked row now cannot come any more, so that
    /// the guards can be asked.
    pub(crate) fn lock_range(&self, axis: &Axis, from: &Position, upper: &Upper, cutoff: Timestamp) -> Query {
        let text = format!("SELECT count(*) FROM (SELECT 1 FROM {} WHERE ", self.table.quoted);
        let query = upper_end(lower(self.query(text), axis, from), axis, upper).sql(" AND ");
        self.due(query, cutoff).sql(" FOR UPDATE) AS locked_rows")
    }

    /// Removes every bygone row of a range and its children with it, and counts both. PostgreSQL alone asks foreign keys
    /// at the end of the whole statement, so that children go if and only if their row does.
    pub(crate) fn remove_families(&self, axis: &Axis, from: &Position, upper: &Upper, cutoff: Timestamp) -> Query {
        let mut columns: Vec<String> = Vec::new();
        for column in self.family.children.iter().filter_map(|child| child.hops.last()).flat_map(|hop| &hop.to) {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
        let returned = if columns.is_empty() { "1".to_owned() } else { columns.join(", ") };
        let query = lower(self.query(format!("WITH gone AS (DELETE FROM {} WHERE ", self.table.quoted)), axis, from);
        let mut query = self.bygone(upper_end(query, axis, upper).sql(" AND "), cutoff);
        query = query.sql(format!(" RETURNING {returned})"));
        let mut counts = vec!["(SELECT count(*) FROM gone)".to_owned()];
        for (at, child) in self.family.children.iter().enumerate() {
            let (delete, _, close) = child.delete(Engine::Postgres, "gone", "gone");
            query = query.sql(format!(", child_{at} AS ({delete}true{close} RETURNING 1)"));
            counts.push(format!("(SELECT count(*) FROM child_{at})"));
        }
        query.sql(format!(" SELECT {}", counts.join(", ")))
    }

    /// The first bygone rows of a range, in order: position along the axis, then key.
    pub(crate) fn candidates(
        &self,
        axis: &Axis,
        from: &Position,
        upper: &Upper,
        cutoff: Timestamp,
        limit: u64,
    ) -> Query {
        let mut selected = vec![axis.selected.clone()];
        let mut order = vec![self.by(&axis.quoted)];
        for tie in &axis.ties {
            selected.push(tie.selected.clone());
            order.push(self.by(&tie.quoted));
        }
        selected.extend(self.key.iter().map(|key| key.selected.clone()));
        let table = self.led_by(axis.index.as_deref());
        let query = lower(self.query(format!("SELECT {} FROM {table} WHERE ", selected.join(", "))), axis, from);
        self.due(upper_end(query, axis, upper).sql(" AND "), cutoff)
            .sql(format!(" ORDER BY {} LIMIT ", order.join(", ")))
            .bind(Value::from(limit), self.int8())
    }

    /// Locks those of the rows that are still bygone and that nobody else holds.
    pub(crate) fn lock(&self, keys: &[Row], cutoff: Timestamp) -> Query {
        let selected: Vec<&str> = self.key.iter().map(|key| key.selected.as_str()).collect();
        let text = format!("SELECT {} FROM {} WHERE ", selected.join(", "), self.led_by(self.key_index()));
        self.due(self.in_keys(self.query(text), keys, "").sql(" AND "), cutoff).sql(" FOR UPDATE SKIP LOCKED")
    }

    /// Those of the rows that no row elsewhere keeps. Asked after they were locked: what points at a locked row now
    /// cannot come any more.
    pub(crate) fn unguarded(&self, keys: &[Row], cutoff: Timestamp) -> Query {
        let selected: Vec<&str> = self.key.iter().map(|key| key.selected.as_str()).collect();
        let text = format!("SELECT {} FROM {} WHERE ", selected.join(", "), self.led_by(self.key_index()));
        self.guarded(self.in_keys(self.query(text), keys, ""), cutoff)
    }

    /// Removes the children of the rows.
    pub(crate) fn remove_children(&self, child: &Child, keys: &[Row]) -> Query {
        let led = self.led_by(self.key_index());
        let (open, qualifier, close) = child.delete(self.engine(), &self.table.quoted, &led);
        self.in_keys(self.query(open), keys, &qualifier).sql(close)
    }

    /// How many of the rows are still bygone, whoever holds them.
    pub(crate) fn still_due(&self, keys: &[Row], cutoff: Timestamp) -> Query {
        let text = format!("SELECT count(*) FROM {} WHERE ", self.led_by(self.key_index()));
        self.due(self.in_keys(self.query(text), keys, "").sql(" AND "), cutoff)
    }

    /// Removes those of the rows that are still bygone: the careful page.
    pub(crate) fn remove_rows(&self, keys: &[Row], cutoff: Timestamp) -> Query {
        self.due_still(self.in_keys(self.change(self.key_index(), cutoff), keys, "").sql(" AND "), cutoff)
    }

    /// The beginning of the statement that does what the policy is for.
    fn change(&self, index: Option<&str>, cutoff: Timestamp) -> Query {
        if self.changes.is_empty() {
            return self.delete(index);
        }
        let now = cutoff.checked_add(self.keep).unwrap_or(cutoff);
        let mut query = self.query(format!("UPDATE {} SET ", self.led_by(index)));
        for (at, change) in self.changes.iter().enumerate() {
            query = change.assign(query.sql(if at > 0 { ", " } else { "" }), now);
        }
        query.sql(" WHERE ")
    }

    /// The beginning of a statement that removes. MySQL takes an index only where it is told the tables apart, and then
    /// `where` may not look at the table again.
    fn delete(&self, index: Option<&str>) -> Query {
        let table = &self.table.quoted;
        self.query(match self.engine() {
            Engine::MySql if self.looks_again() => format!("DELETE FROM {table} WHERE "),
            Engine::MySql => format!("DELETE {table} FROM {} WHERE ", self.led_by(index)),
            Engine::Postgres | Engine::Sqlite => format!("DELETE FROM {} WHERE ", self.led_by(index)),
        })
    }

    /// Whether pages name their rows one by one: there are children or guards to see to, or MySQL would have to look at
    /// the table that it is removing from.
    pub(crate) fn goes_by_lists(&self) -> bool {
        match self.engine() {
            Engine::Postgres => !self.family.is_empty() && !self.changes.is_empty(),
            Engine::MySql => !self.family.is_empty() || self.newest.is_some(),
            Engine::Sqlite => !self.family.is_empty(),
        }
    }

    /// Whether `where` may look at other rows of the table: it has a query of its own that may name it.
    fn looks_again(&self) -> bool {
        let names = |filter: &String| {
            let filter = filter.to_lowercase();
            filter.contains("select") && filter.contains(&self.table.name.to_lowercase())
        };
        self.filter.as_ref().is_some_and(names)
    }

    /// Appends `key IN (…)`, and sees to it that few different texts come of it.
    fn in_keys(&self, query: Query, keys: &[Row], qualifier: &str) -> Query {
        match self.engine() {
            // The driver closes a statement that is not kept with a message that nobody answers, and what follows it
            // is then held up by the network's own delay of 40 ms. So lists are filled up with their last key to one
            // of a few lengths, and the statements are kept.
            Engine::MySql => {
                let filled = keys.iter().chain(keys.last().into_iter().cycle()).take(keys.len().next_power_of_two());
                if self.key.len() == 1 {
                    self.key_list(query, filled, qualifier)
                } else {
                    self.key_choices(query, filled, qualifier)
                }
            }
            Engine::Postgres | Engine::Sqlite => self.key_list(query, keys.iter(), qualifier).once(),
        }
    }

    /// Appends `key IN (…)`.
    fn key_list<'a>(&self, query: Query, keys: impl Iterator<Item = &'a Row>, qualifier: &str) -> Query {
        let names: Vec<String> = self.key.iter().map(|key| format!("{qualifier}{}", key.quoted)).collect();
        let (open, close) = if names.len() > 1 { ("(", ")") } else { ("", "") };
        let values = if names.len() > 1 && self.engine() == Engine::Sqlite { "VALUES " } else { "" };
        let mut query = query.sql(format!("{open}{}{close} IN ({values}", names.join(", ")));
        for (at, key) in keys.enumerate() {
            query = query.sql(if at > 0 { ", " } else { "" }).sql(open);
            for (part, (column, value)) in self.key.iter().zip(key).enumerate() {
                query = query.sql(if part > 0 { ", " } else { "" }).bind(value.clone(), column.cast.as_deref());
            }
            query = query.sql(close);
        }
        query.sql(")")
    }

    /// Appends `(a = … AND b = … OR …)`: MySQL does not find a single tuple by an index.
    fn key_choices<'a>(&self, query: Query, keys: impl Iterator<Item = &'a Row>, qualifier: &str) -> Query {
        let mut query = query.sql("(");
        for (at, key) in keys.enumerate() {
            query = query.sql(if at > 0 { " OR " } else { "" });
            for (part, (column, value)) in self.key.iter().zip(key).enumerate() {
                query = query
                    .sql(if part > 0 { " AND " } else { "" })
                    .sql(format!("{qualifier}{} = ", column.quoted))
                    .bind(value.clone(), column.cast.as_deref());
            }
        }
        query.sql(")")
    }
}

/// Appends where a page begins.
fn lower(query: Query, axis: &Axis, from: &Position) -> Query {
    let (quoted, cast) = (&axis.quoted, axis.cast());
    match from {
        Position::Start => query.sql("1 = 1"),
        Position::From(value) => query.sql(format!("{quoted} >= ")).bind(value.clone(), cast),
        Position::Past(value) => query.sql(format!("{quoted} > ")).bind(value.clone(), cast),
        Position::After(value, ties) => {
            let query = query
                .sql(format!("{quoted} >= "))
                .bind(value.clone(), cast)
                .sql(format!(" AND ({quoted} > "))
                .bind(value.clone(), cast)
                .sql(" OR ");
            behind(query, &axis.ties, ties).sql(")")
        }
    }
}

/// Appends `ties > values` in the order of tuples, spelt out: not every engine serves tuples by an index.
fn behind(query: Query, ties: &[KeyColumn], values: &[Value]) -> Query {
    match (ties, values) {
        ([first], [value, ..]) => query.sql(format!("{} > ", first.quoted)).bind(value.clone(), first.cast.as_deref()),
        ([first, rest @ ..], [value, others @ ..]) => {
            let cast = first.cast.as_deref();
            let query = query
                .sql(format!("({} > ", first.quoted))
                .bind(value.clone(), cast)
                .sql(format!(" OR ({} = ", first.quoted))
                .bind(value.clone(), cast)
                .sql(" AND ");
            behind(query, rest, others).sql("))")
        }
        _ => query.sql("1 = 0"),
    }
}

/// Appends where a page ends.
fn upper_end(query: Query, axis: &Axis, upper: &Upper) -> Query {
    match upper {
        Upper::Below(value) => query.sql(format!(" AND {} < ", axis.quoted)).bind(value.clone(), axis.cast()),
        Upper::At(value) => query.sql(format!(" AND {} = ", axis.quoted)).bind(value.clone(), axis.cast()),
        Upper::End => query,
    }
}
