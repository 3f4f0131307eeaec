//! `unless` and `only_if`: conditions on the rows that a policy's rows point
//! at.

use miette::SourceSpan;
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::condition;
use super::error::Findings;
use super::fields::{Fields, Read, ReadTable, Reader, read_table, wrong_type};
use super::model::Condition;
use super::names::filled;
use super::resolve::plain_name;
use super::values::{Located, Text};

/// One condition, or several.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Conditions", untagged)]
pub(super) enum RawConditions {
    /// One condition.
    One(#[schemars(with = "RawCondition")] Box<Located<RawCondition>>),
    /// Several conditions.
    Several(#[schemars(with = "Vec<RawCondition>", length(min = 1))] Located<Vec<Located<RawCondition>>>),
}

/// A condition on the row that a column points at.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Condition", deny_unknown_fields)]
pub(super) struct RawCondition {
    /// The column of the policy's table that points at the other row.
    #[schemars(required, length(min = 1))]
    pub(super) via: Option<Text>,
    /// A condition in SQL on that row. Default: that there is such a row.
    #[schemars(rename = "where", length(min = 1))]
    pub(super) where_: Option<Text>,
    /// The table of that row. Default: what the foreign key of `via` says.
    #[schemars(length(min = 1))]
    pub(super) table: Option<Text>,
    /// The column there that `via` equals. Default: what the foreign key of `via` says, or the primary key.
    #[schemars(length(min = 1))]
    pub(super) to: Option<Text>,
    /// Only a row that is not past this policy's own deadline counts; for rows of the same table.
    pub(super) living: Option<Located<bool>>,
}

impl RawConditions {
    /// Where all of it stands.
    pub(super) fn span(&self) -> SourceSpan {
        match self {
            Self::One(one) => one.span,
            Self::Several(several) => several.span,
        }
    }
}

impl Read for RawConditions {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            return read_condition(reader, key, value).map(|one| Self::One(Box::new(one)));
        };
        let conditions: Vec<_> = elements.iter().map(|element| read_condition(reader, key, element)).collect();
        Some(Self::Several(Located::new(conditions.into_iter().collect::<Option<_>>()?, value.span())))
    }
}

fn read_condition(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Located<RawCondition>> {
    let DeValue::Table(table) = value.get_ref() else {
        let help = format!("write `{key} = {{ via = \"user_id\", where = \"locked\" }}`, or several such in `[…]`");
        reader.report(value.span(), wrong_type(key, "a table or a list of tables", value.get_ref(), help));
        return None;
    };
    let condition = read_table(reader, &format!("`{key}`"), value.span(), table);
    Some(Located::new(condition, value.span()))
}

impl ReadTable for RawCondition {
    const WHAT: &'static str = "a condition";
    const EXAMPLE: &'static str = "write `{ via = \"user_id\", where = \"locked\" }`";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            via: fields.required("via", "name the column that points at the other row: `via = \"user_id\"`"),
            where_: fields.optional("where"),
            table: fields.optional("table"),
            to: fields.optional("to"),
            living: fields.optional("living"),
        }
    }
}

/// The conditions that were meant, in the order written.
pub(super) fn resolve(key: &str, raw: RawConditions, findings: &mut Findings) -> Option<Vec<Condition>> {
    let raw = match raw {
        RawConditions::One(one) => vec![*one],
        RawConditions::Several(several) => filled(key, several, findings)?,
    };
    let conditions: Vec<Option<Condition>> = raw.into_iter().map(|raw| resolve_one(raw, findings)).collect();
    conditions.into_iter().collect()
}

fn resolve_one(raw: Located<RawCondition>, findings: &mut Findings) -> Option<Condition> {
    let Located { value: RawCondition { via, where_, table, to, living }, span } = raw;
    let via = via.and_then(|text| plain_name("via", text, findings));
    let table = table.map(|text| plain_name("table", text, findings));
    let to = to.map(|text| plain_name("to", text, findings));
    let where_ = where_.map(|text| condition::checked(text, findings));
    let living = living.is_some_and(|living| living.value);
    Some(Condition { via: via?, table: table.flatten(), to: to.flatten(), living, where_, span })
}
