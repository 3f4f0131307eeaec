//! The table of bugs: `bench/planted.toml`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;

/// Where the table stands, below the top of the repository.
const TABLE: &str = "bench/planted.toml";

/// The top of the repository.
pub(super) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All bugs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Those that are planted by a change of the text.
    #[serde(rename = "bug")]
    pub(super) bugs: Vec<Bug>,
    /// Those that a test plants by itself, by a feature that nothing but tests turns on.
    #[serde(rename = "feature")]
    pub(super) features: Vec<Feature>,
}

/// A bug that is planted by a change of the text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bug {
    pub(super) name: String,
    /// What it breaks: the number of a law, or a promise in words.
    pub(super) promise: String,
    /// The file, from the top of the repository.
    pub(super) file: String,
    /// A text that stands in the file exactly once, and what takes its place.
    pub(super) find: String,
    pub(super) replace: String,
    /// All of them must fail.
    pub(super) tests: Vec<TestName>,
    /// What somebody should know who reads the table.
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the table")]
    pub(super) note: String,
}

/// A bug that a test plants by itself; the test passes if the bug is found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Feature {
    pub(super) name: String,
    pub(super) promise: String,
    pub(super) test: TestName,
}

impl Table {
    pub(super) fn read(top: &Path) -> Result<Self, Failure> {
        let path = top.join(TABLE);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        toml::from_str(&text).map_err(|error| format!("{TABLE}: {error}").into())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.bugs.iter().map(Entry::Bug).chain(self.features.iter().map(Entry::Feature))
    }
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry<'a> {
    Bug(&'a Bug),
    Feature(&'a Feature),
}

impl<'a> Entry<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Bug(bug) => &bug.name,
            Self::Feature(feature) => &feature.name,
        }
    }
}

impl Bug {
    /// The file's text with the bug in it.
    pub(super) fn planted(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(format!("{}: what to find stands {count} times in {}", self.name, self.file)),
        }
    }
}

/// A test, named as the test runner prints it: `bygone-sql::rows ties::cursors_keep_every_digit_of_a_number`. Without a
/// target behind the crate it is one of the library's own; `bygone::bin/bygone` are those of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct TestName {
    pub(super) place: Place,
    pub(super) path: String,
}

/// What is built for a test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) package: String,
    pub(super) target: Target,
}

/// Which part of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Lib,
    Bin(String),
    Test(String),
}

impl TryFrom<String> for TestName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (place, path) = text.split_once(' ').ok_or_else(|| format!("`{text}` names no test of a crate"))?;
        let (package, target) = match place.split_once("::") {
            None => (place, Target::Lib),
            Some((package, target)) => match target.strip_prefix("bin/") {
                Some(program) => (package, Target::Bin(program.to_owned())),
                None => (package, Target::Test(target.to_owned())),
            },
        };
        Ok(Self { place: Place { package: package.to_owned(), target }, path: path.to_owned() })
    }
}

impl fmt::Display for TestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place: Place { package, target }, path } = self;
        match target {
            Target::Lib => write!(f, "{package} {path}"),
            Target::Bin(program) => write!(f, "{package}::bin/{program} {path}"),
            Target::Test(target) => write!(f, "{package}::{target} {path}"),
        }
    }
}
