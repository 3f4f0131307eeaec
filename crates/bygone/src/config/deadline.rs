//! `deadline`: where a row's deadline stands, in its several forms.

use std::collections::BTreeSet;
use std::ops::Range;

use schemars::JsonSchema;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Code, Findings, Problem};
use super::fields::{Fields, Read, ReadTable, Reader, read_elements, read_table, unknown_key, wrong_type};
use super::model::{Deadline, DeadlineColumn, Format, Nulls};
use super::resolve::plain_name;
use super::values::{Located, ShownAs, Text};

/// A form's name and what it makes of a column.
type Form = (&'static str, fn(Text) -> RawForm);

/// The forms of `{ form = "column" }`.
const FORMS: [Form; 6] = [
    ("epoch_s", RawForm::EpochS),
    ("epoch_ms", RawForm::EpochMs),
    ("epoch_us", RawForm::EpochUs),
    ("ulid", RawForm::Ulid),
    ("uuid7", RawForm::Uuid7),
    ("key", RawForm::Key),
];

/// The keys of the form with `latest`.
const LATEST: [&str; 2] = ["latest", "null"];

/// Where a row's deadline stands.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Deadline", untagged)]
pub(super) enum RawDeadline {
    /// One column.
    One(RawColumn),
    /// Several columns: the latest that is not NULL counts.
    Several(#[schemars(length(min = 1))] Located<Vec<RawColumn>>),
    /// Several columns, saying what a NULL among them means.
    Latest(RawLatest),
}

/// Several columns, of which the latest counts.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Latest", deny_unknown_fields)]
pub(super) struct RawLatest {
    /// The columns.
    #[schemars(required, length(min = 1))]
    pub(super) latest: Option<Located<Vec<RawColumn>>>,
    /// What a NULL among them means: "ignore" (the default) lets the others
    /// decide, "keep" keeps the row.
    #[schemars(extend("enum" = ["ignore", "keep"]))]
    pub(super) null: Option<Text>,
}

/// A column, by name or with its form.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "DeadlineColumn", untagged)]
pub(super) enum RawColumn {
    /// A column of a type that the database knows for time.
    Name(#[schemars(length(min = 1))] Text),
    /// A column that holds the instant in another form.
    Form(RawForm),
}

/// A column that holds the instant in a form that must be named.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "DeadlineForm", rename_all = "snake_case")]
pub(super) enum RawForm {
    /// A number of seconds since 1970.
    EpochS(#[schemars(length(min = 1))] Text),
    /// A number of milliseconds since 1970.
    EpochMs(#[schemars(length(min = 1))] Text),
    /// A number of microseconds since 1970.
    EpochUs(#[schemars(length(min = 1))] Text),
    /// A ULID.
    Ulid(#[schemars(length(min = 1))] Text),
    /// A UUID of version 7.
    Uuid7(#[schemars(length(min = 1))] Text),
    /// A date in the path of a file or the key of an object: a pattern such as
    /// "logs/%Y/%m/%d/**".
    Key(#[schemars(length(min = 1))] Text),
}

const HELP: &str = "write `deadline = \"expires_at\"`, several columns as `[\"a\", \"b\"]`, \
                    or another form as `{ epoch_ms = \"at\" }` or `{ ulid = \"id\" }`";

impl ShownAs for RawDeadline {
    type Shown = Self;
}

impl Read for Located<RawDeadline> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let deadline = match value.get_ref() {
            DeValue::Array(_) => RawDeadline::Several(Located::read(reader, key, value)?),
            DeValue::Table(table) if LATEST.iter().any(|key| table.contains_key(*key)) => {
                RawDeadline::Latest(read_table(reader, RawLatest::WHAT, value.span(), table))
            }
            DeValue::Table(table) => {
                let form = read_form(reader, key, (table, value.span()), &LATEST)?;
                RawDeadline::One(RawColumn::Form(form))
            }
            _ => RawDeadline::One(RawColumn::read(reader, key, value)?),
        };
        Some(Self::new(deadline, value.span()))
    }
}

impl ReadTable for RawLatest {
    const WHAT: &'static str = "`deadline`";
    const EXAMPLE: &'static str = HELP;

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            latest: fields.required("latest", "name the columns: `latest = [\"a\", \"b\"]`"),
            null: fields.optional("null"),
        }
    }
}

impl Read for Located<Vec<RawColumn>> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            let help = format!("write `{key} = [\"a\", \"b\"]`");
            let problem = wrong_type(key, "a list of columns", value.get_ref(), help);
            reader.report(value.span(), problem);
            return None;
        };
        let columns = read_elements(reader, key, elements)?;
        Some(Self::new(columns, value.span()))
    }
}

impl Read for RawColumn {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(_) => Text::read(reader, key, value).map(Self::Name),
            DeValue::Table(table) => read_form(reader, key, (table, value.span()), &[]).map(Self::Form),
            other => {
                let problem = wrong_type(key, "a column", other, HELP);
                reader.report(value.span(), problem);
                None
            }
        }
    }
}

