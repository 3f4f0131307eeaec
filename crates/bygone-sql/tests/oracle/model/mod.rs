//! What a sweep must leave: every policy by the meaning that docs/configuration.md gives it, row by row, in plain loops over
//! rows in memory. No statement, no cursor, no page.
//!
//! How many rows a database is given at once, and in which order, is not for the documentation to say, and where rows of one
//! sweep point at each other it may matter. So the model sweeps in several manners; where all of them come to the same, that
//! and nothing else is right.

mod removal;
mod test;

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Becomes, Case, Cell, Holds, Policy, TimeForm};
use crate::chance::Chance;
use crate::moment::{DAY, Moment, SECOND, Zone};

/// Rows by table, then by their number.
pub(crate) type Rows = Vec<BTreeMap<i64, Vec<Cell>>>;
/// A row: its table and number.
pub(crate) type Place = (usize, i64);

/// How rows are gone through.
#[derive(Clone, Copy, Debug)]
struct Manner {
    order: Order,
    at_once: usize,
    /// Whether a row in the way is in the way even if it goes in the same step.
    strict: bool,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Ascending,
    Descending,
    Any,
}

const MANNERS: [Manner; 5] = [
    Manner { order: Order::Ascending, at_once: 1, strict: true },
    Manner { order: Order::Ascending, at_once: usize::MAX, strict: false },
    Manner { order: Order::Descending, at_once: 1, strict: false },
    Manner { order: Order::Any, at_once: 3, strict: false },
    Manner { order: Order::Any, at_once: 1, strict: true },
];

/// What one policy did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Did {
    pub(crate) removed: u64,
    pub(crate) cleared: u64,
    /// Rows removed along with theirs, by table.
    pub(crate) children: BTreeMap<usize, u64>,
    /// What it kept back, when it looked for the first time and for the last.
    pub(crate) first: Kept,
    pub(crate) last: Kept,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) unreadable: u64,
    pub(crate) referenced: u64,
    pub(crate) conflict: u64,
}

/// What is left in one manner.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub(crate) rows: Rows,
    /// What each policy did, in the case's order.
    pub(crate) did: Vec<Did>,
    /// How often all policies had something to do.
    pub(crate) rounds: usize,
    /// Rows that the database took along, and those that it changed, by itself.
    pub(crate) cascaded: u64,
    pub(crate) emptied: u64,
}

/// What may be left: one for each manner, the same ones only once.
pub(crate) fn sweep(case: &Case) -> Vec<Left> {
    let order = order(case);
    // A crowd has nothing that points anywhere.
    let manners = if case.tables.iter().any(|table| table.rows.len() > 10_000) { &MANNERS[1..2] } else { &MANNERS[..] };
    manners.iter().map(|manner| Sweep::new(case, *manner).run(&order)).collect()
}

/// Children before parents, and what another policy's conditions look at before that; else as they stand in the file.
fn order(case: &Case) -> Vec<usize> {
    let takes_part: Vec<usize> = (0..case.policies.len()).filter(|at| case.policies[*at].misfit.is_none()).collect();
    let before = |a: usize, b: usize| {
        let (one, other) = (&case.policies[a], &case.policies[b]);
        let points = case.enforced_to(other.table).any(|(link, _)| link.from == one.table);
        one.table != other.table && (points || other.watches(case).contains(&one.table))
    };
    let mut left = takes_part;
    let mut order = Vec::new();
    while !left.is_empty() {
        // Whoever has to wait only for those who have to wait for him, too.
        let reaches = |from: usize, to: usize| {
            let mut reached = BTreeSet::from([from]);
            while let Some(next) = left
                .iter()
                .copied()
                .find(|next| !reached.contains(next) && reached.iter().any(|known| before(*known, *next)))
            {
                reached.insert(next);
            }
            reached.contains(&to)
        };
        let waits = |at: usize| left.iter().any(|other| *other != at && reaches(*other, at) && !reaches(at, *other));
        let next = left.iter().copied().find(|at| !waits(*at)).unwrap();
        left.retain(|at| *at != next);
        order.push(next);
    }
    order
}

struct Sweep<'a> {
    case: &'a Case,
    manner: Manner,
    chance: Chance,
    left: Left,
}

