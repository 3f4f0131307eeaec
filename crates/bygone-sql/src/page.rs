//! One page of a rows policy: a range at once, or row by row.

use std::collections::BTreeMap;

use bygone_core::{CAREFUL_ITEMS_MAX, ErrorKind, KeptBack, Tally};
use jiff::Timestamp;

use crate::bind::Binding;
use crate::catalog::Storage;
use crate::error::SqlError;
use crate::source::Source;
use crate::target::{Place, first_count};
use crate::value::{Row, Value};
use crate::walk::{Choice, Position, Upper, Walk, block_of, first_of_block, skips_locked};

/// Rows that a careful page looks through at the most, beside those it takes.
const CAREFUL_LOOK_ROWS: u64 = 1_000;

/// What one page does, with all that it needs at hand.
pub(crate) struct PageSweep<'a> {
    pub(crate) binding: &'a Binding,
    pub(crate) choice: &'a Choice,
    pub(crate) place: &'a Place,
    /// Where the part ends that it keeps to.
    pub(crate) end: Option<&'a Value>,
    pub(crate) cutoff: Timestamp,
    pub(crate) limit: u64,
}

impl PageSweep<'_> {
    /// Where a page that looks at `rows` rows ends, and where the next begins.
    async fn range(&self, source: &mut Source, rows: u64) -> Result<(Upper, Option<Position>), SqlError> {
        if let (Walk::Heap, Storage::Heap { rows_per_block_max, .. }) = (self.choice.walk, &self.binding.table.storage)
        {
            return Ok(self.block_range((rows / rows_per_block_max).max(1)));
        }
        let axis = &self.choice.axis;
        let lead = (self.choice.walk == Walk::Slices).then(|| self.binding.lead()).flatten();
        let end = self.end.cloned().or_else(|| lead.and_then(|(column, _)| column.cutoff(self.cutoff)));
        let found = source.query(&self.binding.bound(axis, &self.place.position, rows, end.as_ref())).await?;
        let Some(mut row) = found.into_iter().next().map(Row::into_iter) else {
            return Ok((self.end.cloned().map_or(Upper::End, Upper::Below), None));
        };
        let (value, same) = (row.next().unwrap_or(Value::Null), row.next().is_some_and(|same| same.truth()));
        Ok(if same {
            // More rows of one value than the page may look at: that value has pages of its own.
            (Upper::At(value.clone()), Some(Position::Past(value)))
        } else {
            (Upper::Below(value.clone()), Some(Position::From(value)))
        })
    }

    fn block_range(&self, blocks: u64) -> (Upper, Option<Position>) {
        let start = self.place.position.first().and_then(block_of).unwrap_or(0);
        let end = self.place.end_block.unwrap_or(0);
        let stop = start.saturating_add(blocks);
        let next = (stop < end).then(|| Position::From(first_of_block(stop)));
        (Upper::Below(first_of_block(stop.min(end.max(start)))), next)
    }

    /// A whole range at once.
    pub(crate) async fn swift(&self, source: &mut Source) -> Result<(Tally, Option<Position>), SqlError> {
        // Not even one block is sure to hold so few rows.
        let below_a_block = matches!(self.binding.table.storage, Storage::Heap { rows_per_block_max, .. }
            if self.choice.walk == Walk::Heap && self.limit < rows_per_block_max);
        if below_a_block || self.binding.goes_by_lists() {
            return self.careful(source).await;
        }
        let (upper, next) = self.range(source, self.limit).await?;
        if let Upper::At(value) = &upper {
            return self.some(source, value, &upper, next).await;
        }
        if !self.binding.family.is_empty() {
            return Ok((self.families(source, &upper).await?, next));
        }
        let statement = self.binding.remove_range(&self.choice.axis, &self.place.position, &upper, self.cutoff);
        let done = source.execute(&statement).await?;
        Ok((self.done(done), next))
    }

    /// Row by row, skipping what others hold.
    pub(crate) async fn careful(&self, source: &mut Source) -> Result<(Tally, Option<Position>), SqlError> {
        let (upper, next) = self.range(source, self.limit.max(CAREFUL_LOOK_ROWS)).await?;
        self.list(source, &upper, next).await
    }

    async fn list(
        &self,
        source: &mut Source,
        upper: &Upper,
        next: Option<Position>,
    ) -> Result<(Tally, Option<Position>), SqlError> {
        source.run(source.engine().begin()).await?;
        let answer = self.list_inside(source, upper, next).await;
        end(source, answer).await
    }

    /// Rows of a single value, of which there are more than the page may look at: as many as it may take, until the rest
    /// is what others hold. That is gone through in order, so that each is counted once.
    async fn some(
        &self,
        source: &mut Source,
        value: &Value,
        upper: &Upper,
        next: Option<Position>,
    ) -> Result<(Tally, Option<Position>), SqlError> {
        let begun = matches!(&self.place.position, Position::After(..));
        let some = self.binding.remove_some(&self.choice.axis, value, self.cutoff, self.limit).filter(|_| !begun);
        let Some(statement) = some else { return self.list(source, upper, next).await };
        let done = source.execute(&statement).await?;
        if done >= self.limit {
            return Ok((self.done(done), Some(Position::From(value.clone()))));
        }
        let rest = PageSweep { limit: self.limit - done, ..*self };
        let (mut tally, next) = rest.list(source, upper, next).await?;
        tally.add(&self.done(done));
        Ok((tally, next))
    }

    /// Every family of a range at once.
    async fn families(&self, source: &mut Source, upper: &Upper) -> Result<Tally, SqlError> {
        if self.binding.family.guards.is_empty() {
            return self.families_inside(source, upper, 0).await;
        }
        source.run(source.engine().begin()).await?;
        let lock = self.binding.lock_range(&self.choice.axis, &self.place.position, upper, self.cutoff);
        let answer = match source.query(&lock).await {
            Ok(rows) => self.families_inside(source, upper, first_count(&rows).unwrap_or(0)).await,
            Err(error) => Err(error),
        };
        end(source, answer).await
    }

    async fn families_inside(&self, source: &mut Source, upper: &Upper, locked: u64) -> Result<Tally, SqlError> {
        let (axis, position) = (&self.choice.axis, &self.place.position);
        let rows = source.query(&self.binding.remove_families(axis, position, upper, self.cutoff)).await?;
        let mut counts = rows.first().into_iter().flatten().map(|value| value.count().unwrap_or(0));
        let removed = counts.next().unwrap_or(0);
        let mut tally = Tally::removed(removed);
        for (child, count) in self.binding.family.children.iter().zip(counts) {
            *tally.children.entry(child.name.clone()).or_default() += count;
        }
        tally.kept_back.referenced = locked.saturating_sub(removed);
        tally.examined += tally.kept_back.referenced;
        Ok(tally)
    }

    async fn list_inside(
        &self,
        source: &mut Source,
        upper: &Upper,
        next: Option<Position>,
    ) -> Result<(Tally, Option<Position>), SqlError> {
        // Each row is named in the statements that follow, and those take only so many values.
        let (found, next) = self.candidates(source, upper, next, self.limit.min(CAREFUL_ITEMS_MAX)).await?;
        if found.is_empty() {
            return Ok((Tally::default(), next));
        }
        let ours = if skips_locked(source.engine()) {
            source.query(&self.binding.lock(&found, self.cutoff)).await?
        } else {
            found.clone()
        };
        let free = match ours.len() {
            0 => Vec::new(),
            _ if self.binding.family.guards.is_empty() => ours.clone(),
            _ => source.query(&self.binding.unguarded(&ours, self.cutoff)).await?,
        };
        let mut tally = self.remove(source, &free).await?;
        tally.kept_back.referenced = (ours.len() - free.len()) as u64;
        let others: Vec<Row> = found.into_iter().filter(|key| !ours.contains(key)).collect();
        if !others.is_empty() {
            let still_due = source.query(&self.binding.still_due(&others, self.cutoff)).await?;
            tally.kept_back.locked = first_count(&still_due).unwrap_or(0);
        }
        tally.examined += tally.kept_back.total();
        Ok((tally, next))
    }

    /// The rows, after their children.
    async fn remove(&self, source: &mut Source, keys: &[Row]) -> Result<Tally, SqlError> {
        if keys.is_empty() {
            return Ok(Tally::default());
        }
        let mut children = BTreeMap::new();
        for child in &self.binding.family.children {
            let removed = source.execute(&self.binding.remove_children(child, keys)).await?;
            *children.entry(child.name.clone()).or_default() += removed;
        }
        let mut done = source.execute(&self.binding.remove_rows(keys, self.cutoff)).await?;
        if done < keys.len() as u64 && !children.is_empty() {
            let (family, own) = (&self.binding.family, &self.binding.table.quoted);
            let left = source.query(&self.binding.still_due(keys, self.cutoff)).await?;
            // Nobody else holds them, so a trigger has kept a row whose children are gone; or some of them are children
            // of others, and are counted as such when they come one by one.
            if first_count(&left) != Some(0) || family.children.iter().any(|child| child.hops[0].table == *own) {
                return Err(SqlError::new(ErrorKind::Item, "the database kept a row without its children"));
            }
            // They point at their own children, and by the foreign key they went along with those.
            done = keys.len() as u64;
        }
        Ok(Tally { children, ..self.done(done) })
    }

    /// What became of so many rows.
    fn done(&self, rows: u64) -> Tally {
        if self.binding.changes.is_empty() {
            Tally::removed(rows)
        } else {
            Tally { examined: rows, cleared: rows, ..Tally::default() }
        }
    }

    /// One row, left where it is.
    pub(crate) async fn keep_back(&self, source: &mut Source) -> Result<(Tally, Option<Position>), SqlError> {
        let (upper, next) = self.range(source, CAREFUL_LOOK_ROWS).await?;
        let (found, next) = self.candidates(source, &upper, next, 1).await?;
        let conflict = found.len() as u64;
        let kept_back = KeptBack { conflict, ..KeptBack::default() };
        Ok((Tally { examined: conflict, kept_back, ..Tally::default() }, next))
    }

    /// The keys of the first bygone rows of the range, and where to go on behind them.
    async fn candidates(
        &self,
        source: &mut Source,
        upper: &Upper,
        next: Option<Position>,
        limit: u64,
    ) -> Result<(Vec<Row>, Option<Position>), SqlError> {
        let axis = &self.choice.axis;
        let statement = self.binding.candidates(axis, &self.place.position, upper, self.cutoff, limit);
        let rows = source.query(&statement).await?;
        let full = rows.len() as u64 >= limit;
        let behind_last = rows.last().map(|row| {
            let (value, rest) = row.split_first().map_or((Value::Null, &[][..]), |(value, rest)| (value.clone(), rest));
            Position::After(value, rest.iter().take(axis.ties.len()).cloned().collect())
        });
        let next = if full { behind_last } else { next };
        let keys = rows.into_iter().map(|row| row.into_iter().skip(1 + axis.ties.len()).collect()).collect();
        Ok((keys, next))
    }
}

/// Commits what went well and takes back what did not.
async fn end<T>(source: &mut Source, answer: Result<T, SqlError>) -> Result<T, SqlError> {
    let answer = match answer {
        Ok(answer) => source.run("COMMIT").await.map(|()| answer),
        Err(error) => Err(error),
    };
    if answer.as_ref().is_err_and(|error| error.kind() != ErrorKind::Lost) {
        // The page failed as a whole and is reported as failed; a failing rollback adds nothing to that.
        let _ = source.run("ROLLBACK").await;
    }
    answer
}
