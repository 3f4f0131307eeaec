//! Nonces, replays, pushed requests and consent: each is good for one time, for a while, for whom it was made.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{ConsentBinding, ConsentUse, NonceUse, Replay};
use serde_json::json;

use crate::world::{RACES, World, contend};

on_each_engine!(
    a_nonce_is_accepted_once,
    one_of_many_uses_a_nonce,
    an_identifier_is_fresh_once,
    identifiers_of_any_length_are_told_apart,
    one_of_many_is_fresh,
    one_of_many_is_fresh_after_the_last_one_expired,
    an_identifier_that_was_swept_is_fresh_again,
    a_pushed_request_is_read_often_and_taken_once,
    a_pushed_request_is_its_clients_alone,
    one_of_many_takes_a_pushed_request,
    consent_is_used_once,
    consent_is_bound_to_all_that_was_consented_to,
    one_of_many_uses_consent,
);

const SECOND: Duration = Duration::from_secs(1);

async fn a_nonce_is_accepted_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let nonces = world.tokens.nonces();
    let (one, two) = (nonces.issue().await.unwrap(), nonces.issue().await.unwrap());
    assert_eq!(one.expires_at, world.now() + 300 * SECOND);
    assert!(nonces.is_valid(one.nonce.expose()).await.unwrap());
    assert_eq!(nonces.accept(one.nonce.expose()).await.unwrap(), NonceUse::Accepted);
    assert!(!nonces.is_valid(one.nonce.expose()).await.unwrap());
    assert_eq!(nonces.accept(one.nonce.expose()).await.unwrap(), NonceUse::Used);
    assert_eq!(nonces.accept("made up").await.unwrap(), NonceUse::Unknown);
    assert!(!nonces.is_valid("made up").await.unwrap());
    world.pass(300 * SECOND);
    assert!(!nonces.is_valid(two.nonce.expose()).await.unwrap());
    assert_eq!(nonces.accept(two.nonce.expose()).await.unwrap(), NonceUse::Expired);
    world.pass(60 * SECOND);
    assert_eq!(nonces.accept(two.nonce.expose()).await.unwrap(), NonceUse::Unknown);
    assert_eq!(world.rows("dpop_nonces").await, 2, "nothing was swept");
}

async fn one_of_many_uses_a_nonce(kind: Kind) {
    let world = World::fresh(kind).await;
    let nonces = world.tokens.nonces();
    for contenders in RACES {
        let nonce = nonces.issue().await.unwrap().nonce;
        let outcomes = contend(contenders, |_| {
            let (nonces, nonce) = (nonces.clone(), nonce.clone());
            async move { nonces.accept(nonce.expose()).await.unwrap() }
        })
        .await;
        assert_eq!(count(&outcomes, &NonceUse::Accepted), 1, "{outcomes:?}");
        assert_eq!(count(&outcomes, &NonceUse::Used), contenders - 1, "{outcomes:?}");
    }
}

fn count<T: PartialEq>(outcomes: &[T], outcome: &T) -> usize {
    outcomes.iter().filter(|other| *other == outcome).count()
}

async fn an_identifier_is_fresh_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let replays = world.tokens.replays();
    assert_eq!(replays.remember("one").await.unwrap(), Replay::Fresh);
    assert_eq!(replays.remember("one").await.unwrap(), Replay::Seen);
    assert_eq!(replays.remember("two").await.unwrap(), Replay::Fresh);
    let until = world.now() + 600 * SECOND;
    assert_eq!(replays.remember_until("long", until).await.unwrap(), Replay::Fresh);
    assert_eq!(replays.remember_until("late", world.now()).await.unwrap(), Replay::Seen, "it came too late");
    world.pass(599 * SECOND);
    assert_eq!(replays.remember("one").await.unwrap(), Replay::Fresh);
    assert_eq!(replays.remember("long").await.unwrap(), Replay::Seen);
    world.pass(SECOND);
    assert_eq!(replays.remember("long").await.unwrap(), Replay::Fresh);
    assert_eq!(replays.remember("one").await.unwrap(), Replay::Seen);
}

