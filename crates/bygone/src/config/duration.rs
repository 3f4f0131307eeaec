//! Lengths of time as people write them: "30d", "1h30m", "500ms".
//!
//! Only lengths that are the same every time are taken: a day is 24 hours, a
//! week seven of them. Months and years are refused, because "keep for a
//! month" would be a different promise in February.

use jiff::fmt::friendly::SpanParser;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Problem};
use super::fields::{Read, Reader, wrong_type};
use super::values::{Located, Text};

/// The longest length: 1000 years. With it, every boundary that a clock can
/// give leaves `boundary - keep` an instant that every database can hold.
const LONGEST: SignedDuration = SignedDuration::from_hours(365_000 * 24);

/// Reads the length that the key `key` holds.
pub(super) fn parse(key: &str, text: &Text) -> Result<SignedDuration, Problem> {
    let written = text.value.trim();
    if written.is_empty() {
        return Err(bad(key, "is empty").help("say how long, such as \"30d\" or \"1h30m\""));
    }
    if written.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(unitless(key, &text.written));
    }
    let Ok(span) = parser().parse_span(written) else {
        return Err(if is_only_too_large(written) {
            too_long(key)
        } else {
            bad(key, "is not a duration")
                .help("write numbers with units, the largest first: \"2w\", \"30d\", \"1h30m\", \"90s\", \"500ms\"")
        });
    };
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err(bad(key, "has months or years, which have no fixed length")
            .help("say it in weeks, days or hours: \"30d\" or \"52w\""));
    }
    let Ok(length) = span.to_duration(SpanRelativeTo::days_are_24_hours()) else {
        return Err(too_long(key));
    };
    if length.is_negative() {
        return Err(bad(key, "is negative").help("say \"0s\" or more, such as \"30d\""));
    }
    if length > LONGEST {
        return Err(too_long(key));
    }
    Ok(length)
}

/// Reads a length that stands on the command line.
pub(crate) fn parse_text(text: &str) -> Result<SignedDuration, String> {
    let text = Text::verbatim(text, 0..0);
    parse("the time", &text).map_err(|problem| problem.in_a_line())
}

fn parser() -> SpanParser {
    SpanParser::new()
}

/// Whether the text has the form of a length and only its numbers are beyond
/// what can be counted: with small ones in their place it is understood.
fn is_only_too_large(written: &str) -> bool {
    let mut small = String::new();
    for c in written.chars() {
        if !c.is_ascii_digit() {
            small.push(c);
        } else if !small.ends_with('1') {
            small.push('1');
        }
    }
    parser().parse_span(&small).is_ok_and(|span: Span| !span.is_zero())
}

fn too_long(key: &str) -> Problem {
    bad(key, "is longer than 1000 years").help("the longest is \"365000d\"; to keep for ever, write no policy")
}

/// A number alone: `written` is what stands in the file.
fn unitless(key: &str, written: &str) -> Problem {
    let number = written.trim();
    // A placeholder stands for a number that must not be repeated.
    let number = if number.contains('$') { "30" } else { number };
    bad(key, "is a number without a unit")
        .help(format!("say \"{number}d\" for days; h, m, s and ms are hours, minutes, seconds and milliseconds"))
}

fn bad(key: &str, what: &str) -> Problem {
    Problem::new(Code::BadDuration, format!("`{key}` {what}")).label("this length of time")
}

impl Read for Located<SignedDuration> {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let parsed = match value.get_ref() {
            DeValue::String(_) => parse(key, &Text::read(reader, key, value)?),
            DeValue::Integer(number) => Err(unitless(key, &number.to_string())),
            DeValue::Float(number) => Err(unitless(key, &number.to_string())),
            other => Err(wrong_type(key, "a length of time in quotes", other, format!("write `{key} = \"30d\"`"))),
        };
        match parsed {
            Ok(length) => Some(Located::new(length, value.span())),
            Err(problem) => {
                reader.report(value.span(), problem);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_are_taken() {
        for (written, millis) in [
            ("0s", 0),
            ("0d", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("90m", 90 * 60_000),
            ("1h", 3_600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("1.5h", 5_400_000),
            (" 1h ", 3_600_000),
            ("1 hour 30 minutes", 5_400_000),
            ("1d", 86_400_000),
            ("30d", 30 * 86_400_000),
            ("2w", 14 * 86_400_000),
            ("1w1d1h1m1s1ms", (8 * 86_400 + 3661) * 1000 + 1),
            ("365000d", 365_000 * 86_400_000),
        ] {
            let wanted = SignedDuration::from_millis(millis);
            assert_eq!(parse("keep", &Text::plain(written)), Ok(wanted), "{written}");
        }
    }

    #[test]
    fn lengths_that_are_refused() {
        let unit = "`keep` is a number without a unit";
        let fixed = "`keep` has months or years, which have no fixed length";
        let long = "`keep` is longer than 1000 years";
        let not = "`keep` is not a duration";
        for (written, message) in [
            ("", "`keep` is empty"),
            ("  ", "`keep` is empty"),
            ("30", unit),
            ("1.5", unit),
            ("1mo", fixed),
            ("6 months", fixed),
            ("1y", fixed),
            ("1y2d", fixed),
            ("-1d", "`keep` is negative"),
            ("1d ago", "`keep` is negative"),
            ("-1ms", "`keep` is negative"),
            ("365001d", long),
            ("7304484d", long),
            ("99999999d", long),
            ("99999999999999999999d", long),
            ("9999999999999h", long),
            ("9223372036854775807s", long),
            ("99999999999y", long),
            ("30x", not),
            ("30D", not),
            ("d", not),
            ("30d!", not),
            ("1m1h", not),
            ("forever", not),
            ("99999999999999999x", not),
        ] {
            let problem = parse("keep", &Text::plain(written)).expect_err(written);
            assert_eq!(problem.code(), Code::BadDuration);
            assert_eq!(problem.message(), message, "{written}");
        }
    }

    #[test]
    fn a_number_that_was_filled_in_is_not_repeated() {
        let mut text = Text::plain("4711");
        text.written = "${PIN}".to_owned();
        let shown = format!("{:?}", parse("keep", &text).unwrap_err());
        assert!(!shown.contains("4711"), "{shown}");
    }
}
