//! The instant itself: a moment before it everything is honoured and kept, at it everything is refused and kept, a moment
//! after it everything is refused and removed. At no instant is a row both honoured and removed.

use std::time::Duration;

use bygone_testkit::{Kind, on_each_engine};
use bygone_tokens::{
    Approval, CibaRequest, CodeGrant, CodeTake, ConsentBinding, ConsentUse, Consumed, DeviceRequest, Fetched,
    IssuedRefreshToken, Lifetimes, LogoutOf, NonceUse, Replay, Rotation, Secret, Tokens,
};
use serde_json::json;

use crate::logout::target;
use crate::refresh::begun;
use crate::world::{MOMENT, World, almost};

on_each_engine!(every_store_refuses_at_the_instant_at_which_the_sweeper_still_keeps);

const MINUTE: Duration = Duration::from_secs(60);
const URL: &str = "https://app.example/client.json";

fn all_a_minute(slack: Duration) -> Lifetimes {
    Lifetimes {
        code: MINUTE,
        refresh: MINUTE,
        nonce: MINUTE,
        replay: MINUTE,
        pushed: MINUTE,
        metadata_min: MINUTE,
        metadata_max: MINUTE,
        consent: MINUTE,
        logout: MINUTE,
        device: MINUTE,
        ciba: MINUTE,
        slack,
        ..Lifetimes::default()
    }
}

const BINDING: ConsentBinding<'_> =
    ConsentBinding { subject: "alice", client_id: "app", redirect_uri: "r", scope: &[], code_challenge: None };

/// One thing of each kind.
struct Things {
    code: Secret,
    refresh: IssuedRefreshToken,
    nonce: Secret,
    jti: String,
    pushed: Secret,
    consent: Secret,
    sid: String,
    device: Secret,
    ciba: Secret,
}

impl Things {
    async fn put(tokens: &Tokens, name: &str) -> Self {
        let (jti, sid) = (format!("jti {name}"), format!("sid {name}"));
        tokens.replays().remember(&jti).await.unwrap();
        tokens.logout_sessions().record(&target(&sid, "alice", "app")).await.unwrap();
        let body = json!({ "client_id": URL }).to_string();
        tokens.client_metadata().put(URL, Fetched { status: 200, headers: &[], body: &body }).await.unwrap();
        let device = tokens.device_codes().create(&DeviceRequest::default()).await.unwrap();
        tokens.device_codes().approve(&device.user_code, &Approval::default()).await.unwrap();
        let ciba = tokens.ciba_requests().create(&CibaRequest::default(), None).await.unwrap();
        tokens.ciba_requests().approve(ciba.auth_req_id.expose(), &Approval::default()).await.unwrap();
        Self {
            code: tokens.authorization_codes().issue(&CodeGrant::default()).await.unwrap().code,
            refresh: begun(&tokens.refresh_tokens(), "alice").await,
            nonce: tokens.nonces().issue().await.unwrap().nonce,
            jti,
            pushed: tokens.pushed_requests().put("app", &json!({})).await.unwrap().request_uri,
            consent: tokens.consent_grants().mint(&BINDING).await.unwrap().token,
            sid,
            device: device.device_code,
            ciba: ciba.auth_req_id,
        }
    }

    /// Presents everything, and says what is honoured.
    async fn honoured(&self, tokens: &Tokens) -> Vec<(&'static str, bool)> {
        let refresh = tokens.refresh_tokens().rotate("app", self.refresh.token.expose()).await.unwrap();
        let consent = tokens.consent_grants().consume(self.consent.expose(), &BINDING).await.unwrap();
        let code = tokens.authorization_codes().take(self.code.expose()).await.unwrap();
        let device = tokens.device_codes().consume("", self.device.expose()).await.unwrap();
        let ciba = tokens.ciba_requests().consume("", self.ciba.expose()).await.unwrap();
        vec![
            ("authorization_codes", matches!(code, CodeTake::Granted { .. })),
            ("refresh_tokens", matches!(refresh, Rotation::Rotated(_))),
            ("dpop_nonces", tokens.nonces().accept(self.nonce.expose()).await.unwrap() == NonceUse::Accepted),
            ("dpop_replays", tokens.replays().remember(&self.jti).await.unwrap() == Replay::Seen),
            ("pushed", tokens.pushed_requests().take("app", self.pushed.expose()).await.unwrap().is_some()),
            ("client_id_metadata", tokens.client_metadata().get(URL).await.unwrap().is_some()),
            ("consent_grants", matches!(consent, ConsentUse::Consumed { .. })),
            (
                "logout_sessions",
                !tokens.logout_sessions().take_targets(LogoutOf::Session(&self.sid)).await.unwrap().is_empty(),
            ),
            ("device_codes", matches!(device, Consumed::Granted { .. })),
            ("ciba_requests", matches!(ciba, Consumed::Granted { .. })),
        ]
    }
}

async fn every_store_refuses_at_the_instant_at_which_the_sweeper_still_keeps(kind: Kind) {
    for slack in [Duration::ZERO, MINUTE] {
        let world = World::with(kind, all_a_minute(slack)).await;
        let things = [Things::put(&world.tokens, "one").await, Things::put(&world.tokens, "two").await];
        let kept = |swept: bygone_tokens::Swept| assert_eq!(swept.removed.values().sum::<u64>(), 0, "{swept:?}");

        world.pass(almost(MINUTE));
        kept(world.sweep().await);
        for (store, honoured) in things[0].honoured(&world.tokens).await {
            assert!(honoured, "{store}: honoured a moment before");
        }

        world.pass(MOMENT);
        kept(world.sweep().await);
        for (store, honoured) in things[1].honoured(&world.tokens).await {
            assert!(!honoured, "{store}: refused at the instant");
        }

        // What was rotated or remembered a moment ago has a minute of its own.
        world.pass(slack);
        kept(world.sweep().await);
        world.pass(MOMENT);
        let swept = world.sweep().await.removed;
        for (table, rows) in &swept {
            let gone = match *table {
                // One family was rotated, and the other goes with its token; the second jti was remembered anew when it was
                // presented; and there was one document.
                "refresh_families" | "refresh_tokens" | "dpop_replays" | "client_id_metadata" => 1,
                _ => 2,
            };
            assert_eq!(*rows, gone, "{table}: removed a moment after, and nothing else");
        }
    }
}
