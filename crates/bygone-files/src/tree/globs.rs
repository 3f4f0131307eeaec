//! Include and exclude globs over the path below the swept directory, as bytes: names need not be text.

use bygone_core::{ErrorKind, TargetError};
use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// The compiled globs of a policy.
#[derive(Debug)]
pub(crate) struct Globs {
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// What keeps the walk out of a directory: the excludes, and those of whole contents (`cache/**`) for the directory too.
    closed: GlobSet,
}

impl Globs {
    pub(crate) fn compile(include: &[String], exclude: &[String]) -> Result<Self, TargetError> {
        let contents = exclude.iter().filter_map(|glob| glob.strip_suffix("/**")).filter(|glob| !glob.is_empty());
        let closed = exclude.iter().map(String::as_str).chain(contents);
        Ok(Self {
            include: if include.is_empty() { None } else { Some(set(include.iter().map(String::as_str), "include")?) },
            exclude: set(exclude.iter().map(String::as_str), "exclude")?,
            closed: set(closed, "exclude")?,
        })
    }

    /// Whether everything is covered, so that no path needs to be made.
    pub(crate) fn cover_all(&self) -> bool {
        self.include.is_none() && self.exclude.is_empty()
    }

    /// Whether an item at this path is one of the policy's.
    pub(crate) fn cover(&self, path: &[u8]) -> bool {
        let path = Candidate::from_bytes(path);
        self.include.as_ref().is_none_or(|include| include.is_match_candidate(&path))
            && !self.exclude.is_match_candidate(&path)
    }

    /// Whether the directory at this path is left alone with all that it holds.
    pub(crate) fn close(&self, path: &[u8]) -> bool {
        !self.closed.is_empty() && self.closed.is_match_candidate(&Candidate::from_bytes(path))
    }
}

fn set<'a>(globs: impl Iterator<Item = &'a str>, key: &'static str) -> Result<GlobSet, TargetError> {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(compile(glob, key)?);
    }
    builder.build().map_err(|error| unfit("the globs are too large together", key).with_source(error))
}

fn compile(glob: &str, key: &'static str) -> Result<Glob, TargetError> {
    let odd = glob.is_empty() || glob.starts_with('/') || glob.split('/').any(|part| matches!(part, "" | "." | ".."));
    if odd {
        return Err(unfit(format!("the glob `{glob}` can match nothing"), key).with_help(
            "globs are paths below the swept directory: no `/` at either end, no `.` and no `..`, such as `cache/**` or `**/*.tmp`",
        ));
    }
    GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build().map_err(|error| {
        unfit(format!("`{glob}` is not a glob"), key)
            .with_help("write a glob such as `**/*.tmp`, and `\\` before a character that stands for itself")
            .with_source(error)
    })
}

fn unfit(message: impl Into<String>, key: &'static str) -> TargetError {
    TargetError::new(ErrorKind::Unfit, message).about(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(include: &[&str], exclude: &[&str]) -> Globs {
        let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
        Globs::compile(&owned(include), &owned(exclude)).unwrap()
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_stars_do_not() {
        let globs = globs(&["*.tmp", "logs/**/*.gz"], &[]);
        assert!(globs.cover(b"a.tmp"));
        assert!(!globs.cover(b"d/a.tmp"));
        assert!(globs.cover(b"logs/x.gz"));
        assert!(globs.cover(b"logs/2026/11/x.gz"));
        assert!(!globs.cover(b"logs/x.txt"));
    }

    #[test]
    fn an_exclude_wins_and_closes_the_directory_that_it_names() {
        let globs = globs(&["**/*.tmp"], &["cache", "spool/**", "**/keep.tmp"]);
        assert!(!globs.cover(b"a/keep.tmp"));
        assert!(globs.cover(b"a/other.tmp"));
        assert!(globs.close(b"cache"));
        assert!(globs.close(b"spool"));
        assert!(!globs.close(b"a"));
        assert!(!globs.close(b"a/cache"));
    }

    #[test]
    fn names_that_are_not_text_are_matched_as_bytes() {
        let globs = globs(&["**/*.tmp"], &[]);
        assert!(globs.cover(b"d\xff/\xfe\n.tmp"));
        assert!(!globs.cover(b"d\xff/\xfe.txt"));
    }

    #[test]
    fn what_cannot_match_and_what_is_no_glob_are_refused_with_their_key() {
        let refused = |glob: &str| Globs::compile(&[], &[glob.to_owned()]).unwrap_err();
        for glob in ["", "/tmp/**", "cache/", "a//b", "../x", "a/./b", "a[", "{a"] {
            let error = refused(glob);
            assert_eq!((error.kind(), error.key()), (ErrorKind::Unfit, Some("exclude")), "{glob}: {error}");
            assert!(error.help().is_some(), "{glob}");
        }
    }
}
