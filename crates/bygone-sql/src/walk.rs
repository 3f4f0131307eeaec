//! How a sweep moves through a table, and why that way.
//!
//! Three walks, of very different cost on different tables (docs/benchmarks.md has the numbers):
//! slices of the deadline's index run at the speed of one DELETE where rows lie in time order; ranges of the heap do
//! where many are due and scattered; ranges of the key are the same for engines that store rows by key.

use serde::{Deserialize, Serialize};

use crate::bind::{Binding, KeyColumn};
use crate::catalog::{Index, Storage};
use crate::comparison::Comparison;
use crate::engine::Engine;
use crate::policy::NullMeaning;
use crate::value::Value;

/// From this share of a table on, a walk over all of it beats jumping to scattered rows.
pub(crate) const SCATTERED_SHARE: f64 = 0.03;
/// From this correlation on, rows count as lying in time order.
const ORDERED_CORRELATION: f64 = 0.8;

/// The way through the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk {
    /// Slices of the deadline's index.
    Slices,
    /// Ranges of blocks of the heap (PostgreSQL).
    Heap,
    /// Ranges of the key.
    Key,
}

impl Walk {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slices => "slices",
            Self::Heap => "heap",
            Self::Key => "key",
        }
    }
}

/// What the statistics say about the table, as far as the choice needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// The share of the table that is due.
    pub(crate) share: Option<f64>,
    /// How far rows lie in time order, from 0 to 1.
    pub(crate) order: Option<f64>,
}

/// A chosen walk.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) walk: Walk,
    pub(crate) axis: Axis,
    /// The index that serves it, where one does.
    pub(crate) index: Option<String>,
    pub(crate) why: String,
}

/// What a walk moves along.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) quoted: String,
    pub(crate) selected: String,
    pub(crate) cast: Option<String>,
    /// What orders rows that are equal along the axis.
    pub(crate) ties: Vec<KeyColumn>,
    /// Whether the index serves only with the policy's `where` beside it.
    pub(crate) needs_filter: bool,
    /// Where the walk begins.
    pub(crate) start: Option<Value>,
    /// The index that holds its order.
    pub(crate) index: Option<String>,
}

impl Axis {
    pub(crate) fn cast(&self) -> Option<&str> {
        self.cast.as_deref()
    }

    pub(crate) fn beginning(&self) -> Position {
        self.start.clone().map_or(Position::Start, Position::From)
    }
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Position {
    /// At the very beginning.
    Start,
    /// At this value.
    From(Value),
    /// Behind this value and the ties that go with it.
    After(Value, Vec<Value>),
    /// Behind everything of this value.
    Past(Value),
}

impl Position {
    /// The value that the page may still hold rows of.
    pub(crate) fn first(&self) -> Option<&Value> {
        match self {
            Self::From(value) | Self::After(value, _) => Some(value),
            Self::Start | Self::Past(_) => None,
        }
    }
}

/// Where a page ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Upper {
    /// Before this value.
    Below(Value),
    /// With the rows of exactly this value.
    At(Value),
    /// Where the policy's own test ends.
    End,
}

impl Binding {
    /// The deadline column to walk along, and the index that leads there.
    pub(crate) fn lead(&self) -> Option<(&Comparison, &Index)> {
        self.may_lead().find_map(|column| self.index_for(column).map(|index| (column, index)))
    }

    /// The deadline columns that an index could lead along: a row whose leading column is NULL would never be met.
    pub(crate) fn may_lead(&self) -> impl Iterator<Item = &Comparison> {
        let sole = self.deadline.len() == 1 || self.null == NullMeaning::Keeps;
        self.deadline.iter().filter(move |column| sole || !column.nullable)
    }

    fn index_for(&self, column: &Comparison) -> Option<&Index> {
        let leads = |index: &&Index| index.columns.first().and_then(|c| c.as_ref()) == Some(&column.column);
        let mut found: Vec<&Index> = self.table.indexes.iter().filter(leads).collect();
        found.retain(|index| self.serves(index, column));
        found.sort_by_key(|index| (self.needs_filter(index, column), index.columns.len()));
        found.first().copied()
    }

    /// A partial index serves when its condition follows from ours: "is not null", or the policy's `where` itself.
    fn serves(&self, index: &Index, column: &Comparison) -> bool {
        index.predicate.is_none() || is_not_null(index, column) || self.needs_filter(index, column)
    }

    pub(crate) fn needs_filter(&self, index: &Index, column: &Comparison) -> bool {
        let same = |predicate: &String| self.filter.as_ref().is_some_and(|filter| bare(filter) == bare(predicate));
        !is_not_null(index, column) && index.predicate.as_ref().is_some_and(same)
    }

