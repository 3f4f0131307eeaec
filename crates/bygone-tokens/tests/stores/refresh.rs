//! Refresh tokens: rotation, honest retries, reuse, revocation.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{
    FamilyId, FamilyStart, Holder, IssuedRefreshToken, Lifetimes, RefreshGrant, RefreshTokens, Reuse, Rotation,
};

use crate::world::{MOMENT, World, almost, contend};

on_each_engine!(
    a_token_is_replaced_by_its_successor,
    a_lost_answer_is_given_again_for_a_moment,
    a_retry_comes_too_late_once_the_grace_is_over,
    a_retry_comes_too_late_once_the_successor_was_used,
    reuse_revokes_the_family_and_no_other,
    one_of_many_rotates_and_the_others_get_the_same_token,
    without_a_grace_one_of_many_rotates_and_the_family_ends,
    rotations_and_revocations_of_a_family_come_one_after_another,
    a_family_that_was_revoked_never_begins,
    a_family_begins_once,
    a_family_revoked_while_it_begins_gives_nothing_away,
    another_clients_token_is_unknown_and_stays_good,
    a_token_ends_when_it_is_not_used,
    a_family_ends_however_often_it_rotates,
    a_client_revokes_what_it_no_longer_needs,
    a_token_is_bound_to_the_key_it_was_issued_to,
    all_families_of_a_user_are_revoked,
    a_family_that_begins_anew_knows_nothing_of_the_old_one,
);

const DAY: Duration = Duration::from_secs(86_400);
const GRACE: Duration = Duration::from_secs(10);

pub(crate) fn grant(subject: &str) -> RefreshGrant {
    RefreshGrant {
        client_id: "app".into(),
        subject: subject.into(),
        scope: vec!["offline_access".into()],
        ..RefreshGrant::default()
    }
}

