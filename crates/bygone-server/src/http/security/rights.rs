//! What tokens may do with leases, namespace by namespace, and in staging areas, source by source.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::tokens::TokenError;

/// What stands for every namespace, or source, without an entry of its own.
const OTHERS: &str = "*";

/// How much somebody may do with the leases of a namespace, or in a staging area: each more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// See what is there.
    Read,
    /// Everything.
    Write,
}

impl Right {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl FromStr for Right {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let rights = [Self::Read, Self::Write];
        let right = rights.into_iter().find(|right| right.as_str() == text);
        right.ok_or_else(|| TokenError::Right(text.to_owned()))
    }
}

/// What somebody may do. Where nothing is said, that is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights(BTreeMap<String, Right>);

impl Rights {
    /// By name; `*` is every one without an entry of its own.
    pub fn new(rights: impl IntoIterator<Item = (String, Right)>) -> Self {
        Self(rights.into_iter().collect())
    }

    /// Everything.
    pub(super) fn all() -> Self {
        Self::new([(OTHERS.to_owned(), Right::Write)])
    }

    /// Whether they go as far as that there.
    pub(super) fn allow(&self, name: &str, right: Right) -> bool {
        self.0.get(name).or_else(|| self.0.get(OTHERS)).is_some_and(|own| *own >= right)
    }

    /// Whether they do in any.
    pub(super) fn allow_somewhere(&self, right: Right) -> bool {
        self.0.values().any(|own| *own >= right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_its_own_entry_or_that_of_all_others_or_none() {
        let rights =
            |said: &[(&str, Right)]| Rights::new(said.iter().map(|(name, right)| ((*name).to_owned(), *right)));
        let some = rights(&[("jobs", Right::Write), ("audit", Right::Read)]);
        assert!(
            some.allow("jobs", Right::Write) && some.allow("jobs", Right::Read) && some.allow("audit", Right::Read)
        );
        assert!(!some.allow("audit", Right::Write) && !some.allow("other", Right::Read));
        assert!(some.allow_somewhere(Right::Write));
        let most = rights(&[("*", Right::Write), ("audit", Right::Read)]);
        assert!(most.allow("other", Right::Write) && !most.allow("audit", Right::Write), "an own entry goes first");
        let readers = rights(&[("*", Right::Read)]);
        assert!(!readers.allow_somewhere(Right::Write) && readers.allow_somewhere(Right::Read));
        assert!(!Rights::default().allow("jobs", Right::Read) && !Rights::default().allow_somewhere(Right::Read));
        assert!(Rights::all().allow("jobs", Right::Write));
    }
}
