//! The account a server runs under.
//!
//! PostgreSQL refuses to run as root and MariaDB warns of it, while containers and build machines
//! often run everything as root. The kit then lends the server the account that its package made.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::KitError;

/// Under whom to run a server, and to whom its files belong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Account {
    /// The user who runs the tests, who is not root.
    Own,
    /// An account lent by root.
    Lent { uid: u32, gid: u32 },
}

impl Account {
    /// The caller's own account; for root, the first of `candidates` that exists, else `nobody`. Without any candidate
    /// root may run the server itself.
    pub(crate) fn for_server(candidates: &[&'static str]) -> Result<Self, KitError> {
        if !rustix::process::geteuid().is_root() || candidates.is_empty() {
            return Ok(Self::Own);
        }
        let path = Path::new("/etc/passwd");
        let passwd = fs::read_to_string(path).map_err(KitError::file("read", path))?;
        let candidates: Vec<_> = candidates.iter().copied().chain(["nobody"]).collect();
        candidates.iter().find_map(|name| Self::find(name, &passwd)).ok_or(KitError::NoAccount { candidates })
    }

    fn find(name: &str, passwd: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next() != Some(name) {
                return None;
            }
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Self::Lent { uid, gid })
        })
    }

    /// Gives a file or directory to this account.
    pub(crate) fn own(self, path: &Path) -> Result<(), KitError> {
        match self {
            Self::Own => Ok(()),
            Self::Lent { uid, gid } => chown(path, Some(uid), Some(gid)).map_err(KitError::file("give away", path)),
        }
    }

    /// Makes a command run under this account, without root's groups.
    pub(crate) fn run(self, command: &mut Command) {
        if let Self::Lent { uid, gid } = self {
            // std clears the supplementary groups when root changes the user.
            command.uid(uid).gid(gid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
                          postgresql:x:7:7::/:/bin/false\n\
                          postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash\n\
                          nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let found = Account::find("postgres", PASSWD);
        assert_eq!(found, Some(Account::Lent { uid: 101, gid: 104 }));
        assert_eq!(Account::find("mysql", PASSWD), None);
        assert_eq!(Account::find("post", PASSWD), None);
    }
}
