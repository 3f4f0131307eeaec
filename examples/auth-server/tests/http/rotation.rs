//! Refresh tokens: used once, asked for again by who has lost the answer, and fatal in the hands of others.

use crate::client::Client;
use crate::server::Server;

#[tokio::test]
async fn who_has_lost_the_answer_gets_the_same_token() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let (_, lost) = client.refreshed(&session.refresh).await;
    let (access, again) = client.refreshed(&session.refresh).await;
    assert_eq!(again, lost);
    client.userinfo(&access).await.is(200);
    client.refreshed(&again).await;
}

#[tokio::test]
async fn a_token_whose_successor_was_used_ends_the_family() {
    let server = Server::start();
    let client = Client::new(&server);
    let (session, bystander) = (client.sign_in().await, client.sign_in().await);
    let (second_access, second) = client.refreshed(&session.refresh).await;
    let (third_access, third) = client.refreshed(&second).await;
    client.refresh(&session.refresh).await.refused(400, "invalid_grant");
    for access in [&session.access, &second_access, &third_access] {
        client.userinfo(access).await.refused(401, "invalid_token");
    }
    for refresh in [&session.refresh, &second, &third] {
        client.refresh(refresh).await.refused(400, "invalid_grant");
    }
    client.lives(&bystander).await;
}

/// A stolen token without its key is good for nothing, not even for ending the family.
#[tokio::test]
async fn another_key_uses_up_nothing() {
    let server = Server::start();
    let (client, thief) = (Client::new(&server), Client::new(&server));
    let session = client.sign_in().await;
    thief.refresh(&session.refresh).await.refused(400, "invalid_grant");
    let (_, second) = client.refreshed(&session.refresh).await;
    let (access, third) = client.refreshed(&second).await;
    // With the right key these would be reuse.
    for old in [&session.refresh, &second] {
        thief.refresh(old).await.refused(400, "invalid_grant");
    }
    client.userinfo(&access).await.is(200);
    client.refreshed(&third).await;
}

#[tokio::test]
async fn another_client_uses_up_nothing() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let form = [("grant_type", "refresh_token"), ("client_id", "other-app"), ("refresh_token", &session.refresh)];
    client.ask(&form).await.refused(400, "invalid_grant");
    client.refresh("no such token").await.refused(400, "invalid_grant");
    client.lives(&session).await;
}
