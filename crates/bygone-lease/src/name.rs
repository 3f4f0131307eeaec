//! Names that users give: namespaces, keys, queues; and how they stand in the names of a store.
//!
//! A name is one segment of a store's key. What a bucket, a file system or an XML listing could misunderstand is written
//! as `~` and two hexadecimal digits, so any two names stay apart and every one can be read back.

use std::fmt;

use crate::Error;

/// The longest name, in bytes: encoded, the parts of a key stay below the 1,024 bytes that S3 takes.
const NAME_BYTES_MAX: usize = 256;

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// Checks a name.
            pub fn new(name: impl Into<String>) -> Result<Self, Error> {
                let name = name.into();
                check($what, &name)?;
                Ok(Self(name))
            }

            /// The name as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as a segment of a store's key.
            pub(crate) fn segment(&self) -> String {
                encode(&self.0)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $type {
            type Error = Error;

            fn try_from(name: String) -> Result<Self, Error> {
                Self::new(name)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }
    };
}

name! {
    /// A namespace: keys of two namespaces never meet.
    Namespace, "namespace"
}
impl Default for Namespace {
    /// The one that is meant where nobody names any.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

name! {
    /// The key of a lease and of the state that it guards.
    Key, "key"
}

name! {
    /// The name of a queue.
    QueueName, "queue"
}

impl Key {
    /// Reads a segment back.
    pub(crate) fn from_segment(segment: &str) -> Option<Self> {
        decode(segment).and_then(|name| Self::new(name).ok())
    }
}

/// Whether something may be called so.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), Error> {
    match flaw(name) {
        None => Ok(()),
        Some(flaw) => Err(Error::BadName { what, name: name.to_owned(), flaw }),
    }
}

fn flaw(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > NAME_BYTES_MAX {
        Some("it is longer than 256 bytes")
    } else if name.chars().any(char::is_control) {
        Some("it has control characters in it")
    } else {
        None
    }
}

fn encode(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => segment.push(char::from(byte)),
            // Names of our own begin with a dot.
            b'.' if at > 0 => segment.push('.'),
            _ => {
                segment.push('~');
                segment.extend([byte >> 4, byte & 15].map(|half| char::from(b"0123456789ABCDEF"[usize::from(half)])));
            }
        }
    }
    segment
}

fn decode(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, behind @ ..] = rest {
        if *first == b'~' {
            let digits = behind.first_chunk::<2>()?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    // Only what we would write ourselves is ours.
    (encode(&name) == segment).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_stand_as_they_are_where_that_is_safe() {
        let segment = |name: &str| Key::new(name).unwrap().segment();
        assert_eq!(segment("nightly-report_2.v1"), "nightly-report_2.v1");
        assert_eq!(segment("orders/42"), "orders~2F42");
        assert_eq!(segment(".hidden"), "~2Ehidden");
        assert_eq!(segment("a~b"), "a~7Eb");
        assert_eq!(segment("ü"), "~C3~BC");
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_reason() {
        let refused = |name: &str| Key::new(name).unwrap_err().to_string();
        insta::assert_snapshot!(refused(""), @r#""" is not a key: it is empty"#);
        insta::assert_snapshot!(refused("a\nb"), @r#""a\nb" is not a key: it has control characters in it"#);
        assert!(refused(&"x".repeat(257)).contains("longer than 256 bytes"));
        assert!(Namespace::new("x".repeat(256)).is_ok());
    }

    #[test]
    fn what_we_never_write_is_not_read() {
        for segment in ["a/b", "a~2f", "~", "~4", "~41", "~FF", ".x", ""] {
            assert_eq!(Key::from_segment(segment), None, "{segment}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_read_back_and_no_two_meet(a in "[^\\p{C}]{1,20}", b in "[^\\p{C}]{1,20}") {
            let (a, b) = (Key::new(a).unwrap(), Key::new(b).unwrap());
            prop_assert_eq!(Key::from_segment(&a.segment()), Some(a.clone()));
            prop_assert_eq!(a.segment() == b.segment(), a == b);
            prop_assert!(a.segment().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)));
        }
    }
}
