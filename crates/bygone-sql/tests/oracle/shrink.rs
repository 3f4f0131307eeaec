//! Makes a case that came out wrong smaller, as long as it comes out wrong in the same way.

use crate::case::{Case, Cell};
use crate::judge::Wrong;
use crate::play::Ground;

/// Cases that are tried at the most.
const TRIES_MAX: usize = 600;

/// The smallest case that was found, and what is wrong with it.
pub(crate) async fn shrink(ground: &mut Ground, case: Case, wrong: Wrong) -> (Case, Wrong) {
    let (mut best, mut wrong, mut tries) = (case, wrong, 0);
    loop {
        let mut smaller = false;
        let mut at = 0;
        // The candidates of a smaller case are fewer, so the same place is tried once more.
        loop {
            let candidate = candidates(&best).nth(at);
            let Some(candidate) = candidate else { break };
            tries += 1;
            if tries > TRIES_MAX {
                return (best, wrong);
            }
            match crate::try_case(ground, &candidate).await {
                Err(other) if other.what == wrong.what => {
                    (best, wrong, smaller) = (candidate, other, true);
                }
                _ => at += 1,
            }
        }
        if !smaller {
            return (best, wrong);
        }
    }
}

type Step = fn(&mut Case, usize) -> bool;

/// Cases that are a little smaller, the boldest first.
fn candidates(case: &Case) -> impl Iterator<Item = Case> + '_ {
    let policies = (0..case.policies.len()).filter(|_| case.policies.len() > 1).map(|at| {
        let mut smaller = case.clone();
        smaller.policies.remove(at);
        smaller
    });
    let rows = (0..case.tables.len()).flat_map(move |table| {
        let count = case.tables[table].rows.len();
        let sizes = std::iter::successors(Some(count), |size| (*size > 1).then_some(size / 2)).filter(|size| *size > 0);
        sizes.flat_map(move |size| (0..count).step_by(size).filter_map(move |from| without(case, table, from, size)))
    });
    let steps: [Step; 11] = [
        |case, at| std::mem::take(&mut case.policies[at].filter).is_some(),
        |case, at| case.policies[at].newest.take().is_some() && !case.policies[at].deadline.is_empty(),
        |case, at| case.policies[at].guards.pop().is_some(),
        |case, at| case.policies[at].unless_referenced_by.pop().is_some(),
        |case, at| case.policies[at].with.pop().is_some(),
        |case, at| case.policies[at].changes.len() > 1 && case.policies[at].changes.pop().is_some(),
        |case, at| std::mem::take(&mut case.policies[at].names_key),
        |case, at| std::mem::replace(&mut case.policies[at].page, 100_000) != 100_000,
        |case, at| case.policies[at].deadline.len() > 1 && case.policies[at].deadline.pop().is_some(),
        |case, at| case.tables.get_mut(at).is_some_and(|table| table.indexes.pop().is_some()),
        |case, at| {
            let link = case.links.get_mut(at).filter(|link| link.columns.len() == 1);
            link.is_some_and(|link| link.foreign_key.take().is_some())
        },
    ];
    let plain = std::iter::once(()).filter(|()| case.analyzed || case.logged).map(|()| Case {
        analyzed: false,
        logged: false,
        ..case.clone()
    });
    let most = case.policies.len().max(case.tables.len()).max(case.links.len());
    let steps = (0..most).flat_map(move |at| {
        steps.into_iter().enumerate().filter_map(move |(number, step)| {
            // The last two are about tables and links.
            (number >= steps.len() - 2 || at < case.policies.len()).then_some(())?;
            let mut smaller = case.clone();
            step(&mut smaller, at).then_some(smaller)
        })
    });
    policies.chain(rows).chain(steps).chain(plain)
}

/// The case without some rows; whoever points at them does so no more. `None` where somebody must.
fn without(case: &Case, table: usize, from: usize, count: usize) -> Option<Case> {
    let mut smaller = case.clone();
    let to = (from + count).min(smaller.tables[table].rows.len());
    let gone: Vec<Vec<Cell>> = smaller.tables[table].rows.drain(from..to).collect();
    for (link, _) in case.enforced_to(table) {
        let nullable = case.tables[link.from].columns[link.columns[0]].nullable;
        for row in &mut smaller.tables[link.from].rows {
            let points = |to: &Vec<Cell>| link.columns.iter().zip(&link.to_columns).all(|(a, b)| row[*a] == to[*b]);
            if gone.iter().any(points) {
                if !nullable {
                    return None;
                }
                link.columns.iter().for_each(|column| row[*column] = Cell::Null);
            }
        }
    }
    Some(smaller)
}
