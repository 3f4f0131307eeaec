//! In which order policies run, and which of them free rows of others.

use crate::catalog::{ForeignKey, OnDelete, Table, TableName};
use crate::target::RowTarget;
use crate::update::BoundAssignment;

impl RowTarget {
    /// Whether rows here point at rows there, so that these go first.
    pub fn goes_before(&self, other: &Self) -> bool {
        let (here, there) = (&self.binding.table, &other.binding.table);
        self.is_beside(other)
            && here.quoted != there.quoted
            && (here.outgoing().any(|key| there.is(&key.to)) || other.binding.family.watched.contains(&here.quoted))
    }

    /// Whether what this policy does may free rows of the other: rows that pointed at them are gone, rows that they
    /// pointed at are gone, or a condition on another row has changed.
    pub fn may_free(&self, other: &Self) -> bool {
        let (here, there) = (&self.binding.table, &other.binding.table);
        // Two that undo what the other has done would never come to an end.
        if !self.is_beside(other) || self.undoes(other) {
            return false;
        }
        let touches = |quoted: &String| {
            *quoted == here.quoted || self.binding.family.children.iter().any(|child| child.hops[0].table == *quoted)
        };
        let guards = other.binding.family.watched.iter().any(touches);
        let references = there.incoming().any(|key| touches(&quoted(there, &key.from)) && !here.is(&key.to));
        let emptied = there.outgoing().any(|key| here.is(&key.to) && empties(key) && !there.is(&key.to));
        let both = here.incoming().filter(|key| !refuses(key)).any(|key| points_at(there, &key.from));
        let rewritten = here.quoted == there.quoted
            && !self.binding.changes.is_empty()
            && self.policy_name() != other.policy_name();
        guards || references || emptied || both || rewritten
    }

    /// Whether what this policy does may let rows go that the other could not remove. Who stands in the way of a row may
    /// be any number of foreign keys away, or a row of its own table that only goes later.
    pub fn may_unblock(&self, other: &Self) -> bool {
        self.is_beside(other) && other.binding.changes.is_empty()
    }

    /// Whether a column of one table becomes one thing by this policy and another by that.
    fn undoes(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.binding, &other.binding);
        let contradicted = |change: &BoundAssignment| theirs.changes.iter().any(|theirs| change.contradicts(theirs));
        ours.table.quoted == theirs.table.quoted && ours.changes.iter().any(contradicted)
    }

    fn is_beside(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(self.shared_source(), other.shared_source())
    }
}

/// Whether a table that goes or is emptied along with rows here points at the other table too.
fn points_at(there: &Table, from: &TableName) -> bool {
    !there.is(from) && there.incoming().any(|key| key.from == *from)
}

fn empties(key: &ForeignKey) -> bool {
    matches!(key.on_delete, OnDelete::Empty { .. })
}

fn refuses(key: &ForeignKey) -> bool {
    matches!(key.on_delete, OnDelete::Refuse { .. })
}

fn quoted(table: &Table, name: &TableName) -> String {
    table.engine.quote_in(name.schema.as_deref(), &name.name)
}

/// An order of `0..count` in which whatever `must` or `should` go before something does; where that goes round in a
/// circle, what only should waits no longer, and the first of the circle in the given order goes.
pub fn arrange(count: usize, must: impl Fn(usize, usize) -> bool, should: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut left: Vec<usize> = (0..count).collect();
    let mut order = Vec::with_capacity(count);
    while !left.is_empty() {
        let waits_for = |at: usize| left.iter().copied().find(|&b| b != at && (must(b, at) || should(b, at)));
        let held = |at: usize| left.iter().any(|&other| other != at && must(other, at));
        let free = left.iter().copied().find(|&at| waits_for(at).is_none());
        let next = free.unwrap_or_else(|| {
            let circle = circle(left[0], waits_for);
            circle.iter().chain(&left).copied().find(|&at| !held(at)).unwrap_or(left[0])
        });
        left.retain(|&at| at != next);
        order.push(next);
    }
    order
}

/// Goes back from one to whom it waits for until it has been there before: the circle, in the given order.
fn circle(start: usize, waits_for: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut path = vec![start];
    while let Some(before) = path.last().and_then(|&at| waits_for(at)) {
        if let Some(begin) = path.iter().position(|&at| at == before) {
            let mut circle = path.split_off(begin);
            circle.sort_unstable();
            return circle;
        }
        path.push(before);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::arrange;

    fn order(count: usize, must: &[(usize, usize)], should: &[(usize, usize)]) -> Vec<usize> {
        arrange(count, |a, b| must.contains(&(a, b)), |a, b| should.contains(&(a, b)))
    }

    #[test]
    fn the_given_order_stands_where_nothing_speaks_against_it() {
        assert_eq!(order(3, &[], &[]), [0, 1, 2]);
        assert_eq!(order(3, &[], &[(2, 0)]), [1, 2, 0]);
        assert_eq!(order(3, &[(2, 1)], &[(1, 0)]), [2, 1, 0]);
    }

    #[test]
    fn circles_of_what_should_be_are_cut_and_what_must_be_stands() {
        assert_eq!(order(2, &[], &[(0, 1), (1, 0)]), [0, 1]);
        assert_eq!(order(3, &[(2, 0)], &[(0, 1), (1, 2), (2, 0)]), [1, 2, 0]);
        assert_eq!(order(2, &[(1, 0)], &[(0, 1)]), [1, 0]);
    }

    #[test]
    fn what_waits_for_a_circle_does_not_go_before_it() {
        assert_eq!(order(3, &[], &[(1, 2), (2, 1), (2, 0)]), [1, 2, 0]);
        assert_eq!(order(4, &[], &[(1, 0), (2, 1), (3, 2), (2, 3)]), [2, 1, 0, 3]);
    }
}