    /// Chooses the walk.
    pub(crate) fn choose(&self, shape: Shape) -> Choice {
        let lead = self.lead();
        let due = shape.share.map_or_else(
            || "nobody knows how many rows are due".to_owned(),
            |share| format!("{:.1} % of the rows are due", share * 100.0),
        );
        if self.deadline.is_empty() {
            return self.across("which rows are newer is seen row by row".to_owned());
        }
        let Some((column, index)) = lead else {
            let why = format!("no index serves {}", self.deadline_names());
            return self.across(why);
        };
        let few = shape.share.is_none_or(|share| share < SCATTERED_SHARE);
        let why = match shape.order {
            Some(order) if order >= ORDERED_CORRELATION => format!("rows lie in order of {}", column.column),
            Some(_) if !few => return self.across(format!("{due}, scattered over the table")),
            _ => due,
        };
        Choice { walk: Walk::Slices, axis: self.deadline_axis(column, index), index: Some(index.name.clone()), why }
    }

    /// The walk over the whole table, in the order in which it is stored.
    fn across(&self, why: String) -> Choice {
        if let Storage::Heap { ranges: true, .. } = self.table.storage {
            let start = Some(Value::from("(0,0)"));
            let axis = Axis { start, ..key_axis(&KeyColumn::place(), &[]) };
            return Choice { walk: Walk::Heap, axis, index: None, why };
        }
        let place = [KeyColumn::place()];
        let (first, rest) = self.key.split_first().unwrap_or((&place[0], &[]));
        let index = self.key_index().map(str::to_owned);
        Choice { walk: Walk::Key, axis: Axis { index: index.clone(), ..key_axis(first, rest) }, index, why }
    }

    fn deadline_axis(&self, column: &Comparison, index: &Index) -> Axis {
        Axis {
            quoted: column.quoted(),
            selected: column.selected(),
            cast: column.cast().map(str::to_owned),
            ties: self.key.clone(),
            needs_filter: self.needs_filter(index, column),
            start: Some(column.floor()),
            index: Some(index.name.clone()),
        }
    }

    pub(crate) fn deadline_names(&self) -> String {
        let names: Vec<&str> = self.deadline.iter().map(|column| column.column.as_str()).collect();
        names.join(", ")
    }
}

fn key_axis(first: &KeyColumn, rest: &[KeyColumn]) -> Axis {
    Axis {
        quoted: first.quoted.clone(),
        selected: first.selected.clone(),
        cast: first.cast.clone(),
        ties: rest.to_vec(),
        needs_filter: false,
        start: None,
        index: None,
    }
}

fn is_not_null(index: &Index, column: &Comparison) -> bool {
    let wanted = bare(&format!("{} is not null", column.column));
    index.predicate.as_ref().is_some_and(|predicate| bare(predicate) == wanted)
}

/// A condition without what does not change its meaning: quotes of names, parentheses around it, spaces, case.
fn bare(condition: &str) -> String {
    condition
        .chars()
        .filter(|c| !matches!(c, '"' | '`' | '(' | ')') && !c.is_whitespace())
        .collect::<String>()
        .to_lowercase()
}

/// How far values that come in time order are in order themselves, from 0 to 1; for engines without statistics.
#[expect(clippy::cast_precision_loss, reason = "a few hundred values")]
pub(crate) fn sortedness(places: &[Value]) -> Option<f64> {
    if places.len() < 20 {
        return None;
    }
    let ascending = places.windows(2).filter(|pair| before(&pair[0], &pair[1])).count() as f64;
    let share = ascending / (places.len() - 1) as f64;
    // Half of all neighbours ascend by chance; all of them do in either order.
    Some((share - 0.5).abs() * 2.0)
}

fn before(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a <= b,
        (Value::Text(a), Value::Text(b)) => match (a.parse::<u128>(), b.parse::<u128>()) {
            (Ok(a), Ok(b)) => a <= b,
            _ => a <= b,
        },
        (Value::Blob(a), Value::Blob(b)) => a <= b,
        _ => false,
    }
}

/// The block that a place in a PostgreSQL heap lies in: 12 of `(12,7)`.
pub(crate) fn block_of(place: &Value) -> Option<u64> {
    place.text()?.strip_prefix('(')?.split(',').next()?.parse().ok()
}

/// The first place of a block.
pub(crate) fn first_of_block(block: u64) -> Value {
    Value::Text(format!("({block},0)"))
}

/// Whether the engine can skip rows that others hold.
pub(crate) fn skips_locked(engine: Engine) -> bool {
    engine != Engine::Sqlite
}
