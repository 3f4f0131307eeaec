//! The keys and queues that everybody fights over: few, so that they do.

use bygone_lease::{Key, Namespace, Queue, QueueName};

/// Keys that are written and removed.
pub(crate) const REGISTERS: u64 = 4;
/// Keys between which transactions move money.
pub(crate) const ACCOUNTS: u64 = 4;
/// Keys that transactions write which somebody else commits too early.
pub(crate) const PAGES: u64 = 4;
pub(crate) const QUEUES: u64 = 2;

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

pub(crate) fn page(number: u64) -> (Namespace, Key) {
    (namespace(number), key(format!("page {number}")))
}

#[expect(clippy::expect_used, reason = "the names are our own")]
pub(crate) fn queue(number: u64) -> Queue {
    Queue { namespace: namespace(number), name: QueueName::new("mail").expect("a name") }
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
