//! Where the daemon listens: an address, with TLS or without, or a unix socket.

mod tls;
mod unix;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};

pub use self::tls::{Tls, TlsError};
use self::unix::Socket;
use super::security::{Encrypted, LocalAddress, Tokens};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and a port of this machine.
    Tcp(SocketAddr),
    /// A unix socket, for its owner alone.
    Unix(PathBuf),
}

/// Text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address: `127.0.0.1:8085`, `[::1]:8085` and `unix:/run/bygone/api.sock` are")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.strip_prefix("unix:") {
            Some(path) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(_) => Err(AddressError(text.to_owned())),
            None => text.parse().map(Self::Tcp).map_err(|_| AddressError(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why the daemon does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Others than this machine could reach it, and it would not be safe from them.
    #[error("{address} can be reached from other machines, which needs {missing}: add that, or listen on 127.0.0.1")]
    Exposed {
        /// The address.
        address: SocketAddr,
        /// What it would take.
        missing: &'static str,
    },
    /// Something that is no socket stands in its place.
    #[error("{} is there and is no socket: remove it, or listen elsewhere", .0.display())]
    NoSocket(PathBuf),
    /// Another daemon listens there.
    #[error("{0} is taken: another process answers there")]
    Taken(Address),
    /// The system refuses.
    #[error("cannot listen on {address}")]
    Refused {
        /// The address.
        address: Address,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Whether it is safe to listen there: what other machines can reach needs tokens and TLS.
pub fn permit(address: &Address, has_tls: bool, tokens: &Tokens) -> Result<(), ListenError> {
    let Address::Tcp(address) = *address else { return Ok(()) };
    let missing = match (address.ip().to_canonical().is_loopback(), tokens.is_empty(), has_tls) {
        (true, ..) | (_, false, true) => return Ok(()),
        (_, true, true) => "tokens",
        (_, false, false) => "TLS",
        (_, true, false) => "tokens and TLS",
    };
    Err(ListenError::Exposed { address, missing })
}

/// A place that the daemon listens at.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    place: Place,
    tls: Option<Tls>,
}

#[derive(Debug)]
enum Place {
    Tcp(TcpListener),
    Unix(Socket),
}

/// A connection, before anything was said. TLS is spoken later: who is slow at it must not keep others waiting.
pub(super) struct Accepted {
    stream: Stream,
    tls: Option<Tls>,
    pub(super) local: LocalAddress,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Bytes that come and go.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

impl Listener {
    /// Listens, where that is safe.
    pub async fn bind(address: &Address, tls: Option<Tls>, tokens: &Tokens) -> Result<Self, ListenError> {
        permit(address, tls.is_some(), tokens)?;
        let (address, place) = match address {
            Address::Tcp(wanted) => {
                let refused = |source: io::Error| match source.kind() {
                    io::ErrorKind::AddrInUse => ListenError::Taken(address.clone()),
                    _ => ListenError::Refused { address: address.clone(), source },
                };
                let listener = TcpListener::bind(wanted).await.map_err(refused)?;
                (Address::Tcp(listener.local_addr().map_err(refused)?), Place::Tcp(listener))
            }
            Address::Unix(path) => (address.clone(), Place::Unix(Socket::bind(path).await?)),
        };
        Ok(Self { address, place, tls })
    }

    /// Where it listens: with the port that the system chose, where it was asked to.
    pub fn address(&self) -> Address {
        self.address.clone()
    }

    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        let (stream, local) = match &self.place {
            Place::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Small answers must not wait for one another.
                stream.set_nodelay(true)?;
                let local = stream.local_addr()?.ip();
                (Stream::Tcp(stream), Some(local))
            }
            Place::Unix(socket) => (Stream::Unix(socket.accept().await?), None),
        };
        Ok(Accepted { stream, tls: self.tls.clone(), local: LocalAddress(local) })
    }
}

impl Accepted {
    pub(super) fn encrypted(&self) -> Encrypted {
        Encrypted(self.tls.is_some())
    }

    /// Agrees on TLS, where there is some, within a time.
    pub(super) async fn open(self, within: Duration) -> io::Result<Box<dyn Io>> {
        let stream: Box<dyn Io> = match self.stream {
            Stream::Tcp(stream) => Box::new(stream),
            Stream::Unix(stream) => Box::new(stream),
        };
        match self.tls {
            Some(tls) => tokio::time::timeout(within, tls.accept(stream)).await?,
            None => Ok(stream),
        }
    }
}
