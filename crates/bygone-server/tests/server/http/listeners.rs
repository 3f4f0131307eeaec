//! TLS, unix sockets, and where not to listen.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use bygone_core::SystemClock;
use bygone_server::http::{Address, ListenError, Listener, Scope, Settings, Tls, TlsError, Token, Tokens, permit};
use reqwest::{Certificate, Client};

use super::api::{Api, local};
use crate::shelves::{Shelves, shelf};

fn tokens() -> Tokens {
    Tokens::new([Token::new("t", &"0".repeat(64), Scope::Read, None).unwrap()])
}

#[test]
fn what_others_can_reach_needs_tokens_and_tls() {
    let (some, none) = (tokens(), Tokens::default());
    for safe in ["127.0.0.1:80", "127.8.9.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "unix:/run/x.sock"] {
        permit(&safe.parse().unwrap(), false, &none).unwrap();
    }
    for open in ["0.0.0.0:80", "[::]:80", "192.168.1.1:80", "[2001:db8::1]:80", "[::ffff:192.168.1.1]:80"] {
        let open: Address = open.parse().unwrap();
        permit(&open, true, &some).unwrap();
        for (has_tls, tokens, wanted) in
            [(true, &none, "tokens:"), (false, &some, "TLS:"), (false, &none, "tokens and TLS:")]
        {
            let refused = permit(&open, has_tls, tokens).unwrap_err();
            assert!(matches!(refused, ListenError::Exposed { .. }));
            assert!(refused.to_string().contains(&format!("needs {wanted}")), "{refused}");
        }
    }
}

#[test]
fn text_is_an_address_or_is_refused() {
    for good in ["127.0.0.1:8085", "[::1]:8085", "unix:/run/bygone/api.sock"] {
        assert_eq!(good.parse::<Address>().unwrap().to_string(), good);
    }
    for wrong in ["", "8085", "localhost", "127.0.0.1", "unix:", "unix:api.sock", "http://127.0.0.1:80"] {
        assert!(wrong.parse::<Address>().unwrap_err().to_string().contains("127.0.0.1:8085"), "{wrong}");
    }
}

#[tokio::test]
async fn an_exposed_address_is_not_even_bound() {
    let refused = Listener::bind(&"0.0.0.0:0".parse().unwrap(), None, &tokens()).await.unwrap_err();
    assert!(matches!(refused, ListenError::Exposed { missing: "TLS", .. }), "{refused}");
    let first = Listener::bind(&local(), None, &Tokens::default()).await.unwrap();
    let refused = Listener::bind(&first.address(), None, &Tokens::default()).await.unwrap_err();
    assert!(matches!(refused, ListenError::Taken(_)), "{refused}");
}

#[tokio::test]
async fn over_tls_the_same_is_answered_to_those_who_trust_the_certificate() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let tls = Tls::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap();
    let listener = Listener::bind(&local(), Some(tls), &Tokens::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let p = shelf(1);
    let estate = Shelves::new(&[("a-p", &p, None)]);
    let mut api = Api::at(listener, estate, Settings::default(), directory, Arc::new(SystemClock::new())).await;
    let Address::Tcp(address) = api.address else { panic!() };
    let url = format!("https://localhost:{}/api/v1/policies", address.port());
    let stranger = api.client.get(&url).send().await;
    assert!(stranger.is_err(), "a certificate that nobody knows");
    let plain = api.send_raw("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(!plain.contains("200"), "{plain}");
    let known = Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    api.client = Client::builder().no_proxy().tls_certs_only([known]).build().unwrap();
    let answer = api.client.get(&url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let told: serde_json::Value = answer.json().await.unwrap();
    assert_eq!(told["policies"][0]["name"], "a-p");
}

#[tokio::test]
async fn an_address_that_was_connected_to_is_a_name_and_another_one_is_not() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.3".to_owned()]).unwrap();
    let tls = Tls::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap();
    let settings = Settings { tokens: tokens(), ..Settings::default() };
    let listener = Listener::bind(&"0.0.0.0:0".parse().unwrap(), Some(tls), &settings.tokens).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let api = Api::at(listener, Shelves::new(&[]), settings, directory, Arc::new(SystemClock::new())).await;
    let Address::Tcp(address) = api.address else { panic!() };
    let known = Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    let client = Client::builder().no_proxy().tls_certs_only([known]).build().unwrap();
    let url = format!("https://127.0.0.3:{}/livez", address.port());
    assert_eq!(client.get(&url).send().await.unwrap().status(), 200);
    for other in ["127.0.0.4", "0.0.0.0", "evil.example"] {
        assert_eq!(client.get(&url).header("host", other).send().await.unwrap().status(), 421, "{other}");
    }
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_without_its_key() {
    let [one, other] = [0, 1].map(|_| rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap());
    let (cert, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    let wrong = |cert: &str, key: &str| Tls::from_pem(cert.as_bytes(), key.as_bytes()).unwrap_err();
    assert!(matches!(wrong("", &key), TlsError::Certificate));
    assert!(matches!(wrong(&key, &key), TlsError::Certificate));
    assert!(matches!(wrong(&cert, &cert), TlsError::Key));
    let mismatched = wrong(&cert, &other.signing_key.serialize_pem());
    assert!(matches!(mismatched, TlsError::Unusable(_)));
    let secret = key.lines().nth(1).unwrap();
    assert!(!format!("{mismatched:?}").contains(secret));
}

#[tokio::test]
async fn over_a_unix_socket_its_owner_is_answered_and_nobody_else_gets_in() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("api.sock");
    // What a killed daemon left behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let address = Address::Unix(path.clone());
    let listener = Listener::bind(&address, None, &Tokens::default()).await.unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let taken = Listener::bind(&address, None, &Tokens::default()).await.unwrap_err();
    assert!(matches!(taken, ListenError::Taken(_)), "{taken}");

    let mut api =
        Api::at(listener, Shelves::new(&[]), Settings::default(), directory, Arc::new(SystemClock::new())).await;
    api.client = Client::builder().no_proxy().unix_socket(path.clone()).build().unwrap();
    assert_eq!(api.get("/api/v1/policies").await.is(200).json()["paused"], false);
    let left = std::fs::read_dir(api.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_str().unwrap().starts_with('.')), "nothing is left beside it");
    api.stop.cancel();
    (&mut api.serving).await.unwrap();
    assert!(!path.exists(), "the socket goes with its daemon");
}

#[tokio::test]
async fn what_is_no_socket_stays_and_so_does_the_socket_of_the_next_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("api.sock");
    std::fs::write(&path, "precious").unwrap();
    let refused = Listener::bind(&Address::Unix(path.clone()), None, &Tokens::default()).await.unwrap_err();
    assert!(matches!(refused, ListenError::NoSocket(_)), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
    let first = Listener::bind(&Address::Unix(path.clone()), None, &Tokens::default()).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let _next = Listener::bind(&Address::Unix(path.clone()), None, &Tokens::default()).await.unwrap();
    drop(first);
    assert!(path.exists(), "it was another one's");
}
