//! Logout sessions: who is told, and that each is told by one.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{LogoutOf, LogoutTarget, Remedy};

use crate::world::{World, contend};

on_each_engine!(
    clients_of_a_session_are_told,
    a_client_is_recorded_anew,
    targets_are_taken_at_one_stroke,
    empty_criteria_match_nothing,
    a_session_that_was_abandoned_is_forgotten,
    names_that_look_alike_are_not_the_same,
);

const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn target(sid: &str, subject: &str, client_id: &str) -> LogoutTarget {
    LogoutTarget {
        sid: sid.into(),
        subject: subject.into(),
        client_id: client_id.into(),
        family: None,
        backchannel_logout_uri: Some(format!("https://{client_id}.example/logout")),
        backchannel_session_required: true,
        frontchannel_logout_uri: None,
        frontchannel_session_required: false,
    }
}

async fn clients_of_a_session_are_told(kind: Kind) {
    let world = World::fresh(kind).await;
    let logout = world.tokens.logout_sessions();
    let targets = [target("s1", "alice", "a"), target("s1", "alice", "b"), target("s2", "alice", "a")];
    for target in targets.iter().chain(&[target("s3", "bob", "a")]) {
        logout.record(target).await.unwrap();
    }
    assert_eq!(logout.targets(LogoutOf::Session("s1")).await.unwrap(), targets[..2]);
    assert_eq!(logout.targets(LogoutOf::Subject("alice")).await.unwrap(), targets);
    assert_eq!(logout.targets(LogoutOf::Session("none")).await.unwrap(), []);
    assert_eq!(logout.take_targets(LogoutOf::Session("s1")).await.unwrap(), targets[..2]);
    assert_eq!(logout.take_targets(LogoutOf::Session("s1")).await.unwrap(), []);
    assert_eq!(logout.targets(LogoutOf::Subject("alice")).await.unwrap(), targets[2..]);
    assert_eq!(logout.take_targets(LogoutOf::Subject("bob")).await.unwrap(), [target("s3", "bob", "a")]);
}

async fn a_client_is_recorded_anew(kind: Kind) {
    let world = World::fresh(kind).await;
    let logout = world.tokens.logout_sessions();
    logout.record(&target("s1", "alice", "a")).await.unwrap();
    world.pass(DAY / 2);
    let changed = LogoutTarget { backchannel_logout_uri: None, ..target("s1", "alice", "a") };
    logout.record(&changed).await.unwrap();
    world.pass(DAY / 2);
    assert_eq!(
        logout.take_targets(LogoutOf::Session("s1")).await.unwrap(),
        std::slice::from_ref(&changed),
        "a new day has begun"
    );
    logout.record(&changed).await.unwrap();
    assert_eq!(logout.take_targets(LogoutOf::Session("s1")).await.unwrap(), [changed], "who comes again is told again");
    assert_eq!(world.rows("logout_sessions").await, 1);
}

async fn targets_are_taken_at_one_stroke(kind: Kind) {
    let world = World::fresh(kind).await;
    let logout = world.tokens.logout_sessions();
    for round in 0..5 {
        let (sid, subject) = (format!("s{round}"), format!("user {round}"));
        let clients: Vec<String> = (0..8).map(|client| format!("client {client}")).collect();
        for client in &clients {
            logout.record(&target(&sid, &subject, client)).await.unwrap();
        }
        let outcomes = contend(16, |contender| {
            let (logout, sid, subject) = (logout.clone(), sid.clone(), subject.clone());
            async move {
                let of = if contender % 2 == 0 { LogoutOf::Session(&sid) } else { LogoutOf::Subject(&subject) };
                logout.take_targets(of).await.unwrap()
            }
        })
        .await;
        let mut told: Vec<String> = outcomes.into_iter().flatten().map(|target| target.client_id).collect();
        told.sort();
        assert_eq!(told, clients, "each once");
    }
}

async fn empty_criteria_match_nothing(kind: Kind) {
    let world = World::fresh(kind).await;
    let logout = world.tokens.logout_sessions();
    logout.record(&target("s1", "alice", "a")).await.unwrap();
    for of in [LogoutOf::Session(""), LogoutOf::Subject("")] {
        assert_eq!(logout.targets(of).await.unwrap(), []);
        assert_eq!(logout.take_targets(of).await.unwrap(), []);
    }
    for refused in [target("", "alice", "a"), target("s1", "", "a"), target("s1", "alice", "")] {
        assert_eq!(logout.record(&refused).await.unwrap_err().remedy(), Remedy::Configure);
    }
    assert_eq!(logout.targets(LogoutOf::Session("s1")).await.unwrap(), [target("s1", "alice", "a")]);
}

async fn a_session_that_was_abandoned_is_forgotten(kind: Kind) {
    let world = World::fresh(kind).await;
    let logout = world.tokens.logout_sessions();
    logout.record(&target("s1", "alice", "a")).await.unwrap();
    world.pass(DAY);
    assert_eq!(logout.targets(LogoutOf::Subject("alice")).await.unwrap(), []);
    assert_eq!(logout.take_targets(LogoutOf::Session("s1")).await.unwrap(), []);
    assert_eq!(world.rows("logout_sessions").await, 1, "nothing was swept");
}

async fn names_that_look_alike_are_not_the_same(kind: Kind) {
    let world = World::fresh(kind).await;
    let logout = world.tokens.logout_sessions();
    let long = "s".repeat(10_000);
    let sids = ["sid", "SID", "sid ", "síd", &format!("{long}1"), &format!("{long}2")];
    for sid in sids {
        logout.record(&target(sid, "alice", "a")).await.unwrap();
    }
    for sid in sids {
        assert_eq!(logout.take_targets(LogoutOf::Session(sid)).await.unwrap(), [target(sid, "alice", "a")]);
    }
}
