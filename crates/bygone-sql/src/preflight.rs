//! What somebody should know of a policy before its first page: what stands in its way, what goes along, what is slow.
//!
//! The foreign keys are read live. Nothing here changes anything, and nothing here is needed for a sweep to be right.

use bygone_core::{Boundary, ErrorKind, TargetError};
use jiff::Timestamp;
use serde::Serialize;

use crate::bind::Binding;
use crate::catalog::{ForeignKey, OnDelete, Reference, Table};
use crate::comparison::Comparison;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::newest::BoundNewest;
use crate::query::Query;
use crate::source::Source;
use crate::target::{RowTarget, first_count};
use crate::value::Value;

/// Rows that go along are counted no further than this.
const COUNT_MAX: u64 = 100_000;
/// A table up to this size may be read for every removed row without anybody noticing.
const SMALL_ROWS: u64 = 1_000;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of thing it is; stable.
    pub code: &'static str,
    /// The key of the policy that it is about.
    #[serde(skip)]
    pub key: &'static str,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl RowTarget {
    /// Looks at the policy as it stands beside the others.
    ///
    /// With a boundary, rows that the database would change by itself are counted, which may take a while.
    pub async fn preflight(&self, others: &[&Self], boundary: Option<Boundary>) -> Result<Vec<Finding>, TargetError> {
        let mut source = self.shared_source().lock().await;
        let mut findings = self.missing_index();
        findings.extend(others.iter().filter_map(|other| self.contradicts(other)));
        if self.binding.changes.is_empty() {
            for key in self.binding.table.incoming() {
                findings.extend(self.reference(&mut source, key, others, boundary).await?);
            }
        }
        findings.extend(self.guards(others));
        findings.extend(self.hidden(&mut source).await?);
        Ok(findings)
    }

    /// Row-level security that this role does not bypass: a sweep would find nothing and say so.
    async fn hidden(&self, source: &mut Source) -> Result<Option<Finding>, SqlError> {
        let table = &self.binding.table;
        if table.engine != Engine::Postgres {
            return Ok(None);
        }
        let query = Query::new(Engine::Postgres, "SELECT pg_catalog.row_security_active(")
            .bind(Value::from(table.quoted.as_str()), Some("text"))
            .sql(")");
        let rows = source.query(&query).await?;
        let active = rows.first().and_then(|row| row.first()).is_some_and(Value::truth);
        Ok(active.then(|| Finding {
            code: "rows::row_security",
            key: "table",
            message: "row-level security is active for this role: rows that it hides are never swept".to_owned(),
            help: "sweep as the owner of the table, or as a role with BYPASSRLS".to_owned(),
        }))
    }

    fn missing_index(&self) -> Vec<Finding> {
        let binding = &self.binding;
        let mut findings = Vec::new();
        if binding.newest.as_ref().is_some_and(BoundNewest::is_grouped) {
            findings.push(Finding {
                code: "rows::newest_per_group",
                key: "per",
                message: "the newest of each group are found by looking at every row, on every sweep".to_owned(),
                help: "an index over the columns of `per`, then those of `by` and the key, keeps each look short"
                    .to_owned(),
            });
        }
        if binding.lead().is_none() && !binding.deadline.is_empty() {
            findings.push(Finding {
                code: "rows::no_index",
                key: "deadline",
                message: format!("no index serves {}: every sweep reads the whole table", binding.deadline_names()),
                help: "`bygone index` prints it, and `bygone index --apply` makes it".to_owned(),
            });
        }
        findings
    }

    /// What a foreign key that points here means for rows that go.
    async fn reference(
        &self,
        source: &mut Source,
        key: &ForeignKey,
        others: &[&Self],
        boundary: Option<Boundary>,
    ) -> Result<Vec<Finding>, TargetError> {
        let (here, from) = (&self.binding.table, Reference::of(&self.binding.table, key));
        let there = if here.is(&key.from) { here.clone() } else { Table::read_named(source, &key.from).await? };
        let mut findings = Vec::new();
        if !there.leads(&key.columns) && there.rows_estimate.is_none_or(|rows| rows > SMALL_ROWS) {
            let rows = there.rows_estimate.map_or_else(|| "all of its".to_owned(), |rows| format!("about {rows}"));
            findings.push(Finding {
                code: "rows::unindexed_reference",
                key: "table",
                message: format!(
                    "`{}`.{} points here without an index: for every removed row the database reads {rows} rows there",
                    from.table, from.column
                ),
                help: "`bygone index` prints it, and `bygone index --apply` makes it".to_owned(),
            });
        }
        let named = self.binding.family.children.iter().any(|child| {
            child.hops[0].table == there.quoted
                && child.hops.len() == 1
                && child.hops[0].columns == here.quoted_all(&key.columns)
        });
        let watched = self.binding.family.watched.contains(&there.quoted);
        if named || watched {
            return Ok(findings);
        }
        match key.on_delete {
            OnDelete::Refuse { .. } if others.iter().any(|other| other.binding.table.quoted == there.quoted) => {}
            OnDelete::Refuse { .. } => findings.push(Finding {
                code: "rows::uncovered_reference",
                key: "table",
                message: format!(
                    "rows that `{}`.{} points at cannot go and are kept back as conflict",
                    from.table, from.column
                ),
                help: format!(
                    "let them go along (`with = [\"{0}.{1}\"]`), wait for them (`unless_referenced_by`), or sweep `{0}` too",
                    from.table, from.column
                ),
            }),
            OnDelete::Cascade | OnDelete::Empty { .. } => {
                let count = match boundary {
                    Some(boundary) => self.count_touched(source, key, &there, boundary).await? + " ",
                    None => String::new(),
                };
                let (code, what) = match key.on_delete {
                    OnDelete::Cascade => ("rows::unlisted_cascade", "go along with theirs"),
                    _ => ("rows::unlisted_emptying", "lose what they point at"),
                };
                findings.push(Finding {
                    code,
                    key: "table",
                    message: format!(
                        "{count}rows of `{}` {what} ({}, on delete {})",
                        from.table, from.column, from.action
                    ),
                    help: format!("if that is meant, say so: `with = [\"{}.{}\"]`", from.table, from.column),
                });
            }
        }
        Ok(findings)
    }

    /// How many rows elsewhere the database would change by itself.
    async fn count_touched(
        &self,
        source: &mut Source,
        key: &ForeignKey,
        there: &Table,
        boundary: Boundary,
    ) -> Result<String, SqlError> {
        let Some(cutoff) = self.cutoff(boundary) else { return Ok("0".to_owned()) };
        if !there.leads(&key.columns) && there.rows_estimate.is_some_and(|rows| rows > COUNT_MAX) {
            return Ok("an unknown number of".to_owned());
        }
        match source.query(&self.binding.touched(key, there, cutoff, COUNT_MAX)).await {
            Ok(rows) => Ok(match first_count(&rows) {
                Some(count) if count < COUNT_MAX => count.to_string(),
                Some(_) => format!("{COUNT_MAX} or more"),
                None => "an unknown number of".to_owned(),
            }),
            // The database changes them by its own right; the role need not even be able to read them.
            Err(error) if matches!(error.kind(), ErrorKind::TooSlow | ErrorKind::Denied) => {
                Ok("an unknown number of".to_owned())
            }
            Err(error) => Err(error),
        }
    }

    /// Guards that nothing ever lifts.
    fn guards(&self, others: &[&Self]) -> Vec<Finding> {
        let family = &self.binding.family;
        let mut findings = Vec::new();
        for watched in &family.watched {
            let both = family.children.iter().any(|child| child.hops[0].table == *watched);
            let swept = *watched == self.binding.table.quoted
                || others.iter().any(|other| {
                    let table = &other.binding.table;
                    table.quoted == *watched || table.incoming().any(|key| other.removes_along(key, watched))
                });
            if both {
                findings.push(Finding {
                    code: "rows::guard_and_child",
                    key: "with",
                    message: format!("{watched} both keeps rows here and goes along with them: it never will"),
                    help: "name it in `with`, or in `unless_referenced_by`, but not in both".to_owned(),
                });
            } else if !swept {
                findings.push(Finding {
                    code: "rows::guard_never_clears",
                    key: "unless_referenced_by",
                    message: format!(
                        "no policy removes rows of {watched}: what they keep here stays until something else does"
                    ),
                    help: "add a policy over that table, if nothing else removes its rows".to_owned(),
                });
            }
        }
        findings
    }

    /// Whether rows of that table go along with rows of this policy, by themselves.
    fn removes_along(&self, key: &ForeignKey, quoted: &str) -> bool {
        let table = &self.binding.table;
        key.on_delete == OnDelete::Cascade
            && table.engine.quote_in(key.from.schema.as_deref(), &key.from.name) == quoted
            && self.binding.changes.is_empty()
    }

    /// Two policies over one table of which one leaves nothing to the other.
    fn contradicts(&self, other: &Self) -> Option<Finding> {
        let (ours, theirs) = (&self.binding, &other.binding);
        if ours.table.quoted != theirs.table.quoted || self.policy_name() == other.policy_name() {
            return None;
        }
        let clears = theirs
            .changes
            .iter()
            .any(|change| change.clears() && ours.deadline.iter().any(|column| column.quoted() == change.quoted()));
        if clears {
            return Some(Finding {
                code: "rows::contradiction",
                key: "deadline",
                message: format!("policy `{}` clears the deadline that this one goes by", other.policy_name()),
                help: "rows without a deadline stay for ever: clear another column, or sweep first".to_owned(),
            });
        }
        let columns = |binding: &Binding| -> Vec<String> { binding.deadline.iter().map(Comparison::quoted).collect() };
        let unconditional = theirs.filter.is_none() && theirs.family.is_empty() && theirs.newest.is_none();
        let same = columns(ours) == columns(theirs) && !ours.deadline.is_empty();
        (theirs.changes.is_empty() && unconditional && same && ours.keep > theirs.keep).then(|| Finding {
            code: "rows::contradiction",
            key: "deadline",
            message: format!("policy `{}` removes the same rows sooner: this one finds none", other.policy_name()),
            help: "give one of them a `where`, or drop one".to_owned(),
        })
    }
}

