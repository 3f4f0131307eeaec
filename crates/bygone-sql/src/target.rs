//! A rows policy as a target of the engine.

use async_trait::async_trait;
use bygone_core::{
    Boundary, CAREFUL_ITEMS_MAX, Care, Cursor, ErrorKind, Page, PageRequest, Survey, Tally, Target, TargetError,
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::bind::Binding;
use crate::catalog::Storage;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::page::PageSweep;
use crate::partitions::Partition;
use crate::parts::Part;
use crate::policy::RowPolicy;
use crate::query::Query;
use crate::source::{SharedSource, Source};
use crate::value::{Row, Value};
use crate::walk::{Choice, Position, SCATTERED_SHARE, Shape, Walk, block_of, sortedness};

/// A table up to this size may be read whole to count what has no deadline.
const READ_WHOLE_ROWS_MAX: u64 = 1_000_000;
/// Pages of SQLite's log that may wait for a checkpoint: often enough to keep the log small, and seldom enough that a
/// page of the table which many pages of the sweep change is written once.
const CHECKPOINT_PAGES: u64 = 16_000;
/// Blocks nobody: what is being read or written stays in the log for the next time.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";
/// PostgreSQL forgets its statistics in a crash and notes when, which tells one life of a server from the next. Whoever
/// resets them by hand makes a sweep say that it cannot know, which is the safe side.
const LIFE: &str = "SELECT pg_catalog.pg_stat_get_bgwriter_stat_reset_time()::text";
/// After so many pages somebody may have changed the table.
const LOOK_PAGES: u32 = 16;
/// How many neighbours in time are looked at to see how they lie.
const SAMPLE_ROWS: u64 = 200;

/// A policy over the rows of a table.
pub struct RowTarget {
    pub(crate) policy: String,
    pub(crate) source_name: String,
    pub(crate) keep: SignedDuration,
    pub(crate) source: SharedSource,
    pub(crate) binding: Binding,
    pub(crate) choice: Option<Choice>,
    /// The range that it keeps to; `None` for the whole table.
    pub(crate) part: Option<Part>,
    /// What the survey counted, and up to where.
    pub(crate) surveyed: Option<(u64, Timestamp)>,
    /// What the table was like when the policy was bound, and pages since somebody looked.
    pub(crate) fingerprint: String,
    pub(crate) pages_unseen: u32,
    /// Partitions that a survey found to be past as a whole.
    pub(crate) past_partitions: Vec<Partition>,
    /// Those that could not go as a whole: their rows go one by one.
    pub(crate) kept_partitions: Vec<String>,
    /// What a person should know of the pages.
    pub(crate) warnings: Vec<String>,
    /// The life of the server that the survey met.
    pub(crate) life: Option<String>,
}

/// Where the next page begins. The end of a heap is fixed by the first page: what is appended later is new.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) position: Position,
    pub(crate) end_block: Option<u64>,
}

impl RowTarget {
    /// Binds a policy to its table. Reads the catalogue and changes nothing.
    pub async fn bind(source: &SharedSource, policy: &RowPolicy) -> Result<Self, TargetError> {
        let mut open = source.lock().await;
        let binding = Box::pin(Binding::new(&mut open, policy)).await?;
        let fingerprint = binding.table.fingerprint(&mut open).await?;
        Ok(Self {
            policy: policy.name.clone(),
            source_name: open.name().to_owned(),
            keep: policy.keep,
            source: SharedSource::clone(source),
            binding,
            choice: None,
            part: None,
            surveyed: None,
            fingerprint,
            pages_unseen: 0,
            past_partitions: Vec::new(),
            kept_partitions: Vec::new(),
            warnings: Vec::new(),
            life: None,
        })
    }

    /// The cutoff of a boundary; `None` when it lies before all time.
    pub(crate) fn cutoff(&self, boundary: Boundary) -> Option<Timestamp> {
        boundary.cutoff(self.keep).filter(|cutoff| cutoff.as_second() > -62_135_596_800)
    }

    /// Chooses the walk by what the survey and the database's statistics say.
    pub(crate) async fn choose(
        &mut self,
        source: &mut Source,
        bygone: Option<u64>,
        cutoff: Timestamp,
    ) -> Result<(), SqlError> {
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
        if binding.deadline.is_empty() {
            return Ok((0, None));
        }
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
        self.past_partitions = self.binding.past_partitions(source, cutoff).await?;
        Ok(Survey { bygone, unreadable, oldest, bytes: None, warnings: warning.into_iter().collect(), requests: 0 })
    }

