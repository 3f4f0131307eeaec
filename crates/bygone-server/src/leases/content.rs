//! Bytes in JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Why bytes could not be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// As text and in base64.
    #[error("it is given twice, as text and in base64: leave one of them out")]
    Twice,
    /// Neither as text nor in base64.
    #[error("it is not given: as text, or in base64")]
    Missing,
    /// Something that is no base64.
    #[error("it is no base64: {0}")]
    Base64(#[from] base64::DecodeError),
}

/// Bytes for JSON: as text where they are text, in base64 where they are not.
pub fn text_or_base64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(BASE64_STANDARD.encode(bytes))),
    }
}

/// The bytes that were given in one of two ways.
pub fn bytes_of(text: Option<String>, base64: Option<String>) -> Result<Vec<u8>, ContentError> {
    match (text, base64) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(base64)) => Ok(BASE64_STANDARD.decode(base64)?),
        (Some(_), Some(_)) => Err(ContentError::Twice),
        (None, None) => Err(ContentError::Missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_and_only_once() {
        for bytes in [&b"hello"[..], b"", b"\xff\x00", "\u{e4}\n".as_bytes()] {
            let (text, base64) = text_or_base64(bytes);
            assert_eq!(bytes_of(text, base64).unwrap(), bytes);
        }
        let some = || Some("eA==".to_owned());
        assert_eq!(bytes_of(some(), some()), Err(ContentError::Twice));
        assert_eq!(bytes_of(None, None), Err(ContentError::Missing));
        assert!(matches!(bytes_of(None, Some("!".to_owned())), Err(ContentError::Base64(_))));
    }
}
