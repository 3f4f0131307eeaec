//! Sockets that a living process is bound to. Their files have no handle and no lock: only the kernel's list knows them.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::fs::read;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::facts::Identity;

/// The bound sockets of this network namespace.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    bound: HashSet<Identity>,
    /// Names bound by a relative path, which could lie anywhere.
    names: HashSet<Vec<u8>>,
    /// The list could not be read: any socket may be in use.
    unknown: bool,
}

impl Sockets {
    pub(crate) fn read() -> Self {
        read("/proc/net/unix").map_or(Self { unknown: true, ..Self::default() }, |list| Self::parse(&list))
    }

    pub(crate) fn is_bound(&self, identity: Identity, name: &CStr) -> bool {
        self.unknown || self.bound.contains(&identity) || self.names.contains(name.to_bytes())
    }

    /// Lines of seven words and, for a bound socket, its path; `@` is in front of those that are no files.
    fn parse(list: &[u8]) -> Self {
        let mut sockets = Self::default();
        for line in list.split(|&byte| byte == b'\n').skip(1) {
            let Some(path) = line.splitn(8, |&byte| byte == b' ').nth(7).map(<[u8]>::trim_ascii_start) else {
                continue;
            };
            match path.first() {
                None | Some(b'@') => {}
                Some(b'/') => {
                    let path = OsStr::from_bytes(path);
                    if let Ok(found) = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO) {
                        sockets.bound.insert(Identity::of(&found));
                    }
                }
                Some(_) => {
                    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
                    sockets.names.insert(name.to_vec());
                }
            }
        }
        sockets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_protect_by_their_name() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12345 run/app sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12346 @abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 12347\n";
        let sockets = Sockets::parse(list);
        let nowhere = Identity { device: (0, 0), inode: 0 };
        assert!(sockets.is_bound(nowhere, c"app sock"));
        assert!(!sockets.is_bound(nowhere, c"other"));
        assert!(!sockets.is_bound(nowhere, c"@abstract"));
    }

    #[test]
    fn every_socket_may_be_bound_where_the_list_is_unknown() {
        let sockets = Sockets { unknown: true, ..Sockets::default() };
        assert!(sockets.is_bound(Identity { device: (0, 0), inode: 0 }, c"any"));
    }
}
