//! Authorization codes: one redemption, by whom they were made for.

use crate::client::{Client, REDIRECT, random};
use crate::http::Form;
use crate::server::Server;

#[tokio::test]
async fn a_code_that_comes_twice_ends_what_came_of_it() {
    let server = Server::start();
    let client = Client::new(&server);
    let (session, bystander) = (client.sign_in().await, client.sign_in().await);
    client.userinfo(&session.access).await.is(200);

    client.redeem(&session.code, &session.verifier).await.refused(400, "invalid_grant");
    client.is_dead(&session.access, &session.refresh).await;
    client.lives(&bystander).await;
}

#[tokio::test]
async fn a_code_that_comes_twice_after_a_rotation_ends_that_too() {
    let server = Server::start();
    let client = Client::new(&server);
    let (session, bystander) = (client.sign_in().await, client.sign_in().await);
    let (access, refresh) = client.refreshed(&session.refresh).await;
    // Whoever brings it: the thief has another key, and no verifier.
    let thief = Client::new(&server);
    thief.redeem(&session.code, &random()).await.refused(400, "invalid_grant");
    client.is_dead(&access, &refresh).await;
    client.userinfo(&session.access).await.refused(401, "invalid_token");
    client.lives(&bystander).await;
}

#[tokio::test]
async fn a_wrong_verifier_is_refused_and_uses_up_the_code() {
    let server = Server::start();
    let client = Client::new(&server);
    let (bystander, other_verifier) = client.code().await;
    let (code, verifier) = client.code().await;
    client.redeem(&code, &other_verifier).await.refused(400, "invalid_grant");
    client.redeem(&code, &verifier).await.refused(400, "invalid_grant");
    client.redeem("no such code", &verifier).await.refused(400, "invalid_grant");
    client.redeem(&bystander, &other_verifier).await.is(200);
}

#[tokio::test]
async fn a_code_is_for_its_client_and_redirect() {
    let server = Server::start();
    let client = Client::new(&server);
    for (client_id, redirect_uri) in [("other-app", REDIRECT), (client.id, "http://127.0.0.1:8789/callback")] {
        let (code, verifier) = client.code().await;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", client_id),
            ("code", &code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", &verifier),
        ];
        client.ask(&form).await.refused(400, "invalid_grant");
    }
}

#[tokio::test]
async fn what_is_no_token_request_is_told_so() {
    let server = Server::start();
    let client = Client::new(&server);
    let forms: [(Form<'_>, u16, &str); 6] = [
        (&[], 400, "invalid_request"),
        (&[("grant_type", "refresh_token"), ("client_id", "nobody")], 401, "invalid_client"),
        (&[("grant_type", "password"), ("client_id", client.id)], 400, "unsupported_grant_type"),
        (&[("grant_type", "refresh_token"), ("client_id", client.id)], 400, "invalid_request"),
        (&[("grant_type", "authorization_code"), ("client_id", client.id), ("code", "x")], 400, "invalid_request"),
        (&[("client_id", client.id), ("client_id", client.id)], 400, "invalid_request"),
    ];
    // A nonce beforehand, so that each form is read.
    client.fresh_nonce().await;
    for (form, status, error) in forms {
        client.ask(form).await.refused(status, error);
    }
}
