//! `leases` and `stages` of a token: what it may do with leases, namespace by namespace, and in staging areas, source by
//! source.

use std::collections::BTreeMap;

use bygone_lease::Namespace;
use bygone_server::http::{Right, Rights};
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Findings, Problem};
use super::fields::{Read, Reader, wrong_type};
use super::names;
use super::values::{Located, ShownAs, Text};

/// Names and rights, in the order written.
#[derive(Debug)]
pub(super) struct RawRights(Vec<(Text, Text)>);

/// To "read", or to "write", which is everything.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Right", rename_all = "snake_case")]
#[expect(dead_code, reason = "it describes what the reader takes, for the JSON Schema")]
pub(super) enum Word {
    /// Sees what is there.
    Read,
    /// Does everything.
    Write,
}

impl Read for Located<RawRights> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Table(table) = value.get_ref() else {
            reader.report(value.span(), wrong_type(key, "a table", value.get_ref(), help(key)));
            return None;
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let rights: Vec<Option<(Text, Text)>> = entries
            .into_iter()
            .map(|(name, value)| {
                let namespace = name.get_ref().as_ref();
                if !value.get_ref().is_str() {
                    let problem = wrong_type(&format!("{key}.{namespace}"), "a string", value.get_ref(), help(key));
                    reader.report(value.span(), problem);
                    return None;
                }
                Some((Text::verbatim(namespace, name.span()), Text::read(reader, key, value)?))
            })
            .collect();
        Some(Self::new(RawRights(rights.into_iter().collect::<Option<_>>()?), value.span()))
    }
}

impl ShownAs for RawRights {
    type Shown = BTreeMap<String, Word>;
}

fn help(key: &str) -> String {
    format!("write `{key} = {{ NAME = \"write\", \"*\" = \"read\" }}`")
}

/// The rights over leases, each judged for itself.
pub(super) fn of_leases(raw: Located<RawRights>, findings: &mut Findings) -> Option<Rights> {
    resolve("leases", raw, namespace, findings)
}

/// The rights in staging areas.
pub(super) fn of_stages(raw: Located<RawRights>, findings: &mut Findings) -> Option<Rights> {
    resolve("stages", raw, |source, _| Some(source.value.clone()), findings)
}

fn resolve(
    key: &str,
    raw: Located<RawRights>,
    name: impl Fn(&Text, &mut Findings) -> Option<String>,
    findings: &mut Findings,
) -> Option<Rights> {
    let entries = names::filled(key, Located { value: raw.value.0, span: raw.span }, findings)?;
    let rights: Vec<Option<(String, Right)>> = entries
        .into_iter()
        .map(|(named, right)| {
            let (named, right) = (name(&named, findings), word(&right, findings));
            Some((named?, right?))
        })
        .collect();
    Some(Rights::new(rights.into_iter().collect::<Option<Vec<_>>>()?))
}

fn namespace(text: &Text, findings: &mut Findings) -> Option<String> {
    match Namespace::new(text.value.clone()) {
        Ok(namespace) => Some(namespace.into()),
        Err(error) => {
            let help = "name a namespace, or \"*\" for all that have no entry of their own";
            findings.add(text.span, Problem::new(Code::BadValue, error.to_string()).label("not a name").help(help));
            None
        }
    }
}

fn word(text: &Text, findings: &mut Findings) -> Option<Right> {
    let right = text.value.parse().ok();
    if right.is_none() {
        let problem = Problem::new(Code::BadValue, format!("there is no right {:?}", text.written))
            .help("write \"read\", or \"write\" for everything");
        findings.add(text.span, problem);
    }
    right
}
