//! What can go wrong in a target, told by what the engine should do next.

use std::fmt;

/// What the engine does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A passing fault (deadlock, busy): once more, then smaller.
    Transient,
    /// Somebody else has the whole source to themselves: once more, then give the policy up. No item is to blame.
    Busy,
    /// The connection is gone: once more on a new one, then give the policy up as unreachable.
    Lost,
    /// Something in the page is locked by others: the same items, carefully.
    Contended,
    /// The source took too long over the page: smaller.
    TooSlow,
    /// Some item in the page cannot be removed: smaller, down to that item.
    Item,
    /// The policy does not fit its source; nothing was removed and nothing will be until somebody changes it.
    Unfit,
    /// The source cannot be reached.
    Unreachable,
    /// The rights are missing.
    Denied,
    /// The survey stands against the brake.
    Brake,
    /// Two clocks are too far apart.
    Skewed,
    /// Anything else.
    Failed,
}

impl ErrorKind {
    /// True for the kinds that were noticed before anything was touched.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Unfit | Self::Brake | Self::Skewed | Self::Denied)
    }
}

/// A failure of a target.
#[derive(Debug)]
pub struct TargetError {
    kind: ErrorKind,
    message: String,
    help: Option<String>,
    key: Option<&'static str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl TargetError {
    /// A failure of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: None, key: None, source: None }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The key of the policy that it is about, such as `table`.
    #[must_use]
    pub fn about(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }

    /// The error underneath.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the engine does about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What a person can do about it.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The key of the policy that it is about.
    pub fn key(&self) -> Option<&'static str> {
        self.key
    }

    /// The message with its causes, for a report.
    pub fn full_message(&self) -> String {
        let mut text = self.message.clone();
        let mut cause = self.source.as_deref().map(|e| e as &dyn std::error::Error);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TargetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}
