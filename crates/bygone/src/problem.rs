//! Something wrong with a policy or the command line, shown as a diagnostic with its place in the file.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bygone_core::TargetError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode, SourceSpan};

use crate::config::{Config, Policy};
use crate::exit::Exit;
use crate::output::visible;

/// What fits into a line of a page.
const PLAIN_WIDTH: usize = 100;

/// A diagnostic.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    place: Option<(Arc<NamedSource<String>>, SourceSpan, String)>,
}

impl Problem {
    /// A problem of the command line.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), Some(help.into()));
        Self { exit: Exit::Usage, code: "usage", message, help, place: None }
    }

    /// A configuration that cannot be used, without a place in its file.
    pub(crate) fn config(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit: Exit::Config, code: "config::unusable", ..Self::usage(message, help) }
    }

    /// Anything else that ends the program.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, code: "failed", message: message.into(), help: None, place: None }
    }

    /// Somebody else has what is needed: the same may work later, or elsewhere.
    pub(crate) fn busy(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit: Exit::Busy, code: "busy", message: message.into(), help: Some(help.into()), place: None }
    }

    /// A policy that its source refuses, at the key of the policy that it is about.
    pub(crate) fn of_policy(config: &Config, policy: &Policy, error: &TargetError) -> Self {
        let span = span(config, policy, error.key());
        Self {
            exit: Exit::of_kind(error.kind()),
            code: code(error),
            message: error.full_message(),
            help: error.help().map(str::to_owned),
            place: Some((Arc::clone(&config.source_text), span, format!("policy `{}`", policy.name))),
        }
    }

    /// The line of the file that it is about.
    pub(crate) fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|(text, span, _)| line_of(text, *span))
    }

    /// Writes it to standard error, in colour where that is wanted.
    pub(crate) fn show(self) -> Exit {
        let exit = self.exit;
        crate::output::diagnostic(&miette::Report::new(self));
        exit
    }
}

/// A diagnostic as lines of plain text, for those who do not sit before a terminal.
pub(crate) fn plain(diagnostic: &dyn Diagnostic) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_links(false);
    let mut text = String::new();
    match handler.with_width(PLAIN_WIDTH).render_report(&mut text, diagnostic) {
        Ok(()) => text.trim_matches('\n').to_owned(),
        // It is written into memory; what is told in any case is what is wrong.
        Err(_) => diagnostic.to_string(),
    }
}

/// Shows each problem once: a source that is down is one problem, however many policies wait for it.
#[derive(Debug, Default)]
pub(crate) struct Once(BTreeSet<String>);

impl Once {
    /// Shows the problem, unless the same was shown before.
    pub(crate) fn show(&mut self, problem: Problem) -> Exit {
        let exit = problem.exit;
        let seen = problem.code == "source::unreachable" && !self.0.insert(problem.message.clone());
        if seen { exit } else { problem.show() }
    }
}

/// The line on which a span begins, counted from one.
pub(crate) fn line_of(text: &NamedSource<String>, span: SourceSpan) -> usize {
    1 + text.inner().bytes().take(span.offset()).filter(|byte| *byte == b'\n').count()
}

/// Where a policy says what a key of it says; where it does not, what it sweeps, or its name.
pub(crate) fn span(config: &Config, policy: &Policy, key: Option<&str>) -> SourceSpan {
    let spans = &policy.spans;
    let of = |key: &str| spans.keys.get(key).copied();
    let subject = || of("table").or_else(|| of("path")).unwrap_or(spans.source);
    match key {
        Some("source") => config.sources.get(&policy.source).map_or(spans.source, |source| source.url_span),
        // The database reads all conditions on other rows at once.
        Some("unless") => of("unless").or_else(|| of("only_if")).unwrap_or_else(subject),
        Some("set") => of("set").or_else(|| of("clear")).unwrap_or_else(subject),
        Some(key) => of(key).unwrap_or_else(subject),
        None => spans.name,
    }
}

fn code(error: &TargetError) -> &'static str {
    use bygone_core::ErrorKind;
    match error.kind() {
        ErrorKind::Unfit => "policy::unfit",
        ErrorKind::Unreachable | ErrorKind::Lost => "source::unreachable",
        ErrorKind::Denied => "source::denied",
        ErrorKind::Skewed => "clock::skew",
        ErrorKind::Brake => "policy::brake",
        _ => "policy::failed",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.message))
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(visible(help)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|(text, _, _)| text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span, label) = self.place.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some(label.clone()), *span))))
    }
}
