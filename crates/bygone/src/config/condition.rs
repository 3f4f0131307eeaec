//! `where`: a look at SQL that others wrote, before it becomes part of ours.
//!
//! The condition is put in parentheses next to the deadline test. Text that
//! could close those parentheses, end the statement or turn the rest of it
//! into a comment could take the deadline test away with it, so it is refused
//! here, before any database sees it; the same goes for those of `unless` and
//! `only_if`. This is a guard against slips and not a
//! SQL parser: what it lets through the database still judges.

use super::error::{Code, Findings, Problem};
use super::values::Text;

/// The condition, which is reported where it does not stay in its place.
pub(super) fn checked(text: Text, findings: &mut Findings) -> String {
    if let Err(problem) = check(&text.value) {
        findings.add(text.span, problem);
    }
    text.value
}

/// Takes a condition that stays inside its parentheses.
fn check(condition: &str) -> Result<(), Problem> {
    if condition.trim().is_empty() {
        return Err(bad("`where` is empty").help("write a condition, or leave `where` out"));
    }
    if condition.contains('\0') {
        return Err(bad("`where` holds a NUL character").help("remove it"));
    }
    let mut depth = 0_usize;
    let mut chars = condition.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' | '`' => skip_quoted(c, &mut chars)?,
            '(' => depth += 1,
            ')' if depth == 0 => return Err(unbalanced("closes a parenthesis that it did not open")),
            ')' => depth -= 1,
            ';' => {
                return Err(bad("`where` holds a `;`")
                    .help("write one condition, not statements; a `;` may stand in a quoted text only"));
            }
            '$' => {
                return Err(bad("`where` holds a `$` outside quotes")
                    .help("there are no parameters to fill in here; quote a name with `$` in it"));
            }
            '-' if chars.peek() == Some(&'-') => return Err(comment("--")),
            '/' if chars.peek() == Some(&'*') => return Err(comment("/*")),
            _ => {}
        }
    }
    if depth > 0 {
        return Err(unbalanced("leaves a parenthesis open"));
    }
    Ok(())
}

/// Goes past the quote that closes what `quote` opened. A doubled quote closes
/// and opens again, which comes to the same.
///
/// Whether a backslash keeps a quote from closing depends on the database and
/// its settings. Where the readings differ nothing behind the quote is certain,
/// so that is refused.
fn skip_quoted(quote: char, chars: &mut impl Iterator<Item = char>) -> Result<(), Problem> {
    let mut escapes = false;
    for c in chars {
        match c {
            c if c == quote && escapes => return Err(backslash()),
            c if c == quote => return Ok(()),
            c => escapes = c == '\\' && !escapes,
        }
    }
    Err(unclosed_quote(quote))
}

fn backslash() -> Problem {
    bad("`where` has a backslash before a quote, which databases read differently")
        .help("double a quote inside a quoted text, as in 'it''s'; for LIKE choose another sign: ESCAPE '!'")
}

fn unclosed_quote(quote: char) -> Problem {
    bad(&format!("`where` leaves a quote open: {quote}"))
        .help("close it; a quote inside a quoted text is doubled, as in 'it''s'")
}

fn unbalanced(what: &str) -> Problem {
    bad(&format!("`where` {what}")).help("write as many `)` as `(`, each after its `(`")
}

fn comment(mark: &str) -> Problem {
    bad(&format!("`where` holds a comment: `{mark}`")).help("put comments in the file behind `#`, outside the quotes")
}

fn bad(message: &str) -> Problem {
    Problem::new(Code::BadWhere, message).label("this condition")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_are_taken() {
        for condition in [
            "a IS NOT NULL",
            "kind IN ('a', 'b') AND (x > 1 OR (y < 2))",
            "note <> 'it''s; (fine -- here'",
            r#""odd ""column)" = 1"#,
            "`odd;column` = 1",
            "data ->> 'a' = '(' AND a - b > -1 AND a / b > 2",
            "data @> '{}' AND data ? 'x'",
            "n = ''",
            r"path LIKE 'C:\temp\%' AND x = 'a\\' AND price = '5$'",
        ] {
            assert_eq!(check(condition), Ok(()), "{condition}");
        }
    }

    #[test]
    fn conditions_that_are_refused() {
        for (condition, message) in [
            ("", "`where` is empty"),
            (" \n\t", "`where` is empty"),
            ("a = 1; DROP TABLE t", "`where` holds a `;`"),
            ("a = 1;", "`where` holds a `;`"),
            ("a = 'x", "`where` leaves a quote open: '"),
            ("a = \"x", "`where` leaves a quote open: \""),
            ("a = `x", "`where` leaves a quote open: `"),
            ("a = 'it''", "`where` leaves a quote open: '"),
            ("(a = 1", "`where` leaves a parenthesis open"),
            ("a = 1)", "`where` closes a parenthesis that it did not open"),
            // Balanced in number, and yet it would free itself.
            ("a = 1) OR (1 = 1", "`where` closes a parenthesis that it did not open"),
            ("a = 'it\\'s'", "`where` has a backslash before a quote, which databases read differently"),
            ("a = '\\'' ) OR (b = '\\''", "`where` has a backslash before a quote, which databases read differently"),
            ("a LIKE 'b' ESCAPE '\\'", "`where` has a backslash before a quote, which databases read differently"),
            ("a < $1", "`where` holds a `$` outside quotes"),
            ("a = $$b$$", "`where` holds a `$` outside quotes"),
            ("a = 1 -- all", "`where` holds a comment: `--`"),
            ("a = 1 /* all */", "`where` holds a comment: `/*`"),
            ("a = '\0'", "`where` holds a NUL character"),
        ] {
            let problem = check(condition).expect_err(condition);
            assert_eq!(problem.code(), Code::BadWhere);
            assert_eq!(problem.message(), message, "{condition}");
        }
    }
}
