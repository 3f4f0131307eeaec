//! An OAuth client with a key of its own. It shares no code with the server.

use std::cell::RefCell;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bygone_core::{Clock as _, SystemClock};
use bygone_tokens::{Entropy as _, SystemEntropy};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::http::{Answer, Form, get, post};
use crate::server::Server;

pub(crate) const REDIRECT: &str = "http://127.0.0.1:8788/callback";

/// A client of a server.
pub(crate) struct Client {
    issuer: String,
    pub(crate) id: &'static str,
    key: SigningKey,
    /// The newest nonce that the server has given out.
    nonce: RefCell<Option<String>>,
}

/// What a sign-in brings.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) code: String,
    pub(crate) verifier: String,
    pub(crate) access: String,
    pub(crate) refresh: String,
}

/// A request that waits for consent.
pub(crate) struct Pushed {
    pub(crate) request_uri: String,
    pub(crate) verifier: String,
}

/// A text that nobody has had before.
pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    SystemEntropy.fill(&mut bytes).unwrap();
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn hash(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

impl Client {
    /// The demo client, with a new key.
    pub(crate) fn new(server: &Server) -> Self {
        let mut bytes = [0; 32];
        SystemEntropy.fill(&mut bytes).unwrap();
        bytes[0] = 1;
        Self {
            issuer: server.issuer.clone(),
            id: "demo-app",
            key: SigningKey::from_slice(&bytes).unwrap(),
            nonce: RefCell::default(),
        }
    }

    /// The same under another name.
    pub(crate) fn called(self, id: &'static str) -> Self {
        Self { id, ..self }
    }

    /// The same key at a server that has been started again.
    pub(crate) fn at(self, server: &Server) -> Self {
        Self { issuer: server.issuer.clone(), ..self }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }

    /// The claims of a proof for a path.
    pub(crate) fn claims(&self, method: &str, path: &str) -> Value {
        let now = SystemClock::new().now().as_second();
        json!({ "jti": random(), "htm": method, "htu": self.url(path), "iat": now })
    }

    /// A proof with these claims.
    pub(crate) fn proof(&self, claims: &Value) -> String {
        let point = self.key.verifying_key().to_sec1_point(false);
        let coordinate = |from: usize| BASE64_URL_SAFE_NO_PAD.encode(&point.as_bytes()[from..from + 32]);
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": coordinate(1), "y": coordinate(33) });
        self.signed(&json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": jwk }), claims)
    }

    /// Anything, signed.
    pub(crate) fn signed(&self, header: &Value, claims: &Value) -> String {
        let text = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", text(header), text(claims));
        let signature: Signature = self.key.sign(signed.as_bytes());
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    /// Pushes a request.
    pub(crate) async fn push(&self) -> Pushed {
        let verifier = random();
        let (challenge, url) = (hash(&verifier), self.url("/par"));
        let form = [
            ("client_id", self.id),
            ("response_type", "code"),
            ("redirect_uri", REDIRECT),
            ("scope", "openid profile"),
            ("state", "st&te <\"é"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let answer = post(&url, &[], &form).await.is(201).json();
        assert!((85..=90).contains(&answer["expires_in"].as_i64().unwrap()), "{answer}");
        Pushed { request_uri: answer["request_uri"].as_str().unwrap().to_owned(), verifier }
    }

    /// The page that asks for consent.
    pub(crate) async fn page(&self, request_uri: &str) -> Answer {
        let mut url = Url::parse(&self.url("/authorize")).unwrap();
        url.query_pairs_mut().append_pair("client_id", self.id).append_pair("request_uri", request_uri);
        get(url.as_str(), &[]).await
    }

    /// Loads the page, and takes the consent token out of it.
    pub(crate) async fn consent(&self, request_uri: &str) -> String {
        let page = self.page(request_uri).await.is(200);
        let (_, rest) = page.body.split_once("name=\"consent\" value=\"").expect("the page has a consent token");
        rest.split_once('"').unwrap().0.to_owned()
    }

    /// Answers the page.
    pub(crate) async fn decide(&self, request_uri: &str, consent: &str, decision: &str) -> Answer {
        let form = [("client_id", self.id), ("request_uri", request_uri), ("consent", consent), ("decision", decision)];
        post(&self.url("/authorize"), &[], &form).await
    }

    /// Up to the code: it and its verifier.
    pub(crate) async fn code(&self) -> (String, String) {
        let Pushed { request_uri, verifier } = self.push().await;
        let consent = self.consent(&request_uri).await;
        let answer = self.decide(&request_uri, &consent, "allow").await.is(303);
        (parameter(answer.header("location"), "code").expect("a code"), verifier)
    }

    /// Asks the token endpoint with this proof.
    pub(crate) async fn token(&self, proof: &str, form: Form<'_>) -> Answer {
        let answer = post(&self.url("/token"), &[("DPoP", proof)], form).await;
        *self.nonce.borrow_mut() = Some(answer.header("dpop-nonce").to_owned());
        answer
    }

    /// Asks the token endpoint as it wants to be asked: with a nonce, which it tells when there is none.
    pub(crate) async fn ask(&self, form: Form<'_>) -> Answer {
        let mut claims = self.claims("POST", "/token");
        if self.nonce.borrow().is_none() {
            self.token(&self.proof(&claims), form).await.refused(400, "use_dpop_nonce");
            claims = self.claims("POST", "/token");
        }
        claims["nonce"] = json!(self.nonce.take());
        self.token(&self.proof(&claims), form).await
    }

    /// A nonce that nobody has used.
    pub(crate) async fn fresh_nonce(&self) -> String {
        let proof = self.proof(&self.claims("POST", "/token"));
        let form = [("grant_type", "refresh_token"), ("client_id", self.id)];
        self.token(&proof, &form).await.refused(400, "use_dpop_nonce").header("dpop-nonce").to_owned()
    }

    /// Redeems a code.
    pub(crate) async fn redeem(&self, code: &str, verifier: &str) -> Answer {
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", self.id),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", verifier),
        ];
        self.ask(&form).await
    }

    /// Rotates a refresh token.
    pub(crate) async fn refresh(&self, token: &str) -> Answer {
        self.ask(&[("grant_type", "refresh_token"), ("client_id", self.id), ("refresh_token", token)]).await
    }

    /// The same, where it must work: the access token and the refresh token.
    pub(crate) async fn refreshed(&self, token: &str) -> (String, String) {
        tokens(&self.refresh(token).await.is(200))
    }

    /// All the way.
    pub(crate) async fn sign_in(&self) -> Session {
        let (code, verifier) = self.code().await;
        let (access, refresh) = tokens(&self.redeem(&code, &verifier).await.is(200));
        Session { code, verifier, access, refresh }
    }

    /// The claims of a proof for the resource.
    pub(crate) fn resource_claims(&self, access: &str) -> Value {
        let mut claims = self.claims("GET", "/userinfo");
        claims["ath"] = hash(access).into();
        claims
    }

    /// Asks for the resource with these claims.
    pub(crate) async fn userinfo_with(&self, access: &str, claims: &Value) -> Answer {
        let (authorization, proof) = (format!("DPoP {access}"), self.proof(claims));
        get(&self.url("/userinfo"), &[("Authorization", &authorization), ("DPoP", &proof)]).await
    }

    /// Asks for the resource.
    pub(crate) async fn userinfo(&self, access: &str) -> Answer {
        self.userinfo_with(access, &self.resource_claims(access)).await
    }

    /// That a session works: the resource is open, and its refresh token rotates.
    pub(crate) async fn lives(&self, session: &Session) {
        assert_eq!(self.userinfo(&session.access).await.is(200).json()["sub"], "alice");
        let (access, _) = self.refreshed(&session.refresh).await;
        self.userinfo(&access).await.is(200);
    }

    /// That nothing of it does.
    pub(crate) async fn is_dead(&self, access: &str, refresh: &str) {
        self.userinfo(access).await.refused(401, "invalid_token");
        self.refresh(refresh).await.refused(400, "invalid_grant");
    }
}

/// A parameter of a url.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).unwrap();
    url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

fn tokens(answer: &Answer) -> (String, String) {
    let json = answer.json();
    let text = |name: &str| json[name].as_str().unwrap().to_owned();
    (text("access_token"), text("refresh_token"))
}
