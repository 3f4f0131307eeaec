//! The name of an attachment: one path component, whatever it was made from.
//!
//! Names come from uploads and other people's machines. What could leave the directory, hide in it, or break on the next
//! file system is replaced; everything else, letters of any script among it, stays as it is.

use std::fmt;
use std::str::FromStr;

/// The most bytes of a name: what file systems allow.
const BYTES_MAX: usize = 255;
/// An extension longer than this is none.
const EXTENSION_BYTES_MAX: usize = 32;
/// The names that some systems take for devices, whatever their extension.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// A file name that is safe as one component of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The nearest safe name. Every text has one.
    pub fn sanitised(text: &str) -> Self {
        let replaced: String = text.chars().map(|c| if is_unsafe(c) { '_' } else { c }).collect();
        let trimmed = replaced.trim().trim_end_matches(|c: char| c == '.' || c.is_whitespace());
        let mut name = match trimmed.strip_prefix('.') {
            // A hidden file, or what is left of `.` and `..`.
            Some(rest) => format!("_{rest}"),
            None if trimmed.is_empty() => "_".to_owned(),
            None => trimmed.to_owned(),
        };
        if is_reserved(&name) {
            name.insert(0, '_');
        }
        Self(cut(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name that is not safe as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not safe as a file name; {safe:?} would be")]
pub struct UnsafeName {
    /// The name.
    pub name: String,
    /// What it would have to be.
    pub safe: String,
}

impl FromStr for Name {
    type Err = UnsafeName;

    /// Takes a name that is safe already, and changes nothing.
    fn from_str(text: &str) -> Result<Self, UnsafeName> {
        let safe = Self::sanitised(text);
        if safe.0 == text { Ok(safe) } else { Err(UnsafeName { name: text.to_owned(), safe: safe.0 }) }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Separators, control characters, what other systems forbid, and the marks that turn the direction of text, by which
/// `exe.gpj` can be made to look like `jpg.exe` the other way round.
fn is_unsafe(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks_lines = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|') || c.is_control() || turns_text || breaks_lines
}

fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let numbered = |stem: &str| {
        let rest = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
        rest.is_some_and(|rest| {
            matches!(rest, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        })
    };
    RESERVED.contains(&stem.as_str()) || numbered(&stem)
}

/// At most [`BYTES_MAX`] bytes, whole characters, with the extension kept.
fn cut(name: String) -> String {
    if name.len() <= BYTES_MAX {
        return name;
    }
    let extension = name.rfind('.').map(|at| &name[at..]).filter(|text| text.len() <= EXTENSION_BYTES_MAX);
    let extension = extension.unwrap_or("");
    let stem = &name[..floor_char_boundary(&name, BYTES_MAX - extension.len())];
    // The cut may have left a blank or a dot at the end of what is now the whole name.
    let whole = format!("{stem}{extension}");
    whole.trim_end_matches(|c: char| c == '.' || c.is_whitespace()).to_owned()
}

/// The last boundary of characters at or before a byte.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_made_safe() {
        let cases = [
            ("report.pdf", "report.pdf"),
            ("Überblick 報告.txt", "Überblick 報告.txt"),
            ("../../etc/passwd", "_._.._etc_passwd"),
            ("a/b\\c", "a_b_c"),
            ("a\0b\nc\u{7f}d\u{85}e", "a_b_c_d_e"),
            ("\u{202e}gpj.exe", "_gpj.exe"),
            ("", "_"),
            (" \t ", "_"),
            ("   ", "_"),
            (".", "_"),
            ("..", "_"),
            (".bashrc", "_bashrc"),
            ("...x", "_..x"),
            ("name. . ", "name"),
            ("  name", "name"),
            ("CON", "_CON"),
            ("nul.tar.gz", "_nul.tar.gz"),
            ("Com1.txt", "_Com1.txt"),
            ("lpt9", "_lpt9"),
            ("aux .txt", "_aux .txt"),
            ("com10", "com10"),
            ("console", "console"),
            ("a:b", "a_b"),
        ];
        for (text, safe) in cases {
            assert_eq!(Name::sanitised(text).as_str(), safe, "{text:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut_between_characters_and_keeps_its_extension() {
        let name = Name::sanitised(&format!("{}.tar", "é".repeat(300)));
        assert!(name.as_str().ends_with("é.tar"), "{name}");
        assert_eq!(name.as_str().len(), 254);
        let name = Name::sanitised(&format!("a.{}", "b".repeat(300)));
        assert_eq!(name.as_str().len(), 255);
        let name = Name::sanitised(&format!("{}{}", "a".repeat(250), ".".repeat(20) + &"b".repeat(50)));
        assert_eq!(name.as_str(), "a".repeat(250));
    }

    #[test]
    fn only_what_is_safe_already_is_taken_as_it_is() {
        assert_eq!("a.txt".parse::<Name>().unwrap().as_str(), "a.txt");
        let refused = "../x".parse::<Name>().unwrap_err();
        assert_eq!(refused.to_string(), r#""../x" is not safe as a file name; "_._x" would be"#);
    }

    proptest! {
        #[test]
        fn any_text_gives_one_component_that_stays_inside(text in any::<String>(), long in "(?s).{200,400}") {
            for text in [text.clone(), long.clone(), format!("../{text}"), format!("{long}/..")] {
                let name = Name::sanitised(&text);
                let joined = Path::new("/area").join(name.as_str());
                let components: Vec<_> = joined.components().collect();
                prop_assert_eq!(components.len(), 3, "{:?} of {:?}", name, text);
                prop_assert!(matches!(components[2], Component::Normal(_)));
                prop_assert!(!name.as_str().is_empty() && name.as_str().len() <= 255);
                prop_assert!(!name.as_str().chars().any(is_unsafe) && !name.as_str().starts_with('.'));
                prop_assert_eq!(name.as_str().parse::<Name>(), Ok(name.clone()), "safe stays as it is");
            }
        }
    }
}
