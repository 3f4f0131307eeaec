//! What a policy does, in words: for those who see it in the console and have not written it.

use std::fmt::Write as _;

use jiff::SignedDuration;

use crate::config::{
    Action, Assignment, Condition, DeadlineColumn, FileDeadline, NewValue, Newest, ObjectDeadline, Policy, Prefix,
    Rows, Subject, Tree,
};
use crate::output::{grouped, size};

const DAY_HOURS: i64 = 24;

/// The policy in a few sentences.
pub(crate) fn meaning(policy: &Policy) -> String {
    match &policy.subject {
        Subject::Rows(rows) => of_rows(rows),
        Subject::Tree(tree) => of_tree(tree),
        Subject::Prefix(prefix) => of_prefix(prefix),
        Subject::Stage(stage) => {
            let late = if stage.keep.is_zero() { String::new() } else { format!(" by more than {}", long(stage.keep)) };
            format!(
                "Staged files that are past their deadline{late} are removed. Persistent ones and those that \
                     somebody holds stay."
            )
        }
        Subject::Leases(leases) => format!(
            "Leases that are over are cleared, transactions that were left are ended, and messages that are past their \
             time are removed. What then has nothing left in it goes {} later.",
            long(leases.keep)
        ),
    }
}

fn of_rows(rows: &Rows) -> String {
    let table = quoted(&rows.table);
    let mut whose = Vec::new();
    if let Some(deadline) = &rows.deadline {
        let columns: Vec<&str> = deadline.columns.iter().map(|DeadlineColumn { column, .. }| column.as_str()).collect();
        let column = match columns.as_slice() {
            [column] => quoted(column),
            several => format!("latest of {}", listed(several, "and")),
        };
        whose.push(format!("whose {column} is {}", past(rows.keep)));
    }
    if let Some(condition) = &rows.where_ {
        whose.push(format!("that meet `{condition}`"));
    }
    if let Some(newest) = &rows.newest {
        whose.push(of_newest(newest));
    }
    let becomes = match &rows.action {
        Action::Remove => "are removed".to_owned(),
        Action::Update { columns } => format!("stay, with {}", all(columns.iter().map(of_assignment))),
    };
    let mut text = format!("Rows of {table} {} {becomes}", all(whose.into_iter()));
    let points = rows.unless_referenced_by.iter().map(|by| format!("`{}.{}` points at them", by.table, by.column));
    let unless: Vec<String> = points.chain(rows.unless.iter().map(of_condition)).collect();
    if !unless.is_empty() {
        let _ = write!(text, ", unless {}", unless.join(" or "));
    }
    if !rows.only_if.is_empty() {
        let _ = write!(text, ", but only if {}", all(rows.only_if.iter().map(of_condition)));
    }
    text.push('.');
    if !rows.with.is_empty() {
        let links = rows.with.iter().filter_map(|chain| chain.links.first());
        let tables: Vec<&str> = links.map(|link| link.table.as_str()).collect();
        let _ = write!(text, " With them go their rows of {}.", listed(&tables, "and"));
    }
    text
}

fn of_newest(Newest { rows, per, by }: &Newest) -> String {
    let per: Vec<&str> = per.iter().map(String::as_str).collect();
    let per = if per.is_empty() { String::new() } else { format!(" of each {}", listed(&per, "and")) };
    let by = by.as_ref().map(|by| format!(" by {}", quoted(by))).unwrap_or_default();
    format!("that are not among the newest {}{per}{by}", grouped(*rows))
}

fn of_assignment(Assignment { column, value, .. }: &Assignment) -> String {
    let column = quoted(column);
    match value {
        NewValue::Null => format!("{column} cleared"),
        NewValue::Now => format!("{column} set to the time of the sweep"),
        NewValue::Text(text) => format!("{column} set to {text:?}"),
        NewValue::Int(number) => format!("{column} set to {number}"),
        NewValue::Real(number) => format!("{column} set to {number}"),
        NewValue::Bool(truth) => format!("{column} set to {truth}"),
    }
}