/// They differ in the last letter, in case, in spaces at the end, in a NUL; none is refused, and none is cut off.
async fn identifiers_of_any_length_are_told_apart(kind: Kind) {
    let world = World::fresh(kind).await;
    let replays = world.tokens.replays();
    let long = "x".repeat(100_000);
    let names = [&format!("{long}1"), &format!("{long}2"), "jti", "JTI", "jti ", "jti\0", "", "jtí", "🦊", "'; --"];
    for name in names {
        assert_eq!(replays.remember(name).await.unwrap(), Replay::Fresh, "{}", name.len());
    }
    for name in names {
        assert_eq!(replays.remember(name).await.unwrap(), Replay::Seen, "{}", name.len());
    }
}

async fn one_of_many_is_fresh(kind: Kind) {
    let world = World::fresh(kind).await;
    for (round, contenders) in RACES.into_iter().enumerate() {
        one_is_fresh(&world, format!("jti {round}"), contenders).await;
    }
}

async fn one_of_many_is_fresh_after_the_last_one_expired(kind: Kind) {
    let world = World::fresh(kind).await;
    for contenders in RACES {
        one_is_fresh(&world, "the same".into(), contenders).await;
        world.pass(60 * SECOND);
    }
    assert_eq!(world.rows("dpop_replays").await, 1);
}

async fn one_is_fresh(world: &World, jti: String, contenders: usize) {
    let replays = world.tokens.replays();
    let outcomes = contend(contenders, |_| {
        let (replays, jti) = (replays.clone(), jti.clone());
        async move { replays.remember(&jti).await.unwrap() }
    })
    .await;
    assert_eq!(
        (count(&outcomes, &Replay::Fresh), count(&outcomes, &Replay::Seen)),
        (1, contenders - 1),
        "{outcomes:?}"
    );
}

async fn an_identifier_that_was_swept_is_fresh_again(kind: Kind) {
    let world = World::fresh(kind).await;
    let replays = world.tokens.replays();
    replays.remember("gone").await.unwrap();
    world.pass(121 * SECOND);
    replays.remember("lives").await.unwrap();
    assert_eq!(world.sweep().await.removed["dpop_replays"], 1);
    assert_eq!(replays.remember("gone").await.unwrap(), Replay::Fresh);
    assert_eq!(replays.remember("lives").await.unwrap(), Replay::Seen);
}

async fn a_pushed_request_is_read_often_and_taken_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let pushed = world.tokens.pushed_requests();
    let parameters = json!({ "scope": "openid", "state": "s\u{0}\"🦊" });
    let put = pushed.put("app", &parameters).await.unwrap();
    let uri = put.request_uri.expose();
    assert!(uri.starts_with("urn:ietf:params:oauth:request_uri:"));
    assert_eq!(put.expires_at, world.now() + 90 * SECOND);
    for _ in 0..2 {
        assert_eq!(pushed.fetch("app", uri).await.unwrap().as_ref(), Some(&parameters));
    }
    assert_eq!(pushed.take("app", uri).await.unwrap(), Some(parameters));
    assert_eq!(pushed.take("app", uri).await.unwrap(), None);
    assert_eq!(pushed.fetch("app", uri).await.unwrap(), None);
    let late = pushed.put("app", &json!({})).await.unwrap();
    world.pass(90 * SECOND);
    assert_eq!(pushed.fetch("app", late.request_uri.expose()).await.unwrap(), None);
    assert_eq!(pushed.take("app", late.request_uri.expose()).await.unwrap(), None);
}

async fn a_pushed_request_is_its_clients_alone(kind: Kind) {
    let world = World::fresh(kind).await;
    let pushed = world.tokens.pushed_requests();
    let put = pushed.put("app", &json!({ "a": 1 })).await.unwrap();
    let uri = put.request_uri.expose();
    for other in ["other", "App", "app ", ""] {
        assert_eq!(pushed.fetch(other, uri).await.unwrap(), None);
        assert_eq!(pushed.take(other, uri).await.unwrap(), None);
    }
    assert_eq!(pushed.take("app", uri).await.unwrap(), Some(json!({ "a": 1 })), "nobody has used it up");
}

