//! What is there, held against what must be.

use std::collections::BTreeSet;

use bygone_core::{Outcome, PolicyReport, Report};

use crate::case::{Case, Cell};
use crate::model::{Did, Left, Rows};
use crate::play::{Dump, Played};
use crate::sql;

/// What a case that came out right was about, in words that `run` counts.
pub(crate) type About = Vec<&'static str>;

/// Why a case did not.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    /// In a word, to tell one failure from another.
    pub(crate) what: &'static str,
    pub(crate) story: String,
}

/// Judges a case by what may be left of it.
pub(crate) fn judge(case: &Case, played: &Played, may: &[Left]) -> Result<About, Wrong> {
    let open = may.iter().any(|left| left.rows != may[0].rows);
    // Where circles leave it open what goes, a row has to be as in any one manner.
    let common = |story: Vec<String>, left| {
        let other = differences(case, left, &played.before, &played.after);
        story.into_iter().filter(|line| other.contains(line)).collect::<Vec<_>>()
    };
    let first = differences(case, &may[0], &played.before, &played.after);
    let story = may[1..].iter().fold(first, common);
    if !story.is_empty() {
        let story = format!("{}\n{}", story.join("\n"), outcomes(&played.first));
        return Err(Wrong { what: "rows", story });
    }
    reports(case, &played.first, may, open)?;
    again(played, open)?;
    let any = |is: fn(&Did) -> bool| may[0].did.iter().any(is);
    let all = [
        ("worked", any(|did| did.removed + did.cleared > 0)),
        ("removed", any(|did| did.removed > 0)),
        ("cleared", any(|did| did.cleared > 0)),
        ("children", any(|did| did.children.values().any(|count| *count > 0))),
        ("referenced", any(|did| did.last.referenced > 0)),
        ("conflict", any(|did| did.last.conflict > 0)),
        ("unreadable", any(|did| did.last.unreadable > 0)),
        ("cascaded", may[0].cascaded > 0),
        ("emptied", may[0].emptied > 0),
        ("freed", may[0].rounds > 1),
        ("refused", case.policies.iter().any(|policy| policy.misfit.is_some())),
        ("open", open),
    ];
    Ok(all.into_iter().filter(|(_, is)| *is).map(|(word, _)| word).collect())
}

/// Rows and values that are not as they should be.
fn differences(case: &Case, left: &Left, before: &Dump, after: &Dump) -> Vec<String> {
    let mut all = Vec::new();
    for (at, table) in case.tables.iter().enumerate() {
        let numbers: BTreeSet<i64> = left.rows[at].keys().chain(after[at].keys()).copied().collect();
        for number in numbers {
            let line = |what: &str| format!("{} {number}: {what}", table.name);
            match (expected(case, &left.rows, at, number, before), after[at].get(&number)) {
                (Some(_), None) => all.push(line("should be there, and is gone")),
                (None, Some(_)) => all.push(line("should be gone, and is there")),
                (Some(expected), Some(found)) => {
                    for (column, (expected, found)) in table.columns.iter().zip(expected.iter().zip(found)) {
                        if expected != found {
                            all.push(line(&format!("{} should be {expected:?}, and is {found:?}", column.name)));
                        }
                    }
                }
                (None, None) => {}
            }
        }
    }
    all
}

/// A row as it should be shown: as before, but for what has changed.
fn expected(case: &Case, rows: &Rows, at: usize, number: i64, before: &Dump) -> Option<Vec<Option<String>>> {
    let row = rows[at].get(&number)?;
    let table = &case.tables[at];
    // Rows stand in the order of their numbers.
    let place = table.rows.partition_point(|row| matches!(row[0], Cell::Number(n) if n < number));
    let original = table.rows.get(place)?;
    let cells = table.columns.iter().zip(row.iter().zip(original)).zip(&before[at][&number]);
    let shown = |((column, (now, then)), before): ((_, (&_, &_)), &Option<String>)| {
        if now == then { before.clone() } else { sql::shown(case.engine, column, now) }
    };
    Some(cells.map(shown).collect())
}

