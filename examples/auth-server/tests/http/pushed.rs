//! Pushed requests and the consent to them: for one client, and for one decision.

use crate::client::{Client, Pushed, REDIRECT, hash, parameter, random};
use crate::http::{get, post, send};
use crate::server::Server;

#[tokio::test]
async fn a_request_is_decided_once() {
    let server = Server::start();
    let client = Client::new(&server);
    let (Pushed { request_uri, .. }, bystander) = (client.push().await, client.push().await);
    let (one, two) = (client.consent(&request_uri).await, client.consent(&request_uri).await);
    client.decide(&request_uri, &one, "allow").await.is(303);
    for consent in [&one, &two] {
        let refused = client.decide(&request_uri, consent, "allow").await.is(400);
        assert!(!refused.has("location"), "{refused:#?}");
    }
    client.page(&request_uri).await.is(400);
    let consent = client.consent(&bystander.request_uri).await;
    client.decide(&bystander.request_uri, &consent, "allow").await.is(303);
}

#[tokio::test]
async fn a_request_is_its_clients() {
    let server = Server::start();
    let client = Client::new(&server);
    let other = Client::new(&server).called("other-app");
    let Pushed { request_uri, .. } = client.push().await;
    let consent = client.consent(&request_uri).await;
    other.page(&request_uri).await.is(400);
    other.decide(&request_uri, &consent, "allow").await.is(400);
    client.decide(&request_uri, &consent, "allow").await.is(303);
}

#[tokio::test]
async fn consent_is_to_one_request() {
    let server = Server::start();
    let client = Client::new(&server);
    let (one, two) = (client.push().await, client.push().await);
    let consent = client.consent(&one.request_uri).await;
    client.decide(&two.request_uri, &consent, "allow").await.is(400);
    client.decide(&two.request_uri, "no such consent", "allow").await.is(400);
    // Neither has used up anything.
    client.decide(&one.request_uri, &consent, "allow").await.is(303);
    let consent = client.consent(&two.request_uri).await;
    client.decide(&two.request_uri, &consent, "allow").await.is(303);
}

#[tokio::test]
async fn who_denies_sends_no_code() {
    let server = Server::start();
    let client = Client::new(&server);
    let Pushed { request_uri, .. } = client.push().await;
    let consent = client.consent(&request_uri).await;
    let answer = client.decide(&request_uri, &consent, "deny").await.is(303);
    let location = answer.header("location");
    assert_eq!(parameter(location, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(location, "code"), None);
    client.page(&request_uri).await.is(400);
}

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let server = Server::start();
    let (url, challenge) = (server.url("/par"), hash(&random()));
    let good = [
        ("client_id", "demo-app"),
        ("response_type", "code"),
        ("redirect_uri", REDIRECT),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let bent = [
        ("client_id", "nobody", 401, "invalid_client"),
        ("response_type", "token", 400, "unsupported_response_type"),
        ("redirect_uri", "http://127.0.0.1:8788/callback/", 400, "invalid_request"),
        ("code_challenge", "short", 400, "invalid_request"),
        ("code_challenge_method", "plain", 400, "invalid_request"),
    ];
    for (name, value, status, error) in bent {
        let form = good.map(|pair| if pair.0 == name { (name, value) } else { pair });
        post(&url, &[], &form).await.refused(status, error);
    }
    let more = [("scope", "admin", "invalid_scope"), ("request_uri", "urn:x", "invalid_request")];
    for (name, value, error) in more.into_iter().chain([("client_id", "demo-app", "invalid_request")]) {
        post(&url, &[], &[&good[..], &[(name, value)]].concat()).await.refused(400, error);
    }
    post(&url, &[], &good[..3]).await.refused(400, "invalid_request");
    let long = "x".repeat(20_000);
    post(&url, &[], &[&good[..], &[("state", &long)]].concat()).await.refused(413, "invalid_request");
    send("POST", &url, &[("content-type", "application/json")], "{}".into()).await.refused(400, "invalid_request");
    post(&url, &[], &good).await.is(201);

    for address in
        ["/authorize", "/authorize?client_id=<b>&request_uri=x", "/authorize?client_id=demo-app&request_uri=<b>"]
    {
        let page = get(&server.url(&address.replace('<', "%3C").replace('>', "%3E")), &[]).await;
        assert!((400..500).contains(&page.status) && !page.body.contains("<b>"), "{page:#?}");
    }
}
