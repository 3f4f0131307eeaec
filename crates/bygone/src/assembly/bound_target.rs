//! A target with what the verbs tell of it beside what the engine asks.

use bygone_core::{Boundary, Target, TargetError};
use bygone_sql::RowTarget;

/// A policy bound to its source, whatever that is.
pub(crate) enum BoundTarget {
    /// Rows, of which most can be told: statements, walks, what hangs on them.
    Rows(Box<RowTarget>),
    /// Anything else.
    Other(Box<dyn Target + Sync>, Sketch),
}

/// What a plan tells of a target that is not rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// Where the items are.
    pub(crate) place: String,
    /// The way through them, in a word.
    pub(crate) walk: &'static str,
    /// Why that way.
    pub(crate) why: &'static str,
    /// What somebody should know before the first page.
    pub(crate) findings: Vec<Finding>,
    /// The code of what its survey has to say.
    pub(crate) survey_code: &'static str,
}

/// Something that somebody should look at although a sweep would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    /// The key of the policy that it is about.
    pub(crate) key: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl BoundTarget {
    /// The rows, if they are rows.
    pub(crate) fn rows(&self) -> Option<&RowTarget> {
        match self {
            Self::Rows(rows) => Some(rows),
            Self::Other(..) => None,
        }
    }

    /// What the engine asks.
    pub(crate) fn target(&mut self) -> &mut dyn Target {
        match self {
            Self::Rows(rows) => &mut **rows,
            Self::Other(target, _) => &mut **target,
        }
    }

    /// The same, for the engine to keep.
    pub(crate) fn into_target(self) -> Box<dyn Target> {
        match self {
            Self::Rows(rows) => rows,
            Self::Other(target, _) => target,
        }
    }

    /// What somebody should know of it as it stands beside the rows of the other policies.
    pub(super) async fn findings(
        &self,
        others: &[&RowTarget],
        counted: Option<Boundary>,
    ) -> Result<Vec<Finding>, TargetError> {
        match self {
            Self::Rows(rows) => {
                let found = rows.preflight(others, counted).await?;
                Ok(found.into_iter().map(Finding::from).collect())
            }
            Self::Other(_, sketch) => Ok(sketch.findings.clone()),
        }
    }
}

impl From<Finding> for bygone_server::Finding {
    fn from(Finding { code, message, help, .. }: Finding) -> Self {
        Self { code: code.to_owned(), message, help }
    }
}

impl From<bygone_sql::Finding> for Finding {
    fn from(found: bygone_sql::Finding) -> Self {
        let bygone_sql::Finding { code, key, message, help } = found;
        Self { code, key, message, help }
    }
}
