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

/// Ten times over: whatever was answered before the process was killed is true of the next one.
#[tokio::test]
async fn what_was_used_stays_used_when_it_is_killed() {
    let mut server = Server::start();
    let mut client = Client::new(&server);
    let kept = client.sign_in().await;
    for _ in 0..10 {
        let session = client.sign_in().await;
        let (_, second) = client.refreshed(&session.refresh).await;
        let (_, third) = client.refreshed(&second).await;
        let (code, verifier) = client.code().await;
        let nonce = client.fresh_nonce().await;
        let ended = server.end(Signal::KILL).await;
        assert_eq!(ended.code, None);

        server = Server::over(ended.directory, &[]);
        client = client.at(&server);
        let mut claims = client.claims("POST", "/token");
        claims["nonce"] = nonce.into();
        let form = [("grant_type", "refresh_token"), ("client_id", client.id), ("refresh_token", &third)];
        client.token(&client.proof(&claims), &form).await.is(200);
        client.token(&client.proof(&claims), &form).await.refused(400, "invalid_dpop_proof");
        client.redeem(&code, &verifier).await.is(200);
        client.redeem(&code, &verifier).await.refused(400, "invalid_grant");
        client.refresh(&session.refresh).await.refused(400, "invalid_grant");
        client.refresh(&third).await.refused(400, "invalid_grant");
    }
    client.refreshed(&kept.refresh).await;
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
