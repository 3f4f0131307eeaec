//! Files that nobody would write: whatever stands in one, it is a configuration or refused with places in it.
//!
//! `./fuzz` goes on for longer with the same.

use std::path::Path;
use std::time::Duration;

use bygone_testkit::{Damage, Picks};
use jiff::SignedDuration;
use miette::Diagnostic;

use super::super::duration::parse as parse_duration;
use super::super::values::Text;
use super::super::{ConfigError, load};
use super::{TestEnv, config, rendered};

const REFERENCE: &str = include_str!("../../../../../docs/bygone.reference.toml");

/// What configurations are made of.
const WORDS: &[&str] = &[
    "\"",
    "'",
    "\"\"\"",
    "[",
    "]",
    "[[policy]]\n",
    "[[policy]]\nname = \"",
    "{",
    "}",
    "=",
    " = ",
    ",",
    "\n",
    "\r\n",
    "\r",
    "#",
    ".",
    "\\",
    "\\u0000",
    "\\U0010FFFF",
    "\u{feff}",
    "\0",
    "\u{1b}[31m",
    "ü",
    "\u{202e}",
    "𝕏",
    "${",
    "}",
    "${SECRET}",
    "${SECRET:-x}",
    "${KEEP}",
    "$${",
    "${file:/etc/hostname}",
    "${file:",
    "${:-",
    "true",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "1e309",
    "nan",
    "0x7f",
    "1979-05-27",
    "\"30d\"",
    "\"99999999999999999999d\"",
    "\"-1ns\"",
    "postgres://a:${SECRET}@b/c",
    "sqlite:",
    "s3://",
    "file:",
    "://",
    "@",
    "%00",
    "%",
    "name",
    "source",
    "table",
    "deadline",
    "keep",
    "where",
    "schedule",
    "window",
    "budget",
    "brake",
    "set",
    "clear",
    "newest",
    "with",
    "via",
    "unless",
    "kind = \"tree\"\n",
    "pack = \"mas\"\n",
    "[[use]]\n",
    "* * * * *",
    "\"0 0 30 2 *\"",
    "22:00-05:00 ",
    "Europe/",
    "*",
    "**/",
    "{ key = \"%Y/%m\" }",
];

/// The reference configuration, whole and in its parts: what is wrong with a part alone is another thing.
fn seeds() -> Vec<&'static str> {
    let parts = REFERENCE.split("\n\n").filter(|part| part.contains('='));
    std::iter::once(REFERENCE).chain(parts).collect()
}

/// Everything that an error points at stands in the file, and can be shown; and what came from the environment is not.
fn check_shown(error: &ConfigError, text: &str) {
    let shown = rendered(error);
    assert!(!shown.contains("hunter2"), "{shown}");
    let mut findings: Vec<&dyn Diagnostic> = vec![error];
    findings.extend(error.related().into_iter().flatten());
    for finding in findings {
        assert!(
            finding.code().is_some() && finding.help().is_some_and(|help| !help.to_string().is_empty())
                || finding.related().is_some()
        );
        for label in finding.labels().into_iter().flatten() {
            let (from, to) = (label.offset(), label.offset() + label.len());
            assert!(text.get(from..to).is_some(), "{from}..{to} is no place in {} bytes: {shown}", text.len());
        }
    }
}

fn check(text: &str) {
    match config(text) {
        Err(error) => check_shown(&error, text),
        Ok(config) => {
            assert!(!config.policies.is_empty());
            for policy in &config.policies {
                assert!(
                    config.sources.contains_key(&policy.source) || policy.source == super::super::HISTORY,
                    "{text}"
                );
                let spans = policy.spans.keys.values().chain([&policy.spans.name, &policy.spans.source]);
                for span in spans {
                    let (from, to) = (span.offset(), span.offset() + span.len());
                    assert!(text.get(from..to).is_some(), "{from}..{to} of `{}`", policy.name);
                }
            }
        }
    }
}

#[test]
fn any_text_is_a_configuration_or_findings_within_it() {
    let seeds = seeds();
    bolero::check!().with_iterations(600).with_test_time(Duration::from_secs(8)).with_type::<Damage>().for_each(
        |damage| {
            check(&damage.text(&seeds, WORDS));
        },
    );
}

#[test]
fn any_words_are_a_configuration_or_findings_within_it() {
    bolero::check!().with_iterations(2_000).with_test_time(Duration::from_secs(4)).with_type::<Picks>().for_each(
        |picks| {
            check(&picks.of(WORDS));
        },
    );
}

