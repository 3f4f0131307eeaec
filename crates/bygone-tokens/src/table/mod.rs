//! A table of things that expire: the one primitive that all stores are made of.
//!
//! Put, get, take once, remember if absent, replace, list. Whether a row has expired is part of every statement's
//! condition, evaluated against the one `now` that the caller took from the injected clock; so a row is honoured, changed
//! or passed over by the database at one stroke, whoever else is at it and whether or not a sweep ever ran.

mod shape;
mod statements;
#[cfg(test)]
mod tests;

use bygone_core::ErrorKind;
use bygone_sql::{Client, Row, SqlError, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::shape::{Column, DATA, EXPIRES_AT, End, HORIZON, INSERTED_AT, Index, Kind, Shape, Vacated};
pub(crate) use self::statements::{Key, Statements};
use crate::error::TokenError;
use crate::secret::Digest;

/// How often a key is looked at that others take and give back in the meantime.
const ATTEMPTS: usize = 8;

/// Which rows count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alive {
    /// Those that have not expired.
    Unexpired,
    /// Those that have not passed their horizon: enough to say what became of them.
    Remembered,
}

/// A condition on a row, beside its key and its deadline.
#[derive(Clone, Debug)]
pub(crate) enum Only {
    /// The column is empty.
    Null(&'static str),
    /// The column is not.
    Some(&'static str),
    /// The column holds this.
    Is(&'static str, Value),
    /// The instant in the column is yet to come.
    After(&'static str),
    /// So much time has passed since.
    Rested {
        /// The column with the instant, empty if it never was.
        since: &'static str,
        /// The column with the time.
        wait: &'static str,
    },
}

/// What a column becomes.
#[derive(Clone, Debug)]
pub(crate) enum Set {
    /// This.
    To(Value),
    /// Nothing.
    Null,
    /// As much more.
    Plus(i64),
    /// This, unless it is more already.
    AtLeast(i64),
}

/// A change of rows that meet its conditions.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) set: Vec<(&'static str, Set)>,
    pub(crate) only: Vec<Only>,
    pub(crate) alive: Alive,
}

impl Change {
    /// Sets a column of rows that have not expired.
    pub(crate) fn of(column: &'static str, value: impl Into<Value>) -> Self {
        Self { set: vec![(column, Set::To(value.into()))], only: Vec::new(), alive: Alive::Unexpired }
    }

    /// Takes a row: sets an instant that must not be set yet. Exactly one caller succeeds.
    pub(crate) fn take(column: &'static str, now: i64) -> Self {
        Self::of(column, Value::Int(now)).only(Only::Null(column))
    }

    pub(crate) fn and(mut self, column: &'static str, set: Set) -> Self {
        self.set.push((column, set));
        self
    }

    pub(crate) fn only(mut self, only: Only) -> Self {
        self.only.push(only);
        self
    }

    pub(crate) fn remembered(mut self) -> Self {
        self.alive = Alive::Remembered;
        self
    }
}

/// A row to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewRow(Vec<(&'static str, Value)>);

impl NewRow {
    /// A row with these times.
    pub(crate) fn expiring(now: i64, expires_at: i64, horizon: i64) -> Self {
        Self::default()
            .with(INSERTED_AT, Value::Int(now))
            .with(EXPIRES_AT, Value::Int(expires_at))
            .with(HORIZON, Value::Int(horizon))
    }

    pub(crate) fn with(mut self, column: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((column, value.into()));
        self
    }

    fn get(&self, column: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| value)
    }

    fn values(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

/// A row that is there.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    shape: &'static Shape,
    values: Row,
}

impl Found {
    /// Reads a row of all columns.
    pub(crate) fn new(shape: &'static Shape, values: Row) -> Self {
        Self { shape, values }
    }

    fn at(&self, column: &str) -> &Value {
        let at = self.shape.all().position(|c| c.name == column);
        at.and_then(|at| self.values.get(at)).unwrap_or(&Value::Null)
    }

    /// The number or instant in a column.
    pub(crate) fn int(&self, column: &'static str) -> Result<i64, TokenError> {
        self.at(column).int().ok_or(TokenError::Row { table: self.shape.name, column })
    }

    /// The same, where it may be empty.
    pub(crate) fn maybe_int(&self, column: &'static str) -> Option<i64> {
        self.at(column).int()
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        *self.at(column) != Value::Null
    }

    pub(crate) fn word(&self, column: &'static str) -> Result<&str, TokenError> {
        self.at(column).text().ok_or(TokenError::Row { table: self.shape.name, column })
    }

    pub(crate) fn bytes(&self, column: &str) -> Option<&[u8]> {
        self.at(column).blob()
    }

    /// The document in a column.
    pub(crate) fn document<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, TokenError> {
        let table = self.shape.name;
        serde_json::from_str(self.word(column)?).map_err(|source| TokenError::Document { table, source })
    }

    /// Whether it is still honoured.
    pub(crate) fn is_live(&self, now: i64) -> Result<bool, TokenError> {
        Ok(self.int(EXPIRES_AT)? > now)
    }
}

/// A table of a database.
#[derive(Clone, Copy)]
pub(crate) struct ExpiringTable<'a> {
    pub(crate) client: &'a Client,
    pub(crate) statements: Statements<'a>,
}

impl ExpiringTable<'_> {
    fn shape(&self) -> &'static Shape {
        self.statements.shape
    }

