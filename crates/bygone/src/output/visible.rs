//! Words of others, as far as a terminal may see them.
//!
//! Names of tables, errors of databases and replies of daemons were written by others, who may have put an order to the
//! terminal into them. Such a character is written out, as JSON writes it: so a document means the same as before, and a
//! person sees what is there.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with everything written out that a terminal obeys; lines stay lines.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// The same in one line: whatever it says, it says in the place that is meant for it.
pub(crate) fn in_a_line(text: &str) -> Cow<'_, str> {
    written_out(text, is_obeyed)
}

fn written_out(text: &str, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_meant) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_meant(c) {
            // All of them have four digits. Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Control characters, the marks that turn the direction of text, and the ends of lines that are none to us.
fn is_obeyed(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns_text || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(
            visible("\u{1b}[2J\r\u{7f}\u{9b}\u{202e}x\u{2028}"),
            "\\u001b[2J\\u000d\\u007f\\u009b\\u202ex\\u2028"
        );
        assert_eq!(visible("two\nlines\tof größe 期限 ✓"), "two\nlines\tof größe 期限 ✓");
        assert_eq!(in_a_line("a\n-- b\t"), "a\\u000a-- b\\u0009");
    }

    #[test]
    fn a_document_means_the_same() {
        let name = "a\u{1b}\u{0}\u{9b}\u{202e}\"\\\n";
        let written = serde_json::to_string(name).unwrap();
        let shown = visible(&written);
        assert!(shown.chars().all(|c| !is_obeyed(c)), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), name);
    }
}
