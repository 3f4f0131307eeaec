//! The file as it is written: every table and every key there is.
//!
//! These types are the one list of keys. Reading asks for exactly their fields
//! and the JSON Schema is derived from them, with these comments as its
//! descriptions, so they speak to the people who write the file. A field is
//! `None` where the key is absent, and also where its value was refused, which
//! is then reported already.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use miette::SourceSpan;
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::fields::{Fields, Read, ReadTable, Reader, read_table, wrong_type};
use super::gates::RawGates;
use super::policy::{RawPolicies, RawPolicy};
use super::serve::RawServe;
use super::uses::{RawUse, RawUses};
use super::values::{Located, Text};

/// The configuration of bygone: where items live, and which of them are past
/// their time.
///
/// Every string may hold `${VAR}`, `${VAR:-default}` and `${file:path}`; `$$`
/// is a dollar sign. Lengths of time are strings such as "30d", "1h30m" or
/// "500ms".
#[derive(Debug, JsonSchema)]
#[schemars(
    title = "bygone.toml",
    deny_unknown_fields,
    extend("anyOf" = [
        { "required": ["policy"], "properties": { "policy": { "minItems": 1 } } },
        { "required": ["use"], "properties": { "use": { "minItems": 1 } } },
    ]),
)]
pub(super) struct RawFile {
    /// Where items live, each by its name: `[source.NAME]`.
    #[schemars(with = "BTreeMap<String, RawSource>", required)]
    pub(super) source: Option<RawSources>,
    /// The policies: `[[policy]]`, each with a name of its own.
    #[schemars(with = "Option<Vec<RawPolicy>>")]
    pub(super) policy: Option<RawPolicies>,
    /// The packs whose policies are used too: `[[use]]`.
    #[schemars(rename = "use", with = "Option<Vec<RawUse>>")]
    pub(super) use_: Option<RawUses>,
    /// The brake of every policy that does not say otherwise.
    pub(super) brake: Option<RawBrake>,
    /// The budget of every policy that does not say otherwise.
    pub(super) budget: Option<RawBudget>,
    /// How far clocks may differ.
    pub(super) clock: Option<RawClock>,
    /// How the daemon is reached, and by whom.
    pub(super) serve: Option<RawServe>,
}

impl ReadTable for RawFile {
    const WHAT: &'static str = "the file";
    const EXAMPLE: &'static str = "write keys and tables";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            source: fields.optional("source"),
            policy: fields.optional("policy"),
            use_: fields.optional("use"),
            brake: fields.optional("brake"),
            budget: fields.optional("budget"),
            clock: fields.optional("clock"),
            serve: fields.optional("serve"),
        }
    }
}

/// The sources with their names and where those stand.
#[derive(Debug)]
pub(super) struct RawSources(pub(super) Vec<(String, SourceSpan, RawSource)>);

impl Read for RawSources {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let help = "name the source in its header, `[source.NAME]`, and write the keys below it";
        let DeValue::Table(table) = value.get_ref() else {
            let problem = wrong_type(key, "a table of sources", value.get_ref(), help);
            reader.report(value.span(), problem);
            return None;
        };
        let mut sources = Vec::new();
        for (name, value) in table {
            let title = name.get_ref().as_ref();
            let DeValue::Table(table) = value.get_ref() else {
                let key = format!("source.{title}");
                let problem = wrong_type(&key, "a table", value.get_ref(), help);
                reader.report(name.span(), problem);
                continue;
            };
            let what = format!("source {title:?}");
            let source = read_table(reader, &what, value.span(), table);
            sources.push((title.to_owned(), name.span().into(), source));
        }
        Some(Self(sources))
    }
}

/// Where items live: a database, a directory or a bucket.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Source", deny_unknown_fields)]
pub(super) struct RawSource {
    /// Where it is: `postgres://`, `postgresql://`, `mysql://`, `mariadb://` or
    /// `sqlite:`; `file:` for a directory; `s3://`, `az://` or `gs://` for a
    /// bucket. Keep passwords out of the file: `${DATABASE_URL}`.
    #[schemars(required)]
    pub(super) url: Option<Text>,
    /// The schema (in MySQL and MariaDB: the database) that holds the tables.
    /// Default: what the connection takes for current.
    #[schemars(length(min = 1))]
    pub(super) schema: Option<Text>,
    /// What the names of all tables begin with; policies leave it out.
    #[schemars(length(min = 1))]
    pub(super) table_prefix: Option<Text>,
    /// The longest that one statement may take.
    pub(super) statement_timeout: Option<Located<SignedDuration>>,
    /// The longest that one statement may wait for a lock.
    pub(super) lock_timeout: Option<Located<SignedDuration>>,
    /// What must be quiet for anything of it to be swept.
    pub(super) gates: Option<RawGates>,
}

