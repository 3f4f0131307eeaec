//! What an attachment is called: the SHA-256 of its content.

use std::fmt;
use std::str::FromStr;

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// The SHA-256 of an attachment's content. As text it is 64 lowercase hexadecimal digits, which is also the name of its
/// directory in the area.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttachmentId([u8; 32]);

impl AttachmentId {
    /// The id with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for AttachmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        f.pad(&text)
    }
}

impl fmt::Debug for AttachmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttachmentId({self})")
    }
}

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an attachment's id is the SHA-256 of its content: 64 lowercase hexadecimal digits")]
pub struct InvalidId;

impl FromStr for AttachmentId {
    type Err = InvalidId;

    /// Uppercase digits are no id: two names of one directory would be one too many.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidId),
        };
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| InvalidId)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl ToSql for AttachmentId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0)))
    }
}

impl FromSql for AttachmentId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 32]>::column_result(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let text = "00ff10a9".repeat(8);
        let id: AttachmentId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(AttachmentId::from_bytes(*id.as_bytes()), id);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "00", &"0".repeat(63), &"0".repeat(65), &"A".repeat(64), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(text.parse::<AttachmentId>(), Err(InvalidId), "{text}");
        }
    }
}
