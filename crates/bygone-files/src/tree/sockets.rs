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

    fn parse(list: &[u8]) -> Self {
        let mut sockets = Self::default();
        for path in paths(list) {
            match path.first() {
                None | Some(b'@') => {}
                Some(b'/') => {
                    let path = OsStr::from_bytes(&path);
                    if let Ok(found) = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO) {
                        sockets.bound.insert(Identity::of(&found));
                    }
                }
                Some(_) => {
                    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(&path);
                    sockets.names.insert(name.to_vec());
                }
            }
        }
        sockets
    }
}

/// The paths of the list: what stands behind seven words, with `@` in front where it is no file. The kernel writes paths as
/// they are, so a line that does not begin as a socket's does is the rest of a path with a line break.
fn paths(list: &[u8]) -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = Vec::new();
    let list = list.strip_suffix(b"\n").unwrap_or(list);
    for line in list.split(|&byte| byte == b'\n').skip(1) {
        let address = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if address >= 8 && line[address..].starts_with(b": ") {
            let words = (0..7).fold(line, |rest, _| {
                let rest = rest.trim_ascii_start();
                &rest[rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len())..]
            });
            paths.push(words.strip_prefix(b" ").unwrap_or(words).to_vec());
        } else if let Some(path) = paths.last_mut() {
            path.push(b'\n');
            path.extend_from_slice(line);
        }
    }
    paths
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
    fn a_path_is_taken_as_it_is_with_blanks_and_line_breaks() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01   345 run/new\nline\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 12346  last\n\n";
        assert_eq!(paths(list), [b"run/new\nline".to_vec(), b" last\n".to_vec()]);
    }

    #[test]
    fn every_socket_may_be_bound_where_the_list_is_unknown() {
        let sockets = Sockets { unknown: true, ..Sockets::default() };
        assert!(sockets.is_bound(Identity { device: (0, 0), inode: 0 }, c"any"));
    }
}
