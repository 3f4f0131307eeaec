//! Authorization codes.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{CodeGrant, CodeTake, FamilyStart, IssuedAccessToken, RefreshGrant, Reuse, Rotation};

use crate::world::{RACES, World, contend};

on_each_engine!(
    a_code_is_taken_once,
    one_of_many_takes_a_code,
    a_second_presentation_is_reuse_once_tokens_are_issued,
    an_expired_code_is_refused_though_it_was_never_swept,
    an_access_token_is_revoked_with_its_code,
    the_family_remembers_its_code,
    a_code_whose_taker_died_is_reuse_once_a_family_has_begun,
    everything_of_a_user_ends_at_once,
);

const MINUTE: Duration = Duration::from_secs(60);

fn grant() -> CodeGrant {
    CodeGrant {
        client_id: "app".into(),
        subject: "älice 🦊".into(),
        scope: vec!["openid".into()],
        redirect_uri: "https://app.example/cb".into(),
        code_challenge: Some("challenge".into()),
        ..CodeGrant::default()
    }
}

async fn a_code_is_taken_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    let issued = codes.issue(&grant()).await.unwrap();
    assert_eq!(issued.expires_at, world.now() + MINUTE);
    let granted = CodeTake::Granted { grant: Box::new(grant()), family: issued.family.clone() };
    assert_eq!(codes.take(issued.code.expose()).await.unwrap(), granted);
    assert_eq!(codes.take(issued.code.expose()).await.unwrap(), CodeTake::Taken);
    assert_eq!(codes.take("no such code").await.unwrap(), CodeTake::Unknown);
    assert_eq!(codes.take("").await.unwrap(), CodeTake::Unknown);
}

async fn one_of_many_takes_a_code(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    for contenders in RACES {
        let code = codes.issue(&grant()).await.unwrap().code;
        let outcomes = contend(contenders, |_| {
            let (codes, code) = (codes.clone(), code.clone());
            async move { codes.take(code.expose()).await.unwrap() }
        })
        .await;
        let granted = outcomes.iter().filter(|take| matches!(take, CodeTake::Granted { .. })).count();
        let taken = outcomes.iter().filter(|take| **take == CodeTake::Taken).count();
        assert_eq!((granted, taken), (1, contenders - 1), "{outcomes:?}");
    }
}

async fn a_second_presentation_is_reuse_once_tokens_are_issued(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    let issued = codes.issue(&grant()).await.unwrap();
    assert!(!codes.redeemed(issued.code.expose(), None).await.unwrap(), "nobody has taken it");
    codes.take(issued.code.expose()).await.unwrap();
    assert!(codes.redeemed(issued.code.expose(), None).await.unwrap());
    assert!(!codes.redeemed(issued.code.expose(), None).await.unwrap(), "said before");
    let reuse = Reuse { family: issued.family, subject: "älice 🦊".into(), client_id: "app".into() };
    assert_eq!(codes.take(issued.code.expose()).await.unwrap(), CodeTake::Reused(reuse));
}

async fn an_expired_code_is_refused_though_it_was_never_swept(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    let issued = codes.issue(&grant()).await.unwrap();
    world.pass(MINUTE);
    assert_eq!(codes.take(issued.code.expose()).await.unwrap(), CodeTake::Unknown);
    assert_eq!(world.rows("authorization_codes").await, 1);
}

async fn an_access_token_is_revoked_with_its_code(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    let issued = codes.issue(&grant()).await.unwrap();
    codes.take(issued.code.expose()).await.unwrap();
    let (jti, expires_at) = ("j".repeat(5_000), world.now() + 15 * MINUTE);
    codes.redeemed(issued.code.expose(), Some(IssuedAccessToken { jti: &jti, expires_at })).await.unwrap();
    assert!(!codes.is_access_token_revoked(&jti).await.unwrap());
    world.pass(14 * MINUTE);
    world.sweep().await;
    assert!(matches!(codes.take(issued.code.expose()).await.unwrap(), CodeTake::Reused(_)));
    world.tokens.revoke_grant(&issued.family).await.unwrap();
    assert!(codes.is_access_token_revoked(&jti).await.unwrap());
    assert!(!codes.is_access_token_revoked("another").await.unwrap());
    world.pass(MINUTE);
    assert!(!codes.is_access_token_revoked(&jti).await.unwrap(), "it has expired, which is enough");
}

