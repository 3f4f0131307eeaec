//! Which objects of a bucket are bygone.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::{SignedDuration, Timestamp};

use super::PrefixError;
use crate::key_date::KeyDate;

/// What an object's deadline is.
#[derive(Clone, Debug)]
pub enum PrefixDeadline {
    /// When it was last modified, by the store's clock. A value in whole seconds counts as the end of its second.
    ByModified,
    /// The date in its key, below the prefix. An object whose key has none stays, and is counted as unreadable.
    ByKey(KeyDate),
}

/// Which objects under a prefix are bygone.
#[derive(Clone, Debug)]
pub struct PrefixPolicy {
    /// The policy's name.
    pub name: String,
    /// The source's name.
    pub source: String,
    /// A folder below that of the bucket's URL; `None` for the whole of it.
    pub prefix: Option<String>,
    /// What the deadline is.
    pub deadline: PrefixDeadline,
    /// How long an object stays after its deadline.
    pub keep: SignedDuration,
    /// Globs over the key below the prefix; an object must match one of them, unless there are none. `*` stays within a
    /// folder, `**` does not.
    pub include: Vec<String>,
    /// Globs of objects that are none of the policy's business.
    pub exclude: Vec<String>,
}

/// The globs of a policy, ready to be asked.
#[derive(Debug)]
pub(super) struct Selection {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Selection {
    pub(super) fn of(policy: &PrefixPolicy) -> Result<Self, PrefixError> {
        let include = globs(&policy.include, "include")?;
        Ok(Self {
            include: (!policy.include.is_empty()).then_some(include),
            exclude: globs(&policy.exclude, "exclude")?,
        })
    }

    /// Whether the policy covers this key.
    pub(super) fn covers(&self, key: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(key)) && !self.exclude.is_match(key)
    }
}

fn globs(globs: &[String], key: &'static str) -> Result<GlobSet, PrefixError> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let wrong = |source| PrefixError::ReadGlob { glob: glob.clone(), key, source };
        set.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(wrong)?);
    }
    set.build().map_err(|source| PrefixError::ReadGlob { glob: globs.join(", "), key, source })
}

/// The end of the instant that a store wrote down. It wrote whole seconds, or milliseconds, and cut the rest off: the
/// object may be younger than it says, by just that.
pub(super) fn end_of_instant(written: Timestamp) -> Option<Timestamp> {
    let nanos = written.subsec_nanosecond();
    let unit = match nanos {
        0 => SignedDuration::from_secs(1),
        _ if nanos % 1_000_000 == 0 => SignedDuration::from_millis(1),
        _ => SignedDuration::from_micros(1),
    };
    written.checked_add(unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(include: &[&str], exclude: &[&str]) -> PrefixPolicy {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        PrefixPolicy {
            name: "p".into(),
            source: "s".into(),
            prefix: None,
            deadline: PrefixDeadline::ByModified,
            keep: SignedDuration::ZERO,
            include: owned(include),
            exclude: owned(exclude),
        }
    }

    #[test]
    fn globs_stay_within_a_folder_unless_told() {
        let selection = Selection::of(&policy(&["*.log", "deep/**"], &["**/keep*"])).unwrap();
        assert!(selection.covers("a.log"));
        assert!(!selection.covers("x/a.log"));
        assert!(selection.covers("deep/x/y"));
        assert!(!selection.covers("deep/x/keep-me"));
        assert!(!selection.covers("keep.log"));
        assert!(Selection::of(&policy(&[], &[])).unwrap().covers("anything/at all"));
        let refused = Selection::of(&policy(&["a["], &[])).unwrap_err();
        assert_eq!(refused.to_string(), "`a[` is not a glob");
    }

    #[test]
    fn a_whole_second_ends_a_second_later() {
        let end = |text: &str| end_of_instant(text.parse().unwrap()).unwrap().to_string();
        assert_eq!(end("2026-11-15T12:00:00Z"), "2026-11-15T12:00:01Z");
        assert_eq!(end("2026-11-15T12:00:00.250Z"), "2026-11-15T12:00:00.251Z");
        assert_eq!(end("2026-11-15T12:00:00.000250Z"), "2026-11-15T12:00:00.000251Z");
        assert_eq!(end_of_instant(Timestamp::MAX), None);
    }
}
