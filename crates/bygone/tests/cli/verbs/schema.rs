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
    let all = part["allOf"].as_array().into_iter().flatten();
    if let Some(why) = all.into_iter().find_map(|condition| misfit(schema, condition, value)) {
        return Some(why);
    }
    if part["if"].is_object() && misfit(schema, &part["if"], value).is_none() {
        return misfit(schema, &part["then"], value);
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
    let known = part["enum"].as_array().is_none_or(|choices| choices.contains(value));
    if !fits_type || !known || part.get("const").is_some_and(|only| only != value) {
        return Some(format!("{value} is no {part}"));
    }
    let items = value.as_array().into_iter().flatten();
    if let Some(why) = items.filter(|_| part["items"].is_object()).find_map(|item| misfit(schema, &part["items"], item))
    {
        return Some(why);
    }
    if part["not"].is_object() && misfit(schema, &part["not"], value).is_none() {
        return Some(format!("{value} must not be {}", part["not"]));
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
        ("[[policy]]", "gates = { actve_sessions = 5 }\n[[policy]]"),
        ("[[policy]]", "gates = { active_sessions = \"5\" }\n[[policy]]"),
        ("[[policy]]", "gates = { replicas = [\"postgres://h/d\"] }\n[[policy]]"),
        ("keep =", "jitter = \"5m\"\nkeep ="),
        ("keep =", "window = 22\nkeep ="),
        ("keep =", "lag_max = 60\nkeep ="),
        ("[[policy]]", "[serve.alarms]\ninterval = 3\n[[policy]]"),
        ("[[policy]]", "[serve.alarms]\nruns = \"5\"\n[[policy]]"),
        ("keep =", "unless = { where = \"a\" }\nkeep ="),
        ("keep =", "only_if = [{ via = \"a\", when = \"b\" }]\nkeep ="),
    ] {
        assert!(judged(&TOKENS.replace(from, to)).is_some(), "{from} => {to}");
    }
    for (kind, keys, fits) in [
        ("tree", "keep = \"1d\"", true),
        ("tree", "max_bytes = \"1GiB\"", true),
        ("tree", "max_bytes = 4096\nmin_depth = 1", true),
        ("tree", "path = \"a\"", false),
        ("tree", "keep = \"1d\"\nmin_depth = 0.5", false),
        ("prefix", "keep = \"1d\"\ndeadline = { key = \"%Y/**\" }", true),
        ("prefix", "include = [\"a\"]", false),
        ("stage", "", true),
        ("leases", "", true),
        ("leases", "keep = \"2d\"", true),
        ("rows", "", false),
    ] {
        let (source, _) = TOKENS.split_once("[[policy]]").unwrap();
        let text = format!("{source}[[policy]]\nname = \"p\"\nsource = \"db\"\nkind = \"{kind}\"\n{keys}\n");
        assert_eq!(judged(&text).is_none(), fits, "{text}: {:?}", judged(&text));
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