/// A condition on the row that a row points at.
fn of_condition(condition: &Condition) -> String {
    let Condition { via, table, living, where_, .. } = condition;
    let of = table.as_ref().map(|table| format!(" of {}", quoted(table))).unwrap_or_default();
    let row = format!("the row{of} that {} points at", quoted(via));
    match (living, where_) {
        (true, Some(condition)) => format!("{row} lives and meets `{condition}`"),
        (true, None) => format!("{row} lives"),
        (false, Some(condition)) => format!("{row} meets `{condition}`"),
        (false, None) => format!("{row} is there"),
    }
}

fn of_tree(tree: &Tree) -> String {
    let since = match &tree.deadline {
        FileDeadline::Modified => "that were last written".to_owned(),
        FileDeadline::Accessed => "that were last read".to_owned(),
        FileDeadline::Changed => "that last changed".to_owned(),
        FileDeadline::Born => "that were made".to_owned(),
        FileDeadline::Key(date) => format!("whose path, read as `{}`, says a time", date.pattern),
    };
    let place = place("Files", tree.path.as_deref());
    let limits = [
        tree.max_bytes.map(|most| format!("at most {} are left", size(most))),
        tree.max_count.map(|most| format!("at most {} are left", grouped(most))),
        tree.min_free.map(|least| format!("{} are free on the disk", size(least))),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let mut text = match tree.keep {
        Some(keep) => format!("{place} {since} more than {} ago are removed", long(keep)),
        None => format!("{place} are removed, the oldest first, until {}", limits.join(", ")),
    };
    if tree.keep.is_some() && !limits.is_empty() {
        let _ = write!(text, "; beyond that the oldest, until {}", limits.join(", "));
    }
    text.push_str(&globs(&tree.include, &tree.exclude));
    text.push_str(if tree.empty_dirs { ". Directories that are empty then go, too." } else { "." });
    text
}

fn of_prefix(prefix: &Prefix) -> String {
    let since = match &prefix.deadline {
        ObjectDeadline::Modified => "that were last written".to_owned(),
        ObjectDeadline::Key(date) => format!("whose key, read as `{}`, says a time", date.pattern),
    };
    let place = place("Objects", prefix.path.as_deref());
    let globs = globs(&prefix.include, &prefix.exclude);
    format!("{place} {since} more than {} ago are removed{globs}.", long(prefix.keep))
}

fn place(what: &str, path: Option<&str>) -> String {
    path.map_or_else(|| what.to_owned(), |path| format!("{what} below {}", quoted(path)))
}

fn globs(include: &[String], exclude: &[String]) -> String {
    let names = |globs: &[String]| listed(&globs.iter().map(String::as_str).collect::<Vec<_>>(), "or");
    let only = if include.is_empty() { String::new() } else { format!("; only {} are meant", names(include)) };
    let but = if exclude.is_empty() { String::new() } else { format!("; {} stay", names(exclude)) };
    only + &but
}

fn past(keep: SignedDuration) -> String {
    if keep.is_zero() { "past".to_owned() } else { format!("more than {} past", long(keep)) }
}

/// A length in the largest unit that says it whole.
fn long(time: SignedDuration) -> String {
    let hours = time.as_hours();
    let count = |count: i64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    if SignedDuration::from_hours(hours) != time || hours == 0 {
        format!("{time:#}")
    } else if hours % DAY_HOURS == 0 {
        count(hours / DAY_HOURS, "day")
    } else {
        count(hours, "hour")
    }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

fn listed(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().copied().map(quoted).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

fn all(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{ProcessEnv, parse};

    fn told(url: &str, lines: &str) -> String {
        let text = format!("[source.s]\nurl = \"{url}\"\n[[policy]]\nname = \"p\"\nsource = \"s\"\n{lines}\n");
        let config = parse("bygone.toml", &text, Path::new(""), &ProcessEnv);
        meaning(&config.unwrap_or_else(|error| panic!("{error}: {text}")).policies[0])
    }

    fn rows(lines: &str) -> String {
        told("sqlite:a.db", &format!("table = \"t\"\n{lines}"))
    }

    #[test]
    fn rows_that_go() {
        insta::assert_snapshot!(rows("deadline = \"expires_at\"\nkeep = \"30d\""), @"Rows of `t` whose `expires_at` is more than 30 days past are removed.");
        insta::assert_snapshot!(rows("deadline = \"expires_at\"\nkeep = \"0s\"\nwhere = \"kind = 'a'\""), @"Rows of `t` whose `expires_at` is past and that meet `kind = 'a'` are removed.");
        insta::assert_snapshot!(rows("deadline = [\"a\", \"b\"]\nkeep = \"36h\"\nunless_referenced_by = [\"x.t_id\", \"y.t_id\"]\nwith = [\"z.t_id\"]"), @"Rows of `t` whose latest of `a` and `b` is more than 36 hours past are removed, unless `x.t_id` points at them or `y.t_id` points at them. With them go their rows of `z`.");
        insta::assert_snapshot!(rows("deadline = \"d\"\nkeep = \"90m\"\nunless = { via = \"user_id\", living = true }"), @"Rows of `t` whose `d` is more than 1h 30m past are removed, unless the row that `user_id` points at lives.");
        insta::assert_snapshot!(rows("deadline = \"d\"\nkeep = \"1h\"\nonly_if = { via = \"user_id\", table = \"users\", to = \"id\", where = \"gone\" }"), @"Rows of `t` whose `d` is more than 1 hour past are removed, but only if the row of `users` that `user_id` points at meets `gone`.");
    }

    #[test]
    fn rows_that_stay_with_other_values() {
        insta::assert_snapshot!(rows("deadline = \"d\"\nkeep = \"1d\"\nclear = [\"ip\"]"), @"Rows of `t` whose `d` is more than 1 day past stay, with `ip` cleared.");
        insta::assert_snapshot!(rows("deadline = \"d\"\nkeep = \"1d\"\nset = { done_at = \"now\", n = 3 }\nwhere = \"done_at IS NULL\""), @"Rows of `t` whose `d` is more than 1 day past and that meet `done_at IS NULL` stay, with `done_at` set to the time of the sweep and `n` set to 3.");
    }

    #[test]
    fn rows_beyond_the_newest() {
        insta::assert_snapshot!(rows("newest = 10"), @"Rows of `t` that are not among the newest 10 are removed.");
        insta::assert_snapshot!(rows("newest = 1000\nper = [\"user_id\"]\nby = \"made_at\"\ndeadline = \"d\"\nkeep = \"2d\""), @"Rows of `t` whose `d` is more than 2 days past and that are not among the newest 1,000 of each `user_id` by `made_at` are removed.");
    }

    #[test]
    fn files_objects_and_stores() {
        insta::assert_snapshot!(told("file:/srv", "kind = \"tree\"\nkeep = \"5d\""), @"Files that were last written more than 5 days ago are removed.");
        insta::assert_snapshot!(told("file:/srv", "kind = \"tree\"\npath = \"a\"\nkeep = \"5d\"\nmax_bytes = \"10GiB\"\nexclude = [\"*.keep\"]\nempty_dirs = true"), @"Files below `a` that were last written more than 5 days ago are removed; beyond that the oldest, until at most 10.0 GiB are left; `*.keep` stay. Directories that are empty then go, too.");
        insta::assert_snapshot!(told("file:/srv", "kind = \"tree\"\nmax_count = 1000"), @"Files are removed, the oldest first, until at most 1,000 are left.");
        insta::assert_snapshot!(told("s3://b/x", "kind = \"prefix\"\npath = \"logs/\"\nkeep = \"12h\"\ninclude = [\"*.gz\", \"*.log\"]"), @"Objects below `logs` that were last written more than 12 hours ago are removed; only `*.gz` or `*.log` are meant.");
        insta::assert_snapshot!(told("file:/srv", "kind = \"stage\""), @"Staged files that are past their deadline are removed. Persistent ones and those that somebody holds stay.");
        insta::assert_snapshot!(told("file:/srv", "kind = \"leases\""), @"Leases that are over are cleared, transactions that were left are ended, and messages that are past their time are removed. What then has nothing left in it goes 1 day later.");
    }
}
