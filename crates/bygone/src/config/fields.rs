//! Reading the TOML tree: types, unknown keys, missing keys, placeholders.
//!
//! serde stops at the first error and repeats values in its messages. Here the
//! tree is walked by hand instead: every wrong type and every unknown key of a
//! file is reported at once, each at its place, and the values that `${…}`
//! brought in never reach a message.
//!
//! A reading function returns `None` when it has reported why; whoever called
//! it goes on with the next key.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use miette::SourceSpan;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Code, Findings, Problem};
use super::interpolate::{self, Env};
use super::raw::RawFile;
use super::suggest::nearest;

/// What all reading functions need, and where they report.
pub(super) struct Reader<'a> {
    text: &'a str,
    base_dir: &'a Path,
    env: &'a dyn Env,
    findings: Findings,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, base_dir: &'a Path, env: &'a dyn Env, findings: Findings) -> Self {
        Self { text, base_dir, env, findings }
    }

    pub(super) fn report(&mut self, span: Range<usize>, problem: Problem) {
        self.findings.add(span, problem);
    }

    pub(super) fn into_findings(self) -> Findings {
        self.findings
    }

    /// The place of `part` within `span`, or all of `span` where the part is
    /// written with escapes.
    fn narrow(&self, span: Range<usize>, part: &str) -> Range<usize> {
        let within = self.text.get(span.clone()).and_then(|t| t.find(part));
        match within {
            Some(offset) => {
                let start = span.start + offset;
                start..start + part.len()
            }
            None => span,
        }
    }
}

/// A type that a value of the file can be read as.
pub(super) trait Read: Sized {
    /// Reads the value of `key`, or reports why not and returns `None`.
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self>;
}

/// A type that a table of the file can be read as.
pub(super) trait ReadTable: Sized {
    /// What such a table is called in messages.
    const WHAT: &'static str;

    /// What to write where something else stands in its place.
    const EXAMPLE: &'static str;

    /// Asks for every key there is; what is not asked for is unknown.
    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self;
}

impl<T: ReadTable> Read for T {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(table) => Some(read_table(reader, T::WHAT, value.span(), table)),
            other => {
                reader.report(value.span(), wrong_type(key, "a table", other, T::EXAMPLE));
                None
            }
        }
    }
}

/// Reads the whole document.
pub(super) fn read_document(reader: &mut Reader<'_>, document: &DeTable<'_>) -> RawFile {
    read_table(reader, RawFile::WHAT, 0..0, document)
}

/// Reads one table, called `what`, whose header stands at `span`.
pub(super) fn read_table<T: ReadTable>(
    reader: &mut Reader<'_>,
    what: &str,
    span: Range<usize>,
    table: &DeTable<'_>,
) -> T {
    let mut fields = Fields::new(reader, what, span, table);
    let read = T::read_fields(&mut fields);
    fields.finish();
    read
}

/// The keys of one table while they are read.
pub(super) struct Fields<'r, 'a, 'i> {
    reader: &'r mut Reader<'a>,
    what: String,
    span: Range<usize>,
    table: &'r DeTable<'i>,
    asked: Vec<&'static str>,
    missing: Vec<Missing>,
}

/// What must be there and is not.
struct Missing {
    /// The keys of which any would do.
    keys: Vec<&'static str>,
    span: Range<usize>,
    problem: Problem,
}

impl<'r, 'a, 'i> Fields<'r, 'a, 'i> {
    pub(super) fn new(reader: &'r mut Reader<'a>, what: &str, span: Range<usize>, table: &'r DeTable<'i>) -> Self {
        Self { reader, what: what.to_owned(), span, table, asked: Vec::new(), missing: Vec::new() }
    }

    /// Calls the table by a better name from here on.
    pub(super) fn call(&mut self, what: String) {
        self.what = what;
    }

    /// Reads a key that may be absent.
    pub(super) fn optional<T: Read>(&mut self, key: &'static str) -> Option<T> {
        self.asked.push(key);
        let value = self.table.get(key)?;
        T::read(self.reader, key, value)
    }

    /// Reads a key that must be there; `help` says what to write.
    pub(super) fn required<T: Read>(&mut self, key: &'static str, help: &str) -> Option<T> {
        if !self.has(key) {
            let problem = Problem::new(Code::MissingKey, format!("{} has no `{key}`", self.what))
                .label(format!("`{key}` is missing here"));
            self.miss(vec![key], self.span.clone(), problem.help(help));
        }
        self.optional(key)
    }

