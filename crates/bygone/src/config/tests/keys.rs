//! The JSON Schema and the reader must name the same keys.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use miette::NamedSource;
use serde_json::Value;
use toml::de::DeTable;

use super::super::alarms::RawAlarms;
use super::super::deadline::RawLatest;
use super::super::error::Findings;
use super::super::fields::{Fields, ReadTable, Reader};
use super::super::gates::RawGates;
use super::super::json_schema;
use super::super::policy::RawPolicy;
use super::super::raw::{RawBrake, RawBudget, RawClock, RawFile, RawSource};
use super::super::serve::RawServe;
use super::super::uses::RawUse;
use super::super::via::RawCondition;
use super::{TestEnv, config, with_policy_lines};

type Keys = BTreeSet<String>;

/// The keys that reading asks for, and those it requires.
fn read_keys<T: ReadTable>() -> (Keys, Keys) {
    let text = NamedSource::new("bygone.toml", String::new());
    let findings = Findings::new(Arc::new(text));
    let mut reader = Reader::new("", Path::new(""), &TestEnv, &[], findings);
    let table = DeTable::new();
    let mut fields = Fields::new(&mut reader, T::WHAT, 0..0, &table);
    T::read_fields(&mut fields);
    let (asked, required) = fields.known();
    let owned = |keys: Vec<&str>| keys.into_iter().map(str::to_owned).collect();
    (owned(asked), owned(required))
}

/// The keys that a part of the schema names, and those it requires.
fn schema_keys(part: &Value) -> (Keys, Keys) {
    assert_eq!(part["additionalProperties"], false, "{part}");
    let named = part["properties"].as_object().unwrap().keys().cloned();
    let required = part["required"].as_array().into_iter().flatten();
    let required = required.map(|key| key.as_str().unwrap().to_owned());
    (named.collect(), required.collect())
}

#[test]
fn the_schema_names_the_keys_that_are_read() {
    let schema = json_schema();
    let part = |name: &str| schema_keys(&schema["$defs"][name]);
    assert_eq!(part("Source"), read_keys::<RawSource>());
    assert_eq!(part("Gates"), read_keys::<RawGates>());
    let (named, mut required) = read_keys::<RawPolicy>();
    // Only policies over rows need one, which the schema says with their kind.
    assert!(required.remove("table"));
    assert_eq!(part("Policy"), (named, required));
    assert_eq!(part("Budget"), read_keys::<RawBudget>());
    assert_eq!(part("Brake"), read_keys::<RawBrake>());
    assert_eq!(part("Alarms"), read_keys::<RawAlarms>());
    assert_eq!(part("Serve"), read_keys::<RawServe>());
    assert_eq!(part("Clock"), read_keys::<RawClock>());
    assert_eq!(part("Latest"), read_keys::<RawLatest>());
    assert_eq!(part("Use"), read_keys::<RawUse>());
    assert_eq!(part("Condition"), read_keys::<RawCondition>());
    let own = |keys: Keys| keys.into_iter().filter(|key| key != "name" && key != "source").collect();
    assert_eq!(part("Override"), (own(read_keys::<RawPolicy>().0), Keys::new()));
    // What the file lacks is said of the file and its policies, not of a key.
    assert_eq!(schema_keys(&schema).0, read_keys::<RawFile>().0);
}

#[test]
fn the_schema_names_the_forms_that_are_read() {
    let schema = json_schema();
    let mut forms = Keys::new();
    for form in schema["$defs"]["DeadlineForm"]["oneOf"].as_array().unwrap() {
        let (named, required) = schema_keys(form);
        assert_eq!(named, required);
        forms.extend(named);
    }
    // That one is of files and objects.
    assert!(forms.contains("key"));
    for form in forms.iter().filter(|form| *form != "key") {
        let text = with_policy_lines("").replace("\"d\"", &format!("{{ {form} = \"d\" }}"));
        assert!(config(&text).is_ok(), "{form}");
    }
    let text = with_policy_lines("").replace("\"d\"", "{ other = \"d\" }");
    let help = miette::Diagnostic::help(&config(&text).unwrap_err()).unwrap().to_string();
    let known: Keys = help.split(": ").nth(1).unwrap().split(", ").map(str::to_owned).collect();
    forms.extend(["latest".to_owned(), "null".to_owned()]);
    assert_eq!(known, forms);
}

#[test]
fn the_schema_says_the_forms_of_a_deadline_exactly() {
    let deadline = &json_schema()["$defs"]["Policy"]["properties"]["deadline"]["anyOf"];
    let forms: Vec<&Value> =
        deadline.as_array().unwrap().iter().map(|form| form.get("$ref").unwrap_or(&form["items"]["$ref"])).collect();
    let column = "#/$defs/DeadlineColumn";
    assert_eq!(forms, [column, column, "#/$defs/Latest"]);
    let schema = json_schema();
    let null = &schema["$defs"]["Latest"]["properties"]["null"]["enum"];
    assert_eq!(*null, serde_json::json!(["ignore", "keep"]));
}

#[test]
fn the_schema_says_what_keys_need_beside_them() {
    let schema = json_schema();
    let policy = &schema["$defs"]["Policy"];
    let rows = &policy["allOf"][0]["then"];
    assert_eq!(rows["required"], serde_json::json!(["table"]));
    let all = policy["dependentRequired"].as_object().unwrap().iter();
    for (key, others) in all.chain(rows["dependentRequired"].as_object().unwrap()) {
        assert!(policy["properties"][key].is_object(), "{key}");
        for other in others.as_array().unwrap() {
            assert!(policy["properties"][other.as_str().unwrap()].is_object(), "{other}");
        }
    }
    assert_eq!(policy["properties"]["set"]["minProperties"], 1);
    assert_eq!(policy["properties"]["with"]["uniqueItems"], true);
}

#[test]
fn the_schema_is_explained_and_knows_no_null() {
    let schema = json_schema();
    assert!(!schema.to_string().contains("\"null\"]"), "{schema:#}");
    assert!(!schema.to_string().contains("\"type\":\"null\""), "{schema:#}");
    for (name, part) in schema["$defs"].as_object().unwrap() {
        for (key, property) in part["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}.{key}");
        }
    }
}
