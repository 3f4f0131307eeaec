//! Files that somebody has open, mapped or locked: whoever does so is not done with them, whatever their age.
//!
//! The system is asked through `/proc`. Processes that may not be read are not seen (all may be by root), nor are those of
//! other machines on a shared file system; the locks that can be tried are tried as well.

use std::collections::HashSet;
use std::fs::{read, read_dir};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::facts::Identity;
use super::sockets::Sockets;

/// What was in use on one file system at one moment.
#[derive(Debug)]
pub(crate) struct Held {
    files: HashSet<u64>,
    sockets: OnceLock<Sockets>,
}

impl Held {
    /// Reads what is in use on this device now.
    pub(crate) fn read(device: (u32, u32)) -> Self {
        let mut held = Self { files: HashSet::new(), sockets: OnceLock::new() };
        held.add_locks(&read("/proc/locks").unwrap_or_default(), device);
        for process in read_dir("/proc").into_iter().flatten().flatten() {
            if process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit) {
                held.add_handles(&process.path().join("fd"), device);
                held.add_maps(&read(process.path().join("maps")).unwrap_or_default(), device);
            }
        }
        held
    }

    /// Whether handles can be seen at all.
    pub(crate) fn is_visible() -> bool {
        read_dir("/proc/self/fd").is_ok()
    }

    /// Whether somebody has the file of this number.
    pub(crate) fn has(&self, inode: u64) -> bool {
        self.files.contains(&inode)
    }

    /// The sockets that somebody listens on; read when the first one is met.
    pub(crate) fn sockets(&self) -> &Sockets {
        self.sockets.get_or_init(Sockets::read)
    }

    fn add_handles(&mut self, handles: &Path, device: (u32, u32)) {
        for handle in read_dir(handles).into_iter().flatten().flatten() {
            // Through the link to the open file itself, without asking a server that may not answer.
            let Ok(found) = statx(CWD, handle.path(), AtFlags::STATX_DONT_SYNC, StatxFlags::INO) else { continue };
            let identity = Identity::of(&found);
            if identity.device == device {
                self.files.insert(identity.inode);
            }
        }
    }

    /// Lines such as `7f01-7f02 r--p 00000000 fd:01 1234 /path`.
    fn add_maps(&mut self, maps: &[u8], device: (u32, u32)) {
        for line in maps.split(|&byte| byte == b'\n') {
            let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).skip(3);
            if let (Some(found), Some(inode)) = (words.next(), words.next())
                && parse_device(found) == Some(device)
                && let Some(inode) = parse(inode, 10)
            {
                self.files.insert(inode);
            }
        }
    }

    /// Lines such as `1: POSIX  ADVISORY  WRITE 700 fd:01:1234 0 EOF`.
    fn add_locks(&mut self, locks: &[u8], device: (u32, u32)) {
        for word in locks.split(u8::is_ascii_whitespace) {
            let mut parts = word.rsplitn(2, |&byte| byte == b':');
            if let (Some(inode), Some(found)) = (parts.next(), parts.next())
                && parse_device(found) == Some(device)
                && let Some(inode) = parse(inode, 10)
            {
                self.files.insert(inode);
            }
        }
    }
}

fn parse_device(text: &[u8]) -> Option<(u32, u32)> {
    let mut parts = text.splitn(2, |&byte| byte == b':');
    let (major, minor) = (parse(parts.next()?, 16)?, parse(parts.next()?, 16)?);
    Some((u32::try_from(major).ok()?, u32::try_from(minor).ok()?))
}

fn parse(text: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody() -> Held {
        Held { files: HashSet::new(), sockets: OnceLock::new() }
    }

    #[test]
    fn locks_and_maps_of_the_device_count_and_others_do_not() {
        let mut held = nobody();
        held.add_locks(
            b"1: POSIX  ADVISORY  WRITE 700 fe:10:1234 0 EOF\n1: -> FLOCK ADVISORY WRITE 7 fe:11:99 0 EOF\n",
            (0xfe, 0x10),
        );
        held.add_maps(
            b"7f0-7f1 r-xp 00000000 fe:10 77                 /usr/lib/a b.so\n7f2-7f3 rw-p 00000000 00:00 0 \n",
            (0xfe, 0x10),
        );
        assert!(held.has(1234) && held.has(77));
        assert!(!held.has(99) && !held.has(0));
    }

    #[test]
    fn what_is_no_device_is_passed_over() {
        assert_eq!(parse_device(b"1"), None);
        assert_eq!(parse_device(b"x:1"), None);
        assert_eq!(parse_device(b"fe:10"), Some((0xfe, 0x10)));
    }
}
