//! `clear` and `set`: what becomes of rows that are not removed.

use miette::SourceSpan;
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Findings, Problem};
use super::fields::{Read, Reader, wrong_type};
use super::model::{Action, Assignment, NewValue};
use super::names;
use super::resolve::plain_name;
use super::values::{Located, ShownAs, Text};

/// The text that stands for the time of the sweep.
const NOW: &str = "now";

/// The columns of `set`, in the order written.
#[derive(Debug)]
pub(super) struct RawSet(Vec<(Text, RawValue)>);

/// What a column is set to: "now" for the time of the sweep, another text, a
/// number or a boolean.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "NewValue", untagged)]
pub(super) enum RawValue {
    /// A text, or "now".
    Text(Text),
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// True or false.
    Bool(bool),
}

const HELP: &str = "write `set = { status = \"closed\", closed_at = \"now\" }`; \
                    for NULL write `clear = [\"column\"]`";

impl Read for Located<RawSet> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            reader.report(value.span(), wrong_type(key, "a table", value.get_ref(), HELP));
            return None;
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let columns: Vec<Option<(Text, RawValue)>> = entries
            .into_iter()
            .map(|(name, value)| {
                let title = name.get_ref().as_ref();
                let column = Text::verbatim(title, name.span());
                Some((column, RawValue::read(reader, &format!("{key}.{title}"), value)?))
            })
            .collect();
        Some(Self::new(RawSet(columns.into_iter().collect::<Option<_>>()?), value.span()))
    }
}

impl Read for RawValue {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let problem = match value.get_ref() {
            DeValue::String(_) => return Text::read(reader, key, value).map(Self::Text),
            DeValue::Boolean(value) => return Some(Self::Bool(*value)),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => return Some(Self::Int(number)),
                Err(_) => Problem::new(Code::BadValue, format!("`{key}` is out of range"))
                    .label("more than 64 bits hold")
                    .help("write a smaller number, or the number as a text"),
            },
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) if f64::is_finite(number) => return Some(Self::Real(number)),
                // Databases differ about these, and some have none.
                _ => Problem::new(Code::BadValue, format!("`{key}` is no finite number"))
                    .label("not finite")
                    .help("write a number; for NULL write `clear = [\"column\"]`"),
            },
            other => wrong_type(key, "a string, a number or a boolean", other, HELP),
        };
        reader.report(value.span(), problem);
        None
    }
}

impl ShownAs for RawSet {
    type Shown = std::collections::BTreeMap<String, RawValue>;
}

/// What is done with the rows. Refused parts are left out: they are reported.
pub(super) fn resolve(
    clear: Option<Located<Vec<Text>>>,
    set: Option<Located<RawSet>>,
    findings: &mut Findings,
) -> Action {
    if clear.is_none() && set.is_none() {
        return Action::Remove;
    }
    let mut columns = clear.and_then(|list| cleared(list, findings)).unwrap_or_default();
    for assignment in set.and_then(|set| assigned(set, findings)).unwrap_or_default() {
        let cleared: Option<&Assignment> = columns.iter().find(|cleared| cleared.column == assignment.column);
        match cleared.map(|cleared| cleared.span) {
            Some(span) => findings.add_pair((span, "cleared here"), assignment.span, named_twice()),
            None => columns.push(assignment),
        }
    }
    Action::Update { columns }
}

fn cleared(list: Located<Vec<Text>>, findings: &mut Findings) -> Option<Vec<Assignment>> {
    let spans: Vec<SourceSpan> = list.value.iter().map(|text| text.span).collect();
    let columns = names::columns("clear", list, findings)?;
    let cleared = columns.into_iter().zip(spans);
    Some(cleared.map(|(column, span)| Assignment { column, value: NewValue::Null, span }).collect())
}

fn assigned(set: Located<RawSet>, findings: &mut Findings) -> Option<Vec<Assignment>> {
    let columns = names::filled("set", Located { value: set.value.0, span: set.span }, findings)?;
    let assigned: Vec<Option<Assignment>> = columns
        .into_iter()
        .map(|(column, value)| {
            let span = column.span;
            Some(Assignment { column: plain_name("set", column, findings)?, value: new_value(value), span })
        })
        .collect();
    assigned.into_iter().collect()
}

fn new_value(raw: RawValue) -> NewValue {
    match raw {
        RawValue::Text(text) if text.value == NOW => NewValue::Now,
        RawValue::Text(text) => NewValue::Text(text.value),
        RawValue::Int(number) => NewValue::Int(number),
        RawValue::Real(number) => NewValue::Real(number),
        RawValue::Bool(value) => NewValue::Bool(value),
    }
}

fn named_twice() -> Problem {
    Problem::new(Code::ConflictingKeys, "`clear` and `set` name the same column")
        .label("and set here")
        .help("keep one of them: `clear` makes it NULL")
}
