//! Object stores for tests: real servers, and buckets of a test's own on them.
//!
//! What a test puts there and finds there goes by a client of the kit, which shares nothing with the code under test but
//! the rules of how requests are signed.

mod azurite;
mod bucket;
mod moto;
mod seaweed;
mod signed;

pub use azurite::{Azurite, AzuriteService};
pub use bucket::TestBucket;
pub use moto::{Moto, MotoService};
pub use seaweed::{SeaweedFs, SeaweedFsService};

use std::path::PathBuf;

use crate::error::KitError;

/// A program that `./test` installs into a cache of its own: `CACHE/INSTALLATION/PATH`.
fn installed(program: &'static str, installation: &str, path: &str) -> Result<PathBuf, KitError> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let file = cache.unwrap_or_default().join("bygone-test").join(installation).join(path);
    if file.is_file() { Ok(file) } else { Err(KitError::NotInstalled { program, file }) }
}
