//! Policies over rows, from the configuration's words to those of their crate.

use bygone_sql::{
    Action, Assignment, ColumnRef, Deadline, DeadlineColumn, Format, NewValue, Newest, NullMeaning, RowCondition,
    RowPolicy,
};
use jiff::tz::TimeZone;

use crate::config::{self, Rows};

/// The policy as the rows' crate understands it.
pub(crate) fn row_policy(name: &str, policy: &Rows) -> RowPolicy {
    RowPolicy {
        name: name.to_owned(),
        table: policy.table.clone(),
        deadline: policy.deadline.as_ref().map(deadline),
        keep: policy.keep,
        filter: policy.where_.clone(),
        key: policy.key.clone(),
        // The name was looked up when the configuration was read.
        zone: policy.zone.as_ref().and_then(|name| TimeZone::get(name).ok()),
        newest: policy.newest.as_ref().map(|newest| Newest {
            rows: newest.rows,
            per: newest.per.clone(),
            by: newest.by.clone(),
        }),
        action: action(&policy.action),
        with: policy.with.iter().map(|chain| chain.links.iter().map(column_ref).collect()).collect(),
        unless_referenced_by: policy.unless_referenced_by.iter().map(column_ref).collect(),
        unless: policy.unless.iter().map(condition).collect(),
        only_if: policy.only_if.iter().map(condition).collect(),
    }
}

fn deadline(deadline: &config::Deadline) -> Deadline {
    let column = |column: &config::DeadlineColumn| DeadlineColumn {
        column: column.column.clone(),
        format: match column.format {
            config::Format::Native => Format::Native,
            config::Format::EpochSeconds => Format::EpochSeconds,
            config::Format::EpochMillis => Format::EpochMillis,
            config::Format::EpochMicros => Format::EpochMicros,
            config::Format::Ulid => Format::Ulid,
            config::Format::Uuid7 => Format::Uuid7,
        },
    };
    Deadline {
        columns: deadline.columns.iter().map(column).collect(),
        null: match deadline.nulls {
            config::Nulls::Ignore => NullMeaning::Ignored,
            config::Nulls::Keep => NullMeaning::Keeps,
        },
    }
}

fn action(action: &config::Action) -> Action {
    let config::Action::Update { columns } = action else { return Action::Remove };
    let assignment = |assignment: &config::Assignment| Assignment {
        column: assignment.column.clone(),
        value: match &assignment.value {
            config::NewValue::Null => NewValue::Null,
            config::NewValue::Now => NewValue::Now,
            config::NewValue::Text(text) => NewValue::Text(text.clone()),
            config::NewValue::Int(n) => NewValue::Int(*n),
            config::NewValue::Real(x) => NewValue::Real(*x),
            config::NewValue::Bool(truth) => NewValue::Bool(*truth),
        },
    };
    Action::Update(columns.iter().map(assignment).collect())
}

fn column_ref(column: &config::ColumnRef) -> ColumnRef {
    ColumnRef::new(&column.table, &column.column)
}

fn condition(condition: &config::Condition) -> RowCondition {
    let config::Condition { via, table, to, living, where_, .. } = condition.clone();
    RowCondition { via, table, to, living, filter: where_ }
}