impl Table {
    /// Whether an index leads to rows by these columns.
    pub(crate) fn leads(&self, columns: &[String]) -> bool {
        self.indexes.iter().filter(|index| index.predicate.is_none()).any(|index| {
            let first: Vec<_> = index.columns.iter().take(columns.len()).flatten().collect();
            first.len() == columns.len() && columns.iter().all(|column| first.contains(&column))
        })
    }

    fn quoted_all(&self, columns: &[String]) -> Vec<String> {
        columns.iter().map(|column| self.engine.quote(column)).collect()
    }
}

impl Binding {
    /// Counts rows elsewhere that point at bygone ones, no further than `limit`.
    fn touched(&self, key: &ForeignKey, there: &Table, cutoff: Timestamp, limit: u64) -> Query {
        let list = |columns: &[String]| match self.table.quoted_all(columns).as_slice() {
            [column] => column.clone(),
            several => format!("({})", several.join(", ")),
        };
        let text = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {} WHERE {} IN (SELECT {} FROM {} WHERE ",
            there.quoted,
            list(&key.columns),
            self.table.quoted_all(&key.to_columns).join(", "),
            self.table.quoted
        );
        self.bygone(Query::new(self.table.engine, text), cutoff)
            .sql(") LIMIT ")
            .bind(Value::from(limit), (self.table.engine == Engine::Postgres).then_some("int8"))
            .sql(") AS some_rows")
    }
}