async fn one_of_many_takes_a_pushed_request(kind: Kind) {
    let world = World::fresh(kind).await;
    let pushed = world.tokens.pushed_requests();
    for contenders in RACES {
        let uri = pushed.put("app", &json!({})).await.unwrap().request_uri;
        let outcomes = contend(contenders, |_| {
            let (pushed, uri) = (pushed.clone(), uri.clone());
            async move { pushed.take("app", uri.expose()).await.unwrap().is_some() }
        })
        .await;
        assert_eq!(count(&outcomes, &true), 1);
    }
}

const BINDING: ConsentBinding<'_> = ConsentBinding {
    subject: "alice",
    client_id: "app",
    redirect_uri: "https://app.example/cb",
    scope: &["openid", "email"],
    code_challenge: Some("challenge"),
};

async fn consent_is_used_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let consent = world.tokens.consent_grants();
    let minted = consent.mint(&BINDING).await.unwrap();
    let token = minted.token.expose();
    let reordered = ConsentBinding { scope: &["email", "openid", "email"], ..BINDING };
    let consumed = ConsentUse::Consumed { subject: "alice".into() };
    assert_eq!(consent.consume(token, &reordered).await.unwrap(), consumed, "the order of scopes does not matter");
    assert_eq!(consent.consume(token, &BINDING).await.unwrap(), ConsentUse::AlreadyConsumed);
    assert_eq!(consent.consume("made up", &BINDING).await.unwrap(), ConsentUse::NotFound);
    let late = consent.mint(&BINDING).await.unwrap();
    world.pass(300 * SECOND);
    assert_eq!(consent.consume(late.token.expose(), &BINDING).await.unwrap(), ConsentUse::Expired);
    assert_eq!(consent.consume(token, &BINDING).await.unwrap(), ConsentUse::AlreadyConsumed, "before expired");
}

async fn consent_is_bound_to_all_that_was_consented_to(kind: Kind) {
    let world = World::fresh(kind).await;
    let consent = world.tokens.consent_grants();
    let token = consent.mint(&BINDING).await.unwrap().token;
    let others = [
        ConsentBinding { subject: "mallory", ..BINDING },
        ConsentBinding { client_id: "other", ..BINDING },
        ConsentBinding { redirect_uri: "https://app.example/cb2", ..BINDING },
        ConsentBinding { scope: &["openid"], ..BINDING },
        ConsentBinding { scope: &["openid", "email", "admin"], ..BINDING },
        ConsentBinding { scope: &["openid email"], ..BINDING },
        ConsentBinding { code_challenge: Some("another"), ..BINDING },
        ConsentBinding { code_challenge: Some(""), ..BINDING },
        ConsentBinding { code_challenge: None, ..BINDING },
        ConsentBinding { subject: "alic", client_id: "eapp", ..BINDING },
    ];
    for other in &others {
        let outcome = consent.consume(token.expose(), other).await.unwrap();
        assert_eq!(outcome, ConsentUse::BindingMismatch, "{other:?}");
    }
    let outcome = consent.consume(token.expose(), &BINDING).await.unwrap();
    assert_eq!(outcome, ConsentUse::Consumed { subject: "alice".into() }, "nobody has used it up");
    let outcome = consent.consume(token.expose(), &others[0]).await.unwrap();
    assert_eq!(outcome, ConsentUse::BindingMismatch, "before consumed");
}

async fn one_of_many_uses_consent(kind: Kind) {
    let world = World::fresh(kind).await;
    let consent = world.tokens.consent_grants();
    for contenders in RACES {
        let token = consent.mint(&BINDING).await.unwrap().token;
        let outcomes = contend(contenders, |_| {
            let (consent, token) = (consent.clone(), token.clone());
            async move { consent.consume(token.expose(), &BINDING).await.unwrap() }
        })
        .await;
        assert_eq!(count(&outcomes, &ConsentUse::Consumed { subject: "alice".into() }), 1);
        assert_eq!(count(&outcomes, &ConsentUse::AlreadyConsumed), contenders - 1);
    }
}
