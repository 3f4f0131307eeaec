//! `[[use]]`: a pack over a source.

use std::collections::BTreeMap;

use miette::SourceSpan;
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Findings, Problem};
use super::fields::{Fields, Read, ReadTable, Reader, read_elements, wrong_type};
use super::names::{distinct, filled};
use super::overlay::{self, PackPolicy, RawOverride, no_policy};
use super::policy::RawPolicy;
use super::resolve::{FileLevel, bad_title, is_known_source, is_title};
use super::values::{Located, Text};

/// The uses of packs.
#[derive(Debug)]
pub(super) struct RawUses(pub(super) Vec<RawUse>);

impl Read for RawUses {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            let help = "write the header with two brackets: `[[use]]`";
            reader.report(value.span(), wrong_type(key, "an array of tables", value.get_ref(), help));
            return None;
        };
        read_elements(reader, key, elements).map(Self)
    }
}

/// The policies of a pack, over a source.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Use", deny_unknown_fields)]
pub(super) struct RawUse {
    /// The name of the pack; `bygone packs` lists them.
    #[schemars(required)]
    pub(super) pack: Option<Text>,
    /// The name of the source that the tables are in.
    #[schemars(required)]
    pub(super) source: Option<Text>,
    /// What is put before the names of its policies, for a pack that is used
    /// twice.
    #[schemars(length(min = 1))]
    pub(super) prefix: Option<Text>,
    /// The policies of the pack that do not run.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) off: Option<Located<Vec<Text>>>,
    /// The policies that the pack leaves off and that do run.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub(super) on: Option<Located<Vec<Text>>>,
    /// Keys that replace those of the pack, by the name of the policy:
    /// `[use.policy.NAME]`.
    #[schemars(with = "Option<BTreeMap<String, RawOverride>>")]
    pub(super) policy: Option<Vec<PackPolicy>>,
}

impl ReadTable for RawUse {
    const WHAT: &'static str = "the use of a pack";
    const EXAMPLE: &'static str = "write `[[use]]` with the keys below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        let pack: Option<Text> = fields.required("pack", "name the pack: `pack = \"…\"`; `bygone packs` lists them");
        Self {
            source: fields.required("source", "name a source of this file: `source = \"…\"`"),
            prefix: fields.optional("prefix"),
            off: fields.optional("off"),
            on: fields.optional("on"),
            policy: {
                let overrides = fields.value("policy");
                pack.as_ref().and_then(|pack| overlay::read(fields.reader(), pack, overrides))
            },
            pack,
        }
    }
}

/// Whether a policy runs, and where that is said.
type Switches = BTreeMap<String, (&'static str, bool, SourceSpan)>;

/// The policies that the packs bring in, as if they stood in the file; `None`
/// in the place of those of a pack that was refused.
pub(super) fn resolve(raw: Vec<RawUse>, file: &FileLevel, findings: &mut Findings) -> Vec<Option<Vec<RawPolicy>>> {
    raw.into_iter().map(|raw| resolve_one(raw, file, findings)).collect()
}

fn resolve_one(raw: RawUse, file: &FileLevel, findings: &mut Findings) -> Option<Vec<RawPolicy>> {
    // Judged here once and not again with every policy.
    let source = raw.source.filter(|source| is_known_source(source, file, findings));
    let (pack, policies) = (raw.pack?, raw.policy?);
    let names: Vec<&str> = policies.iter().map(|(name, _)| name.as_str()).collect();
    let prefix = match raw.prefix {
        Some(prefix) => Some(checked_prefix(prefix, &names, findings)?),
        None => None,
    };
    let mut switches = Switches::new();
    for (key, list) in [("off", raw.off), ("on", raw.on)] {
        if let Some(list) = list {
            switch((key, list), &pack, &names, &mut switches, findings);
        }
    }
    let full = |name: &str| {
        let (value, written) = prefix.as_ref().map_or(("", ""), |prefix| (&prefix.value, &prefix.written));
        Text { value: format!("{value}{name}"), written: format!("{written}{name}"), span: pack.span, of_pack: true }
    };
    let policies = policies.into_iter().map(|(name, mut policy)| {
        if let Some((key, runs, span)) = switches.get(&name) {
            if let Some(said) = policy.enabled.filter(|said| said.span != pack.span) {
                findings.add_pair((*span, "here"), said.span, switched_twice(key));
            }
            policy.enabled = Some(Located { value: *runs, span: *span });
        }
        for before in policy.after.iter_mut().flat_map(|after| &mut after.value).filter(|before| before.of_pack) {
            *before = full(&before.value);
        }
        RawPolicy { name: Some(full(&name)), source: source.clone(), ..policy }
    });
    Some(policies.collect())
}

fn checked_prefix(prefix: Text, names: &[&str], findings: &mut Findings) -> Option<Text> {
    let fits = |name: &&str| is_title(&format!("{}{name}", prefix.value));
    if is_title(&prefix.value) && names.iter().all(fits) {
        return Some(prefix);
    }
    findings.add(prefix.span, bad_title("`prefix` with the name of a policy behind it"));
    None
}

/// Notes what one list says, and reports what it cannot say.
fn switch(
    (key, list): (&'static str, Located<Vec<Text>>),
    pack: &Text,
    names: &[&str],
    switches: &mut Switches,
    findings: &mut Findings,
) {
    let texts = filled(key, list, findings).unwrap_or_default();
    // A name that is said twice is reported, and means the same both times.
    let _ = distinct(key, texts.iter().map(|text| (text.value.as_str(), text.span)), findings);
    for text in texts {
        if !names.contains(&text.value.as_str()) {
            findings.add(text.span, no_policy(pack, (&text.value, &text.written), names));
            continue;
        }
        match switches.get(&text.value) {
            Some((earlier, _, span)) if *earlier != key => {
                findings.add_pair((*span, "off here"), text.span, on_and_off(&text));
            }
            _ => {
                switches.insert(text.value, (key, key == "on", text.span));
            }
        }
    }
}

fn on_and_off(text: &Text) -> Problem {
    Problem::new(Code::ConflictingKeys, format!("{:?} is both on and off", text.written))
        .label("and on here")
        .help("name it in one of them")
}

fn switched_twice(key: &str) -> Problem {
    Problem::new(Code::ConflictingKeys, format!("`{key}` and `enabled` speak of the same policy"))
        .label("and here")
        .help("keep one of them")
}
