//! The sweeper inside of the server.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::ManualClock;
use bygone_tokens::{Tokens, TokensOptions};
use rusqlite::Connection;
use rustix::process::Signal;

use crate::client::Client;
use crate::http::get;
use crate::server::{DATABASE, Server};

/// How long a sweep may be waited for. Far more than it needs.
const SWEEP_LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_has_expired_is_removed_and_the_rest_stays() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(DATABASE);
    let clock = Arc::new(ManualClock::at("2020-01-01T00:00:00Z".parse().unwrap()));
    let options = TokensOptions { clock, ..TokensOptions::new(&format!("sqlite:{}", file.display())).unwrap() };
    let past = Tokens::open(options).await.unwrap();
    past.migrate().await.unwrap();
    for _ in 0..3 {
        past.nonces().issue().await.unwrap();
    }
    let nonces = || -> i64 {
        let database = Connection::open(&file).unwrap();
        database.query_row("SELECT COUNT(*) FROM dpop_nonces", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(nonces(), 3);

    let server = Server::over(directory, &["--sweep-every", "10ms"]);
    let client = Client::new(&server);
    client.fresh_nonce().await;
    let swept = async {
        while nonces() > 1 {
            get(&server.url("/jwks"), &[]).await.is(200);
        }
    };
    tokio::time::timeout(SWEEP_LIMIT, swept).await.expect("nothing is swept");
    assert_eq!(nonces(), 1, "the one of now");
    client.lives(&client.sign_in().await).await;
    assert_eq!(server.end(Signal::TERM).await.code, Some(0));
}
