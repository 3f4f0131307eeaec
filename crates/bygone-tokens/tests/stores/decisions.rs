//! Device codes and CIBA requests: decided once, polled at intervals, consumed once.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{Approval, CibaRequest, Consumed, Decided, DeliveryMode, DeviceRequest, Polled};

use crate::world::{RACES, World, almost, contend};

on_each_engine!(
    a_device_is_approved_and_gets_its_grant_once,
    a_device_is_denied,
    who_polls_too_fast_is_told_to_slow_down,
    a_code_is_typed_as_people_type,
    what_has_expired_is_neither_approved_nor_polled_nor_consumed,
    a_device_code_is_its_clients_alone,
    one_of_many_decides,
    one_of_many_consumes,
    a_ciba_request_is_approved_and_gets_its_grant_once,
    the_notification_token_is_for_who_knows_the_request,
    one_of_many_decides_and_consumes_a_ciba_request,
);

const SECOND: Duration = Duration::from_secs(1);

fn request() -> DeviceRequest {
    DeviceRequest { client_id: "tv".into(), scope: vec!["openid".into()], ..DeviceRequest::default() }
}

fn approval() -> Approval {
    Approval { subject: "alice".into(), scope: vec!["openid".into()], auth_time: Some(7), ..Approval::default() }
}

async fn a_device_is_approved_and_gets_its_grant_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    let issued = device.create(&request()).await.unwrap();
    let (code, typed) = (issued.device_code.expose(), issued.user_code.as_str());
    assert_eq!((issued.expires_at, issued.interval_seconds), (world.now() + 600 * SECOND, 5));
    assert_eq!(device.find(typed).await.unwrap(), Some(request()));
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Pending);
    assert_eq!(device.consume("tv", code).await.unwrap(), Consumed::Pending);
    assert_eq!(device.approve(typed, &approval()).await.unwrap(), Decided::Done);
    assert_eq!(device.approve(typed, &approval()).await.unwrap(), Decided::AlreadyDecided);
    assert_eq!(device.deny(typed).await.unwrap(), Decided::AlreadyDecided);
    assert_eq!(device.find(typed).await.unwrap(), None);
    world.pass(5 * SECOND);
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Approved);
    let granted = Consumed::Granted { request: request(), approval: approval() };
    assert_eq!(device.consume("tv", code).await.unwrap(), granted);
    assert_eq!(device.consume("tv", code).await.unwrap(), Consumed::AlreadyConsumed);
    world.pass(5 * SECOND);
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Consumed);
}

async fn a_device_is_denied(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    let issued = device.create(&request()).await.unwrap();
    let code = issued.device_code.expose();
    assert_eq!(device.deny(&issued.user_code).await.unwrap(), Decided::Done);
    assert_eq!(device.approve(&issued.user_code, &approval()).await.unwrap(), Decided::AlreadyDecided);
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Denied);
    assert_eq!(device.consume("tv", code).await.unwrap(), Consumed::Denied);
    assert_eq!(device.deny("BBBB-BBBB").await.unwrap(), Decided::NotFound);
}

/// Each poll that comes too soon makes the interval longer by five seconds (RFC 8628, section 3.5).
async fn who_polls_too_fast_is_told_to_slow_down(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    let issued = device.create(&request()).await.unwrap();
    let code = issued.device_code.expose();
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Pending);
    world.pass(almost(5 * SECOND));
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::SlowDown { interval_seconds: 10 });
    world.pass(almost(10 * SECOND));
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::SlowDown { interval_seconds: 15 });
    world.pass(15 * SECOND);
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Pending);
}

async fn a_code_is_typed_as_people_type(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    let typed = device.create(&request()).await.unwrap().user_code;
    assert_eq!(typed.len(), 9, "{typed}");
    assert!(typed.chars().all(|c| c == '-' || "BCDFGHJKLMNPQRSTVWXZ".contains(c)), "{typed}");
    for typed in [typed.to_lowercase(), typed.replace('-', ""), typed.replace('-', " "), format!(" {typed}\n")] {
        assert_eq!(device.find(&typed).await.unwrap(), Some(request()), "{typed:?}");
    }
    assert_eq!(device.find(&typed[..7]).await.unwrap(), None);
}