    fn failed(&self, action: &'static str) -> impl Fn(SqlError) -> TokenError {
        let table = self.shape().name;
        move |source| TokenError::Database { action, table, source }
    }

    /// A document as it is stored.
    pub(crate) fn written<T: Serialize>(&self, document: &T) -> Result<Value, TokenError> {
        let table = self.shape().name;
        let text = serde_json::to_string(document).map_err(|source| TokenError::Document { table, source })?;
        Ok(Value::Text(text))
    }

    /// Puts a row unless one with its key still counts; says whether it did.
    pub(crate) async fn put(&self, row: &NewRow, now: i64) -> Result<bool, TokenError> {
        if self.statements.returns() {
            let done = self.client.execute(&self.statements.insert_vacant(row, now)).await;
            return Ok(done.map_err(self.failed("put"))? == 1);
        }
        // Between two of these steps others may take the key or a sweep may free it: then it is looked at once more.
        let key: Vec<_> = self.shape().key.iter().filter_map(|name| Some((*name, digest(row.get(name)?)?))).collect();
        let alive = match self.shape().vacated {
            Vacated::Expired => Alive::Unexpired,
            Vacated::Forgotten => Alive::Remembered,
        };
        let mut attempts = 0;
        loop {
            let taken = match self.client.execute(&self.statements.insert(row)).await {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Item => error,
                Err(error) => return Err(self.failed("put")(error)),
            };
            if self.client.execute(&self.statements.reclaim(row, now)).await.map_err(self.failed("put"))? == 1 {
                return Ok(true);
            }
            if self.find(&key, &[], alive, now).await?.is_some() {
                return Ok(false);
            }
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(self.failed("put")(taken));
            }
        }
    }

    /// Puts a row whose key is a new secret, and so is nobody else's.
    pub(crate) async fn put_new(&self, row: &NewRow, now: i64) -> Result<(), TokenError> {
        if self.put(row, now).await? { Ok(()) } else { Err(TokenError::Repeated { table: self.shape().name }) }
    }

    /// Puts a row in place of whatever its key had.
    pub(crate) async fn replace(&self, row: &NewRow) -> Result<(), TokenError> {
        self.client.execute(&self.statements.upsert(row)).await.map_err(self.failed("replace"))?;
        Ok(())
    }

    /// The row of a key, if it has not expired.
    pub(crate) async fn get(&self, key: Key<'_>, now: i64) -> Result<Option<Found>, TokenError> {
        self.find(key, &[], Alive::Unexpired, now).await
    }

    /// The row of a key, also if it has expired but is not forgotten: to say what became of it.
    pub(crate) async fn recall(&self, key: Key<'_>, now: i64) -> Result<Option<Found>, TokenError> {
        self.find(key, &[], Alive::Remembered, now).await
    }

    async fn find(&self, key: Key<'_>, only: &[Only], alive: Alive, now: i64) -> Result<Option<Found>, TokenError> {
        Ok(self.list(key, only, alive, now).await?.into_iter().next())
    }

    /// All rows that have these digests.
    pub(crate) async fn list(
        &self,
        key: Key<'_>,
        only: &[Only],
        alive: Alive,
        now: i64,
    ) -> Result<Vec<Found>, TokenError> {
        let rows = self.client.read(&self.statements.select(key, only, alive, now)).await;
        self.read(rows.map_err(self.failed("look"))?, key)
    }

    /// Changes the row of a key if it meets the conditions, and says what became of it; `None` if there was none. Of any
    /// number of callers whose changes exclude each other, one gets the row.
    pub(crate) async fn change(&self, key: Key<'_>, change: &Change, now: i64) -> Result<Option<Found>, TokenError> {
        if self.statements.returns() {
            return Ok(self.change_all(key, change, now).await?.into_iter().next());
        }
        if self.client.execute(&self.statements.change(key, change, now)).await.map_err(self.failed("change"))? == 0 {
            return Ok(None);
        }
        // The row is ours now. Were it forgotten and swept before it is read, it would be as good as never taken.
        self.recall(key, now).await
    }

    /// Changes all rows that meet the conditions and returns them. Where the database cannot return them, they are found
    /// again by what the change has set.
    pub(crate) async fn change_all(&self, key: Key<'_>, change: &Change, now: i64) -> Result<Vec<Found>, TokenError> {
        let query = self.statements.change(key, change, now);
        if self.statements.returns() {
            let rows = self.client.write(&query).await.map_err(self.failed("change"))?;
            return self.read(rows, key);
        }
        if self.client.execute(&query).await.map_err(self.failed("change"))? == 0 {
            return Ok(Vec::new());
        }
        let marks = change.set.iter().filter_map(|(name, set)| match set {
            Set::To(value) => Some(Only::Is(name, value.clone())),
            Set::Null | Set::Plus(_) | Set::AtLeast(_) => None,
        });
        self.list(key, &marks.collect::<Vec<_>>(), Alive::Remembered, now).await
    }

    /// Changes all rows that meet the conditions and counts them.
    pub(crate) async fn change_count(&self, key: Key<'_>, change: &Change, now: i64) -> Result<u64, TokenError> {
        if self.statements.returns() {
            return Ok(self.change_all(key, change, now).await?.len() as u64);
        }
        self.client.execute(&self.statements.change(key, change, now)).await.map_err(self.failed("change"))
    }

    /// Removes what has these digests, or everything.
    pub(crate) async fn remove(&self, key: Key<'_>) -> Result<u64, TokenError> {
        self.client.execute(&self.statements.remove(key)).await.map_err(self.failed("remove"))
    }

    /// Rows, each held against the digests that were asked for, in constant time: whatever the database thinks is equal.
    fn read(&self, rows: Vec<Row>, key: Key<'_>) -> Result<Vec<Found>, TokenError> {
        let mut found = Vec::with_capacity(rows.len());
        for values in rows {
            let row = Found::new(self.shape(), values);
            for (column, digest) in key {
                if !row.bytes(column).is_some_and(|bytes| digest.is(bytes)) {
                    return Err(TokenError::Row { table: self.shape().name, column });
                }
            }
            found.push(row);
        }
        Ok(found)
    }
}

fn digest(value: &Value) -> Option<Digest> {
    value.blob().and_then(Digest::from_bytes)
}
