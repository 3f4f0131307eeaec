//! What goes with a row: its children by the policy, and what the database's foreign keys take along, empty, or refuse.

use std::collections::{BTreeMap, BTreeSet};

use super::test::points;
use super::{Place, Sweep};
use crate::case::{Cell, Link, OnDelete, Policy};

/// What comes of removing rows.
#[derive(Debug, Default)]
struct Effect {
    gone: BTreeSet<Place>,
    /// What columns become, by row.
    emptied: BTreeMap<Place, Vec<(usize, Cell)>>,
    children: BTreeMap<usize, u64>,
}

impl Sweep<'_> {
    /// Removes rows of a policy with all that belongs to them, or nothing.
    pub(super) fn remove(&mut self, at: usize, policy: &Policy, numbers: &[i64]) -> bool {
        let rows: BTreeSet<Place> = numbers.iter().map(|number| (policy.table, *number)).collect();
        let Some(effect) = self.effect(policy, &rows) else { return false };
        let did = &mut self.left.did[at];
        did.removed += rows.len() as u64;
        let mut children = 0;
        for (table, count) in effect.children {
            *did.children.entry(table).or_default() += count;
            children += count;
        }
        self.left.cascaded += (effect.gone.len() as u64).saturating_sub(rows.len() as u64 + children);
        self.left.emptied += effect.emptied.len() as u64;
        for ((table, number), cells) in effect.emptied {
            if let Some(row) = self.left.rows[table].get_mut(&number) {
                for (column, cell) in cells {
                    row[column] = cell;
                }
            }
        }
        for (table, number) in effect.gone {
            self.left.rows[table].remove(&number);
        }
        true
    }

    fn effect(&self, policy: &Policy, rows: &BTreeSet<Place>) -> Option<Effect> {
        let families = self.families(policy, rows);
        let mut whole = Effect::default();
        if self.manner.strict {
            for (table, children) in families {
                self.delete(&children, &mut whole)?;
                *whole.children.entry(table).or_default() += children.len() as u64;
            }
            self.delete(rows, &mut whole)?;
        } else {
            let mut all = rows.clone();
            for (table, children) in families {
                *whole.children.entry(table).or_default() += children.len() as u64;
                all.extend(children);
            }
            self.delete(&all, &mut whole)?;
        }
        Some(whole)
    }

    /// The children that go along, by the table they are in, the farthest first.
    fn families(&self, policy: &Policy, rows: &BTreeSet<Place>) -> Vec<(usize, BTreeSet<Place>)> {
        let mut found: Vec<(usize, usize, BTreeSet<Place>)> = Vec::new();
        for chain in &policy.with {
            let mut near = rows.clone();
            for (hops, link) in chain.iter().rev().enumerate() {
                let link = &self.case.links[*link];
                near = self.pointing(link, &near);
                found.push((hops, link.from, near.clone()));
            }
        }
        let points =
            |from: usize, to: usize| self.case.enforced_to(to).any(|(link, _)| link.from == from && from != to);
        let mut sorted: Vec<(usize, BTreeSet<Place>)> = Vec::new();
        while !found.is_empty() {
            let waits = |at: usize| {
                let (hops, table, _) = &found[at];
                found.iter().any(|(others, other, _)| points(*other, *table) || others > hops)
            };
            let next = (0..found.len()).find(|at| !waits(*at)).unwrap_or(0);
            let (_, table, children) = found.remove(next);
            // What went along by one way does not go along once more by another.
            let known: BTreeSet<Place> = sorted.iter().flat_map(|(_, known)| known).copied().collect();
            sorted.push((table, children.difference(&known).copied().collect()));
        }
        sorted
    }

    /// The rows that point at some of these by a link.
    fn pointing(&self, link: &Link, at: &BTreeSet<Place>) -> BTreeSet<Place> {
        let there: Vec<&Vec<Cell>> = at.iter().filter_map(|(table, n)| self.left.rows[*table].get(n)).collect();
        let points_there = |row: &Vec<Cell>| there.iter().any(|to| points(link, row, to));
        let rows = self.left.rows[link.from].iter().filter(|(_, row)| points_there(row));
        rows.map(|(number, _)| (link.from, *number)).collect()
    }

    /// What the database does when rows are deleted; `None` where it refuses. What went before is not there any more.
    fn delete(&self, rows: &BTreeSet<Place>, before: &mut Effect) -> Option<()> {
        let absent = before.gone.clone();
        let mut going: BTreeSet<Place> = rows.difference(&absent).copied().collect();
        let mut next: Vec<Place> = going.iter().copied().collect();
        let mut touched = Vec::new();
        while let Some((table, number)) = next.pop() {
            let row = &self.left.rows[table][&number];
            for (link, key) in self.case.enforced_to(table) {
                for (other, cells) in &self.left.rows[link.from] {
                    let place = (link.from, *other);
                    let lost = before.emptied.get(&place).is_some_and(|cells| {
                        link.columns.iter().any(|column| cells.iter().any(|(emptied, _)| emptied == column))
                    });
                    if lost || absent.contains(&place) || !points(link, cells, row) {
                        continue;
                    }
                    if key.on_delete == OnDelete::Cascade {
                        if going.insert(place) {
                            next.push(place);
                        }
                    } else {
                        touched.push((place, link, key.on_delete));
                    }
                }
            }
        }
        before.gone.extend(&going);
        for (place, link, action) in touched {
            let goes_too = going.contains(&place);
            if goes_too && !self.manner.strict {
                continue;
            }
            if matches!(action, OnDelete::NoAction | OnDelete::Restrict) {
                return None;
            }
            let cells = self.emptied(link, action, &before.gone)?;
            if !goes_too {
                before.emptied.entry(place).or_default().extend(cells);
            }
        }
        Some(())
    }

    /// What the columns of a link become; `None` where they cannot.
    fn emptied(&self, link: &Link, action: OnDelete, gone: &BTreeSet<Place>) -> Option<Vec<(usize, Cell)>> {
        let column = |at: &usize| &self.case.tables[link.from].columns[*at];
        let becomes = |at: &usize| match action {
            OnDelete::SetDefault => column(at).default.clone().unwrap_or(Cell::Null),
            _ => Cell::Null,
        };
        let cells: Vec<(usize, Cell)> = link.columns.iter().map(|at| (*at, becomes(at))).collect();
        if cells.iter().any(|(at, cell)| *cell == Cell::Null && !column(at).nullable) {
            return None;
        }
        let is_there = |(number, row): (&i64, &Vec<Cell>)| {
            !gone.contains(&(link.to, *number))
                && cells.iter().zip(&link.to_columns).all(|((_, cell), to)| *cell == row[*to])
        };
        let empty = cells.iter().any(|(_, cell)| *cell == Cell::Null);
        (empty || self.left.rows[link.to].iter().any(is_there)).then_some(cells)
    }
}
