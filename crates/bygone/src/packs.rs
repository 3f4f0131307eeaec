//! Packs: ready policies for schemas that are known.
//!
//! They stand in the program, so that what a version of it does with a pack is fixed and can be tested. A pack knows no
//! source: `[[use]]` of the configuration brings both together.

pub(crate) mod verb;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A pack as it is embedded.
#[derive(Debug)]
pub(crate) struct Pack {
    /// Its name in `[[use]]` and on the command line.
    pub(crate) name: &'static str,
    /// Its text: `[pack]` and `[[policy]]` without `source`.
    pub(crate) text: &'static str,
}

/// What stands in a pack.
#[derive(Debug)]
pub(crate) struct Contents {
    /// What it is for, in a line.
    pub(crate) about: String,
    /// Which versions of the schema it knows.
    pub(crate) schema: String,
    /// Its policies, each by the name that is taken out of it, in the order written.
    pub(crate) policies: Vec<(String, DeTable<'static>)>,
}

/// All packs, by name.
pub(crate) const PACKS: &[Pack] = &[
    Pack { name: "attesto", text: include_str!("../packs/attesto.toml") },
    Pack { name: "django", text: include_str!("../packs/django.toml") },
    Pack { name: "hydra", text: include_str!("../packs/hydra.toml") },
    Pack { name: "keycloak", text: include_str!("../packs/keycloak.toml") },
    Pack { name: "mas", text: include_str!("../packs/mas.toml") },
    Pack { name: "oban", text: include_str!("../packs/oban.toml") },
    Pack { name: "pg-boss", text: include_str!("../packs/pg-boss.toml") },
    Pack { name: "river", text: include_str!("../packs/river.toml") },
    Pack { name: "solid-queue", text: include_str!("../packs/solid-queue.toml") },
    Pack { name: "tokens", text: include_str!("../packs/tokens.toml") },
];

impl Pack {
    /// The tables of the policies that run unless somebody switches them off.
    pub(crate) fn tables(&self) -> Vec<String> {
        let on = |policy: &&(String, DeTable<'static>)| policy.1.get("enabled").is_none();
        self.contents().policies.iter().filter(on).filter_map(|(_, policy)| text(policy, "table")).collect()
    }

    /// Takes the text apart. It is part of the program and read whole by tests, so what is not there is left empty.
    pub(crate) fn contents(&self) -> Contents {
        let (document, _) = DeTable::parse_recoverable(self.text);
        let document = document.get_ref();
        let header = document.get("pack").and_then(|header| header.get_ref().as_table());
        let said = |key| header.and_then(|header| text(header, key)).unwrap_or_default();
        let policies = document.get("policy").and_then(|policies| policies.get_ref().as_array());
        let policies = policies.into_iter().flatten().filter_map(|policy| policy.get_ref().as_table());
        Contents { about: said("about"), schema: said("schema"), policies: policies.filter_map(named).collect() }
    }
}

fn named(policy: &DeTable<'static>) -> Option<(String, DeTable<'static>)> {
    let mut policy = policy.clone();
    let name = policy.remove("name")?;
    Some((name.get_ref().as_str()?.to_owned(), policy))
}

fn text(table: &DeTable<'_>, key: &str) -> Option<String> {
    table.get(key).map(Spanned::get_ref).and_then(DeValue::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toml::de::DeTable;

    use super::PACKS;

    #[test]
    fn packs_are_whole_and_in_order() {
        assert!(PACKS.is_sorted_by_key(|pack| pack.name));
        let mut names = BTreeSet::new();
        for pack in PACKS {
            let document = DeTable::parse(pack.text).unwrap_or_else(|error| panic!("{}: {error}", pack.name));
            let keys: Vec<&str> = document.get_ref().keys().map(|key| key.get_ref().as_ref()).collect();
            assert_eq!(keys, ["pack", "policy"], "{}", pack.name);
            let contents = pack.contents();
            assert!(!contents.about.is_empty() && !contents.schema.is_empty(), "{}", pack.name);
            assert_eq!(contents.policies.len(), document.get_ref()["policy"].get_ref().as_array().unwrap().len());
            for (name, policy) in contents.policies {
                // The pack's name in front keeps the policies of several packs apart.
                assert!(name.starts_with(pack.name), "{name}");
                assert!(!policy.contains_key("source"), "{name}");
                assert!(names.insert(name.clone()), "{name}");
            }
        }
    }
}
