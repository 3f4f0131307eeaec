//! Sizes as people write them: "10GiB", "500 MB", or a number of bytes.

use std::borrow::Cow;

use bytesize::ByteSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Problem};
use super::fields::{Read, Reader, wrong_type};
use super::values::{Located, ShownAs, Text};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

impl Read for Located<Size> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let help = format!("write a number with a unit: `{key} = \"10GiB\"`, \"500MB\"; or a number of bytes");
        match value.get_ref() {
            DeValue::Integer(_) => {
                let bytes = Located::<u64>::read(reader, key, value)?;
                Some(Self { value: Size(bytes.value), span: bytes.span })
            }
            DeValue::String(_) => {
                let text = Text::read(reader, key, value)?;
                // A fraction of a byte is nobody's limit, and a sign a slip.
                let plain = !text.value.trim_start().starts_with(['-', '+']);
                if let Some(size) = text.value.trim().parse::<ByteSize>().ok().filter(|_| plain) {
                    return Some(Self { value: Size(size.as_u64()), span: text.span });
                }
                let problem =
                    Problem::new(Code::BadValue, format!("`{key}` is not a size")).label("not understood").help(help);
                reader.report(value.span(), problem);
                None
            }
            other => {
                reader.report(value.span(), wrong_type(key, "a size", other, help));
                None
            }
        }
    }
}

impl ShownAs for Size {
    type Shown = Self;
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "integer", "minimum": 0 }] })
    }
}
