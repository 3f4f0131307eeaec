//! Lists of names: columns, references to columns, policies.
//!
//! A list that is empty, or says a thing twice, is a slip: whoever wrote it
//! meant something else than what leaving it out would do.

use std::collections::BTreeMap;

use miette::SourceSpan;
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Findings, Problem};
use super::fields::{Read, Reader, wrong_type};
use super::resolve::plain_name;
use super::values::{Located, Text};

impl Read for Located<Vec<Text>> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            reader.report(value.span(), wrong_type(key, "a list of strings", value.get_ref(), help(key)));
            return None;
        };
        let texts: Vec<Option<Text>> = elements.iter().map(|element| read_element(reader, key, element)).collect();
        Some(Self::new(texts.into_iter().collect::<Option<_>>()?, value.span()))
    }
}

fn read_element(reader: &mut Reader<'_>, key: &str, element: &Spanned<DeValue<'_>>) -> Option<Text> {
    if !element.get_ref().is_str() {
        let problem = wrong_type(&format!("{key}[…]"), "a string", element.get_ref(), help(key));
        reader.report(element.span(), problem);
        return None;
    }
    Text::read(reader, key, element)
}

fn help(key: &str) -> String {
    format!("write a list of strings: `{key} = [\"…\", \"…\"]`")
}

/// The columns that a list names: at least one, none twice.
pub(super) fn columns(key: &str, list: Located<Vec<Text>>, findings: &mut Findings) -> Option<Vec<String>> {
    let texts = filled(key, list, findings)?;
    distinct(key, texts.iter().map(|text| (text.value.as_str(), text.span)), findings)?;
    let names: Vec<Option<String>> = texts.into_iter().map(|text| plain_name(key, text, findings)).collect();
    names.into_iter().collect()
}

/// What a list holds, which must be something.
pub(super) fn filled<T>(key: &str, list: Located<Vec<T>>, findings: &mut Findings) -> Option<Vec<T>> {
    if list.value.is_empty() {
        findings.add(list.span, empty(key));
        return None;
    }
    Some(list.value)
}

/// A key with nothing in it.
pub(super) fn empty(key: &str) -> Problem {
    Problem::new(Code::BadValue, format!("`{key}` is empty"))
        .label("nothing in it")
        .help(format!("write what belongs here, or leave `{key}` out"))
}

/// Reports each element that an earlier one equals, and is `None` where there
/// is one.
pub(super) fn distinct<T: Ord>(
    key: &str,
    elements: impl IntoIterator<Item = (T, SourceSpan)>,
    findings: &mut Findings,
) -> Option<()> {
    let mut first = BTreeMap::new();
    let mut distinct = Some(());
    for (element, span) in elements {
        let Some(earlier) = first.get(&element) else {
            first.insert(element, span);
            continue;
        };
        let problem = Problem::new(Code::BadValue, format!("`{key}` says the same twice"))
            .label("and again here")
            .help("say it once");
        findings.add_pair((*earlier, "first here"), span, problem);
        distinct = None;
    }
    distinct
}
