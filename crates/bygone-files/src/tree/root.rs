//! Opening the swept directory: the one time that a path is used.

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bygone_core::{ErrorKind, TargetError};
use rustix::fs::{Mode, OFlags, fstatvfs, open};
use rustix::io::Errno;

use super::directory::{Directory, Opener};
use super::facts::Facts;
use super::policy::TreePolicy;
use super::stamp::Age;

/// The swept directory, open.
#[derive(Debug)]
pub(crate) struct Root {
    handle: Arc<OwnedFd>,
    facts: Facts,
    opener: Opener,
    path: PathBuf,
}

impl Root {
    pub(crate) fn open(policy: &TreePolicy) -> Result<Self, TargetError> {
        let mut path = policy.root.clone();
        let mut handle = open_source(&path).map_err(|error| refuse(&path, error, "source"))?;
        for name in components(policy.path.as_deref())? {
            path.push(OsStr::from_bytes(name.as_bytes()));
            handle = Opener::Plain.open(&handle, &name).map_err(|error| refuse(&path, error, "path"))?;
        }
        let key = if policy.path.is_some() { "path" } else { "source" };
        let facts = Facts::of_directory(&handle, policy.age).map_err(|error| refuse(&path, error, key))?;
        let top = open_source(Path::new("/")).and_then(|top| Facts::of_directory(top, policy.age));
        if top.is_ok_and(|top| top.identity() == facts.identity()) {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("{} is the root of the file system", path.display()),
            )
            .about(key)
            .with_help("name the directory that holds the files; bygone does not sweep a whole machine"));
        }
        let opener = Opener::probe(&handle);
        Ok(Self { handle: Arc::new(handle), facts, opener, path })
    }

    /// A walk's first directory. Its listing starts anew, which needs a handle of its own.
    pub(crate) fn directory(&self, age: Age) -> Result<Directory, Errno> {
        let handle = Opener::Plain.open(&self.handle, c".")?;
        Ok(Directory::root(Arc::new(handle), &Facts::of_directory(&self.handle, age)?))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn opener(&self) -> Opener {
        self.opener
    }

    /// Whether a directory is on the same file system, reached by the same mount.
    pub(crate) fn is_on_same_mount(&self, facts: &Facts) -> bool {
        let same_mount = match (facts.mount(), self.facts.mount()) {
            (Some(found), Some(own)) => found == own,
            _ => !facts.is_mount_root(),
        };
        same_mount && facts.identity().device == self.facts.identity().device
    }

    /// Bytes that the file system has left for those who are not its owner.
    pub(crate) fn free(&self) -> Result<u64, Errno> {
        let state = fstatvfs(&*self.handle)?;
        Ok(state.f_bavail.saturating_mul(state.f_frsize))
    }
}

fn open_source(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// The names on the way from the source's directory to the swept one.
fn components(path: Option<&Path>) -> Result<Vec<CString>, TargetError> {
    let mut names = Vec::new();
    for component in path.into_iter().flat_map(Path::components) {
        let name = match component {
            Component::CurDir => continue,
            Component::Normal(name) => CString::new(name.as_bytes()).ok(),
            _ => None,
        };
        let unfit = || {
            let shown = path.unwrap_or(Path::new("")).display();
            TargetError::new(ErrorKind::Unfit, format!("the path {shown} leads out of its source"))
                .about("path")
                .with_help("name a directory below the source's own: no `/` in front and no `..`")
        };
        names.push(name.ok_or_else(unfit)?);
    }
    Ok(names)
}

fn refuse(path: &Path, error: Errno, key: &'static str) -> TargetError {
    let shown = path.display();
    let (kind, message, help) = match error {
        Errno::NOENT => (ErrorKind::Unreachable, format!("{shown} does not exist"), "create it, or correct the path"),
        Errno::LOOP | Errno::NOTDIR => (
            ErrorKind::Unfit,
            format!("{shown} is not a directory, or is a link to one"),
            "name the directory itself: links are never followed",
        ),
        Errno::ACCESS | Errno::PERM => (
            ErrorKind::Denied,
            format!("{shown} may not be read"),
            "let bygone read and search it, or run it as the owner of the files",
        ),
        _ => (ErrorKind::Unreachable, format!("{shown} cannot be opened"), "see whether its file system is there"),
    };
    TargetError::new(kind, message).about(key).with_help(help).with_source(std::io::Error::from(error))
}