/// Reads `{ form = "column" }`. Keys of `others` are known in this place too,
/// but are no forms.
fn read_form(
    reader: &mut Reader<'_>,
    key: &str,
    (table, span): (&DeTable<'_>, Range<usize>),
    others: &[&str],
) -> Option<RawForm> {
    let names = FORMS.map(|(name, _)| name);
    let known = [names.as_slice(), others].concat();
    let mut found = Vec::new();
    let mut all_known = true;
    for (name, column) in table {
        let form = FORMS.iter().find(|(form, _)| form == name.get_ref());
        if let Some((form, make)) = form {
            found.push((form, make, column));
        } else {
            all_known = false;
            let problem = unknown_key(name.get_ref(), &format!("`{key}`"), &known);
            reader.report(name.span(), problem);
        }
    }
    if !all_known {
        return None;
    }
    let [(form, make, column)] = found.as_slice() else {
        let problem = Problem::new(Code::BadValue, format!("`{key}` must name exactly one form here"))
            .label(format!("{} of them", found.len()))
            .help(format!("choose one of {}; for several columns write a list", names.join(", ")));
        reader.report(span, problem);
        return None;
    };
    Text::read(reader, form, column).map(make)
}

/// The deadline that was meant.
pub(super) fn resolve(raw: RawDeadline, findings: &mut Findings) -> Option<Deadline> {
    let (columns, nulls) = match raw {
        RawDeadline::One(one) => (vec![resolve_column(one, findings)?], Nulls::Ignore),
        RawDeadline::Several(several) => (resolve_columns(several, findings)?, Nulls::Ignore),
        RawDeadline::Latest(RawLatest { latest, null }) => {
            let nulls = null.map_or(Some(Nulls::Ignore), |null| resolve_nulls(&null, findings));
            let columns = latest.and_then(|latest| resolve_columns(latest, findings));
            (columns?, nulls?)
        }
    };
    Some(Deadline { columns, nulls })
}

fn resolve_nulls(null: &Text, findings: &mut Findings) -> Option<Nulls> {
    match null.value.as_str() {
        "ignore" => Some(Nulls::Ignore),
        "keep" => Some(Nulls::Keep),
        _ => {
            let problem = Problem::new(Code::BadValue, "`null` must be \"ignore\" or \"keep\"")
                .label("neither")
                .help("\"ignore\" lets the other columns decide, \"keep\" keeps a row with a NULL among them");
            findings.add(null.span, problem);
            None
        }
    }
}

fn resolve_columns(raw: Located<Vec<RawColumn>>, findings: &mut Findings) -> Option<Vec<DeadlineColumn>> {
    if raw.value.is_empty() {
        let problem = Problem::new(Code::BadValue, "`deadline` names no column").label("empty").help(HELP);
        findings.add(raw.span, problem);
        return None;
    }
    let resolved: Vec<Option<DeadlineColumn>> =
        raw.value.into_iter().map(|column| resolve_column(column, findings)).collect();
    let columns: Vec<DeadlineColumn> = resolved.into_iter().collect::<Option<_>>()?;
    let mut seen = BTreeSet::new();
    for column in &columns {
        if !seen.insert(column.column.as_str()) {
            let problem = Problem::new(Code::BadValue, "`deadline` names a column twice")
                .label("a second time")
                .help("name each column once");
            findings.add(column.span, problem);
            return None;
        }
    }
    Some(columns)
}

fn resolve_column(raw: RawColumn, findings: &mut Findings) -> Option<DeadlineColumn> {
    let (text, format) = match raw {
        RawColumn::Name(text) => (text, Format::Native),
        RawColumn::Form(RawForm::EpochS(text)) => (text, Format::EpochSeconds),
        RawColumn::Form(RawForm::EpochMs(text)) => (text, Format::EpochMillis),
        RawColumn::Form(RawForm::EpochUs(text)) => (text, Format::EpochMicros),
        RawColumn::Form(RawForm::Ulid(text)) => (text, Format::Ulid),
        RawColumn::Form(RawForm::Uuid7(text)) => (text, Format::Uuid7),
        RawColumn::Form(RawForm::Key(text)) => {
            let problem = Problem::new(Code::BadValue, "rows have no key with a date in it").label("not of a row");
            findings.add(text.span, problem.help(HELP));
            return None;
        }
    };
    let span = text.span;
    let column = plain_name("deadline", text, findings)?;
    Some(DeadlineColumn { column, format, span })
}
