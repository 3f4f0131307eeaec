//! What the file system says of one entry, in one call.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;

use super::stamp::{Age, Stamp};

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
}

impl Identity {
    pub(crate) fn of(statx: &Statx) -> Self {
        Self { device: (statx.stx_dev_major, statx.stx_dev_minor), inode: statx.stx_ino }
    }
}

/// One look at an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    statx: Statx,
    age: Age,
}

/// Only what is used is asked for: some file systems compute the rest.
const NEEDED: StatxFlags =
    StatxFlags::TYPE.union(StatxFlags::MODE).union(StatxFlags::NLINK).union(StatxFlags::INO).union(StatxFlags::BLOCKS);

impl Facts {
    /// Looks at a name in a directory, never through a link.
    pub(crate) fn of_name(directory: impl AsFd, name: &CStr, age: Age) -> Result<Self, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Ok(Self { statx: statx(directory, name, flags, NEEDED | age.mask())?, age })
    }

    /// Looks at what a handle holds.
    pub(crate) fn of_handle(handle: impl AsFd, age: Age) -> Result<Self, Errno> {
        Ok(Self { statx: statx(handle, c"", AtFlags::EMPTY_PATH, NEEDED | age.mask())?, age })
    }

    /// Looks at a directory, with what tells mounts apart.
    pub(crate) fn of_directory(handle: impl AsFd, age: Age) -> Result<Self, Errno> {
        let needed = NEEDED | StatxFlags::UID | StatxFlags::MNT_ID | age.mask();
        Ok(Self { statx: statx(handle, c"", AtFlags::EMPTY_PATH, needed)?, age })
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::of(&self.statx)
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.statx.stx_mode.into())
    }

    /// The stamp that the policy reads, where the file system has it.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.age.stamp(&self.statx)
    }

    pub(crate) fn links(&self) -> u32 {
        self.statx.stx_nlink
    }

    /// Bytes that the file takes on the disk. The unit of `stx_blocks` is 512, whatever the file system's own.
    pub(crate) fn allocated(&self) -> u64 {
        self.statx.stx_blocks.saturating_mul(512)
    }

    /// The file's part of those bytes that one of its names answers for.
    pub(crate) fn share(&self) -> u64 {
        self.allocated() / u64::from(self.links().max(1))
    }

    /// The sticky bit on a file is its owner's request to leave it alone.
    pub(crate) fn is_sticky(&self) -> bool {
        self.statx.stx_mode & 0o1000 != 0
    }

    pub(crate) fn owner(&self) -> u32 {
        self.statx.stx_uid
    }

    /// The mount that it was reached by, where the kernel says (5.8 and later).
    pub(crate) fn mount(&self) -> Option<u64> {
        (self.statx.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(self.statx.stx_mnt_id)
    }

    pub(crate) fn is_mount_root(&self) -> bool {
        self.statx.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    }
}
