//! A policy as it is written: the one list of its keys.

use jiff::SignedDuration;
use miette::SourceSpan;
use schemars::JsonSchema;
use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::action::RawSet;
use super::deadline::RawDeadline;
use super::error::{Code, Problem};
use super::fields::{Fields, Read, ReadTable, Reader, read_elements, wrong_type};
use super::kind::{Kind, LIMITS};
use super::raw::{RawBrake, RawBudget};
use super::size::Size;
use super::times::RawWindows;
use super::values::{Located, Text};
use super::via::RawConditions;

/// The policies, without those that were found empty.
#[derive(Debug)]
pub(super) struct RawPolicies(pub(super) Vec<RawPolicy>);

impl Read for RawPolicies {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            let help = "write the header with two brackets: `[[policy]]`";
            let problem = wrong_type(key, "an array of tables", value.get_ref(), help);
            reader.report(value.span(), problem);
            return None;
        };
        let mut policies = Vec::new();
        for element in elements {
            if element.get_ref().as_table().is_some_and(toml::map::Map::is_empty) {
                let problem = Problem::new(Code::EmptyPolicy, "this policy is empty")
                    .label("nothing follows")
                    .help("write `name`, `source`, `table`, `deadline` and `keep`, or remove it");
                reader.report(element.span(), problem);
            } else if let Some(policy) = RawPolicy::read(reader, key, element) {
                policies.push(policy);
            }
        }
        Some(Self(policies))
    }
}

/// Which items of a source are past their time, and what becomes of them.
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "Policy",
    deny_unknown_fields,
    extend("allOf" = kinds()),
    extend("dependentRequired" = { "per": ["newest"], "by": ["newest"] }),
    extend("not" = { "required": ["with"], "anyOf": [{ "required": ["clear"] }, { "required": ["set"] }] }),
)]
pub(super) struct RawPolicy {
    /// The policy's name, in reports and on the command line.
    #[schemars(required, length(min = 1, max = 100))]
    pub(super) name: Option<Text>,
    /// The name of the source that the items are in.
    #[schemars(required)]
    pub(super) source: Option<Text>,
    /// What kind of items it sweeps: "rows" of a table (the default where
    /// `table` stands), files of a directory "tree", objects under a bucket's
    /// "prefix", files of a staging area, "stage", or what a lease store
    /// holds, "leases".
    #[schemars(with = "Option<String>", extend("enum" = ["rows", "tree", "prefix", "stage", "leases"]))]
    pub(super) kind: Option<Kind>,
    /// The table.
    #[schemars(length(min = 1))]
    pub(super) table: Option<Text>,
    /// Which column holds the deadline, and in what form. For trees: "mtime"
    /// (the default), "atime", "ctime" or "birth"; for trees and prefixes: a
    /// date in the key, `{ key = "logs/%Y/%m/%d/**" }`.
    pub(super) deadline: Option<Located<RawDeadline>>,
    /// How long an item stays after its deadline.
    pub(super) keep: Option<Located<SignedDuration>>,
    /// How many rows stay whatever their age: the newest. With `deadline`, a
    /// row goes only when both let it.
    #[schemars(range(min = 1))]
    pub(super) newest: Option<Located<u64>>,
    /// The columns that make groups: the newest of each group stay. Default:
    /// the table is one group.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) per: Option<Located<Vec<Text>>>,
    /// The column that says which rows are the newest. Default: the key.
    #[schemars(length(min = 1))]
    pub(super) by: Option<Text>,
    /// A condition in SQL: only rows that meet it are swept.
    #[schemars(rename = "where", length(min = 1))]
    pub(super) where_: Option<Text>,
    /// Rows stay where this holds for the row that a column points at.
    pub(super) unless: Option<RawConditions>,
    /// Rows go only where this holds for the row that a column points at.
    pub(super) only_if: Option<RawConditions>,
    /// Rows stay while one of these columns points at them: "table.column".
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) unless_referenced_by: Option<Located<Vec<Text>>>,
    /// Rows of other tables that go along, in the same transaction:
    /// "table.column" is the column that points here; farther ones are joined
    /// by `->`, the farthest first.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) with: Option<Located<Vec<Text>>>,
    /// The columns that become NULL; the row stays.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) clear: Option<Located<Vec<Text>>>,
    /// The columns that get a new value; the row stays. "now" is the time of
    /// the sweep.
    #[schemars(extend("minProperties" = 1))]
    pub(super) set: Option<Located<RawSet>>,
    /// The policies of this file that run before this one.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) after: Option<Located<Vec<Text>>>,
    /// The columns that tell rows apart. Default: the primary key, or a unique
    /// index.
    pub(super) key: Option<RawKey>,
    /// The time zone of timestamps that carry none: an IANA name such as
    /// "Europe/Berlin". Default: UTC.
    pub(super) zone: Option<Text>,
    /// The directory below the source's, or what keys begin with behind the
    /// source's url. Default: all of it.
    #[schemars(length(min = 1))]
    pub(super) path: Option<Text>,
    /// Globs over paths or keys: only what matches one of them goes. `**` goes
    /// over any number of directories. Default: everything.
    #[schemars(length(min = 1))]
    pub(super) include: Option<Located<Vec<Text>>>,
    /// Globs over paths or keys: what matches one of them stays.
    #[schemars(length(min = 1))]
    pub(super) exclude: Option<Located<Vec<Text>>>,
    /// How deep in the tree an entry must lie to go: 1 is in the directory
    /// itself. Default: 1.
    #[schemars(range(min = 1))]
    pub(super) min_depth: Option<Located<u64>>,
    /// Whether directories go that are empty and past their time. Default:
    /// false.
    pub(super) empty_dirs: Option<Located<bool>>,
    /// The most bytes that stay in the tree, such as "10GiB": the oldest files
    /// go first. For a staging area: the most that the daemon lets it hold.
    pub(super) max_bytes: Option<Located<Size>>,
    /// The most files that stay in the tree: the oldest go first. For a staging
    /// area: the most that the daemon lets it hold.
    pub(super) max_count: Option<Located<u64>>,
    /// How much the file system must have free, such as "5GiB": the oldest
    /// files go until it has. For a staging area: files that would leave less are
    /// refused.
    pub(super) min_free: Option<Located<Size>>,
    /// When it runs, as cron: five fields, or six with seconds first, and then
    /// maybe the zone of its times, such as "Europe/Berlin". Default: UTC.
    pub(super) schedule: Option<Text>,
    /// How often it runs; instead of `schedule`.
    pub(super) every: Option<Located<SignedDuration>>,
    /// How far each run is put off, at most, so that not all of them begin at
    /// once: shorter than the time between two. Default: "0s".
    pub(super) jitter: Option<Located<SignedDuration>>,
    /// The hours in which the daemon runs it, "22:00-05:00 Europe/Berlin"; or
    /// several such. Without a zone they are UTC. Default: at any time.
    pub(super) window: Option<RawWindows>,
    /// How long items may stay past their time, after a run, before somebody
    /// is told: "1s" or more. Default: nobody is.
    pub(super) lag_max: Option<Located<SignedDuration>>,
    /// The bounds of a run.
    pub(super) budget: Option<RawBudget>,
    /// When to refuse a run because it would remove too much.
    pub(super) brake: Option<RawBrake>,
    /// Whether it takes part in anything. Default: true.
    pub(super) enabled: Option<Located<bool>>,
}

