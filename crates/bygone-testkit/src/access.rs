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
    /// Further ports, for servers that need them.
    pub more_ports: Vec<u16>,
}

impl Access {
    /// Free ports and a new password.
    pub(crate) fn fresh(more_ports: usize) -> Result<Self, KitError> {
        let path = Path::new("/dev/urandom");
        let mut bytes = [0_u8; 16];
        File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).map_err(KitError::file("read", path))?;
        let password = format!("{:032x}", u128::from_ne_bytes(bytes));
        Self { port: 0, password, more_ports: vec![0; more_ports] }.on_another_port()
    }

    /// The same password on other ports.
    pub(crate) fn on_another_port(self) -> Result<Self, KitError> {
        let mut ports = free_ports(self.more_ports.len() + 1)?.into_iter();
        let port = ports.next().unwrap_or_default();
        Ok(Self { port, more_ports: ports.collect(), ..self })
    }

    /// A URL for any user.
    pub(crate) fn url(&self, scheme: &str, user: &str, password: &str, database: &str) -> String {
        let port = self.port;
        format!("{scheme}://{user}:{password}@{HOST}:{port}/{database}")
    }
}

/// Different ports that were free a moment ago. Another process may take one before the server does; whoever uses them
/// must be ready to try others.
fn free_ports(count: usize) -> Result<Vec<u16>, KitError> {
    // All are held until the last is known.
    let held: Result<Vec<_>, _> = (0..count).map(|_| TcpListener::bind((HOST, 0))).collect();
    let ports: Result<Vec<_>, _> =
        held.and_then(|held| held.iter().map(|listener| listener.local_addr().map(|address| address.port())).collect());
    ports.map_err(KitError::Port)
}
