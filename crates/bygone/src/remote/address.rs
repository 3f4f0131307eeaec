//! Where a daemon is, and what is asked of it.

use std::fmt;
use std::path::PathBuf;

use reqwest::Url;

use crate::problem::Problem;

/// What stands before the path of a socket.
const UNIX: &str = "unix:";

/// What of a daemon an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The daemon itself.
    Daemon,
    /// The lease store of a source.
    Leases,
    /// The staging area of a source.
    Stage,
}

impl Service {
    /// The path before the name of the source.
    fn prefix(self) -> Option<&'static str> {
        match self {
            Self::Daemon => None,
            Self::Leases => Some("/lease/v1/"),
            Self::Stage => Some("/stage/v1/"),
        }
    }

    fn help(self) -> String {
        let path = self.prefix().map(|prefix| format!("{prefix}SOURCE")).unwrap_or_default();
        let behind_socket = if path.is_empty() { String::new() } else { format!(":{path}") };
        format!(
            "write http://127.0.0.1:8085{path}, https://HOST:PORT{path} or unix:/run/bygone/api.sock{behind_socket}"
        )
    }
}

/// Where a daemon is, and what of it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Over a socket the host means nothing.
    pub(super) base: Url,
    pub(super) socket: Option<PathBuf>,
    written: String,
}

impl Address {
    /// Whether a text means a daemon, rather than a place that is opened.
    pub(crate) fn is_meant(text: &str) -> bool {
        ["http://", "https://", UNIX].iter().any(|scheme| text.starts_with(scheme))
    }

    /// The address of something.
    pub(crate) fn parse(text: &str, service: Service) -> Result<Self, Problem> {
        let refused = |what: &str| Problem::usage(format!("{} {what}", shown(text)), service.help());
        let (url, socket) = match text.strip_prefix(UNIX) {
            None => (text.to_owned(), None),
            Some(rest) => {
                let (socket, path) = rest.split_once(":/").unwrap_or((rest, ""));
                if !socket.starts_with('/') {
                    return Err(refused("names no socket by its whole path"));
                }
                (format!("http://localhost/{path}"), Some(PathBuf::from(socket)))
            }
        };
        let base: Url = url.parse().map_err(|_| refused("is no address of a daemon"))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(refused("is no address of a daemon"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(Problem::usage(
                "an address holds no credentials",
                "put the token into BYGONE_TOKEN, or its file into BYGONE_TOKEN_FILE",
            ));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(refused("has something behind its path"));
        }
        let path = base.path().trim_end_matches('/');
        let fits = match service.prefix() {
            None => !path.contains("/v1/"),
            // Something else may stand before it, where somebody passes requests on.
            Some(prefix) => {
                path.rsplit_once(prefix).is_some_and(|(_, source)| !source.is_empty() && !source.contains('/'))
            }
        };
        if !fits {
            return Err(refused("is not the address of that"));
        }
        Ok(Self { base, socket, written: text.to_owned() })
    }

    /// Whether what is sent there can be read by others on the way.
    pub(super) fn is_overheard(&self) -> bool {
        let is_here = match self.base.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        self.base.scheme() == "http" && self.socket.is_none() && !is_here
    }

    /// The address of something below it: each part is one name, whatever stands in it.
    pub(super) fn below(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }
}

/// It may hold a password, in the wrong place.
fn shown(text: &str) -> String {
    if text.contains('@') { "what is given".to_owned() } else { format!("{text:?}") }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_daemon_or_something_in_it() {
        let read = |text: &str, service| {
            let address = Address::parse(text, service).unwrap();
            (address.base.to_string(), address.socket.map(|path| path.display().to_string()))
        };
        for (text, service, base, socket) in [
            ("http://127.0.0.1:8085", Service::Daemon, "http://127.0.0.1:8085/", None),
            ("https://bygone.example/", Service::Daemon, "https://bygone.example/", None),
            ("unix:/run/b/api.sock", Service::Daemon, "http://localhost/", Some("/run/b/api.sock")),
            ("http://[::1]:1/stage/v1/up", Service::Stage, "http://[::1]:1/stage/v1/up", None),
            ("https://x/behind/lease/v1/jobs", Service::Leases, "https://x/behind/lease/v1/jobs", None),
            ("unix:/a.sock:/lease/v1/jobs", Service::Leases, "http://localhost/lease/v1/jobs", Some("/a.sock")),
        ] {
            assert_eq!(read(text, service), (base.to_owned(), socket.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused_and_no_password_shown() {
        for (text, service) in [
            ("http://", Service::Daemon),
            ("http://h/lease/v1/jobs", Service::Stage),
            ("http://h/lease/v1/", Service::Leases),
            ("http://h/lease/v1/a/b", Service::Leases),
            ("http://h", Service::Leases),
            ("http://h/lease/v1/jobs", Service::Daemon),
            ("http://h/stage/v1/up?x=1", Service::Stage),
            ("unix:api.sock", Service::Daemon),
            ("unix:/api.sock", Service::Stage),
            ("http://me:hunter2@h/stage/v1/up", Service::Stage),
            ("http://me:hunter2@/stage/v1/up", Service::Stage),
        ] {
            let problem = Address::parse(text, service).unwrap_err();
            assert!(!problem.message.contains("hunter2"), "{problem:?}");
        }
    }

    #[test]
    fn a_name_is_one_part_whatever_stands_in_it() {
        let address = Address::parse("http://h/stage/v1/up/", Service::Stage).unwrap();
        for (name, part) in [("a b", "a%20b"), ("a/b?#%", "a%2Fb%3F%23%25"), ("\u{e4}", "%C3%A4")] {
            assert_eq!(address.below(&["files", name]).as_str(), format!("http://h/stage/v1/up/files/{part}"));
        }
    }

    #[test]
    fn what_others_can_hear_is_known() {
        for (text, overheard) in [
            ("http://127.0.0.1", false),
            ("http://localhost:1", false),
            ("http://[::1]", false),
            ("unix:/a", false),
            ("https://example.org", false),
            ("http://example.org", true),
            ("http://10.0.0.1", true),
        ] {
            assert_eq!(Address::parse(text, Service::Daemon).unwrap().is_overheard(), overheard, "{text}");
        }
    }
}