impl ReadTable for RawPolicy {
    const WHAT: &'static str = "a policy";
    const EXAMPLE: &'static str = "write `[[policy]]` with the keys below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        let name: Option<Text> = fields.required("name", "give it a name of its own: `name = \"expired-tokens\"`");
        if let Some(name) = &name {
            fields.call(format!("policy {:?}", name.written));
        }
        let source = fields.required("source", "name a source of this file: `source = \"…\"`");
        let kind = kind(fields);
        check_companions(kind, fields);
        Self {
            name,
            source,
            kind,
            table: fields.optional("table"),
            deadline: fields.optional("deadline"),
            keep: fields.optional("keep"),
            newest: fields.optional("newest"),
            per: fields.optional("per"),
            by: fields.optional("by"),
            where_: fields.optional("where"),
            unless: fields.optional("unless"),
            only_if: fields.optional("only_if"),
            unless_referenced_by: fields.optional("unless_referenced_by"),
            with: fields.optional("with"),
            clear: fields.optional("clear"),
            set: fields.optional("set"),
            after: fields.optional("after"),
            key: fields.optional("key"),
            zone: fields.optional("zone"),
            path: fields.optional("path"),
            include: fields.optional("include"),
            exclude: fields.optional("exclude"),
            min_depth: fields.optional("min_depth"),
            empty_dirs: fields.optional("empty_dirs"),
            max_bytes: fields.optional("max_bytes"),
            max_count: fields.optional("max_count"),
            min_free: fields.optional("min_free"),
            schedule: fields.optional("schedule"),
            every: fields.optional("every"),
            jitter: fields.optional("jitter"),
            window: fields.optional("window"),
            lag_max: fields.optional("lag_max"),
            budget: fields.optional("budget"),
            brake: fields.optional("brake"),
            enabled: fields.optional("enabled"),
        }
    }
}

