//! Where credentials come from: the variables that every tool of the field reads.

use std::collections::BTreeMap;
use std::fmt;

/// Where credentials come from. Shown nowhere.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Whether the machine may be asked too: profiles, roles of instances and workloads.
    machine: bool,
}

impl Environment {
    /// The variables of this process, and what the machine knows.
    pub fn of_process() -> Self {
        Self { variables: std::env::vars().collect(), machine: true }
    }

    /// These variables and nothing else.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: variables.collect(), machine: false }
    }

    /// Whether the machine may be asked for what the variables do not say.
    pub(crate) fn asks_machine(&self) -> bool {
        self.machine
    }

    /// The first of these variables that is set and not empty.
    pub(crate) fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.variables.get(*name).filter(|value| !value.is_empty()).map(String::as_str))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}
