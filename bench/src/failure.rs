//! What goes wrong in a bench ends it, and only a person reads why. One boxed error is enough for that.

use std::error::Error;

/// Anything that ends a bench.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// The message with all that led to it.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
