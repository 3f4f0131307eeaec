//! The token that a daemon asks for. It stands in the environment: a command line can be read by everybody on the machine.

use reqwest::header::HeaderValue;

use crate::problem::Problem;

const TEXT: &str = "BYGONE_TOKEN";
const FILE: &str = "BYGONE_TOKEN_FILE";

/// The header that shows it, if there is one.
pub(super) fn header() -> Result<Option<HeaderValue>, Problem> {
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty());
    let token = match (named(TEXT), named(FILE)) {
        (None, None) => return Ok(None),
        (Some(token), _) => token.into_string().map_err(|_| unfit(TEXT))?,
        (None, Some(file)) => std::fs::read_to_string(&file).map_err(|error| {
            let message = format!("the token cannot be read from {}: {error}", file.display());
            Problem::usage(message, format!("correct {FILE}"))
        })?,
    };
    let mut header = HeaderValue::from_str(&format!("Bearer {}", token.trim())).map_err(|_| unfit("it"))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

fn unfit(what: &str) -> Problem {
    Problem::usage(format!("the token in {what} has characters that no token has"), format!("correct {TEXT} or {FILE}"))
}
