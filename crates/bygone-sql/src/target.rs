//! A rows policy as a target of the engine.

use async_trait::async_trait;
use bygone_core::{
    Boundary, CAREFUL_ITEMS_MAX, Care, Cursor, ErrorKind, KeptBack, Page, PageRequest, Survey, Tally, Target,
    TargetError,
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::bind::Binding;
use crate::catalog::Storage;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::policy::RowPolicy;
use crate::query::Query;
use crate::source::{SharedSource, Source};
use crate::value::{Row, Value};
use crate::walk::{
    Choice, Position, SCATTERED_SHARE, Shape, Upper, Walk, block_of, first_of_block, skips_locked, sortedness,
};

/// Rows that a careful page looks through at the most, beside those it takes.
const CAREFUL_LOOK_ROWS: u64 = 1_000;
/// A table up to this size may be read whole to count what has no deadline.
const READ_WHOLE_ROWS_MAX: u64 = 1_000_000;
/// Pages of SQLite's log that may wait for a checkpoint: often enough to keep the log small, and seldom enough that a
/// page of the table which many pages of the sweep change is written once.
const CHECKPOINT_PAGES: u64 = 16_000;
/// Blocks nobody: what is being read or written stays in the log for the next time.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// How many neighbours in time are looked at to see how they lie.
const SAMPLE_ROWS: u64 = 200;

/// A policy over the rows of a table.
pub struct RowTarget {
    policy: String,
    source_name: String,
    keep: SignedDuration,
    source: SharedSource,
    pub(crate) binding: Binding,
    choice: Option<Choice>,
    /// What the survey counted, and up to where.
    surveyed: Option<(u64, Timestamp)>,
}

/// Where the next page begins. The end of a heap is fixed by the first page: what is appended later is new.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    position: Position,
    end_block: Option<u64>,
}

impl RowTarget {
    /// Binds a policy to its table. Reads the catalogue and changes nothing.
    pub async fn bind(source: &SharedSource, policy: &RowPolicy) -> Result<Self, TargetError> {
        let mut open = source.lock().await;
        let binding = Binding::new(&mut open, policy).await?;
        Ok(Self {
            policy: policy.name.clone(),
            source_name: open.name().to_owned(),
            keep: policy.keep,
            source: SharedSource::clone(source),
            binding,
            choice: None,
            surveyed: None,
        })
    }

    /// The cutoff of a boundary; `None` when it lies before all time.
    pub(crate) fn cutoff(&self, boundary: Boundary) -> Option<Timestamp> {
        boundary.cutoff(self.keep).filter(|cutoff| cutoff.as_second() > -62_135_596_800)
    }