/// The numbers of the report, as far as every manner of sweeping comes to the same.
fn reports(case: &Case, report: &Report, may: &[Left], open: bool) -> Result<(), Wrong> {
    for (at, policy) in case.policies.iter().enumerate() {
        let wrong =
            |what, story: String| Err(Wrong { what, story: format!("{}: {story}\n{}", policy.name, outcomes(report)) });
        let Some(told) = report.policies.iter().find(|told| told.policy == policy.name) else {
            return wrong("report", "the report does not tell of it".to_owned());
        };
        if policy.misfit.is_some() {
            let untouched = told.tally.examined == 0 && told.outcome == Outcome::Refused;
            if !untouched {
                return wrong("refusal", format!("should be refused ({:?})", policy.misfit));
            }
            continue;
        }
        if told.outcome != Outcome::Complete {
            return wrong("outcome", format!("should be complete, and is {}", told.outcome.as_str()));
        }
        if !told.tally.adds_up() {
            return wrong("sum", "does not add up".to_owned());
        }
        if open {
            continue;
        }
        for (what, expected, found) in numbers(case, at, told, may) {
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                return wrong("numbers", format!("{what} should be {expected}, and is {found}"));
            }
        }
    }
    Ok(())
}

/// Each number of a policy's report: what it should be, where that is known, and what it is.
fn numbers(case: &Case, at: usize, told: &PolicyReport, may: &[Left]) -> Vec<(String, Option<u64>, u64)> {
    let known = |of: &dyn Fn(&Did) -> Vec<u64>| {
        let all: BTreeSet<u64> = may.iter().flat_map(|left| of(&left.did[at])).collect();
        if all.len() == 1 { all.first().copied() } else { None }
    };
    let kept = &told.tally.kept_back;
    // Where tables point at each other in a circle, a row may go by one policy, or along with a row of another.
    let circle = case.has_circle();
    let mut numbers = vec![
        ("removed".to_owned(), known(&|did| vec![did.removed]).filter(|_| !circle), told.tally.removed),
        ("cleared".to_owned(), known(&|did| vec![did.cleared]), told.tally.cleared),
        ("unreadable".to_owned(), known(&|did| vec![did.first.unreadable, did.last.unreadable]), kept.unreadable),
        ("referenced".to_owned(), known(&|did| vec![did.first.referenced, did.last.referenced]), kept.referenced),
        ("conflict".to_owned(), known(&|did| vec![did.first.conflict, did.last.conflict]), kept.conflict),
        ("locked".to_owned(), Some(0), kept.locked),
    ];
    let policy = &case.policies[at];
    let tables: BTreeSet<usize> = policy.with.iter().flatten().map(|link| case.links[*link].from).collect();
    // Where children point at each other, the database may take along what the policy was about to.
    let among = |table: &usize| case.enforced_to(*table).any(|(link, _)| tables.contains(&link.from));
    if !circle && !tables.iter().any(among) && !tables.contains(&policy.table) {
        for table in tables {
            let name = &case.tables[table].name;
            let found = told.tally.children.iter().filter(|(table, _)| table.ends_with(name.as_str()));
            let found = found.map(|(_, count)| *count).sum();
            let count = |did: &Did| vec![did.children.get(&table).copied().unwrap_or(0)];
            numbers.push((format!("rows of {name} along with it"), known(&count), found));
        }
    }
    numbers
}

/// A second sweep finds nothing to do.
fn again(played: &Played, open: bool) -> Result<(), Wrong> {
    if open {
        return Ok(());
    }
    let done: u64 = played.second.policies.iter().map(|told| told.tally.done()).sum();
    if done > 0 || played.again != played.after {
        let story = format!("a second sweep did something\n{}", outcomes(&played.second));
        return Err(Wrong { what: "again", story });
    }
    Ok(())
}

fn outcomes(report: &Report) -> String {
    let told = |told: &PolicyReport| {
        let error = told.error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
        format!("  {}: {}{error}, {:?}", told.policy, told.outcome.as_str(), told.tally)
    };
    let all: Vec<String> = report.policies.iter().map(told).collect();
    format!("the report:\n{}", all.join("\n"))
}
