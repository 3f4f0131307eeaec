//! A browser for tests: Debian's, driven by a script.

use std::path::PathBuf;

use crate::error::KitError;
use crate::programs;

/// What it takes to drive a browser.
#[derive(Debug)]
pub struct Browser {
    /// The program that runs the script.
    pub node: PathBuf,
    /// Where the script finds its modules.
    pub modules: PathBuf,
}

impl Browser {
    /// Finds all of it, or says what is missing and how to get it.
    pub fn find() -> Result<Self, KitError> {
        programs::find("chromium", "chromium", &[])?;
        let node = programs::find("node", "nodejs", &[])?;
        let whole = programs::installed("playwright-core", "browser-1.65.1", "whole")?;
        Ok(Self { node, modules: whole.with_file_name("node_modules") })
    }
}
