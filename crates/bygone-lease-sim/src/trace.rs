//! What tells one run from another: a sum over everything that happened, and the last of it in words.

use std::collections::VecDeque;

/// How many of the last happenings are told when a run fails.
const TOLD: usize = 60;

/// A checksum that is the same on every machine (FNV-1a, eight bytes at a time).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add_number(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.add_number(u64::from(*byte));
        }
    }

    pub(crate) fn add_number(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    pub(crate) fn sum(self) -> u64 {
        self.0
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
struct Happening {
    at: u64,
    life: u64,
    what: &'static str,
    name: String,
    how: &'static str,
}

/// Everything that happened, in one number, and the last of it.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    digest: Digest,
    last: VecDeque<Happening>,
}

impl Trace {
    pub(crate) fn note(&mut self, at: u64, life: u64, what: &'static str, name: &str, how: &'static str) {
        self.digest.add_number(at);
        self.digest.add_number(life);
        for text in [what, name, how] {
            self.digest.add(text.as_bytes());
        }
        // The text of the one that goes is written over: nothing is allocated for each.
        let mut next = if self.last.len() < TOLD { None } else { self.last.pop_front() }.unwrap_or(Happening {
            at,
            life,
            what,
            name: String::new(),
            how,
        });
        next.name.clear();
        next.name.push_str(name);
        let Happening { name, .. } = next;
        self.last.push_back(Happening { at, life, what, name, how });
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.digest.add(bytes);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.digest.sum()
    }

    /// The last that happened, a line each.
    pub(crate) fn tail(&self) -> Vec<String> {
        let line = |happening: &Happening| {
            let Happening { at, life, what, name, how } = happening;
            format!("{at:>10} ms  process {life:<5} {what:<12} {how:<16} {name}")
        };
        self.last.iter().map(line).collect()
    }
}
