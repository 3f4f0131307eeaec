//! What became of the messages of a queue.

use std::collections::{BTreeMap, BTreeSet};

/// How often a letter that can only fail is delivered.
pub(crate) const ATTEMPTS_MAX: u32 = 2;

/// Whether a letter can only fail.
pub(crate) fn is_poison(letter: &str) -> bool {
    letter.starts_with("poison")
}

#[derive(Debug, Default)]
struct Letter {
    is_sent: bool,
    got: u32,
    /// Acknowledgements without an answer: whoever waited for it was killed, or nobody knows.
    open: u32,
    acked: u32,
}

/// All letters that anybody has spoken of.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    letters: BTreeMap<String, Letter>,
    pub(crate) redelivered: u64,
}

impl Letters {
    fn of(&mut self, letter: &str) -> &mut Letter {
        self.letters.entry(letter.to_owned()).or_default()
    }

    pub(crate) fn sent(&mut self, letter: &str) {
        self.of(letter).is_sent = true;
    }

    pub(crate) fn got(&mut self, letter: &str) {
        let letter = self.of(letter);
        letter.got += 1;
        let is_again = letter.got > 1;
        self.redelivered += u64::from(is_again);
    }

    pub(crate) fn acking(&mut self, letter: &str) {
        self.of(letter).open += 1;
    }

    pub(crate) fn acked(&mut self, letter: &str, now: bool) {
        let is_poison = is_poison(letter);
        let found = self.of(letter);
        found.open -= 1;
        found.acked += u32::from(now);
        assert!(found.acked <= 1 && found.got > 0 && !is_poison, "{letter}: {found:?}");
    }

    pub(crate) fn not_acked(&mut self, letter: &str) {
        self.of(letter).open -= 1;
    }

    /// How many the store has taken.
    pub(crate) fn len(&self) -> u64 {
        self.letters.values().map(|letter| u64::from(letter.is_sent)).sum()
    }

    /// Each letter that was taken is in the queue, or among the dead letters if it can only fail, or acknowledged, once.
    /// With all processes stopped.
    pub(crate) fn check(&self, waiting: &BTreeSet<String>, dead: &BTreeSet<String>) {
        for (name, letter) in self.letters.iter().filter(|(_, letter)| letter.is_sent) {
            let (is_waiting, is_dead) = (waiting.contains(name), dead.contains(name));
            let is_right = match letter.acked {
                // Put aside is written before taken out, so for a moment, or after a kill, it is in both.
                0 if is_poison(name) => is_waiting || is_dead,
                0 => !is_dead && (is_waiting || (letter.open > 0 && letter.got > 0)),
                _ => !is_dead && !is_waiting,
            };
            assert!(is_right, "{name}: {letter:?}, waiting: {is_waiting}, dead: {is_dead}");
        }
    }
}
