//! The policies of a pack with what the file says instead.
//!
//! A key of the file takes the place of the pack's before anything is judged,
//! so that the checks of every policy see the whole of it. What comes from the
//! pack stands at the place where the file names the pack: a diagnostic can
//! quote the file only.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Code, Problem};
use super::fields::{Fields, ReadTable, Reader, wrong_type};
use super::names::empty;
use super::policy::RawPolicy;
use super::suggest::nearest;
use super::values::Text;
use crate::packs::Pack;

/// The keys of a policy that `[[use]]` says for the whole pack.
const SETTLED: [&str; 2] = ["name", "source"];

/// The keys of which one takes the place of the other.
const TIMES: [&str; 2] = ["schedule", "every"];

const HELP: &str = "name the policy in the header, `[use.policy.NAME]`, and write the keys below it";

/// A policy of a pack by the pack's own name for it; its `name` and `source`
/// are still to be filled in.
pub(super) type PackPolicy = (String, RawPolicy);

/// The keys of a policy that replace those of a pack.
pub(super) enum RawOverride {}

impl JsonSchema for RawOverride {
    fn schema_name() -> Cow<'static, str> {
        "Override".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = RawPolicy::json_schema(generator);
        // What is not said here the pack says.
        for key in ["required", "allOf", "dependentRequired"] {
            schema.remove(key);
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|key, _| !SETTLED.contains(&key.as_str()));
        }
        schema.insert("description".to_owned(), "Keys that replace those of the pack's policy.".into());
        schema.insert("minProperties".to_owned(), 1.into());
        schema
    }
}

/// Reads the policies of the pack that `pack` names; `None` where there is no
/// such pack.
pub(super) fn read(
    reader: &mut Reader<'_>,
    pack: &Text,
    overrides: Option<&Spanned<DeValue<'_>>>,
) -> Option<Vec<PackPolicy>> {
    let place = pack.span.offset()..pack.span.offset() + pack.span.len();
    let found = reader.packs().iter().find(|known| known.name == pack.value);
    let Some(contents) = found.map(Pack::contents) else {
        let problem = no_pack(pack, reader);
        reader.report(place, problem);
        return None;
    };
    let names: Vec<&str> = contents.policies.iter().map(|(name, _)| name.as_str()).collect();
    let overrides = overrides.map(|value| tables(reader, value, pack, &names)).unwrap_or_default();
    reader.enter_pack(place.clone());
    let policies = contents.policies.iter().map(|(name, own)| {
        let own = moved_table(own, &place);
        // What is missing is missing where more can be said.
        let (table, span) = match overrides.iter().find(|replaced| replaced.name == name) {
            Some(Override { span, said, .. }) => (merged(own, said), span.clone()),
            None => (own, place.clone()),
        };
        let what = format!("policy {name:?} of pack {:?}", pack.written);
        let mut fields = Fields::new(reader, &what, span, &table).without(&SETTLED);
        let policy = RawPolicy::read_fields(&mut fields);
        fields.finish();
        (name.clone(), policy)
    });
    let policies = policies.collect();
    reader.leave_pack();
    Some(policies)
}

/// What the file says of a policy.
struct Override<'v, 'i> {
    name: &'v str,
    span: Range<usize>,
    said: DeTable<'i>,
}

/// What the file says of each policy, without what is reported.
fn tables<'v, 'i>(
    reader: &mut Reader<'_>,
    value: &'v Spanned<DeValue<'i>>,
    pack: &Text,
    names: &[&str],
) -> Vec<Override<'v, 'i>> {
    let DeValue::Table(overrides) = value.get_ref() else {
        reader.report(value.span(), wrong_type("policy", "a table of policies", value.get_ref(), HELP));
        return Vec::new();
    };
    let mut tables = Vec::new();
    for (name, value) in overrides {
        let title = name.get_ref().as_ref();
        let key = format!("use.policy.{title}");
        match value.get_ref() {
            _ if !names.contains(&title) => reader.report(name.span(), no_policy(pack, (title, title), names)),
            DeValue::Table(table) if table.is_empty() => reader.report(name.span(), empty(&key)),
            DeValue::Table(table) => {
                tables.push(Override { name: title, span: value.span(), said: replaceable(reader, table) });
            }
            other => reader.report(value.span(), wrong_type(&key, "a table", other, HELP)),
        }
    }
    tables
}

/// The keys that may take the place of the pack's; others are reported.
fn replaceable<'i>(reader: &mut Reader<'_>, table: &DeTable<'i>) -> DeTable<'i> {
    let mut said = table.clone();
    for key in SETTLED {
        if let Some((key, _)) = said.remove_entry(key) {
            reader.report(key.span(), settled(key.get_ref()));
        }
    }
    said
}

fn settled(key: &str) -> Problem {
    let help = match key {
        "name" => "remove it; `prefix` in `[[use]]` is put before the names of all policies of the pack",
        _ => "remove it; `source` in `[[use]]` holds for all policies of the pack",
    };
    Problem::new(Code::UnknownKey, format!("`{key}` of a pack's policy cannot be replaced"))
        .label("not here")
        .help(help)
}

fn no_pack(pack: &Text, reader: &Reader<'_>) -> Problem {
    let names: Vec<&str> = reader.packs().iter().map(|known| known.name).collect();
    let label = match nearest(&pack.value, names.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not a pack".to_owned(),
    };
    Problem::new(Code::MissingPack, format!("there is no pack {:?}", pack.written))
        .label(label)
        .help(format!("name one of the packs ({}); `bygone packs` says what they are for", names.join(", ")))
}

/// A name, with how it is written, that no policy of the pack has.
pub(super) fn no_policy(pack: &Text, (name, written): (&str, &str), names: &[&str]) -> Problem {
    let label = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not a policy of this pack".to_owned(),
    };
    Problem::new(Code::MissingPolicy, format!("the pack {:?} has no policy {written:?}", pack.written))
        .label(label)
        .help("write a name as `bygone packs show` shows it, without `prefix`; or remove it")
}

/// The table with what is said in the place of its own.
fn merged<'i>(mut own: DeTable<'i>, said: &DeTable<'i>) -> DeTable<'i> {
    if TIMES.iter().any(|key| said.contains_key(*key)) {
        for key in TIMES {
            own.remove(key);
        }
    }
    for (key, value) in said {
        // A key that is only overwritten would keep its old place.
        own.remove(key.get_ref().as_ref());
        own.insert(key.clone(), value.clone());
    }
    own
}

fn moved_table<'i>(table: &DeTable<'i>, place: &Range<usize>) -> DeTable<'i> {
    let entry = |(key, value): (&Spanned<Cow<'i, str>>, _)| {
        (Spanned::new(place.clone(), key.get_ref().clone()), moved(value, place))
    };
    table.iter().map(entry).collect()
}

/// The value and all that is in it, at `place`.
fn moved<'i>(value: &Spanned<DeValue<'i>>, place: &Range<usize>) -> Spanned<DeValue<'i>> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => DeValue::Table(moved_table(table, place)),
        DeValue::Array(array) => DeValue::Array(array.iter().map(|element| moved(element, place)).collect()),
        other => other.clone(),
    };
    Spanned::new(place.clone(), inner)
}
