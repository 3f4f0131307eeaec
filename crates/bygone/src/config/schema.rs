//! The JSON Schema of the file, for editors and for `bygone schema`.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::raw::RawFile;

/// The JSON Schema of `bygone.toml`.
pub(crate) fn json_schema() -> Value {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(without_null))
        .into_generator()
        .into_root_schema_for::<RawFile>()
        .to_value()
}

/// Takes away the `null` that stands for an absent key: TOML has none.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| *choice != json!({ "type": "null" }));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.insert(key, value);
        }
    }
}