    /// Chooses the walk by what the survey and the database's statistics say.
    async fn choose(&mut self, source: &mut Source, bygone: Option<u64>, cutoff: Timestamp) -> Result<(), SqlError> {
        let share = self.share(bygone);
        // Where few are due, how they lie changes nothing, and asking takes as long as removing them.
        let few = share.is_some_and(|share| share < SCATTERED_SHARE);
        let order = if few { None } else { self.order(source, cutoff).await? };
        self.choice = Some(self.binding.choose(Shape { share, order }));
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "a share needs no exact counts")]
    fn share(&self, bygone: Option<u64>) -> Option<f64> {
        let rows = self.binding.table.rows_estimate.filter(|rows| *rows > 0)?;
        bygone.map(|bygone| (bygone as f64 / rows as f64).min(1.0))
    }

    /// How far rows lie in time order: the database's own statistics, or a look at some neighbours.
    async fn order(&self, source: &mut Source, cutoff: Timestamp) -> Result<Option<f64>, SqlError> {
        let Some((column, index)) = self.binding.lead() else { return Ok(None) };
        if let Some(known) = self.binding.table.order_of(source, &column.column).await? {
            return Ok(Some(known));
        }
        let place = match (&self.binding.table.storage, self.binding.key.first()) {
            (Storage::Heap { .. }, _) => "ctid::text".to_owned(),
            (_, Some(key)) => key.selected.clone(),
            (_, None) => return Ok(None),
        };
        let rows = source.query(&self.binding.neighbours(&place, column, index, cutoff, SAMPLE_ROWS)).await?;
        let places: Vec<Value> = rows
            .into_iter()
            .filter_map(|row| row.into_iter().next())
            .map(|v| block_of(&v).map_or(v, Value::from))
            .collect();
        Ok(sortedness(&places))
    }

    /// Rows without a deadline that can be read. Where no index leads to them and the table is large they are not
    /// counted, and the report says so: no full scan on a timer.
    async fn count_unreadable(&self, source: &mut Source) -> Result<(u64, Option<String>), SqlError> {
        let binding = &self.binding;
        let by_index = binding.deadline.iter().all(|column| {
            let whole = |index: &&crate::catalog::Index| {
                index.predicate.is_none() && index.columns.first().and_then(|c| c.as_ref()) == Some(&column.column)
            };
            column.readable().is_none() && (!column.nullable || binding.table.indexes.iter().any(|i| whole(&i)))
        });
        let small = binding.table.rows_estimate.is_none_or(|rows| rows <= READ_WHOLE_ROWS_MAX);
        if !by_index && !small {
            let warning = format!(
                "rows of `{}` without a readable {} are kept but not counted: the table is large and no index leads to them",
                binding.table.name,
                binding.deadline_names()
            );
            return Ok((0, Some(warning)));
        }
        let rows = source.query(&binding.unreadable()).await?;
        Ok((first_count(&rows).unwrap_or(0), None))
    }

    async fn survey_open(&mut self, source: &mut Source, boundary: Boundary) -> Result<Survey, SqlError> {
        let Some(cutoff) = self.cutoff(boundary) else {
            return Ok(Survey { bygone: Some(0), ..Survey::default() });
        };
        let bygone = match source.query(&self.binding.survey(cutoff)).await {
            Ok(rows) => first_count(&rows),
            // Too many to count in time is not zero: it is unknown, and the brake will say so.
            Err(error) if error.kind() == ErrorKind::TooSlow => None,
            Err(error) => return Err(error),
        };
        self.surveyed = bygone.map(|bygone| (bygone, cutoff));
        let oldest = if bygone == Some(0) { None } else { self.oldest(source, cutoff).await? };
        let (unreadable, warning) = self.count_unreadable(source).await?;
        self.choose(source, bygone, cutoff).await?;
        Ok(Survey { bygone, unreadable, oldest, warnings: warning.into_iter().collect(), requests: 0 })
    }

    async fn oldest(&self, source: &mut Source, cutoff: Timestamp) -> Result<Option<Timestamp>, SqlError> {
        let Some(column) = self.binding.lead().map(|(c, _)| c).or_else(|| self.binding.deadline.first()) else {
            return Ok(None);
        };
        let rows = source.query(&self.binding.oldest(column, cutoff)).await?;
        Ok(rows.first().and_then(|row| row.first()).and_then(|value| column.instant(value)))
    }

    async fn page_open(&mut self, source: &mut Source, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let Some(cutoff) = self.cutoff(request.boundary) else { return Ok(Page::default()) };
        if self.choice.is_none() {
            self.choose(source, None, cutoff).await?;
        }
        let Some(choice) = self.choice.clone() else { return Ok(Page::default()) };
        let place = self.place(source, &choice, request.cursor).await?;
        let sweep = PageSweep { binding: &self.binding, choice: &choice, place: &place, cutoff, limit: request.limit };
        let (tally, next) = match request.care {
            Care::Swift => sweep.swift(source).await?,
            Care::Careful => sweep.careful(source).await?,
            Care::KeepBack => sweep.keep_back(source).await?,
        };
        let next = next.map(|position| write_cursor(&Place { position, end_block: place.end_block }));
        Ok(Page { tally, requests: 0, next })
    }

    async fn place(&self, source: &mut Source, choice: &Choice, cursor: Option<&Cursor>) -> Result<Place, TargetError> {
        if let Some(cursor) = cursor {
            return serde_json::from_str(cursor.as_str())
                .map_err(|error| TargetError::new(ErrorKind::Failed, "the cursor cannot be read").with_source(error));
        }
        let end_block = match (choice.walk, &self.binding.table.storage) {
            (Walk::Heap, Storage::Heap { block_bytes, .. }) => {
                let text = "SELECT pg_catalog.pg_relation_size(";
                let query = Query::new(Engine::Postgres, text)
                    .bind(Value::from(self.binding.table.quoted.as_str()), Some("regclass"))
                    .sql(")");
                let rows = source.query(&query).await?;
                Some(first_count(&rows).unwrap_or(0).div_ceil(*block_bytes))
            }
            _ => None,
        };
        Ok(Place { position: choice.axis.beginning(), end_block })
    }
}

