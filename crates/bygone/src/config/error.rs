//! What is wrong with a configuration, and where.
//!
//! A [`Problem`] is the judgement of a check that knows no places; [`Findings`]
//! gives it its place and collects, so that a file is corrected in one round
//! rather than one error at a time; [`ConfigError`] is what leaves the module.

use std::fmt::{self, Display};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};

/// The most findings that one error shows; the rest is counted.
const SHOWN_MAX: usize = 50;

/// The kinds of findings: stable names, to look up and to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    BadDuration,
    BadInterpolation,
    BadSchedule,
    BadUrl,
    BadValue,
    BadWhere,
    BadWindow,
    BadZone,
    CircularOrder,
    ConflictingKeys,
    DuplicateName,
    EmptyPolicy,
    MissingKey,
    MissingPack,
    MissingPolicy,
    MissingSource,
    NoPolicies,
    Syntax,
    UnknownKey,
    UnreadableFile,
    UnsetVariable,
    WrongType,
}

impl Code {
    /// The name as shown.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::BadDuration => "config::bad_duration",
            Self::BadInterpolation => "config::bad_interpolation",
            Self::BadSchedule => "config::bad_schedule",
            Self::BadUrl => "config::bad_url",
            Self::BadValue => "config::bad_value",
            Self::BadWhere => "config::bad_where",
            Self::BadWindow => "config::bad_window",
            Self::BadZone => "config::bad_zone",
            Self::CircularOrder => "config::circular_order",
            Self::ConflictingKeys => "config::conflicting_keys",
            Self::DuplicateName => "config::duplicate_name",
            Self::EmptyPolicy => "config::empty_policy",
            Self::MissingKey => "config::missing_key",
            Self::MissingPack => "config::missing_pack",
            Self::MissingPolicy => "config::missing_policy",
            Self::MissingSource => "config::missing_source",
            Self::NoPolicies => "config::no_policies",
            Self::Syntax => "config::syntax",
            Self::UnknownKey => "config::unknown_key",
            Self::UnreadableFile => "config::unreadable_file",
            Self::UnsetVariable => "config::unset_variable",
            Self::WrongType => "config::wrong_type",
        }
    }
}

/// What is wrong and what to do about it, without the place.
///
/// Its texts never hold an interpolated value: those may be secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    code: Code,
    message: String,
    label: String,
    help: String,
}

impl Problem {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), label: "here".to_owned(), help: String::new() }
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> Code {
        self.code
    }

    #[cfg(test)]
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The whole of it where there is no file to point into.
    pub(super) fn in_a_line(&self) -> String {
        format!("{}: {}", self.message, self.help)
    }

    /// What stands at the caret.
    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The remedy.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// Collects the findings of one file.
#[derive(Debug)]
pub(super) struct Findings {
    text: Arc<NamedSource<String>>,
    /// Where packs are named: all that is in them stands there.
    packs: Vec<SourceSpan>,
    found: Vec<Finding>,
}

impl Findings {
    pub(super) fn new(text: Arc<NamedSource<String>>) -> Self {
        Self { text, packs: Vec::new(), found: Vec::new() }
    }

