//! Strings and numbers of the file, each with its place.

use std::borrow::Cow;
use std::ops::Range;

use miette::SourceSpan;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Problem};
use super::fields::{Read, Reader, wrong_type};

/// A string, with its placeholders filled in.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// What it means. May be a secret: not for messages.
    pub(super) value: String,
    /// What stands in the file. May be shown.
    pub(super) written: String,
    pub(super) span: SourceSpan,
    /// Whether it is a pack's, and `span` only where the pack is named.
    pub(super) of_pack: bool,
}

impl Text {
    /// A text that is not searched for placeholders.
    pub(super) fn verbatim(text: &str, span: Range<usize>) -> Self {
        Self { value: text.to_owned(), written: text.to_owned(), span: span.into(), of_pack: false }
    }

    /// The place of a part of the value, or all of it where placeholders,
    /// escapes or other quotes keep the value from standing there as it is.
    pub(super) fn place_of(&self, part: Range<usize>) -> SourceSpan {
        if self.of_pack || self.value != self.written || self.span.len() != self.written.len() + 2 {
            return self.span;
        }
        let start = self.span.offset() + 1;
        (start + part.start..start + part.end).into()
    }

    /// A text without placeholders.
    #[cfg(test)]
    pub(super) fn plain(value: &str) -> Self {
        Self::verbatim(value, 0..0)
    }
}

impl Read for Text {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let written = match value.get_ref() {
            DeValue::String(written) => written.as_ref(),
            other => {
                let help = format!("write one string in quotes: `{key} = \"…\"`");
                reader.report(value.span(), wrong_type(key, "a string", other, help));
                return None;
            }
        };
        let span = value.span();
        if reader.is_of_pack(&span) {
            return Some(Self { of_pack: true, ..Self::verbatim(written, span) });
        }
        let filled = reader.fill_in(written, &span)?;
        Some(Self { value: filled, ..Self::verbatim(written, span) })
    }
}

/// A value and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) span: SourceSpan,
}

impl<T> Located<T> {
    pub(super) fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span: span.into() }
    }
}

impl Read for Located<u64> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let example = format!("write a whole number without quotes: `{key} = 1000`");
        let problem = match value.get_ref() {
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()).map(u64::try_from) {
                Ok(Ok(number)) => return Some(Self::new(number, value.span())),
                Ok(Err(_)) => {
                    Problem::new(Code::BadValue, format!("`{key}` is negative")).label("less than zero").help(example)
                }
                Err(_) => Problem::new(Code::BadValue, format!("`{key}` is too large"))
                    .label("more than 64 bits hold")
                    .help(example),
            },
            other => wrong_type(key, "a whole number", other, example),
        };
        reader.report(value.span(), problem);
        None
    }
}

impl Read for Located<f64> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            // `fraction = 1` is as good as `1.0`.
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => None,
        };
        let Some(number) = number else {
            let help = format!("write a number without quotes: `{key} = 0.5`");
            let problem = wrong_type(key, "a number", value.get_ref(), help);
            reader.report(value.span(), problem);
            return None;
        };
        Some(Self::new(number, value.span()))
    }
}

impl Read for Located<bool> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Boolean(truth) = value.get_ref() else {
            let help = format!("write `{key} = true` or `{key} = false`, without quotes");
            reader.report(value.span(), wrong_type(key, "a boolean", value.get_ref(), help));
            return None;
        };
        Some(Self::new(*truth, value.span()))
    }
}

/// The type that stands for another one in the JSON Schema.
pub(super) trait ShownAs {
    type Shown: JsonSchema;
}

impl ShownAs for u64 {
    type Shown = Self;
}

impl ShownAs for bool {
    type Shown = Self;
}

impl ShownAs for f64 {
    type Shown = Self;
}

impl<T: JsonSchema> ShownAs for Vec<T> {
    type Shown = Self;
}

impl ShownAs for jiff::SignedDuration {
    type Shown = String;
}

impl<T: ShownAs> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::Shown::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::Shown::json_schema(generator)
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
