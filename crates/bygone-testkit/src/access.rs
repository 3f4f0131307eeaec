//! How to reach a server: where it listens and who may enter.
//!
//! Each server has a password of its own, so a test that holds an old address cannot reach
//! another run's server unnoticed, and other users of the machine cannot reach it at all.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::KitError;

/// The address every server listens on, and the only one.
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The user with all rights.
pub(crate) const USER: &str = "bygone";

/// What a client needs to be let in as the user with all rights.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Access {
    /// The loopback port.
    pub port: u16,
    /// The password of the user with all rights: hexadecimal digits, safe in SQL and in URLs.
    pub password: String,
}

impl Access {
    /// A free port and a new password.
    pub(crate) fn fresh() -> Result<Self, KitError> {
        let path = Path::new("/dev/urandom");
        let mut bytes = [0_u8; 16];
        File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).map_err(KitError::file("read", path))?;
        Ok(Self { port: free_port()?, password: format!("{:032x}", u128::from_ne_bytes(bytes)) })
    }

    /// The same password on another port.
    pub(crate) fn on_another_port(self) -> Result<Self, KitError> {
        Ok(Self { port: free_port()?, ..self })
    }

    /// A URL for any user.
    pub(crate) fn url(&self, scheme: &str, user: &str, password: &str, database: &str) -> String {
        let port = self.port;
        format!("{scheme}://{user}:{password}@{HOST}:{port}/{database}")
    }
}

/// A port that was free a moment ago. Another process may take it before the server does; whoever
/// uses it must be ready to try another.
fn free_port() -> Result<u16, KitError> {
    TcpListener::bind((HOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(KitError::Port)
}