    /// The file's text as shown in diagnostics.
    pub(super) fn text(&self) -> &Arc<NamedSource<String>> {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Notes that a pack is named here.
    pub(super) fn mark_pack(&mut self, span: SourceSpan) {
        self.packs.push(span);
    }

    /// Whether what stands here is a pack's.
    pub(super) fn is_of_pack(&self, span: SourceSpan) -> bool {
        self.packs.contains(&span)
    }

    /// The label, which says so where the file only names what it speaks of.
    fn label(&self, label: &str, span: SourceSpan) -> String {
        if self.is_of_pack(span) { format!("{label}, by this pack") } else { label.to_owned() }
    }

    /// Adds a problem at one place.
    pub(super) fn add(&mut self, span: impl Into<SourceSpan>, problem: Problem) {
        let span = span.into();
        let label = LabeledSpan::new_with_span(Some(self.label(&problem.label, span)), span);
        self.push(vec![label], problem);
    }

    /// Adds a problem that lies between two places.
    pub(super) fn add_pair(&mut self, first: (SourceSpan, &str), span: SourceSpan, problem: Problem) {
        let labels = vec![
            LabeledSpan::new_with_span(Some(self.label(first.1, first.0)), first.0),
            LabeledSpan::new_primary_with_span(Some(self.label(&problem.label, span)), span),
        ];
        self.push(labels, problem);
    }

    /// Adds a problem of the file as a whole.
    pub(super) fn add_placeless(&mut self, problem: Problem) {
        self.push(Vec::new(), problem);
    }

    fn push(&mut self, labels: Vec<LabeledSpan>, problem: Problem) {
        self.found.push(Finding {
            code: problem.code,
            message: problem.message,
            help: problem.help,
            labels,
            text: Arc::clone(&self.text),
        });
    }

    /// The error that shows these findings in the order of the file.
    pub(super) fn into_error(mut self) -> ConfigError {
        self.found.sort_by_key(Finding::offset);
        let total = self.found.len();
        self.found.truncate(SHOWN_MAX);
        ConfigError::Invalid(Invalid { name: self.text.name().to_owned(), total, shown: self.found })
    }
}

/// One thing that is wrong, with its place in the file and the remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Finding {
    code: Code,
    message: String,
    help: String,
    labels: Vec<LabeledSpan>,
    text: Arc<NamedSource<String>>,
}

impl Finding {
    /// Where it stands, to sort by.
    fn offset(&self) -> usize {
        let primary = self.labels.iter().find(|label| label.primary());
        primary.or(self.labels.first()).map_or(0, LabeledSpan::offset)
    }
}

impl Diagnostic for Finding {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(self.code.as_str()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(&self.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() {
            return None;
        }
        Some(Box::new(self.labels.iter().cloned()))
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// There is no such file.
    #[error("there is no configuration file `{}`", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file is there and cannot be read.
    #[error("the configuration file `{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read and is refused.
    #[error("{0}")]
    Invalid(Invalid),
}

impl ConfigError {
    /// Whether nothing is wrong but that there are no policies.
    pub(crate) fn is_only_empty(&self) -> bool {
        matches!(self, Self::Invalid(Invalid { shown, .. }) if shown.iter().all(|finding| finding.code == Code::NoPolicies))
    }
}

/// The findings of a refused file: never none.
#[derive(Debug)]
pub(crate) struct Invalid {
    name: String,
    total: usize,
    shown: Vec<Finding>,
}

impl Invalid {
    /// The finding, where there is but one: it then speaks for itself.
    fn only(&self) -> Option<&Finding> {
        match self.shown.as_slice() {
            [finding] => Some(finding),
            _ => None,
        }
    }
}

impl Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(finding) = self.only() {
            return finding.fmt(f);
        }
        write!(f, "{} has {} errors", self.name, self.total)?;
        if self.total > self.shown.len() {
            write!(f, ", of which these are the first {}", self.shown.len())?;
        }
        Ok(())
    }
}

impl Diagnostic for ConfigError {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        match self {
            Self::Missing { .. } => Some(Box::new("config::missing_file")),
            Self::Unreadable { .. } => Some(Box::new(Code::UnreadableFile.as_str())),
            Self::Invalid(invalid) => match invalid.only() {
                Some(finding) => finding.code(),
                None => Some(Box::new("config::invalid")),
            },
        }
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        match self {
            Self::Missing { .. } => {
                Some(Box::new("write one, or pass --config FILE (docs/configuration.md has all keys)"))
            }
            Self::Unreadable { .. } => {
                Some(Box::new("it must be a text file in UTF-8 that this user may read, or pass --config FILE"))
            }
            Self::Invalid(invalid) => invalid.only()?.help(),
        }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Invalid(invalid) => invalid.only()?.source_code(),
            _ => None,
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            Self::Invalid(invalid) => invalid.only()?.labels(),
            _ => None,
        }
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self {
            Self::Invalid(invalid) if invalid.only().is_none() => {
                Some(Box::new(invalid.shown.iter().map(|finding| finding as &dyn Diagnostic)))
            }
            _ => None,
        }
    }
}