/// What one page does, with all that it needs at hand.
struct PageSweep<'a> {
    binding: &'a Binding,
    choice: &'a Choice,
    place: &'a Place,
    cutoff: Timestamp,
    limit: u64,
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
        let end = lead.and_then(|(column, _)| column.cutoff(self.cutoff));
        let found = source.query(&self.binding.bound(axis, &self.place.position, rows, end.as_ref())).await?;
        let Some(mut row) = found.into_iter().next().map(Row::into_iter) else { return Ok((Upper::End, None)) };
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
    async fn swift(&self, source: &mut Source) -> Result<(Tally, Option<Position>), SqlError> {
        if let Storage::Heap { rows_per_block_max, .. } = self.binding.table.storage
            && self.choice.walk == Walk::Heap
            && self.limit < rows_per_block_max
        {
            // Not even one block is sure to hold so few rows.
            return self.careful(source).await;
        }
        let (upper, next) = self.range(source, self.limit).await?;
        if matches!(upper, Upper::At(_)) {
            return self.list(source, &upper, next).await;
        }
        let statement = self.binding.remove_range(&self.choice.axis, &self.place.position, &upper, self.cutoff);
        let removed = source.execute(&statement).await?;
        Ok((Tally::removed(removed), next))
    }

    /// Row by row, skipping what others hold.
    async fn careful(&self, source: &mut Source) -> Result<(Tally, Option<Position>), SqlError> {
        let (upper, next) = self.range(source, self.limit.max(CAREFUL_LOOK_ROWS)).await?;
        self.list(source, &upper, next).await
    }

    async fn list(
        &self,
        source: &mut Source,
        upper: &Upper,
        next: Option<Position>,
    ) -> Result<(Tally, Option<Position>), SqlError> {
        let begin = match source.engine() {
            Engine::Postgres => "BEGIN",
            Engine::MySql => "START TRANSACTION",
            Engine::Sqlite => "BEGIN IMMEDIATE",
        };
        source.run(begin).await?;
        let answer = match self.list_inside(source, upper, next).await {
            Ok(answer) => source.run("COMMIT").await.map(|()| answer),
            Err(error) => Err(error),
        };
        if answer.as_ref().is_err_and(|error| error.kind() != ErrorKind::Lost) {
            // The page failed as a whole and is reported as failed; a failing rollback adds nothing to that.
            let _ = source.run("ROLLBACK").await;
        }
        answer
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
        let removed = match ours.len() {
            0 => 0,
            _ => source.execute(&self.binding.remove_rows(&ours, self.cutoff)).await?,
        };
        let others: Vec<Row> = found.into_iter().filter(|key| !ours.contains(key)).collect();
        let locked = match others.len() {
            0 => 0,
            _ => first_count(&source.query(&self.binding.still_due(&others, self.cutoff)).await?).unwrap_or(0),
        };
        let kept_back = KeptBack { locked, ..KeptBack::default() };
        Ok((Tally { examined: removed + locked, removed, kept_back, ..Tally::default() }, next))
    }

    /// One row, left where it is.
    async fn keep_back(&self, source: &mut Source) -> Result<(Tally, Option<Position>), SqlError> {
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

#[async_trait]
impl Target for RowTarget {
    fn policy(&self) -> &str {
        &self.policy
    }

    fn source(&self) -> &str {
        &self.source_name
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let before = source.requests();
        let mut survey = self.survey_open(&mut source, boundary).await?;
        survey.requests = source.requests() - before;
        Ok(survey)
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        // Statistics may be stale, so they decide only with a very wide margin; else rows are counted, up to that many.
        if self.binding.table.engine != Engine::Sqlite
            && self.binding.table.rows_estimate.is_some_and(|rows| rows / 10 > items)
        {
            return Ok(true);
        }
        // What the survey counted is there; so only the others are, by the deadline's index, as far as that needs.
        if let Some((bygone, cutoff)) = self.surveyed {
            let wanted = items.saturating_sub(bygone);
            if let Some(living) = self.binding.living(cutoff, wanted) {
                let rows = self.source.lock().await.query(&living).await?;
                if first_count(&rows).is_some_and(|count| count >= wanted) {
                    return Ok(true);
                }
            }
        }
        let rows = self.source.lock().await.query(&self.binding.holds(items)).await?;
        Ok(first_count(&rows).is_some_and(|count| count >= items))
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let before = source.requests();
        let mut page = self.page_open(&mut source, request).await?;
        page.requests = source.requests() - before;
        Ok(page)
    }

    async fn tidy(&mut self) -> Result<(), TargetError> {
        let mut source = self.source.lock().await;
        if source.engine() == Engine::Sqlite {
            let rows = source.query(&Query::new(Engine::Sqlite, "PRAGMA wal_checkpoint(NOOP)")).await?;
            let pages = |at| rows.first().and_then(|row| row.get(at)).and_then(Value::count).unwrap_or(0);
            if pages(1).saturating_sub(pages(2)) >= CHECKPOINT_PAGES {
                source.query(&Query::new(Engine::Sqlite, CHECKPOINT)).await?;
            }
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        let mut source = self.source.lock().await;
        match source.engine() {
            // A commit that waits makes all earlier ones of the log durable. It needs something to commit.
            Engine::Postgres => {
                source.run("SET synchronous_commit = on").await?;
                let mark = "SELECT pg_catalog.pg_logical_emit_message(true, 'bygone', 'settled')::text";
                source.query(&Query::new(Engine::Postgres, mark)).await?;
                source.run("SET synchronous_commit = off").await?;
            }
            // In the log, a checkpoint syncs; without it every commit was durable already, and this does nothing.
            Engine::Sqlite => {
                source.query(&Query::new(Engine::Sqlite, CHECKPOINT)).await?;
            }
            // Durable as the server is set to be.
            Engine::MySql => {}
        }
        Ok(())
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        let Some(cutoff) = self.cutoff(boundary) else { return Ok(None) };
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let oldest = self.oldest(&mut source, cutoff).await?;
        Ok(oldest.map(|oldest| cutoff.duration_since(oldest)))
    }
}

impl RowTarget {
    pub(crate) fn shared_source(&self) -> &SharedSource {
        &self.source
    }

    /// The walk, once a survey has chosen it.
    pub(crate) fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }
}

fn first_count(rows: &[Row]) -> Option<u64> {
    rows.first().and_then(|row| row.first()).and_then(Value::count)
}

fn write_cursor(place: &Place) -> Cursor {
    // Positions are plain values: they always have a JSON form.
    Cursor::new(serde_json::to_string(place).unwrap_or_default())
}
