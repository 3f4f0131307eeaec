//! The configuration in force, and why the one on disk is not: whoever changes the file must not have to read the log to
//! learn that nothing came of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

/// How the configuration in force and the one on disk stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// When the one in force was read.
    pub read: Timestamp,
    /// Why the one on disk cannot be used; `None` if it is in force.
    pub rejected: Option<Rejected>,
    /// What of the one in force waits for a restart.
    pub restart_needed: Option<RestartNeeded>,
}

/// A configuration on disk that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Since when there is none that can.
    pub since: Timestamp,
    /// What is wrong with it, for people: several lines of plain text, without secrets.
    pub diagnostic: String,
}

/// Something that only a restart takes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartNeeded {
    /// Since when.
    pub since: Timestamp,
    /// The keys of `[serve]` that say something else than when the daemon was started.
    pub keys: Vec<&'static str>,
}

/// What is known of the configuration by now.
#[derive(Debug)]
pub(super) struct Configured(Mutex<Configuration>);

impl Configured {
    pub(super) fn new(read: Timestamp) -> Self {
        Self(Mutex::new(Configuration { read, rejected: None, restart_needed: None }))
    }

    pub(super) fn now(&self) -> Configuration {
        self.lock().clone()
    }

    /// A file was read that is in force from here on.
    pub(super) fn took_over(&self, now: Timestamp) {
        let mut known = self.lock();
        (known.read, known.rejected) = (now, None);
    }

    /// The file was read, and is refused. One that was wrong before, too, has been so since then.
    pub(super) fn reject(&self, now: Timestamp, diagnostic: String) {
        let mut known = self.lock();
        let since = known.rejected.as_ref().map_or(now, |before| before.since);
        known.rejected = Some(Rejected { since, diagnostic });
    }

    /// These keys wait for a restart: or none does any more.
    pub(super) fn awaits_restart(&self, now: Timestamp, keys: Vec<&'static str>) {
        let mut known = self.lock();
        let since = known.restart_needed.as_ref().map_or(now, |before| before.since);
        known.restart_needed = (!keys.is_empty()).then_some(RestartNeeded { since, keys });
    }

    fn lock(&self) -> MutexGuard<'_, Configuration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_file_stays_told_of_until_a_good_one_is_read() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let known = Configured::new(at(1));
        known.reject(at(2), "one".to_owned());
        known.reject(at(3), "two".to_owned());
        assert_eq!(known.now().rejected, Some(Rejected { since: at(2), diagnostic: "two".to_owned() }));
        assert_eq!(known.now().read, at(1), "the one in force is the old one");
        known.took_over(at(4));
        assert_eq!(known.now(), Configuration { read: at(4), rejected: None, restart_needed: None });
        known.awaits_restart(at(5), vec!["listen"]);
        known.awaits_restart(at(6), vec!["listen", "token"]);
        known.took_over(at(7));
        let needed = RestartNeeded { since: at(5), keys: vec!["listen", "token"] };
        assert_eq!(known.now().restart_needed, Some(needed), "a good file is no restart");
        known.awaits_restart(at(8), Vec::new());
        assert_eq!(known.now().restart_needed, None);
    }
}