async fn what_has_expired_is_neither_approved_nor_polled_nor_consumed(kind: Kind) {
    let world = World::fresh(kind).await;
    let (device, ciba) = (world.tokens.device_codes(), world.tokens.ciba_requests());
    let [waiting, approved] = [device.create(&request()).await.unwrap(), device.create(&request()).await.unwrap()];
    device.approve(&approved.user_code, &approval()).await.unwrap();
    let asked = ciba.create(&ciba_request(), None).await.unwrap();
    world.pass(600 * SECOND);
    for issued in [&waiting, &approved] {
        let code = issued.device_code.expose();
        assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Expired);
        assert_eq!(device.consume("tv", code).await.unwrap(), Consumed::Expired);
    }
    assert_eq!(device.find(&waiting.user_code).await.unwrap(), None);
    assert_eq!(device.approve(&waiting.user_code, &approval()).await.unwrap(), Decided::Expired);
    assert_eq!(device.deny(&waiting.user_code).await.unwrap(), Decided::Expired);
    let asked = asked.auth_req_id.expose();
    assert_eq!(ciba.approve(asked, &approval()).await.unwrap(), Decided::NotFound, "five minutes are long over");
    world.pass(60 * SECOND);
    assert_eq!(device.approve(&waiting.user_code, &approval()).await.unwrap(), Decided::NotFound);
    assert_eq!(device.poll("tv", waiting.device_code.expose()).await.unwrap(), Polled::NotFound);
    assert_eq!(device.consume("tv", approved.device_code.expose()).await.unwrap(), Consumed::NotFound);
    assert_eq!(world.rows("device_codes").await, 2, "nothing was swept");
}

async fn a_device_code_is_its_clients_alone(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    let issued = device.create(&request()).await.unwrap();
    let code = issued.device_code.expose();
    device.approve(&issued.user_code, &approval()).await.unwrap();
    assert_eq!(device.poll("radio", code).await.unwrap(), Polled::NotFound);
    assert_eq!(device.consume("radio", code).await.unwrap(), Consumed::NotFound);
    assert_eq!(device.poll("tv", code).await.unwrap(), Polled::Approved);
    assert!(matches!(device.consume("tv", code).await.unwrap(), Consumed::Granted { .. }));
}

async fn one_of_many_decides(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    for contenders in RACES {
        let issued = device.create(&request()).await.unwrap();
        let outcomes = contend(contenders, |contender| {
            let (device, typed) = (device.clone(), issued.user_code.clone());
            async move {
                let approval = Approval { subject: format!("user {contender}"), ..approval() };
                let decided = device.approve(&typed, &approval).await.unwrap();
                (contender, decided)
            }
        })
        .await;
        let done: Vec<_> = outcomes.iter().filter(|(_, decided)| *decided == Decided::Done).collect();
        assert_eq!(done.len(), 1, "{outcomes:?}");
        let consumed = device.consume("tv", issued.device_code.expose()).await.unwrap();
        let Consumed::Granted { approval, .. } = consumed else { panic!("{consumed:?}") };
        assert_eq!(approval.subject, format!("user {}", done[0].0), "what the winner has said counts");
    }
}

async fn one_of_many_consumes(kind: Kind) {
    let world = World::fresh(kind).await;
    let device = world.tokens.device_codes();
    for contenders in RACES {
        let issued = device.create(&request()).await.unwrap();
        device.approve(&issued.user_code, &approval()).await.unwrap();
        let outcomes = contend(contenders, |_| {
            let (device, code) = (device.clone(), issued.device_code.clone());
            async move { device.consume("tv", code.expose()).await.unwrap() }
        })
        .await;
        let granted = outcomes.iter().filter(|outcome| matches!(outcome, Consumed::Granted { .. })).count();
        let others = outcomes.iter().filter(|outcome| **outcome == Consumed::AlreadyConsumed).count();
        assert_eq!((granted, others), (1, contenders - 1), "{outcomes:?}");
    }
}

