//! The names of a directory, a buffer at a time: a directory of ten million names takes no more memory than one of a thousand.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, RawDir, StatxFlags, statx};
use rustix::io::Errno;

/// A few thousand names at once: enough to look at them in the order of their inodes, which is how disks have them.
const BUFFER_BYTES: usize = 128 * 1024;

/// Some names of one directory: first those that are no directories, then those that are.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    entries: Vec<Listed>,
}

#[derive(Clone, Copy, Debug)]
struct Listed {
    offset: usize,
    inode: u64,
    kind: FileType,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn name(&self, at: usize) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes[self.entries[at].offset..]).unwrap_or_default()
    }

    /// What the listing took it for. By now it may be something else.
    pub(crate) fn kind(&self, at: usize) -> FileType {
        self.entries[at].kind
    }

    fn push(&mut self, name: &CStr, inode: u64, kind: FileType) {
        self.entries.push(Listed { offset: self.bytes.len(), inode, kind });
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
    }
}

/// The buffer of the calls, shared by all levels.
#[derive(Debug)]
pub(crate) struct Lister {
    buffer: Vec<u8>,
}

impl Lister {
    pub(crate) fn new() -> Self {
        Self { buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// The next names of a directory, in one call; none at its end.
    pub(crate) fn next(&mut self, directory: BorrowedFd<'_>) -> Result<Names, Errno> {
        let mut names = Names::default();
        let buffer: &mut [MaybeUninit<u8>] = self.buffer.spare_capacity_mut();
        let mut raw = RawDir::new(directory, buffer);
        loop {
            match raw.next() {
                None => break,
                Some(Err(Errno::INTR)) => continue,
                Some(Err(error)) => return Err(error),
                Some(Ok(entry)) => {
                    let name = entry.file_name();
                    if !matches!(name.to_bytes(), b"." | b"..") {
                        names.push(name, entry.ino(), known_kind(directory, name, entry.file_type()));
                    }
                }
            }
            // A buffer that held nothing but dots is not the end yet.
            if raw.is_buffer_empty() && names.len() > 0 {
                break;
            }
        }
        names.entries.sort_unstable_by_key(|entry| (entry.kind == FileType::Directory, entry.inode));
        Ok(names)
    }
}

/// Some file systems do not tell the kind with the name.
fn known_kind(directory: impl AsFd, name: &CStr, kind: FileType) -> FileType {
    if kind != FileType::Unknown {
        return kind;
    }
    let looked = statx(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, StatxFlags::TYPE);
    looked.map_or(kind, |statx| FileType::from_raw_mode(statx.stx_mode.into()))
}
