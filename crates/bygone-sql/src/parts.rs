//! Parts of a policy that are swept side by side, each over a connection of its own.
//!
//! PostgreSQL carries out a statement with one process, so a second one makes use of a second core. Parts are ranges of
//! the walk: of the deadline's index, or of the heap. They never meet, so none waits for another; where rows point at
//! rows of the same table they could, and such a table is not parted.

use jiff::Timestamp;

use crate::catalog::Storage;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::source::Source;
use crate::target::RowTarget;
use crate::value::Value;
use crate::walk::{Choice, Position, Walk, first_of_block};

/// What another connection costs is not worth it for fewer rows.
const PART_ROWS_MIN: u64 = 20_000;

/// A range of a walk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Where it begins.
    pub(crate) begin: Position,
    pub(crate) end: PartEnd,
}

/// Where a part ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PartEnd {
    /// Where the policy's own test ends.
    Open,
    /// Before this value.
    Below(Value),
    /// Before this block of the heap.
    Block(u64),
}

impl PartEnd {
    /// The value before which it ends.
    pub(crate) fn value(&self) -> Option<&Value> {
        match self {
            Self::Below(value) => Some(value),
            Self::Open | Self::Block(_) => None,
        }
    }

    /// The block before which it ends.
    pub(crate) fn block(&self) -> Option<u64> {
        match self {
            Self::Block(block) => Some(*block),
            Self::Open | Self::Below(_) => None,
        }
    }
}

impl RowTarget {
    /// Ranges that together are the whole walk, no more than `workers`; one or none where it is not worth it.
    pub(crate) async fn ranges(
        &mut self,
        source: &mut Source,
        cutoff: Timestamp,
        workers: usize,
    ) -> Result<Vec<Part>, SqlError> {
        let Some((bygone, _)) = self.surveyed else { return Ok(Vec::new()) };
        let parts = (bygone / PART_ROWS_MIN).min(workers as u64);
        let itself = self.binding.table.incoming().any(|key| self.binding.table.is(&key.from));
        if parts < 2 || itself || self.binding.table.engine != Engine::Postgres || self.binding.goes_by_lists() {
            return Ok(Vec::new());
        }
        let Some(choice) = self.choice.clone() else { return Ok(Vec::new()) };
        match choice.walk {
            Walk::Slices => self.slices(source, &choice, cutoff, bygone, parts).await,
            Walk::Heap => self.blocks(source, parts).await,
            Walk::Key => Ok(Vec::new()),
        }
    }

    /// As many entries of the index to each. Those that `where` or a guard leaves out make them uneven, and nothing worse.
    async fn slices(
        &self,
        source: &mut Source,
        choice: &Choice,
        cutoff: Timestamp,
        bygone: u64,
        parts: u64,
    ) -> Result<Vec<Part>, SqlError> {
        let end = self.binding.lead().and_then(|(column, _)| column.cutoff(cutoff));
        let mut found = Vec::new();
        let mut begin = choice.axis.beginning();
        for _ in 1..parts {
            let bound = self.binding.bound(&choice.axis, &begin, bygone / parts, end.as_ref());
            let Some(row) = source.query(&bound).await?.into_iter().next() else { break };
            let mut row = row.into_iter();
            let (value, same) = (row.next().unwrap_or(Value::Null), row.next().is_some_and(|same| same.truth()));
            if same {
                // So many rows of one value: it cannot be parted.
                break;
            }
            let next = Position::From(value.clone());
            found.push(Part { begin: std::mem::replace(&mut begin, next), end: PartEnd::Below(value) });
        }
        found.push(Part { begin, end: PartEnd::Open });
        Ok(found)
    }

    async fn blocks(&self, source: &mut Source, parts: u64) -> Result<Vec<Part>, SqlError> {
        let Storage::Heap { block_bytes, .. } = self.binding.table.storage else { return Ok(Vec::new()) };
        let blocks = self.binding.heap_blocks(source, block_bytes).await?;
        let border = |part: u64| blocks / parts * part;
        let part = |at: u64| Part {
            begin: Position::From(first_of_block(border(at))),
            end: PartEnd::Block(if at + 1 == parts { blocks } else { border(at + 1) }),
        };
        Ok((0..parts).map(part).collect())
    }

    /// The same policy over one of its parts, by a connection of its own.
    pub(crate) fn over(&self, source: Source, part: Part) -> Self {
        Self {
            policy: self.policy.clone(),
            source_name: self.source_name.clone(),
            keep: self.keep,
            source: source.shared(),
            binding: self.binding.clone(),
            choice: self.choice.clone(),
            part: Some(part),
            surveyed: None,
            fingerprint: self.fingerprint.clone(),
            pages_unseen: 0,
            past_partitions: Vec::new(),
            kept_partitions: Vec::new(),
            warnings: Vec::new(),
            life: self.life.clone(),
        }
    }
}
