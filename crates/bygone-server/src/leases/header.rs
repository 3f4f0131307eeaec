//! What stands in headers, where the body is a stream.

use std::fmt::Write as _;

use serde::Serialize;

/// The lease of who writes, as JSON.
pub const LEASE: &str = "bygone-lease";
/// What is known of the attachment in the body, as JSON.
pub const ATTACHMENT: &str = "bygone-attachment";
/// The version of the state in the body.
pub const VERSION: &str = "bygone-version";

/// A document as JSON for a header: of characters that every program takes there.
pub fn header_text(document: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(document)?;
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if (' '..='~').contains(&character) {
            text.push(character);
            continue;
        }
        // Such characters stand within strings alone.
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing into a string does not fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_takes_is_written_otherwise_and_read_back() {
        let text = "a \u{7f} \u{e4} \u{1f600} \"\n";
        let written = header_text(&text).unwrap();
        assert_eq!(written, r#""a \u007f \u00e4 \ud83d\ude00 \"\n""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
