//! What people run over directories of old files, each told to go by the time of the last change and by nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::files::ground::Ground;
use crate::files::program;

/// The programs, and the file that tells the last of them what to do.
pub(super) struct Peers {
    find: PathBuf,
    tmpreaper: PathBuf,
    systemd_tmpfiles: PathBuf,
    config: PathBuf,
}

impl Peers {
    /// Looks for all of them now: an hour into the run is too late to hear of it.
    pub(super) fn find(ground: &Ground) -> Result<Self, Failure> {
        Ok(Self {
            find: program::find("find", "findutils")?,
            tmpreaper: program::find("tmpreaper", "tmpreaper")?,
            systemd_tmpfiles: program::find("systemd-tmpfiles", "systemd")?,
            config: ground.path("tmpfiles.conf"),
        })
    }

    pub(super) fn find_delete(&self, root: &Path, minutes: i64) -> Result<(), Failure> {
        let age = format!("+{minutes}");
        program::run(Command::new(&self.find).arg(root).args(["-type", "f", "-mmin", &age, "-delete"]))
    }

    /// It stops by itself after 55 seconds, unless told not to.
    pub(super) fn tmpreaper(&self, root: &Path, minutes: i64) -> Result<(), Failure> {
        let age = format!("{minutes}m");
        program::run(Command::new(&self.tmpreaper).args(["--mtime", "--runtime=0", &age]).arg(root))
    }

    /// `m:` lets the time of the last change alone decide; otherwise a file that was made just now stays.
    pub(super) fn systemd_tmpfiles(&self, root: &Path, minutes: i64) -> Result<(), Failure> {
        fs::write(&self.config, format!("e {} - - - m:{minutes}m\n", root.display()))?;
        program::run(Command::new(&self.systemd_tmpfiles).arg("--clean").arg(&self.config))
    }

    /// It has no option that tells, but writes it on top of its usage.
    pub(super) fn tmpreaper_version(&self) -> Result<String, Failure> {
        let output = Command::new(&self.tmpreaper).arg("--help").output()?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let version = text.lines().find_map(|line| line.strip_prefix("tmpreaper -- Version: "));
        Ok(format!("tmpreaper {}", version.unwrap_or("of an unknown version")))
    }
}