/// Bytes that are no text at all are refused as a file that cannot be read.
#[test]
fn any_bytes_are_a_configuration_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bygone.toml");
    let seeds: Vec<&[u8]> = seeds().into_iter().map(str::as_bytes).collect();
    let words: Vec<&[u8]> =
        WORDS.iter().map(|word| word.as_bytes()).chain([&b"\xff"[..], b"\xc3", b"\xed\xa0\x80"]).collect();
    bolero::check!().with_iterations(300).with_test_time(Duration::from_secs(4)).with_type::<Damage>().for_each(
        |damage| {
            let bytes = damage.of(&seeds[1..], &words);
            std::fs::write(&path, &bytes).unwrap();
            match (load(&path, &TestEnv), std::str::from_utf8(&bytes)) {
                (Err(ConfigError::Unreadable { .. }), Err(_)) | (Ok(_), Ok(_)) => {}
                (Err(error @ ConfigError::Invalid(_)), Ok(text)) => check_shown(&error, text),
                (taken, text) => panic!("{text:?} became {taken:?}"),
            }
        },
    );
}

/// What lengths of time are made of.
const LENGTHS: &[&str] = &[
    "1",
    "30",
    "0",
    "9223372036854775807",
    "99999999999999999999",
    "0.5",
    ".",
    "-",
    "+",
    " ",
    "d",
    "h",
    "m",
    "s",
    "ms",
    "us",
    "ns",
    "w",
    "mo",
    "y",
    "days",
    " hours",
    "µs",
    "ago",
    ",",
    "1h",
    "30m",
    "P1D",
    "PT5S",
    ":",
    "00:00:01",
    "e3",
    "D",
];

const LONGEST: SignedDuration = SignedDuration::from_hours(365_000 * 24);

/// Numbers with a unit behind each, the slow way: what is plain enough for it is read alike by both.
fn counted(text: &str) -> Option<i128> {
    let mut rest = text;
    let (mut sum, mut last) = (0, i128::MAX);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i128 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "w" => 7 * 86_400_000_000_000,
            "d" => 86_400_000_000_000,
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        if unit >= last {
            return None;
        }
        (sum, last, rest) = (number.checked_mul(unit)?.checked_add(sum)?, unit, &rest[letters..]);
    }
    (last < i128::MAX).then_some(sum)
}

#[test]
fn any_length_of_time_is_what_its_numbers_say_or_refused() {
    bolero::check!().with_iterations(15_000).with_test_time(Duration::from_secs(4)).with_type::<Picks>().for_each(
        |picks| {
            let text = picks.of(LENGTHS);
            let Ok(length) = parse_duration("keep", &Text::plain(&text)) else { return };
            assert!((SignedDuration::ZERO..=LONGEST).contains(&length), "{text:?} is {length:#}");
            if let Some(nanos) = counted(&text) {
                assert_eq!(length.as_nanos(), nanos, "{text:?} is {length:#}");
            }
        },
    );
}

/// The lengths that reports and schedules show are lengths that the file takes, and mean the same there.
#[test]
fn any_length_of_time_is_read_back_as_it_is_shown() {
    bolero::check!()
        .with_iterations(5_000)
        .with_test_time(Duration::from_secs(3))
        .with_type::<(u64, u32, u8)>()
        .for_each(|(seconds, nanos, shift)| {
            let seconds = i64::try_from((seconds >> (shift % 64)) % (365_000 * 86_400)).unwrap();
            let nanos = i32::try_from(nanos % 1_000_000_000).unwrap();
            let length = SignedDuration::new(seconds, if shift % 2 == 0 { 0 } else { nanos });
            let shown = format!("{length:#}");
            assert_eq!(parse_duration("keep", &Text::plain(&shown)), Ok(length), "{shown}");
        });
}

/// Placeholders in placeholders, and files that are not there: nothing of the environment is shown.
#[test]
fn a_file_named_by_a_placeholder_is_looked_up_and_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("pin"), "hunter2\n").unwrap();
    let path = directory.path().join("bygone.toml");
    let text = "[source.a]\nurl = \"${file:pin}\"\n[[policy]]\nname = \"${file:pin}\"\nsource = \"a\"\ntable = \"${file:pin}\"\nkeep = \"${file:pin}\"\ndeadline = \"d\"\n";
    let words: Vec<&[u8]> = WORDS.iter().map(|word| word.as_bytes()).chain([&b"${file:pin}"[..]]).collect();
    bolero::check!().with_iterations(400).with_test_time(Duration::from_secs(2)).with_type::<Damage>().for_each(
        |damage| {
            let bytes = damage.of(&[text.as_bytes()], &words);
            std::fs::write(&path, bytes).unwrap();
            if let Err(error) = load(Path::new(&path), &TestEnv) {
                assert!(!rendered(&error).contains("hunter2"), "{}", rendered(&error));
            }
        },
    );
}
