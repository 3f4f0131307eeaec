//! The places where the daemon answers.

use std::path::Path;

use bygone_server::http::{Address, ListenError, Listener, Settings, Tls};

use crate::config::{Certificate, Serve};
use crate::problem::Problem;

/// Listens where the command line says, or else the file.
pub(super) async fn listen(serve: &Serve, named: &[Address]) -> Result<Vec<Listener>, Problem> {
    let places = if named.is_empty() { &serve.listen } else { named };
    let mut listeners = Vec::new();
    for place in places {
        let tls = match (&serve.certificate, place) {
            (Some(certificate), Address::Tcp(_)) => Some(tls(certificate)?),
            _ => None,
        };
        listeners.push(Listener::bind(place, tls, &serve.tokens).await.map_err(|error| refused(&error))?);
    }
    Ok(listeners)
}

/// How the API behaves.
pub(super) fn settings(serve: &Serve) -> Settings {
    Settings { tokens: serve.tokens.clone(), hosts: serve.hosts.clone(), ..Settings::default() }
}

/// Where it can be reached, for people.
pub(super) fn told(serve: &Serve, listeners: &[Listener]) -> String {
    let told = |listener: &Listener| match (listener.address(), &serve.certificate) {
        (Address::Tcp(address), Some(_)) => format!("https://{address}"),
        (Address::Tcp(address), None) => format!("http://{address}"),
        (address @ Address::Unix(_), _) => address.to_string(),
    };
    listeners.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn tls(Certificate { certificate, key }: &Certificate) -> Result<Tls, Problem> {
    let unusable = |message| Problem::config(message, "`certificate` and `key` of `[serve]` must be PEM files");
    let read = |path: &Path| std::fs::read(path).map_err(|error| unusable(format!("{}: {error}", path.display())));
    Tls::from_pem(&read(certificate)?, &read(key)?)
        .map_err(|error| unusable(format!("{}, {}: {error}", certificate.display(), key.display())))
}

fn refused(error: &ListenError) -> Problem {
    let elsewhere = "listen elsewhere: `--listen ADDRESS`, or `listen` of `[serve]`";
    match error {
        ListenError::Taken(_) => Problem::busy(error.to_string(), elsewhere),
        ListenError::Refused { source, .. } => Problem::usage(format!("{error}: {source}"), elsewhere),
        _ => Problem::usage(error.to_string(), elsewhere),
    }
}