pub(crate) async fn begun(refresh: &RefreshTokens, subject: &str) -> IssuedRefreshToken {
    let family = refresh.new_family().unwrap();
    match refresh.start(&family, &grant(subject)).await.unwrap() {
        FamilyStart::Issued(issued) => issued,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn rotated(refresh: &RefreshTokens, token: &IssuedRefreshToken) -> IssuedRefreshToken {
    match refresh.rotate("app", token.token.expose()).await.unwrap() {
        Rotation::Rotated(issued) => issued,
        other => panic!("{other:?}"),
    }
}

async fn rotation(refresh: &RefreshTokens, token: &IssuedRefreshToken) -> Rotation {
    refresh.rotate("app", token.token.expose()).await.unwrap()
}

async fn a_token_is_replaced_by_its_successor(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    world.pass(DAY);
    let second = rotated(&refresh, &first).await;
    assert_ne!(first.token.expose(), second.token.expose());
    assert_eq!((&second.family, second.generation), (&first.family, 1));
    assert_eq!((second.expires_at, *second.grant.clone()), (world.now() + 14 * DAY, grant("alice")));
    let third = rotated(&refresh, &second).await;
    assert_eq!((&third.family, third.generation), (&first.family, 2));
    assert_eq!(world.rows("refresh_families").await, 1);
    assert_eq!(world.rows("refresh_tokens").await, 3, "ancestors are retained");
    let sealed = "SELECT COUNT(*) FROM refresh_tokens WHERE handover IS NOT NULL";
    assert_eq!(world.client().await.number(sealed).await, 1, "only the last one could be asked for again");
}

async fn a_lost_answer_is_given_again_for_a_moment(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    let second = rotated(&refresh, &first).await;
    for _ in 0..3 {
        world.pass(Duration::from_secs(3));
        let Rotation::Retried(again) = rotation(&refresh, &first).await else { panic!("not given again") };
        assert_eq!(again.token.expose(), second.token.expose());
        assert_eq!((again.generation, again.expires_at), (second.generation, second.expires_at));
    }
    rotated(&refresh, &second).await;
}

async fn a_retry_comes_too_late_once_the_grace_is_over(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    let second = rotated(&refresh, &first).await;
    world.pass(almost(GRACE));
    assert!(matches!(rotation(&refresh, &first).await, Rotation::Retried(_)));
    world.pass(MOMENT);
    assert!(matches!(rotation(&refresh, &first).await, Rotation::Reused(_)));
    assert!(matches!(rotation(&refresh, &second).await, Rotation::Revoked));
}

async fn a_retry_comes_too_late_once_the_successor_was_used(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    let second = rotated(&refresh, &first).await;
    let third = rotated(&refresh, &second).await;
    assert!(matches!(rotation(&refresh, &first).await, Rotation::Reused(_)));
    assert!(matches!(rotation(&refresh, &third).await, Rotation::Revoked));
}

async fn reuse_revokes_the_family_and_no_other(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let (first, other) = (begun(&refresh, "alice").await, begun(&refresh, "alice").await);
    let second = rotated(&refresh, &first).await;
    world.pass(GRACE);
    let Rotation::Reused(reuse) = rotation(&refresh, &first).await else { panic!("not noticed") };
    assert_eq!(reuse, Reuse { family: first.family.clone(), subject: "alice".into(), client_id: "app".into() });
    assert!(refresh.is_revoked(&first.family).await.unwrap());
    for token in [&first, &second] {
        assert!(matches!(rotation(&refresh, token).await, Rotation::Revoked));
    }
    assert!(!refresh.is_revoked(&other.family).await.unwrap());
    rotated(&refresh, &other).await;
}

async fn one_of_many_rotates_and_the_others_get_the_same_token(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let mut token = begun(&refresh, "alice").await;
    for (generation, contenders) in (1..).zip([2, 16, 2, 16, 16]) {
        let outcomes = contend(contenders, |_| {
            let (refresh, token) = (refresh.clone(), token.clone());
            async move { rotation(&refresh, &token).await }
        })
        .await;
        let rotated: Vec<_> = outcomes.iter().filter(|outcome| matches!(outcome, Rotation::Rotated(_))).collect();
        assert_eq!(rotated.len(), 1, "{outcomes:?}");
        let Rotation::Rotated(successor) = rotated[0] else { unreachable!() };
        for outcome in &outcomes {
            let (Rotation::Rotated(issued) | Rotation::Retried(issued)) = outcome else { panic!("{outcome:?}") };
            assert_eq!(issued.token.expose(), successor.token.expose());
            assert_eq!(issued.generation, generation);
        }
        token = successor.clone();
    }
    assert_eq!(world.rows("refresh_tokens").await, 6);
}

async fn without_a_grace_one_of_many_rotates_and_the_family_ends(kind: Kind) {
    let world = World::with(kind, Lifetimes { rotation_grace: Duration::ZERO, ..Lifetimes::default() }).await;
    let refresh = world.tokens.refresh_tokens();
    let token = begun(&refresh, "alice").await;
    let outcomes = contend(16, |_| {
        let (refresh, token) = (refresh.clone(), token.clone());
        async move { rotation(&refresh, &token).await }
    })
    .await;
    let count = |is: fn(&Rotation) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
    assert_eq!(count(|outcome| matches!(outcome, Rotation::Rotated(_))), 1);
    assert_eq!(count(|outcome| matches!(outcome, Rotation::Reused(_))), 1, "the second one revokes");
    assert_eq!(count(|outcome| matches!(outcome, Rotation::Revoked)), 14);
}

/// However they fall: what was issued after the revocation is nothing, and what was issued before it ended with it.
async fn rotations_and_revocations_of_a_family_come_one_after_another(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    for _ in 0..5 {
        let token = begun(&refresh, "alice").await;
        let outcomes = contend(16, |contender| {
            let (refresh, token) = (refresh.clone(), token.clone());
            async move {
                if contender % 4 == 0 {
                    refresh.revoke(&token.family).await.unwrap();
                    return None;
                }
                Some(rotation(&refresh, &token).await)
            }
        })
        .await;
        for outcome in outcomes.into_iter().flatten() {
            if let Rotation::Rotated(issued) | Rotation::Retried(issued) = outcome {
                assert!(matches!(rotation(&refresh, &issued).await, Rotation::Revoked));
            } else {
                assert!(matches!(outcome, Rotation::Revoked), "{outcome:?}");
            }
        }
    }
}

async fn a_family_that_was_revoked_never_begins(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let family = FamilyId::of_code("a code that was replayed");
    assert!(refresh.revoke(&family).await.unwrap());
    assert!(!refresh.revoke(&family).await.unwrap(), "revoked before");
    assert!(matches!(refresh.start(&family, &grant("alice")).await.unwrap(), FamilyStart::Revoked));
    assert_eq!(world.rows("refresh_tokens").await, 0);
}

async fn a_family_begins_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let family = refresh.new_family().unwrap();
    let outcomes = contend(16, |_| {
        let (refresh, family) = (refresh.clone(), family.clone());
        async move { refresh.start(&family, &grant("alice")).await.unwrap() }
    })
    .await;
    let issued = outcomes.iter().filter(|outcome| matches!(outcome, FamilyStart::Issued(_))).count();
    let exists = outcomes.iter().filter(|outcome| matches!(outcome, FamilyStart::Exists)).count();
    assert_eq!((issued, exists), (1, 15));
    assert_eq!(world.rows("refresh_tokens").await, 1);
}

async fn a_family_revoked_while_it_begins_gives_nothing_away(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    for _ in 0..10 {
        let family = refresh.new_family().unwrap();
        let outcomes = contend(16, |contender| {
            let (refresh, family) = (refresh.clone(), family.clone());
            async move {
                if contender % 2 == 0 {
                    refresh.revoke(&family).await.unwrap();
                    return FamilyStart::Revoked;
                }
                refresh.start(&family, &grant("alice")).await.unwrap()
            }
        })
        .await;
        assert!(refresh.is_revoked(&family).await.unwrap());
        for outcome in outcomes {
            if let FamilyStart::Issued(token) = outcome {
                assert!(matches!(rotation(&refresh, &token).await, Rotation::Revoked));
            }
        }
    }
}

async fn another_clients_token_is_unknown_and_stays_good(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    assert!(matches!(refresh.rotate("other", first.token.expose()).await.unwrap(), Rotation::Unknown));
    assert!(matches!(refresh.rotate("app", "no such token").await.unwrap(), Rotation::Unknown));
    let second = rotated(&refresh, &first).await;
    world.pass(GRACE);
    assert!(matches!(refresh.rotate("other", first.token.expose()).await.unwrap(), Rotation::Unknown));
    rotated(&refresh, &second).await;
}

async fn a_token_ends_when_it_is_not_used(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    world.pass(almost(14 * DAY));
    let second = rotated(&refresh, &first).await;
    world.pass(14 * DAY);
    assert!(matches!(rotation(&refresh, &second).await, Rotation::Unknown));
    assert!(!refresh.revoke_token("app", second.token.expose()).await.unwrap());
    assert_eq!(world.rows("refresh_tokens").await, 2, "nothing was swept");
}

async fn a_family_ends_however_often_it_rotates(kind: Kind) {
    let world = World::with(kind, Lifetimes { refresh_family: Some(30 * DAY), ..Lifetimes::default() }).await;
    let refresh = world.tokens.refresh_tokens();
    let (mut token, end) = (begun(&refresh, "alice").await, world.now() + 30 * DAY);
    for _ in 0..3 {
        world.pass(9 * DAY);
        token = rotated(&refresh, &token).await;
    }
    assert_eq!(token.expires_at, end);
    world.pass(3 * DAY);
    assert!(matches!(rotation(&refresh, &token).await, Rotation::Unknown));
}

async fn a_client_revokes_what_it_no_longer_needs(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let (token, other) = (begun(&refresh, "alice").await, begun(&refresh, "alice").await);
    assert!(!refresh.revoke_token("other", token.token.expose()).await.unwrap());
    assert!(!refresh.revoke_token("app", "no such token").await.unwrap());
    assert!(refresh.revoke_token("app", token.token.expose()).await.unwrap());
    assert!(!refresh.revoke_token("app", token.token.expose()).await.unwrap(), "revoked before");
    assert!(matches!(rotation(&refresh, &token).await, Rotation::Revoked));
    rotated(&refresh, &other).await;
}

/// Who lacks the key can neither use the token nor, with an old one, end the family.
async fn a_token_is_bound_to_the_key_it_was_issued_to(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let bound = RefreshGrant { dpop_jkt: Some("key".into()), ..grant("alice") };
    let started = refresh.start(&refresh.new_family().unwrap(), &bound).await.unwrap();
    let FamilyStart::Issued(first) = started else { panic!("{started:?}") };
    let holder = Holder { client_id: "app", dpop_jkt: Some("key") };
    let others = [
        Holder { dpop_jkt: None, ..holder },
        Holder { dpop_jkt: Some("another"), ..holder },
        Holder { dpop_jkt: Some(""), ..holder },
        Holder { client_id: "other", ..holder },
    ];
    let mut token = first.clone();
    for _ in 0..2 {
        for other in others {
            let rotation = refresh.rotate(other, token.token.expose()).await.unwrap();
            assert!(matches!(rotation, Rotation::Unknown), "{other:?}: {rotation:?}");
        }
        let rotation = refresh.rotate(holder, token.token.expose()).await.unwrap();
        let Rotation::Rotated(next) = rotation else { panic!("{rotation:?}") };
        token = next;
    }
    world.pass(GRACE);
    for other in others {
        assert!(matches!(refresh.rotate(other, first.token.expose()).await.unwrap(), Rotation::Unknown));
    }
    assert!(matches!(refresh.rotate(holder, token.token.expose()).await.unwrap(), Rotation::Rotated(_)));
    let unbound = begun(&refresh, "alice").await;
    assert!(matches!(refresh.rotate(holder, unbound.token.expose()).await.unwrap(), Rotation::Rotated(_)));
}

/// Names that a database might take for the same are not.
async fn all_families_of_a_user_are_revoked(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let mut alices = vec![begun(&refresh, "alice").await, begun(&refresh, "alice").await];
    let mut others = Vec::new();
    for name in ["Alice", "alice ", "àlice", "bob"] {
        others.push(begun(&refresh, name).await);
    }
    alices.push(rotated(&refresh, &alices[0]).await);
    assert_eq!(refresh.revoke_subject("alice").await.unwrap(), 2);
    assert_eq!(refresh.revoke_subject("alice").await.unwrap(), 0);
    for token in &alices {
        assert!(matches!(rotation(&refresh, token).await, Rotation::Revoked));
    }
    for token in &others {
        rotated(&refresh, token).await;
    }
}

async fn a_family_that_begins_anew_knows_nothing_of_the_old_one(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let old = begun(&refresh, "alice").await;
    let older = rotated(&refresh, &old).await;
    world.pass(14 * DAY);
    let FamilyStart::Issued(new) = refresh.start(&old.family, &grant("bob")).await.unwrap() else {
        panic!("not begun")
    };
    for token in [&old, &older] {
        assert!(matches!(rotation(&refresh, token).await, Rotation::Unknown));
    }
    assert_eq!(rotated(&refresh, &new).await.grant.subject, "bob");
}