fn ciba_request() -> CibaRequest {
    CibaRequest {
        client_id: "bank".into(),
        hint_subject: "alice".into(),
        binding_message: Some("W4SCT".into()),
        delivery_mode: DeliveryMode::Ping,
        ..CibaRequest::default()
    }
}

async fn a_ciba_request_is_approved_and_gets_its_grant_once(kind: Kind) {
    let world = World::fresh(kind).await;
    let ciba = world.tokens.ciba_requests();
    let asked = ciba.create(&ciba_request(), None).await.unwrap();
    let id = asked.auth_req_id.expose();
    assert_eq!((asked.expires_at, asked.interval_seconds), (world.now() + 300 * SECOND, 5));
    assert_eq!(ciba.find(id).await.unwrap(), Some(ciba_request()));
    assert_eq!(ciba.poll("bank", id).await.unwrap(), Polled::Pending);
    assert_eq!(ciba.poll("bank", id).await.unwrap(), Polled::SlowDown { interval_seconds: 10 });
    assert_eq!(ciba.approve(id, &approval()).await.unwrap(), Decided::Done);
    assert_eq!(ciba.deny(id).await.unwrap(), Decided::AlreadyDecided);
    assert_eq!(ciba.consume("shop", id).await.unwrap(), Consumed::NotFound);
    let granted = Consumed::Granted { request: ciba_request(), approval: approval() };
    assert_eq!(ciba.consume("bank", id).await.unwrap(), granted);
    assert_eq!(ciba.consume("bank", id).await.unwrap(), Consumed::AlreadyConsumed);
    assert_eq!(ciba.approve("made up", &approval()).await.unwrap(), Decided::NotFound);
    let denied = ciba.create(&ciba_request(), None).await.unwrap();
    assert_eq!(ciba.deny(denied.auth_req_id.expose()).await.unwrap(), Decided::Done);
    assert_eq!(ciba.consume("bank", denied.auth_req_id.expose()).await.unwrap(), Consumed::Denied);
}

async fn the_notification_token_is_for_who_knows_the_request(kind: Kind) {
    let world = World::fresh(kind).await;
    let ciba = world.tokens.ciba_requests();
    let asked = ciba.create(&ciba_request(), Some("the client's own secret")).await.unwrap();
    let silent = ciba.create(&ciba_request(), None).await.unwrap();
    let token = ciba.notification_token(asked.auth_req_id.expose()).await.unwrap().unwrap();
    assert_eq!(token.expose(), "the client's own secret");
    assert!(ciba.notification_token(silent.auth_req_id.expose()).await.unwrap().is_none());
    assert!(ciba.notification_token("made up").await.unwrap().is_none());
    world.pass(300 * SECOND);
    assert!(ciba.notification_token(asked.auth_req_id.expose()).await.unwrap().is_none());
}

async fn one_of_many_decides_and_consumes_a_ciba_request(kind: Kind) {
    let world = World::fresh(kind).await;
    let ciba = world.tokens.ciba_requests();
    for contenders in RACES {
        let id = ciba.create(&ciba_request(), None).await.unwrap().auth_req_id;
        let decided = contend(contenders, |_| {
            let (ciba, id) = (ciba.clone(), id.clone());
            async move { ciba.approve(id.expose(), &approval()).await.unwrap() }
        })
        .await;
        assert_eq!(decided.iter().filter(|outcome| **outcome == Decided::Done).count(), 1);
        let consumed = contend(contenders, |_| {
            let (ciba, id) = (ciba.clone(), id.clone());
            async move { ciba.consume("bank", id.expose()).await.unwrap() }
        })
        .await;
        assert_eq!(consumed.iter().filter(|outcome| matches!(outcome, Consumed::Granted { .. })).count(), 1);
    }
}