    /// A policy was judged by the columns that the table had: when they change, it stops and is judged anew next time.
    async fn check_unchanged(&mut self, source: &mut Source) -> Result<(), TargetError> {
        if self.binding.table.fingerprint(source).await? == self.fingerprint {
            self.pages_unseen = 0;
            return Ok(());
        }
        let table = &self.binding.table.name;
        Err(TargetError::new(ErrorKind::Failed, format!("table `{table}` was changed while it was swept"))
            .with_help("look at the policy with `bygone check`; the next sweep takes the table as it is then")
            .about("table"))
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
        let end = self.part.as_ref().and_then(|part| part.end.value());
        let sweep =
            PageSweep { binding: &self.binding, choice: &choice, place: &place, end, cutoff, limit: request.limit };
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
        if let Some(Part { begin, end }) = &self.part {
            return Ok(Place { position: begin.clone(), end_block: end.block() });
        }
        let end_block = match (choice.walk, &self.binding.table.storage) {
            (Walk::Heap, Storage::Heap { block_bytes, .. }) => {
                Some(self.binding.heap_blocks(source, *block_bytes).await?)
            }
            _ => None,
        };
        Ok(Place { position: choice.axis.beginning(), end_block })
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

    fn page_items_max(&self) -> u64 {
        if self.binding.goes_by_lists() { CAREFUL_ITEMS_MAX } else { u64::MAX }
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let before = source.requests();
        self.check_unchanged(&mut source).await?;
        let mut survey = self.survey_open(&mut source, boundary).await?;
        if source.engine() == Engine::Postgres {
            let rows = source.query(&Query::new(Engine::Postgres, LIFE)).await?;
            self.life = first_text(&rows);
        }
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

    async fn whole(&mut self, boundary: Boundary, items_max: u64) -> Result<Option<Page>, TargetError> {
        let Some(cutoff) = self.cutoff(boundary) else { return Ok(None) };
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let before = source.requests();
        for partition in self.binding.past_partitions(&mut source, cutoff).await? {
            if self.kept_partitions.contains(&partition.name) {
                continue;
            }
            if let Some(mut page) = self.binding.drop_partition(&mut source, &partition, cutoff, items_max).await? {
                page.requests = source.requests() - before;
                return Ok(Some(page));
            }
            self.kept_partitions.push(partition.name);
        }
        Ok(None)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let before = source.requests();
        let mut page = self.page_open(&mut source, request).await?;
        // Where nothing more is found, the column may mean something else by now.
        if page.next.is_none() && page.tally == Tally::default() && self.pages_unseen > 0 {
            self.check_unchanged(&mut source).await?;
        }
        page.requests = source.requests() - before;
        Ok(page)
    }

    async fn parts(&mut self, boundary: Boundary, workers: usize) -> Result<Vec<Box<dyn Target>>, TargetError> {
        let Some(cutoff) = self.cutoff(boundary) else { return Ok(Vec::new()) };
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        let ranges = self.ranges(&mut source, cutoff, workers).await?;
        let mut parts: Vec<Box<dyn Target>> = Vec::new();
        if ranges.len() < 2 {
            return Ok(parts);
        }
        for range in ranges {
            match Source::open(source.options()).await {
                Ok(beside) => parts.push(Box::new(self.over(beside, range))),
                // One worker does all of it, only later.
                Err(error) => {
                    self.warnings.push(format!("swept by one worker: no other connection could be had: {error}"));
                    return Ok(Vec::new());
                }
            }
        }
        Ok(parts)
    }

    async fn tidy(&mut self) -> Result<(), TargetError> {
        let shared = SharedSource::clone(&self.source);
        let mut source = shared.lock().await;
        self.pages_unseen += 1;
        if self.pages_unseen >= LOOK_PAGES {
            self.check_unchanged(&mut source).await?;
        }
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
                let mark = ", pg_catalog.pg_logical_emit_message(true, 'bygone', 'settled')::text";
                let rows = source.query(&Query::new(Engine::Postgres, LIFE).sql(mark)).await?;
                source.run("SET synchronous_commit = off").await?;
                // The log of a server that has crashed ends somewhere among the pages: the rest of them it has undone.
                if self.life.is_some() && first_text(&rows) != self.life {
                    return Err(TargetError::new(ErrorKind::Failed, "the server crashed while it was swept")
                        .with_help("sweep again: what the crash has brought back goes then"));
                }
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

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
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
    /// Which database it is in.
    pub fn engine(&self) -> Engine {
        self.binding.table.engine
    }

    pub(crate) fn policy_name(&self) -> &str {
        &self.policy
    }

    pub(crate) fn shared_source(&self) -> &SharedSource {
        &self.source
    }

    /// The walk, once a survey has chosen it.
    pub(crate) fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }
}

impl Binding {
    /// How many blocks the heap has now. What is appended later is new.
    pub(crate) async fn heap_blocks(&self, source: &mut Source, block_bytes: u64) -> Result<u64, SqlError> {
        let text = "SELECT pg_catalog.pg_relation_size(";
        let size =
            Query::new(Engine::Postgres, text).bind(Value::from(self.table.quoted.as_str()), Some("regclass")).sql(")");
        let rows = source.query(&size).await?;
        Ok(first_count(&rows).unwrap_or(0).div_ceil(block_bytes))
    }
}

pub(crate) fn first_count(rows: &[Row]) -> Option<u64> {
    rows.first().and_then(|row| row.first()).and_then(Value::count)
}

fn first_text(rows: &[Row]) -> Option<String> {
    rows.first().and_then(|row| row.first()).and_then(Value::text).map(str::to_owned)
}

fn write_cursor(place: &Place) -> Cursor {
    // Positions are plain values: they always have a JSON form.
    Cursor::new(serde_json::to_string(place).unwrap_or_default())
}