async fn the_family_remembers_its_code(kind: Kind) {
    let world = World::fresh(kind).await;
    let (codes, refresh) = (world.tokens.authorization_codes(), world.tokens.refresh_tokens());
    let issued = codes.issue(&grant()).await.unwrap();
    codes.take(issued.code.expose()).await.unwrap();
    let grant = RefreshGrant { client_id: "app".into(), subject: "alice".into(), ..RefreshGrant::default() };
    let FamilyStart::Issued(first) = refresh.start(&issued.family, &grant).await.unwrap() else { panic!("not issued") };
    codes.redeemed(issued.code.expose(), None).await.unwrap();
    world.pass(Duration::from_secs(13 * 86_400));
    assert_eq!(world.sweep().await.removed["authorization_codes"], 1);
    let Rotation::Rotated(second) = refresh.rotate("app", first.token.expose()).await.unwrap() else { panic!("no") };
    world.pass(Duration::from_secs(13 * 86_400));
    let CodeTake::Reused(reuse) = codes.take(issued.code.expose()).await.unwrap() else { panic!("forgotten") };
    assert_eq!(reuse, Reuse { family: second.family, subject: "alice".into(), client_id: "app".into() });
    world.tokens.revoke_grant(&reuse.family).await.unwrap();
    assert!(matches!(refresh.rotate("app", second.token.expose()).await.unwrap(), Rotation::Revoked));
}

async fn a_code_whose_taker_died_is_reuse_once_a_family_has_begun(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    let issued = codes.issue(&grant()).await.unwrap();
    codes.take(issued.code.expose()).await.unwrap();
    assert_eq!(codes.take(issued.code.expose()).await.unwrap(), CodeTake::Taken);
    let lasting = RefreshGrant { client_id: "app".into(), subject: "alice".into(), ..RefreshGrant::default() };
    world.tokens.refresh_tokens().start(&issued.family, &lasting).await.unwrap();
    assert!(matches!(codes.take(issued.code.expose()).await.unwrap(), CodeTake::Reused(_)), "it was never told");
}

/// Codes that wait, codes that are being redeemed, what was issued: of this user, and of nobody else.
async fn everything_of_a_user_ends_at_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let (codes, refresh) = (world.tokens.authorization_codes(), world.tokens.refresh_tokens());
    let lasting = RefreshGrant { client_id: "app".into(), subject: grant().subject, ..RefreshGrant::default() };
    let other = CodeGrant { subject: "bob".into(), ..grant() };
    let mut issued = Vec::new();
    for grant in [grant(), grant(), grant(), other.clone(), other.clone()] {
        issued.push(codes.issue(&grant).await.unwrap());
    }
    let [waiting, taken, redeemed, bobs, bobs_redeemed] = &issued[..] else { unreachable!() };
    for (code, jti) in [(redeemed, "alices"), (bobs_redeemed, "bobs")] {
        codes.take(code.code.expose()).await.unwrap();
        let access = IssuedAccessToken { jti, expires_at: world.now() + 15 * MINUTE };
        codes.redeemed(code.code.expose(), Some(access)).await.unwrap();
    }
    refresh.start(&redeemed.family, &lasting).await.unwrap();
    codes.take(taken.code.expose()).await.unwrap();

    assert_eq!(world.tokens.revoke_subject(&grant().subject).await.unwrap(), 1);
    assert_eq!(codes.take(waiting.code.expose()).await.unwrap(), CodeTake::Taken);
    let begun = refresh.start(&taken.family, &lasting).await.unwrap();
    assert!(matches!(begun, FamilyStart::Revoked), "what was being redeemed never begins: {begun:?}");
    assert!(refresh.is_revoked(&redeemed.family).await.unwrap());
    assert!(codes.is_access_token_revoked("alices").await.unwrap());
    assert!(!codes.is_access_token_revoked("bobs").await.unwrap());
    assert!(matches!(codes.take(bobs.code.expose()).await.unwrap(), CodeTake::Granted { .. }));
    assert_eq!(world.tokens.revoke_subject("nobody").await.unwrap(), 0);
}