impl<'a> Sweep<'a> {
    fn new(case: &'a Case, manner: Manner) -> Self {
        let number = |row: &Vec<Cell>| match row[0] {
            Cell::Number(n) => n,
            _ => unreachable!("the first column is a number"),
        };
        let rows = case.tables.iter().map(|table| table.rows.iter().map(|row| (number(row), row.clone())).collect());
        let did = vec![Did::default(); case.policies.len()];
        let left = Left { rows: rows.collect(), did, rounds: 0, cascaded: 0, emptied: 0 };
        Self { case, manner, chance: Chance::of(7, 7), left }
    }

    /// Again and again, until nothing more comes free.
    fn run(mut self, order: &[usize]) -> Left {
        loop {
            let mut done = 0;
            for &at in order {
                let before = self.left.did[at].removed + self.left.did[at].cleared;
                let kept = self.policy(at);
                let did = &mut self.left.did[at];
                done += did.removed + did.cleared - before;
                if self.left.rounds == 0 {
                    did.first = kept;
                }
                did.last = kept;
            }
            if done == 0 {
                return self.left;
            }
            self.left.rounds += 1;
            assert!(self.left.rounds < 1_000, "the model goes round in a circle: {}", crate::story::story(self.case));
        }
    }

    fn policy(&mut self, at: usize) -> Kept {
        let policy = &self.case.policies[at];
        let unreadable = self.left.rows[policy.table].values().filter(|row| test::is_unreadable(policy, row));
        let mut kept = Kept { unreadable: unreadable.count() as u64, ..Kept::default() };
        let mut numbers: Vec<i64> = self.left.rows[policy.table].keys().copied().collect();
        match self.manner.order {
            Order::Ascending => {}
            Order::Descending => numbers.reverse(),
            Order::Any => self.chance.shuffle(&mut numbers),
        }
        // What is due is looked for anew in each step: the one before may have changed it.
        let mut next = 0;
        while next < numbers.len() {
            let mut step = Vec::new();
            while next < numbers.len() && step.len() < self.manner.at_once {
                let number = numbers[next];
                next += 1;
                if !self.is_due(policy, number) {
                    continue;
                }
                if self.is_guarded(policy, number) {
                    kept.referenced += 1;
                } else {
                    step.push(number);
                }
            }
            kept.conflict += self.step(at, policy, &step);
        }
        kept
    }

    /// Does to these rows what the policy is for; says how many of them are in somebody's way.
    fn step(&mut self, at: usize, policy: &Policy, step: &[i64]) -> u64 {
        if !policy.changes.is_empty() {
            for number in step {
                self.change(policy, *number);
            }
            self.left.did[at].cleared += step.len() as u64;
            return 0;
        }
        if step.is_empty() || self.remove(at, policy, step) {
            return 0;
        }
        let mut conflicts = 0;
        for number in step {
            let there = self.left.rows[policy.table].contains_key(number);
            conflicts += u64::from(there && (step.len() == 1 || !self.remove(at, policy, &[*number])));
        }
        conflicts
    }

    fn change(&mut self, policy: &Policy, number: i64) {
        let columns = &self.case.tables[policy.table].columns;
        let Some(row) = self.left.rows[policy.table].get_mut(&number) else { return };
        for change in &policy.changes {
            let cell = &mut row[change.column];
            match &change.value {
                Becomes::This(value) => *cell = value.clone(),
                Becomes::Now if *cell == Cell::Null => {
                    let moment = now(self.case.boundary_us, columns[change.column].holds, policy.zone);
                    *cell = Cell::Time { moment, sql: String::new(), order: 0 };
                }
                Becomes::Now => {}
            }
        }
    }
}

/// The time of the sweep, as far as a column can hold it.
fn now(boundary_us: i64, holds: Holds, zone: Option<Zone>) -> Moment {
    let Holds::Time(form, unit) = holds else { unreachable!("only times become now") };
    let shown = boundary_us + zone.unwrap_or(Zone::Utc).offset(boundary_us);
    match form {
        TimeForm::Local => Moment::Shown(shown.div_euclid(unit) * unit),
        TimeForm::Day => Moment::Day(shown.div_euclid(DAY)),
        // As SQLite's own functions write it.
        TimeForm::Text => Moment::Shown(shown.div_euclid(SECOND) * SECOND),
        _ => Moment::At(boundary_us.div_euclid(unit) * unit),
    }
}

impl Policy {
    /// The tables that its conditions look at.
    pub(crate) fn watches(&self, case: &Case) -> BTreeSet<usize> {
        let pointing = self.unless_referenced_by.iter().map(|link| case.links[*link].from);
        let pointed = self.guards.iter().map(|guard| guard.table(case, self.table));
        pointing.chain(pointed).collect()
    }
}
