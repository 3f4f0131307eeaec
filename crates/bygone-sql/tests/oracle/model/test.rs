//! The tests that a policy makes of a row.

use std::cmp::Ordering;

use super::Sweep;
use crate::case::{Becomes, Case, Cell, Condition, Guard, Link, Newest, PointedAt, Policy};
use crate::moment::{When, Zone};

impl Sweep<'_> {
    /// Whether a row is past its time, one of the policy's, and not yet as it should be.
    pub(super) fn is_due(&self, policy: &Policy, number: i64) -> bool {
        let Some(row) = self.left.rows[policy.table].get(&number) else { return false };
        let differs = policy.changes.iter().any(|change| match &change.value {
            Becomes::Now => row[change.column] == Cell::Null,
            Becomes::This(value) => row[change.column] != *value,
        });
        (policy.changes.is_empty() || differs)
            && holds(policy.filter.as_ref(), row)
            && (policy.deadline.is_empty() || self.is_past(policy, row))
            && policy.newest.as_ref().is_none_or(|newest| self.has_newer(policy, newest, row))
    }

    /// `deadline + keep < boundary`, strictly.
    fn is_past(&self, policy: &Policy, row: &[Cell]) -> bool {
        match deadline(policy, row) {
            Some(When::At(at)) => at + policy.keep_us < self.case.boundary_us,
            Some(When::Never) | None => false,
        }
    }

    /// Whether there are enough newer ones that are the policy's.
    fn has_newer(&self, policy: &Policy, newest: &Newest, row: &[Cell]) -> bool {
        let key = self.case.tables[policy.table].key.columns();
        // Where nothing names a row, it is its place: rows lie in the order in which they came.
        let order: Vec<usize> = newest.by.iter().chain(key).copied().chain([0]).collect();
        let newer = |other: &&Vec<Cell>| {
            let group = newest.per.iter().all(|at| other[*at] == row[*at]);
            group
                && order.iter().map(|at| compare(&other[*at], &row[*at])).find(|o| o.is_ne()) == Some(Ordering::Greater)
                && holds(policy.filter.as_ref(), other)
        };
        let count = self.left.rows[policy.table].values().filter(newer).count();
        count as u64 >= newest.rows
    }

    /// Whether rows elsewhere keep a row.
    pub(super) fn is_guarded(&self, policy: &Policy, number: i64) -> bool {
        let row = &self.left.rows[policy.table][&number];
        let referenced = policy.unless_referenced_by.iter().any(|at| {
            let link = &self.case.links[*at];
            self.left.rows[link.from].values().any(|other| points(link, other, row))
        });
        referenced || policy.guards.iter().any(|guard| self.keeps(policy, guard, row))
    }

    fn keeps(&self, policy: &Policy, guard: &Guard, row: &[Cell]) -> bool {
        let is_there = |other: &Vec<Cell>| {
            let at = match guard.at {
                PointedAt::Link(link) => points(&self.case.links[link], row, other),
                PointedAt::Family(column) => row[column] != Cell::Null && row[column] == other[column],
            };
            at && holds(guard.filter.as_ref(), other) && !(guard.living && self.is_past(policy, other))
        };
        let found = self.left.rows[guard.table(self.case, policy.table)].values().any(is_there);
        found != guard.only_if
    }
}

impl Guard {
    /// The table it looks at.
    pub(crate) fn table(&self, case: &Case, own: usize) -> usize {
        match self.at {
            PointedAt::Link(link) => case.links[link].to,
            PointedAt::Family(_) => own,
        }
    }
}

/// Whether one row points at another by a link.
pub(super) fn points(link: &Link, from: &[Cell], to: &[Cell]) -> bool {
    link.columns.iter().zip(&link.to_columns).all(|(a, b)| from[*a] != Cell::Null && from[*a] == to[*b])
}

/// Whether the policy covers a row whose deadline nobody can read.
pub(super) fn is_unreadable(policy: &Policy, row: &[Cell]) -> bool {
    !policy.deadline.is_empty() && holds(policy.filter.as_ref(), row) && deadline(policy, row).is_none()
}

/// The latest of a row's deadlines; `None` where there is none, or one that cannot be read.
fn deadline(policy: &Policy, row: &[Cell]) -> Option<When> {
    let zone = policy.zone.unwrap_or(Zone::Utc);
    let mut latest = None;
    for column in &policy.deadline {
        let when = match &row[*column] {
            Cell::Time { moment, .. } => moment.when(zone)?,
            _ if policy.null_keeps || policy.deadline.len() == 1 => return None,
            _ => continue,
        };
        latest = latest.max(Some(when));
    }
    latest
}

/// Whether a condition is true, and neither false nor unknown.
fn holds(condition: Option<&Condition>, row: &[Cell]) -> bool {
    condition.is_none_or(|condition| truth(condition, row) == Some(true))
}

fn truth(condition: &Condition, row: &[Cell]) -> Option<bool> {
    match condition {
        Condition::IsNull(at) => Some(row[*at] == Cell::Null),
        Condition::IsNotNull(at) => Some(row[*at] != Cell::Null),
        Condition::Is(at, value) => (row[*at] != Cell::Null).then(|| row[*at] == *value),
        Condition::Less(at, value) => match row[*at] {
            Cell::Number(n) => Some(n < *value),
            _ => None,
        },
        Condition::Not(inner) => truth(inner, row).map(|truth| !truth),
        Condition::Both(one, other) => match (truth(one, row), truth(other, row)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Condition::Either(one, other) => match (truth(one, row), truth(other, row)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
    }
}

fn compare(one: &Cell, other: &Cell) -> Ordering {
    match (one, other) {
        (Cell::Number(a), Cell::Number(b)) => a.cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
        (Cell::Time { order: a, .. }, Cell::Time { order: b, .. }) => a.cmp(b),
        _ => unreachable!("{one:?} and {other:?} are in no order"),
    }
}
