//! The keys and queues that everybody fights over: few, so that they do.

use bygone_lease::{Key, Namespace, Queue, QueueName};
use sha2::{Digest, Sha256};

/// Keys that are written and removed.
pub(crate) const REGISTERS: u64 = 4;
/// Keys between which transactions move money.
pub(crate) const ACCOUNTS: u64 = 4;
/// Keys that transactions write which somebody else commits too early.
pub(crate) const PAGES: u64 = 4;
/// Queues, the last of which has few messages, and all of them for a short time.
pub(crate) const QUEUES: u64 = 3;
/// That one.
pub(crate) const NOTES: u64 = QUEUES - 1;

#[expect(clippy::expect_used, reason = "the names are our own")]
pub(crate) fn namespace(number: u64) -> Namespace {
    Namespace::new(if number.is_multiple_of(2) { "sim" } else { "sim/odd" }).expect("a namespace")
}

#[expect(clippy::expect_used, reason = "the names are our own")]
pub(crate) fn key(text: String) -> Key {
    Key::new(text).expect("a key")
}

pub(crate) fn register(number: u64) -> (Namespace, Key) {
    (namespace(number), key(format!("register.{number}")))
}

pub(crate) fn account(number: u64) -> (Namespace, Key) {
    (namespace(number), key(format!("account/{number}")))
}

pub(crate) fn is_account(key: &Key) -> bool {
    key.as_str().starts_with("account")
}

pub(crate) fn page(number: u64) -> (Namespace, Key) {
    (namespace(number), key(format!("page {number}")))
}

#[expect(clippy::expect_used, reason = "the names are our own")]
pub(crate) fn queue(number: u64) -> Queue {
    let name = if number == NOTES { "notes" } else { "mail" };
    Queue { namespace: namespace(number), name: QueueName::new(name).expect("a name") }
}

/// What is attached to keys is called.
pub(crate) const ATTACHMENTS: [&str; 2] = ["report", "scan/2"];

/// A value in so many words that it does not fit into a record. It begins with the value, and all of it follows from that.
pub(crate) fn long_text(value: i64) -> String {
    let words = 12 + usize::try_from(value.unsigned_abs() % 24).unwrap_or(0);
    format!("{value}{}", format!(" {value:x}").repeat(words))
}

/// The value that a text stands for, if it is one.
pub(crate) fn value_of(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let value = text.split(' ').next()?.parse().ok()?;
    (text == format!("{value}") || text == long_text(value)).then_some(value)
}

/// The checksum of something, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let halves = Sha256::digest(bytes).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}

/// A name as the store writes it, by the rule that the documentation gives.
pub(crate) fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0) {
            segment.push(char::from(byte));
        } else {
            segment.push('~');
            segment.extend([byte >> 4, byte & 15].map(|half| char::from(b"0123456789ABCDEF"[usize::from(half)])));
        }
    }
    segment
}
