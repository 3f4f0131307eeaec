//! What the program is told on its command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use jiff::SignedDuration;
use url::Url;

/// A small authorization server over the stores of bygone-tokens. For trying out: everybody who comes is alice.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Arguments {
    /// Where to listen; port 0 for any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787", value_parser = loopback)]
    pub(crate) listen: SocketAddr,
    /// The SQLite database, made if it is missing; a temporary one if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<PathBuf>,
    /// How often to remove what has expired, such as `60s` or `1h 30m`
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub(crate) sweep_every: SignedDuration,
    /// Where the demo client is told of logouts (http only)
    #[arg(long, value_name = "URL", value_parser = http_url)]
    pub(crate) logout_uri: Option<Url>,
}

/// It speaks plain HTTP and asks nobody for a password: not a thing to show to a network.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "not an address such as 127.0.0.1:8787".to_owned())?;
    if address.ip().is_loopback() { Ok(address) } else { Err("this demo listens on loopback only".to_owned()) }
}

fn http_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if url.scheme() == "http" {
        Ok(url)
    } else {
        Err("this demo has no TLS: the url must begin with http://".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_people_write_it() {
        let read = |text: &str| Arguments::try_parse_from(["auth-server", "--sweep-every", text]).unwrap().sweep_every;
        assert_eq!(read("60s"), SignedDuration::from_mins(1));
        assert_eq!(read("1h 30m"), SignedDuration::from_mins(90));
        assert!(Arguments::try_parse_from(["auth-server", "--sweep-every", "often"]).is_err());
    }

    #[test]
    fn it_is_shown_to_no_network() {
        assert!(loopback("127.0.0.1:0").is_ok() && loopback("[::1]:80").is_ok());
        assert!(loopback("0.0.0.0:80").is_err() && loopback("localhost").is_err());
    }
}