    /// Whether the key is there, be its value good or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether neither of two keys is there, which is reported; `help` says
    /// what to write.
    pub(super) fn lacks_both(&mut self, [one, other]: [&'static str; 2], help: &str) -> bool {
        let lacks = !self.has(one) && !self.has(other);
        if lacks {
            let message = format!("{} has neither `{one}` nor `{other}`", self.what);
            let problem = Problem::new(Code::MissingKey, message).label("one of them is missing here").help(help);
            self.miss(vec![one, other], self.span.clone(), problem);
        }
        lacks
    }

    /// Reports a key that stands without the one that gives it a meaning;
    /// `help` says what to write.
    pub(super) fn needs_beside(&mut self, key: &str, other: &'static str, help: &str) {
        if let Some(value) = self.table.get(key).filter(|_| !self.has(other)) {
            let problem = Problem::new(Code::MissingKey, format!("`{key}` means nothing without `{other}`"))
                .label(format!("`{other}` is missing beside it"))
                .help(help);
            self.miss(vec![other], value.span(), problem);
        }
    }

    fn miss(&mut self, keys: Vec<&'static str>, span: Range<usize>, problem: Problem) {
        self.missing.push(Missing { keys, span, problem });
    }

    /// Reports what is missing and what nobody asked for.
    pub(super) fn finish(self) {
        let mut misspelt = Vec::new();
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !self.asked.contains(&name) {
                misspelt.extend(nearest(name, self.asked.iter().copied()));
                let problem = unknown_key(name, &self.what, &self.asked);
                self.reader.report(key.span(), problem);
            }
        }
        for Missing { keys, span, problem } in self.missing {
            // One slip is one finding: what was misspelt is not missing too.
            if !keys.iter().any(|key| misspelt.contains(key)) {
                self.reader.report(span, problem);
            }
        }
    }

    /// The keys asked for, and those of them that were required and missing.
    #[cfg(test)]
    pub(super) fn known(self) -> (Vec<&'static str>, Vec<&'static str>) {
        let missing = self.missing.into_iter().filter_map(|missing| match missing.keys.as_slice() {
            [key] => Some(*key),
            _ => None,
        });
        (self.asked, missing.collect())
    }
}

/// A key that is none of `known`.
pub(super) fn unknown_key(key: &str, what: &str, known: &[&str]) -> Problem {
    let label = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "not known".to_owned(),
    };
    Problem::new(Code::UnknownKey, format!("unknown key {key:?} in {what}"))
        .label(label)
        .help(format!("remove it, or use one of the keys known here: {}", known.join(", ")))
}

/// A value of another type than `wanted`.
pub(super) fn wrong_type(key: &str, wanted: &str, found: &DeValue<'_>, help: impl Into<String>) -> Problem {
    let found = match found {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    Problem::new(Code::WrongType, format!("`{key}` must be {wanted}, and this is {found}"))
        .label(format!("{found}, not {wanted}"))
        .help(help)
}

/// Reads every element of an array; one that is wrong makes the whole `None`,
/// after all of them were looked at.
pub(super) fn read_elements<T: Read>(
    reader: &mut Reader<'_>,
    key: &str,
    elements: &[Spanned<DeValue<'_>>],
) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = elements.iter().map(|element| T::read(reader, key, element)).collect();
    read.into_iter().collect()
}

/// A string, with its placeholders filled in.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// What it means. May be a secret: not for messages.
    pub(super) value: String,
    /// What stands in the file. May be shown.
    pub(super) written: String,
    pub(super) span: SourceSpan,
}

impl Text {
    /// A text that is not searched for placeholders.
    pub(super) fn verbatim(text: &str, span: Range<usize>) -> Self {
        Self { value: text.to_owned(), written: text.to_owned(), span: span.into() }
    }

    /// The place of a part of the value, or all of it where placeholders,
    /// escapes or other quotes keep the value from standing there as it is.
    pub(super) fn place_of(&self, part: Range<usize>) -> SourceSpan {
        if self.value != self.written || self.span.len() != self.written.len() + 2 {
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
        match interpolate::expand(written, reader.base_dir, reader.env) {
            Ok(filled) => Some(Self { value: filled, written: written.to_owned(), span: value.span().into() }),
            Err(failures) => {
                for failure in failures {
                    let span = reader.narrow(value.span(), &failure.placeholder);
                    reader.report(span, failure.problem);
                }
                None
            }
        }
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

/// The type that stands for another one in the JSON Schema.
pub(super) trait ShownAs {
    type Shown: JsonSchema;
}

impl ShownAs for u64 {
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