impl ReadTable for RawSource {
    const WHAT: &'static str = "a source";
    const EXAMPLE: &'static str = "write `[source.NAME]` with the keys below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            url: fields.required("url", "say where it is: `url = \"${DATABASE_URL}\"`"),
            schema: fields.optional("schema"),
            table_prefix: fields.optional("table_prefix"),
            statement_timeout: fields.optional("statement_timeout"),
            lock_timeout: fields.optional("lock_timeout"),
            gates: fields.optional("gates"),
        }
    }
}

/// The bounds of a run. What is left out is not bounded, except as said.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Budget", deny_unknown_fields)]
pub(super) struct RawBudget {
    /// The most items that one page examines.
    #[schemars(range(min = 1))]
    pub(super) page: Option<Located<u64>>,
    /// "full": a page follows the other. "polite": small pages, and rests while
    /// others are at work in the database. `page_time` and `duty` say it in
    /// numbers. Default: "full".
    #[schemars(extend("enum" = ["full", "polite"]))]
    pub(super) pace: Option<Text>,
    /// The time that a page should take; its size follows. Default: "50ms", and
    /// "4ms" where the pace is "polite".
    pub(super) page_time: Option<Located<SignedDuration>>,
    /// The most items that a run examines.
    #[schemars(range(min = 1))]
    pub(super) items: Option<Located<u64>>,
    /// The most requests that a run makes to the source.
    #[schemars(range(min = 1))]
    pub(super) requests: Option<Located<u64>>,
    /// The longest that a run takes.
    pub(super) run_time: Option<Located<SignedDuration>>,
    /// The rest between two pages. Default: "0s".
    pub(super) pause: Option<Located<SignedDuration>>,
    /// The share of the time that pages may take while others are at work in
    /// the database. Default: 1, and 0.2 where the pace is "polite".
    #[schemars(range(min = 0.01, max = 1.0))]
    pub(super) duty: Option<Located<f64>>,
    /// How many pages may be swept side by side, by a connection each: tables
    /// of PostgreSQL, where it pays. Default: 1.
    #[schemars(range(min = 1, max = 16))]
    pub(super) workers: Option<Located<u64>>,
}

impl ReadTable for RawBudget {
    const WHAT: &'static str = "`budget`";
    const EXAMPLE: &'static str = "write `budget = { page = 1000, run_time = \"1m\" }`";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            page: fields.optional("page"),
            pace: fields.optional("pace"),
            page_time: fields.optional("page_time"),
            items: fields.optional("items"),
            requests: fields.optional("requests"),
            run_time: fields.optional("run_time"),
            pause: fields.optional("pause"),
            duty: fields.optional("duty"),
            workers: fields.optional("workers"),
        }
    }
}

/// When to refuse a run because it would remove too much.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Brake", deny_unknown_fields)]
pub(super) struct RawBrake {
    /// The part of a table that may go in one sweep: more than 0, at most 1.
    /// Default: 0.5.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub(super) fraction: Option<Located<f64>>,
    /// Tables of up to so many items may go whatever the fraction. Default:
    /// 1000.
    pub(super) over_items: Option<Located<u64>>,
    /// The most items that may go in one sweep, whatever the fraction.
    pub(super) max_items: Option<Located<u64>>,
}

impl ReadTable for RawBrake {
    const WHAT: &'static str = "`brake`";
    const EXAMPLE: &'static str =
        "write `brake = { fraction = 0.5 }`; with `fraction = 1.0` any part of a table may go";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            fraction: fields.optional("fraction"),
            over_items: fields.optional("over_items"),
            max_items: fields.optional("max_items"),
        }
    }
}

/// How far clocks may differ.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Clock", deny_unknown_fields)]
pub(super) struct RawClock {
    /// A source whose clock differs by more from this machine's is refused.
    /// Default: "60s".
    pub(super) skew_max: Option<Located<SignedDuration>>,
}

impl ReadTable for RawClock {
    const WHAT: &'static str = "`clock`";
    const EXAMPLE: &'static str = "write `clock = { skew_max = \"60s\" }`";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self { skew_max: fields.optional("skew_max") }
    }
}
