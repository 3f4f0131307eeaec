//! Reading the TOML tree: types, unknown keys, missing keys, placeholders.
//!
//! serde stops at the first error and repeats values in its messages. Here the
//! tree is walked by hand instead: every wrong type and every unknown key of a
//! file is reported at once, each at its place, and the values that `${…}`
//! brought in never reach a message.
//!
//! A reading function returns `None` when it has reported why; whoever called
//! it goes on with the next key.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Code, Findings, Problem};
use super::interpolate::{self, Env};
use super::raw::RawFile;
use super::suggest::nearest;
use crate::packs::Pack;

/// What all reading functions need, and where they report.
pub(super) struct Reader<'a> {
    text: &'a str,
    base_dir: &'a Path,
    env: &'a dyn Env,
    packs: &'static [Pack],
    /// The place that everything of a pack stands at, while one is read.
    pack_place: Option<Range<usize>>,
    findings: Findings,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        text: &'a str,
        base_dir: &'a Path,
        env: &'a dyn Env,
        packs: &'static [Pack],
        findings: Findings,
    ) -> Self {
        Self { text, base_dir, env, packs, pack_place: None, findings }
    }

    /// The packs that there are.
    pub(super) fn packs(&self) -> &'static [Pack] {
        self.packs
    }

    /// From here on, what stands at `place` is text of a pack.
    pub(super) fn enter_pack(&mut self, place: Range<usize>) {
        self.findings.mark_pack(place.clone().into());
        self.pack_place = Some(place);
    }

    /// From here on, all text is the file's again.
    pub(super) fn leave_pack(&mut self) {
        self.pack_place = None;
    }

    /// Whether what stands at `span` is text of a pack.
    pub(super) fn is_of_pack(&self, span: &Range<usize>) -> bool {
        self.pack_place.as_ref() == Some(span)
    }

    pub(super) fn report(&mut self, span: Range<usize>, problem: Problem) {
        self.findings.add(span, problem);
    }

    pub(super) fn into_findings(self) -> Findings {
        self.findings
    }

    /// The text with its placeholders filled in, or reports of those that
    /// cannot be.
    pub(super) fn fill_in(&mut self, written: &str, span: &Range<usize>) -> Option<String> {
        let failures = match interpolate::expand(written, self.base_dir, self.env) {
            Ok(filled) => return Some(filled),
            Err(failures) => failures,
        };
        for failure in failures {
            let span = self.narrow(span.clone(), &failure.placeholder);
            self.report(span, failure.problem);
        }
        None
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
    /// The keys that are said elsewhere.
    settled: &'static [&'static str],
    /// The keys that have no place here.
    refused: Vec<&'static str>,
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
        let (asked, refused, missing) = (Vec::new(), Vec::new(), Vec::new());
        Self { reader, what: what.to_owned(), span, table, asked, settled: &[], refused, missing }
    }

    /// The same, where these keys are said elsewhere: they are not missing
    /// here, and not offered.
    pub(super) fn without(mut self, keys: &'static [&'static str]) -> Self {
        self.settled = keys;
        self
    }

    /// Calls the table by a better name from here on.
    pub(super) fn call(&mut self, what: String) {
        self.what = what;
    }

    /// The value of a key that may be absent, as it is.
    pub(super) fn value(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'i>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// For what is read in other ways.
    pub(super) fn reader(&mut self) -> &mut Reader<'a> {
        self.reader
    }

    /// Reads a key that may be absent.
    pub(super) fn optional<T: Read>(&mut self, key: &'static str) -> Option<T> {
        let value = self.value(key)?;
        T::read(self.reader, key, value)
    }

    /// Reads a key that must be there; `help` says what to write.
    pub(super) fn required<T: Read>(&mut self, key: &'static str, help: &str) -> Option<T> {
        self.require(key, help);
        self.optional(key)
    }

    /// Reports a key that must be there and is not; `help` says what to write.
    pub(super) fn require(&mut self, key: &'static str, help: &str) {
        if !self.has(key) {
            let problem = Problem::new(Code::MissingKey, format!("{} has no `{key}`", self.what))
                .label(format!("`{key}` is missing here"));
            self.miss(vec![key], self.span.clone(), problem.help(help));
        }
    }

    /// Whether the key is there, be its value good or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Takes a key for one that has no place in this table: it is not offered,
    /// and reported with `problem` where it is there.
    pub(super) fn refuse(&mut self, key: &'static str, problem: Problem) {
        if let Some((key, _)) = self.table.get_key_value(key) {
            self.reader.report(key.span(), problem);
        }
        self.refused.push(key);
    }

    /// Whether none of these keys is there, which is reported; `help` says
    /// what to write.
    pub(super) fn lacks_all(&mut self, keys: &[&'static str], help: &str) -> bool {
        let lacks = !keys.iter().any(|key| self.has(key));
        if lacks {
            let named: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            let message = format!("{} has none of {}", self.what, named.join(", "));
            let problem = Problem::new(Code::MissingKey, message).label("one of them is missing here").help(help);
            self.miss(keys.to_vec(), self.span.clone(), problem);
        }
        lacks
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

    /// Reports a key that stands without any of those that give it a meaning;
    /// `help` says what to write.
    pub(super) fn needs_beside(&mut self, key: &str, others: &[&'static str], help: &str) {
        let lacks = !others.iter().any(|other| self.has(other));
        if let Some(value) = self.table.get(key).filter(|_| lacks) {
            let named = others.iter().map(|other| format!("`{other}`")).collect::<Vec<_>>().join(" or ");
            let problem = Problem::new(Code::MissingKey, format!("`{key}` means nothing without {named}"))
                .label(format!("{named} is missing beside it"))
                .help(help);
            self.miss(others.to_vec(), value.span(), problem);
        }
    }

    fn miss(&mut self, keys: Vec<&'static str>, span: Range<usize>, problem: Problem) {
        self.missing.push(Missing { keys, span, problem });
    }

    /// Reports what is missing and what nobody asked for.
    pub(super) fn finish(self) {
        let offered = |key: &&str| !self.settled.contains(key) && !self.refused.contains(key);
        let known: Vec<&str> = self.asked.iter().copied().filter(offered).collect();
        let mut misspelt = Vec::new();
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) && !self.refused.contains(&name) {
                misspelt.extend(nearest(name, known.iter().copied()));
                let problem = unknown_key(name, &self.what, &known);
                self.reader.report(key.span(), problem);
            }
        }
        for Missing { keys, span, problem } in self.missing {
            // One slip is one finding: what was misspelt is not missing too.
            if !keys.iter().any(|key| misspelt.contains(key) || self.settled.contains(key)) {
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
