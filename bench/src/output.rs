//! The one place that prints: data on stdout, talk on stderr, so that a result can be piped while someone watches.

/// A line of the result.
#[expect(clippy::print_stdout, reason = "the result of a bench goes to stdout")]
pub(crate) fn data(line: &str) {
    println!("{line}");
}

/// A line for whoever watches.
#[expect(clippy::print_stderr, reason = "talk goes to stderr")]
pub(crate) fn talk(line: &str) {
    eprintln!("{line}");
}
