//! DPoP: each proof is good once, for one request, by one key; and so is each nonce.

use serde_json::{Value, json};

use crate::client::{Client, hash};
use crate::http::get;
use crate::server::Server;

#[tokio::test]
async fn a_proof_is_good_once() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let claims = client.resource_claims(&session.access);
    client.userinfo_with(&session.access, &claims).await.is(200);
    let refused = client.userinfo_with(&session.access, &claims).await.refused(401, "invalid_dpop_proof");
    assert!(refused.header("www-authenticate").starts_with("DPoP "), "{refused:#?}");

    let mut claims = client.claims("POST", "/token");
    claims["nonce"] = client.fresh_nonce().await.into();
    let proof = client.proof(&claims);
    let form = [("grant_type", "refresh_token"), ("client_id", client.id), ("refresh_token", &session.refresh)];
    client.token(&proof, &form).await.is(200);
    client.token(&proof, &form).await.refused(400, "invalid_dpop_proof");

    // Another key may choose the same `jti`.
    let other = Client::new(&server);
    let others = other.sign_in().await;
    let mut same = other.resource_claims(&others.access);
    same["jti"] = claims["jti"].clone();
    other.userinfo_with(&others.access, &same).await.is(200);
}

#[tokio::test]
async fn a_nonce_is_good_once() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let nonce = client.fresh_nonce().await;
    let with_nonce = |nonce: &str| {
        let mut claims = client.claims("POST", "/token");
        claims["nonce"] = nonce.into();
        client.proof(&claims)
    };
    let form = [("grant_type", "refresh_token"), ("client_id", client.id), ("refresh_token", &session.refresh)];
    let rotated = client.token(&with_nonce(&nonce), &form).await.is(200);
    let used = client.token(&with_nonce(&nonce), &form).await.refused(400, "use_dpop_nonce");
    client.token(&with_nonce("never given out"), &form).await.refused(400, "use_dpop_nonce");
    // What the refusal tells is good, and it has used up nothing.
    let again = client.token(&with_nonce(used.header("dpop-nonce")), &form).await.is(200);
    assert_eq!(again.json()["refresh_token"], rotated.json()["refresh_token"]);
}

#[tokio::test]
async fn a_proof_is_for_one_request_and_one_token() {
    let server = Server::start();
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let good = client.resource_claims(&session.access);
    let now = good["iat"].as_i64().unwrap();
    let bent = [
        ("htm", json!("POST")),
        ("htu", json!(server.url("/token"))),
        ("htu", json!("not a url")),
        ("iat", json!(now - 120)),
        ("iat", json!(now + 120)),
        ("iat", json!(i64::MAX)),
        ("iat", json!("now")),
        ("ath", json!(hash("another"))),
        ("ath", Value::Null),
        ("jti", json!("")),
        ("jti", Value::Null),
    ];
    for (name, value) in bent {
        let mut claims = client.resource_claims(&session.access);
        claims[name] = value;
        client.userinfo_with(&session.access, &claims).await.refused(401, "invalid_dpop_proof");
    }
    client.userinfo_with(&session.access, &good).await.is(200);
}

#[tokio::test]
async fn a_token_is_good_with_its_key_alone() {
    let server = Server::start();
    let (client, thief) = (Client::new(&server), Client::new(&server));
    let session = client.sign_in().await;
    thief.userinfo(&session.access).await.refused(401, "invalid_token");

    let (url, dpop) = (server.url("/userinfo"), format!("DPoP {}", session.access));
    let bearer = format!("Bearer {}", session.access);
    let proof = || client.proof(&client.resource_claims(&session.access));
    get(&url, &[]).await.refused(401, "invalid_token");
    get(&url, &[("Authorization", &dpop)]).await.refused(401, "invalid_dpop_proof");
    get(&url, &[("Authorization", &dpop), ("DPoP", "a.b.c")]).await.refused(401, "invalid_dpop_proof");
    let twice = [("Authorization", dpop.as_str()), ("DPoP", &proof()), ("DPoP", &proof())];
    get(&url, &twice).await.refused(401, "invalid_dpop_proof");
    get(&url, &[("Authorization", &bearer), ("DPoP", &proof())]).await.refused(401, "invalid_token");

    // An access token that the client has signed itself.
    let forged = client.signed(&json!({ "typ": "at+jwt", "alg": "ES256" }), &json!({ "sub": "alice" }));
    client.userinfo(&forged).await.refused(401, "invalid_token");
    client.lives(&session).await;
}
