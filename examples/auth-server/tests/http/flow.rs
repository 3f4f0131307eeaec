//! The way that an honest client goes.

use serde_json::json;

use crate::client::{Client, REDIRECT, parameter};
use crate::server::Server;

#[tokio::test]
async fn from_a_pushed_request_to_a_resource_and_on() {
    let server = Server::start();
    let client = Client::new(&server);
    let pushed = client.push().await;
    assert!(pushed.request_uri.starts_with("urn:ietf:params:oauth:request_uri:"));

    let page = client.page(&pushed.request_uri).await.is(200);
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    assert!(page.body.contains("The demo app asks for: openid profile."), "{}", page.body);
    assert!(!page.body.contains("<script"), "{}", page.body);

    let consent = client.consent(&pushed.request_uri).await;
    let back = client.decide(&pushed.request_uri, &consent, "allow").await.is(303);
    let location = back.header("location");
    assert!(location.starts_with(&format!("{REDIRECT}?code=")), "{location}");
    assert_eq!(parameter(location, "state").as_deref(), Some("st&te <\"é"));
    assert_eq!(parameter(location, "iss").as_deref(), Some(server.issuer.as_str()));
    let code = parameter(location, "code").unwrap();

    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client.id),
        ("code", &code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", &pushed.verifier),
    ];
    let mut claims = client.claims("POST", "/token");
    let told = client.token(&client.proof(&claims), &form).await.refused(400, "use_dpop_nonce");
    // The refusal has used up nothing: the same code is good with the nonce that was told.
    claims["jti"] = json!("another");
    claims["nonce"] = json!(told.header("dpop-nonce"));
    let granted = client.token(&client.proof(&claims), &form).await.is(200);
    assert_ne!(granted.header("dpop-nonce"), told.header("dpop-nonce"));
    assert_eq!(granted.header("cache-control"), "no-store");
    let json = granted.json();
    assert_eq!((&json["token_type"], &json["expires_in"]), (&json!("DPoP"), &json!(900)));
    assert_eq!(json["scope"], "openid profile");

    let (access, refresh) = (json["access_token"].as_str().unwrap(), json["refresh_token"].as_str().unwrap());
    let info = client.userinfo(access).await.is(200).json();
    assert_eq!((&info["sub"], &info["scope"]), (&json!("alice"), &json!("openid profile")));

    let (next_access, next_refresh) = client.refreshed(refresh).await;
    assert_ne!((next_access.as_str(), next_refresh.as_str()), (access, refresh));
    assert_eq!(client.userinfo(&next_access).await.is(200).json(), info, "the same session");
    client.userinfo(access).await.is(200);
    client.refreshed(&next_refresh).await;
}
