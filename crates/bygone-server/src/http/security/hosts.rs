//! By which names the daemon may be called.
//!
//! A page of some other site can have its own name point to this machine, and then a browser lets it read our answers. It
//! cannot change what the browser says in `Host`.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::Response;

use crate::http::listen::Address;
use crate::http::problem::{Kind, Problem};

/// The address that a connection was made to; none over a unix socket.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct LocalAddress(pub(in crate::http) Option<IpAddr>);

/// Whether a connection speaks TLS.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Encrypted(pub(in crate::http) bool);

/// The names that are ours.
#[derive(Debug)]
pub(in crate::http) struct Hosts(BTreeSet<String>);

impl Hosts {
    pub(in crate::http) fn new(addresses: impl IntoIterator<Item = Address>, names: Vec<String>) -> Self {
        let listening = addresses.into_iter().filter_map(|address| match address {
            // All addresses are named by none.
            Address::Tcp(address) if !address.ip().is_unspecified() => Some(bare(address.ip())),
            Address::Tcp(_) | Address::Unix(_) => None,
        });
        let always = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let names = names.into_iter().map(|name| canonical(&name));
        Self(always.into_iter().chain(listening).chain(names).collect())
    }

    fn allow(&self, host: &str, local: Option<IpAddr>) -> bool {
        let host = canonical(host);
        // No name leads to an address in `Host`: who says the one that he came to means us.
        self.0.contains(&host) || local.is_some_and(|local| bare(local) == host)
    }
}

fn canonical(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// As it stands in `Host`.
fn bare(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Turns away those who call us by a name that is not ours.
pub(in crate::http) async fn refuse_other_hosts(
    State(hosts): State<Arc<Hosts>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let called = called(&request)?;
    let local = request.extensions().get::<LocalAddress>().and_then(|local| local.0);
    // A request line may name a host, too.
    let named = request.uri().authority().into_iter().chain([&called]);
    for authority in named {
        if !hosts.allow(authority.host(), local) {
            let detail = format!("`{}` is no name of this daemon: give it one in its configuration", authority.host());
            return Err(Problem::new(Kind::Misdirected, detail));
        }
    }
    Ok(next.run(request).await)
}

/// What `Host` says, which must stand there once.
pub(super) fn called(request: &Request) -> Result<Authority, Problem> {
    let mut said = request.headers().get_all(header::HOST).iter();
    let (Some(host), None) = (said.next(), said.next()) else {
        return Err(Problem::new(Kind::BadRequest, "one `Host` is needed"));
    };
    let authority = host.to_str().ok().filter(|host| !host.contains('@')).and_then(|host| host.parse().ok());
    authority.ok_or_else(|| Problem::new(Kind::BadRequest, "`Host` names no host"))
}
