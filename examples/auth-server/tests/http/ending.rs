//! The end of the program, and what it leaves.

use rustix::process::Signal;

use crate::client::Client;
use crate::server::{LOG, Server};

#[tokio::test]
async fn a_signal_ends_it_cleanly_and_sessions_outlive_it() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let (access, refresh) = client.refreshed(&session.refresh).await;
    let ended = server.end(Signal::TERM).await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);

    let server = Server::over(ended.directory, &[]);
    let client = client.at(&server);
    // The key that signs access tokens was the program's; refresh tokens are the database's.
    client.userinfo(&access).await.refused(401, "invalid_token");
    let (access, _) = client.refreshed(&refresh).await;
    client.userinfo(&access).await.is(200);
    assert_eq!(server.end(Signal::INT).await.code, Some(0));
}

#[tokio::test]
async fn no_secret_is_logged() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let (access, refresh) = client.refreshed(&session.refresh).await;
    let (pushed, nonce) = (client.push().await, client.fresh_nonce().await);
    let consent = client.consent(&pushed.request_uri).await;
    // Both kinds of reuse, which are logged.
    client.refreshed(&refresh).await;
    client.refresh(&session.refresh).await.refused(400, "invalid_grant");
    client.redeem(&session.code, &session.verifier).await.refused(400, "invalid_grant");
    let log = server.end(Signal::TERM).await.log;
    assert!(log.contains("a refresh token came twice") && log.contains("a code came twice"), "{log}");
    let of_session = [&session.code, &session.verifier, &session.access, &session.refresh];
    for secret in of_session.into_iter().chain([&access, &refresh, &pushed.request_uri, &nonce, &consent]) {
        assert!(!log.contains(secret.as_str()), "{secret} is in\n{log}");
    }
}

#[tokio::test]
async fn a_trial_leaves_nothing() {
    let server = Server::within(tempfile::tempdir().unwrap(), &[]);
    let client = Client::new(&server);
    client.lives(&client.sign_in().await).await;
    let ended = server.end(Signal::TERM).await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let left = std::fs::read_dir(ended.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), [LOG]);
}