/// The kind that is said, or rows; `None` where it was refused.
fn kind(fields: &mut Fields<'_, '_, '_>) -> Option<Kind> {
    if !fields.has("kind") {
        fields.value("kind");
        return Some(Kind::Rows);
    }
    let text: Text = fields.optional("kind")?;
    Kind::parse(&text, fields)
}

/// Reports keys of a policy that lack what they need beside them, and those
/// that stand beside the wrong ones.
fn check_companions(kind: Option<Kind>, fields: &mut Fields<'_, '_, '_>) {
    // Without a kind nothing can be said of the others.
    let Some(kind) = kind else { return };
    kind.check_keys(fields);
    let help = "say when it runs: `every = \"1h\"`; or remove `jitter`";
    fields.needs_beside("jitter", &["schedule", "every"], help);
    match kind {
        Kind::Rows => check_rows(fields),
        Kind::Tree => {
            let help = "say how long files stay: `keep = \"5d\"`; or how much of them: `max_bytes = \"10GiB\"`";
            fields.lacks_all(&[["keep"].as_slice(), &LIMITS].concat(), help);
        }
        Kind::Prefix => fields.require("keep", "say how long objects stay: `keep = \"30d\"`"),
        Kind::Stage | Kind::Leases => {}
    }
}

fn check_rows(fields: &mut Fields<'_, '_, '_>) {
    let help = "name the table: `table = \"access_tokens\"`; for anything else, say `kind = \"tree\"`, \"prefix\", \
                \"stage\" or \"leases\"";
    fields.require("table", help);
    let help = "name the column that holds the deadline: `deadline = \"expires_at\"`; \
                or say how many rows stay: `newest = 10`";
    if fields.lacks_both(["deadline", "newest"], help) {
        // What else is missing follows from that.
        return;
    }
    if fields.has("deadline") {
        fields.require("keep", "say how long rows stay after their deadline: `keep = \"30d\"`, or \"0s\"");
    }
    let help = "name the deadline that it counts from: `deadline = \"created_at\"`; or remove `keep`";
    fields.needs_beside("keep", &["deadline"], help);
    fields.needs_beside("per", &["newest"], "say how many of each group stay: `newest = 10`; or remove `per`");
    fields.needs_beside("by", &["newest"], "say how many rows stay: `newest = 10`; or remove `by`");
}

/// What each kind needs, and what some keys need beside them, for the JSON
/// Schema.
fn kinds() -> serde_json::Value {
    let of = |kind: &str| json!({ "properties": { "kind": { "const": kind } }, "required": ["kind"] });
    let others =
        json!({ "properties": { "kind": { "enum": ["tree", "prefix", "stage", "leases"] } }, "required": ["kind"] });
    json!([
        { "if": { "not": others }, "then": {
            "required": ["table"],
            "anyOf": [{ "required": ["deadline", "keep"] }, { "required": ["newest"] }],
            "dependentRequired": { "deadline": ["keep"], "keep": ["deadline"] },
        } },
        { "if": of("tree"), "then": { "anyOf": [
            { "required": ["keep"] }, { "required": ["max_bytes"] },
            { "required": ["max_count"] }, { "required": ["min_free"] },
        ] } },
        { "if": of("prefix"), "then": { "required": ["keep"] } },
        { "if": { "required": ["jitter"] }, "then": { "anyOf": [{ "required": ["schedule"] }, { "required": ["every"] }] } },
    ])
}

/// One column, or several that tell rows apart together.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Key", untagged)]
pub(super) enum RawKey {
    /// One column.
    One(#[schemars(length(min = 1))] Text),
    /// Several columns.
    Several(#[schemars(length(min = 1))] Located<Vec<Text>>),
}

impl RawKey {
    /// Where it stands.
    pub(super) fn span(&self) -> SourceSpan {
        match self {
            Self::One(text) => text.span,
            Self::Several(list) => list.span,
        }
    }
}

impl Read for RawKey {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(_) => Text::read(reader, key, value).map(Self::One),
            DeValue::Array(elements) => {
                read_elements(reader, key, elements).map(|columns| Self::Several(Located::new(columns, value.span())))
            }
            other => {
                let help = "write `key = \"id\"`, or `key = [\"tenant\", \"id\"]`";
                let problem = wrong_type(key, "a column or a list of columns", other, help);
                reader.report(value.span(), problem);
                None
            }
        }
    }
}
