//! `bygone schema`: what an editor is told of the file.

use serde_json::Value;

use crate::support::{Run, TOKENS, bygone};

const USE: &str = "[[use]]\npack = \"mas\"\nsource = \"db\"\noff = [\"mas-queue-jobs\"]\n\
                   [use.policy.mas-policy-data]\nnewest = 20\n";

fn schema() -> Value {
    Run::of(&mut bygone(&["schema"])).ends(0).json()
}

/// Why a value does not fit a part of the schema, as far as keys, types and choices go; `None` when it does.
fn misfit(schema: &Value, part: &Value, value: &Value) -> Option<String> {
    if let Some(name) = part["$ref"].as_str() {
        return misfit(
            schema,
            schema.pointer(name.trim_start_matches('#')).expect("the reference leads somewhere"),
            value,
        );
    }
    for choices in [&part["anyOf"], &part["oneOf"]].into_iter().filter_map(Value::as_array) {
        if choices.iter().all(|choice| misfit(schema, choice, value).is_some()) {
            return Some(format!("{value} is none of the choices of {part}"));
        }
    }
    let fits_type = match part["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some(other) => panic!("the schema knows the type {other}"),
        None => true,
    };
    if !fits_type || part.get("const").is_some_and(|only| only != value) {
        return Some(format!("{value} is no {part}"));
    }
    let items = value.as_array().into_iter().flatten();
    if let Some(why) = items.filter(|_| part["items"].is_object()).find_map(|item| misfit(schema, &part["items"], item))
    {
        return Some(why);
    }
    value.as_object().and_then(|table| misfit_of_table(schema, part, table))
}

fn misfit_of_table(schema: &Value, part: &Value, table: &serde_json::Map<String, Value>) -> Option<String> {
    let required = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.into_iter().find(|key| !table.contains_key(*key)) {
        return Some(format!("{missing} is missing in {table:?}"));
    }
    let dependent = part["dependentRequired"].as_object().into_iter().flatten();
    let dependent = dependent.filter(|(key, _)| table.contains_key(*key)).filter_map(|(_, needed)| needed.as_array());
    if let Some(missing) = dependent.flatten().find(|key| key.as_str().is_some_and(|key| !table.contains_key(key))) {
        return Some(format!("{missing} is missing beside others in {table:?}"));
    }
    if part["not"].is_object() && misfit(schema, &part["not"], &Value::Object(table.clone())).is_none() {
        return Some(format!("{table:?} must not be {}", part["not"]));
    }
    table.iter().find_map(|(key, value)| match (&part["properties"][key], &part["additionalProperties"]) {
        (Value::Null, Value::Bool(false)) => Some(format!("{key} is not known")),
        (Value::Null, other) => misfit(schema, other, value),
        (property, _) => misfit(schema, property, value),
    })
}

fn judged(text: &str) -> Option<String> {
    let file: toml::Table = toml::from_str(text).unwrap();
    let schema = schema();
    misfit(&schema, &schema, &serde_json::to_value(file).unwrap())
}

#[test]
fn it_accepts_the_reference_file() {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bygone.reference.toml");
    assert_eq!(judged(&std::fs::read_to_string(reference).unwrap()), None);
    assert_eq!(judged(TOKENS), None);
    let (source, _) = TOKENS.split_once("[[policy]]").unwrap();
    assert_eq!(judged(&format!("{source}{USE}")), None, "packs alone will do");
    assert!(judged(source).is_some(), "nothing at all will not");
}

/// What the program refuses for its keys and types, an editor underlines.
#[test]
fn it_refuses_what_the_program_refuses() {
    for (from, to) in [
        ("keep =", "keeep ="),
        ("keep = \"0s\"\n", ""),
        ("keep = \"0s\"", "keep = 30"),
        ("\"expires_at\"", "{ epoch_days = \"expires_at\" }"),
        ("url =", "ulr ="),
        ("keep =", "kind = \"files\"\nkeep ="),
        ("keep =", "budget = { pages = 7 }\nkeep ="),
        ("[source.db]", "[sources.db]"),
        ("deadline =", "newest = 1\nby ="),
        ("keep =", "per = [\"a\"]\nkeep ="),
        ("keep =", "with = \"a.b\"\nkeep ="),
        ("keep =", "with = [\"a.b\"]\nclear = [\"c\"]\nkeep ="),
        ("keep =", "set = { a = [1] }\nkeep ="),
        ("keep =", "unless = { where = \"a\" }\nkeep ="),
        ("keep =", "only_if = [{ via = \"a\", when = \"b\" }]\nkeep ="),
    ] {
        assert!(judged(&TOKENS.replace(from, to)).is_some(), "{from} => {to}");
    }
    for (from, to) in [
        ("pack =", "pak ="),
        ("source = \"db\"\n", ""),
        ("[\"mas-queue-jobs\"]", "\"mas-queue-jobs\""),
        ("newest =", "name = \"a\"\nnewest ="),
        ("newest =", "source = \"db\"\nnewest ="),
        ("newest =", "enabled = \"no\"\nnewest ="),
    ] {
        assert!(judged(&format!("{TOKENS}{}", USE.replace(from, to))).is_some(), "{from} => {to}");
    }
}
