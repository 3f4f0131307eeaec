//! Finding the programs of a server.
//!
//! Debian keeps PostgreSQL's server programs off the PATH, one directory per version, and
//! MariaDB's in `/usr/sbin`, which is not on every user's PATH.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::KitError;

/// Looks for `program` in the directories given, then on the PATH, then where system programs
/// lie. A program that is missing is an error that names the package.
pub(crate) fn find(program: &'static str, package: &'static str, directories: &[PathBuf]) -> Result<PathBuf, KitError> {
    let path = env::var_os("PATH").unwrap_or_default();
    directories
        .iter()
        .cloned()
        .chain(env::split_paths(&path))
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
        .ok_or(KitError::Missing { program, package })
}

/// A program that `./test` installs into a cache of its own: `CACHE/INSTALLATION/PATH`.
pub(crate) fn installed(program: &'static str, installation: &str, path: &str) -> Result<PathBuf, KitError> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let file = cache.unwrap_or_default().join("bygone-test").join(installation).join(path);
    if file.is_file() { Ok(file) } else { Err(KitError::NotInstalled { program, file }) }
}

/// The program that asks an API everything that its OpenAPI document allows, and everything that it does not.
pub fn schemathesis() -> Result<PathBuf, KitError> {
    installed("schemathesis", "schemathesis-4.32.5", "bin/schemathesis")
}

/// The directories `ROOT/VERSION/bin`, the newest version first.
pub(crate) fn versions(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(Vec<u32>, PathBuf)> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.split('.').map(|part| part.parse().ok());
            Some((version.collect::<Option<_>>()?, entry.path().join("bin")))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first_by_number() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9.6", "13", "15", "9.10", "common"] {
            fs::create_dir(root.path().join(version)).unwrap();
        }
        let found = versions(root.path());
        let expected = ["15", "13", "9.10", "9.6"].map(|v| root.path().join(v).join("bin"));
        assert_eq!(found, expected);
        assert!(versions(&root.path().join("absent")).is_empty());
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let error = find("no-such-program", "postgresql", &[]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("no-such-program"), "{message}");
        assert!(message.contains("apt-get install postgresql"), "{message}");
    }
}
