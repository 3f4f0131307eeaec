//! The seven promises of a sweeper that no decision depends on, each by its name.

use std::collections::BTreeSet;
use std::time::Duration;

use bygone_testkit::{AnyDatabase, Kind, on_each_engine};
use bygone_tokens::{
    Approval, CibaRequest, CodeGrant, CodeTake, ConsentBinding, ConsentUse, Consumed, Decided, DeviceRequest,
    FamilyStart, Fetched, IssuedAccessToken, LogoutOf, NonceUse, Polled, Replay, Rotation, Sweeper, SweeperConfig,
    Tokens, TokensOptions,
};
use jiff::SignedDuration;
use serde_json::json;

use crate::logout::target;
use crate::refresh::{begun, grant, rotated};
use crate::world::{MOMENT, World, almost, options};

on_each_engine!(
    promise_1_an_expired_replay_record_no_longer_blocks_a_fresh_jti,
    promise_2_a_swept_code_takes_no_revocation_with_it_and_a_replay_stays_detectable,
    promise_3_replaying_an_expired_consumed_ancestor_revokes_the_family_while_it_lives,
    promise_4_every_store_tests_the_deadline_on_every_read,
    promise_5_no_nonce_is_both_accepted_and_swept,
    promise_6_a_prefix_means_the_same_to_the_migration_every_store_and_the_sweeper,
    promise_7_a_failing_table_stops_no_other_and_every_sweep_reports,
);

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

async fn promise_1_an_expired_replay_record_no_longer_blocks_a_fresh_jti(kind: Kind) {
    let world = World::fresh(kind).await;
    let replays = world.tokens.replays();
    assert_eq!(replays.remember("jti").await.unwrap(), Replay::Fresh);
    world.pass(almost(60 * SECOND));
    assert_eq!(replays.remember("jti").await.unwrap(), Replay::Seen);
    world.pass(MOMENT);
    assert_eq!(world.rows("dpop_replays").await, 1, "the record is still there");
    assert_eq!(replays.remember("jti").await.unwrap(), Replay::Fresh);
    assert_eq!(replays.remember("jti").await.unwrap(), Replay::Seen, "and is remembered anew");
}

async fn promise_2_a_swept_code_takes_no_revocation_with_it_and_a_replay_stays_detectable(kind: Kind) {
    let world = World::fresh(kind).await;
    let codes = world.tokens.authorization_codes();
    let grant = CodeGrant { client_id: "app".into(), subject: "alice".into(), ..CodeGrant::default() };
    let (issued, idle) = (codes.issue(&grant).await.unwrap(), codes.issue(&grant).await.unwrap());
    codes.take(issued.code.expose()).await.unwrap();
    let access = IssuedAccessToken { jti: "access", expires_at: world.now() + 900 * SECOND };
    codes.redeemed(issued.code.expose(), Some(access)).await.unwrap();
    codes.revoke_access_token(&issued.family).await.unwrap();
    // The code's own minute is long over, its access token lives for another moment.
    world.pass(almost(900 * SECOND));
    assert_eq!(world.sweep().await.removed["authorization_codes"], 1, "only the one that nobody used");
    assert!(codes.is_access_token_revoked("access").await.unwrap());
    let CodeTake::Reused(reuse) = codes.take(issued.code.expose()).await.unwrap() else { panic!("not detected") };
    assert_eq!((reuse.family, reuse.subject), (issued.family, "alice".into()));
    assert_eq!(codes.take(idle.code.expose()).await.unwrap(), CodeTake::Unknown);
}

async fn promise_3_replaying_an_expired_consumed_ancestor_revokes_the_family_while_it_lives(kind: Kind) {
    let world = World::fresh(kind).await;
    let refresh = world.tokens.refresh_tokens();
    let first = begun(&refresh, "alice").await;
    let mut last = first.clone();
    for _ in 0..5 {
        world.pass(10 * DAY);
        last = rotated(&refresh, &last).await;
        assert_eq!(world.sweep().await.removed.values().sum::<u64>(), 0);
    }
    assert!(first.expires_at < world.now(), "the ancestor has expired itself");
    assert!(matches!(refresh.rotate("app", first.token.expose()).await.unwrap(), Rotation::Reused(_)));
    assert!(matches!(refresh.rotate("app", last.token.expose()).await.unwrap(), Rotation::Revoked));
    world.pass(14 * DAY + 60 * SECOND + MOMENT);
    let swept = world.sweep().await.removed;
    assert_eq!((swept["refresh_families"], swept["refresh_tokens"]), (1, 6), "all go together");
}

/// All of these were live a moment ago, nothing is swept, and none is honoured.
async fn promise_4_every_store_tests_the_deadline_on_every_read(kind: Kind) {
    let world = World::fresh(kind).await;
    let tokens = &world.tokens;
    let code = tokens.authorization_codes().issue(&CodeGrant::default()).await.unwrap().code;
    let refresh = begun(&tokens.refresh_tokens(), "alice").await;
    let nonce = tokens.nonces().issue().await.unwrap().nonce;
    tokens.replays().remember("jti").await.unwrap();
    let pushed = tokens.pushed_requests().put("app", &json!({})).await.unwrap().request_uri;
    let url = "https://app.example/client.json";
    let body = json!({ "client_id": url }).to_string();
    tokens.client_metadata().put(url, Fetched { status: 200, headers: &[], body: &body }).await.unwrap();
    let binding = ConsentBinding { subject: "a", client_id: "c", redirect_uri: "r", scope: &[], code_challenge: None };
    let consent = tokens.consent_grants().mint(&binding).await.unwrap().token;
    tokens.logout_sessions().record(&target("sid", "alice", "app")).await.unwrap();
    let device = tokens.device_codes().create(&DeviceRequest::default()).await.unwrap();
    tokens.device_codes().approve(&device.user_code, &Approval::default()).await.unwrap();
    let undecided = tokens.device_codes().create(&DeviceRequest::default()).await.unwrap();
    let ciba = tokens.ciba_requests().create(&CibaRequest::default(), None).await.unwrap().auth_req_id;
    world.pass(15 * DAY);

    assert_eq!(tokens.authorization_codes().take(code.expose()).await.unwrap(), CodeTake::Unknown);
    assert!(matches!(tokens.refresh_tokens().rotate("app", refresh.token.expose()).await.unwrap(), Rotation::Unknown));
    assert_eq!(tokens.nonces().accept(nonce.expose()).await.unwrap(), NonceUse::Unknown);
    assert!(!tokens.nonces().is_valid(nonce.expose()).await.unwrap());
    assert_eq!(tokens.replays().remember("jti").await.unwrap(), Replay::Fresh);
    assert_eq!(tokens.pushed_requests().fetch("app", pushed.expose()).await.unwrap(), None);
    assert_eq!(tokens.pushed_requests().take("app", pushed.expose()).await.unwrap(), None);
    assert_eq!(tokens.client_metadata().get(url).await.unwrap(), None);
    assert_eq!(tokens.consent_grants().consume(consent.expose(), &binding).await.unwrap(), ConsentUse::NotFound);
    assert_eq!(tokens.logout_sessions().take_targets(LogoutOf::Session("sid")).await.unwrap(), []);
    let polled = tokens.device_codes().poll("", device.device_code.expose()).await.unwrap();
    assert_eq!(polled, Polled::NotFound);
    let consumed = tokens.device_codes().consume("", device.device_code.expose()).await.unwrap();
    assert_eq!(consumed, Consumed::NotFound);
    let decided = tokens.device_codes().approve(&undecided.user_code, &Approval::default()).await.unwrap();
    assert_eq!(decided, Decided::NotFound);
    assert_eq!(tokens.ciba_requests().find(ciba.expose()).await.unwrap(), None);
    let decided = tokens.ciba_requests().approve(ciba.expose(), &Approval::default()).await.unwrap();
    assert_eq!(decided, Decided::NotFound);
    assert_eq!(tokens.ciba_requests().poll("", ciba.expose()).await.unwrap(), Polled::NotFound);
    assert_eq!(world.sweep().await.removed.values().sum::<u64>(), 11, "all were there, and only the jti lives again");
}

/// At every moment around the deadline and the horizon: what is accepted was not swept, and what is swept was not accepted.
async fn promise_5_no_nonce_is_both_accepted_and_swept(kind: Kind) {
    let world = World::fresh(kind).await;
    let nonces = world.tokens.nonces();
    // Issued so that these moments fall before, at and after the deadline of one nonce after another.
    let mut issued = Vec::new();
    for _ in 0..6 {
        issued.push(nonces.issue().await.unwrap().nonce);
        world.pass(MOMENT);
    }
    world.pass(Duration::from_micros(300_000_000 - 4));
    assert_eq!(world.sweep().await.removed["dpop_nonces"], 0, "expired, and remembered for another minute");
    for (nonce, expected) in issued.iter().zip([
        NonceUse::Expired,
        NonceUse::Expired,
        NonceUse::Expired,
        NonceUse::Accepted,
        NonceUse::Accepted,
        NonceUse::Accepted,
    ]) {
        assert_eq!(nonces.accept(nonce.expose()).await.unwrap(), expected);
    }
    world.pass(60 * SECOND);
    // The first two are past their horizon, the third is exactly on it: stores forget it, the sweeper keeps it.
    assert_eq!(world.sweep().await.removed["dpop_nonces"], 2);
    assert_eq!(nonces.accept(issued[2].expose()).await.unwrap(), NonceUse::Unknown);
    assert_eq!(nonces.accept(issued[3].expose()).await.unwrap(), NonceUse::Used);
    world.pass(MOMENT);
    assert_eq!(world.sweep().await.removed["dpop_nonces"], 1);
}

async fn promise_6_a_prefix_means_the_same_to_the_migration_every_store_and_the_sweeper(kind: Kind) {
    let world = World::fresh(kind).await;
    let clock = world.clock.clone();
    let odd = "acme's \"`%";
    let options = TokensOptions { table_prefix: Some(odd.into()), clock, ..options(&world.database) };
    let prefixed = Tokens::open(options).await.unwrap();
    let error = prefixed.nonces().issue().await.unwrap_err();
    assert_eq!(error.remedy(), bygone_tokens::Remedy::Configure, "without its own migration it has no tables");
    prefixed.migrate().await.unwrap();
    for tokens in [&prefixed, &world.tokens] {
        use_every_store(tokens).await;
    }
    assert_eq!(table_names(&world.database, odd).await.len(), 12);
    world.pass(15 * DAY);
    let sweeper = Sweeper::start(&prefixed, SweeperConfig::every(SignedDuration::from_hours(1_000))).unwrap();
    let swept = sweeper.sweep_now().await.removed;
    assert_eq!(swept.values().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1]), "one of each: {swept:?}");
    assert_eq!(world.rows("dpop_nonces").await, 1, "those without a prefix were not touched");
    let swept = world.sweep().await.removed;
    assert_eq!(swept.values().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1]), "{swept:?}");
}

/// Puts one thing into each store.
pub(crate) async fn use_every_store(tokens: &Tokens) {
    tokens.authorization_codes().issue(&CodeGrant::default()).await.unwrap();
    let family = tokens.refresh_tokens().new_family().unwrap();
    let started = tokens.refresh_tokens().start(&family, &grant("alice")).await.unwrap();
    assert!(matches!(started, FamilyStart::Issued(_)));
    tokens.nonces().issue().await.unwrap();
    tokens.replays().remember("jti").await.unwrap();
    tokens.pushed_requests().put("app", &json!({})).await.unwrap();
    let body = json!({ "client_id": "https://c" }).to_string();
    tokens.client_metadata().put("https://c", Fetched { status: 200, headers: &[], body: &body }).await.unwrap();
    let binding = ConsentBinding { subject: "a", client_id: "c", redirect_uri: "r", scope: &[], code_challenge: None };
    tokens.consent_grants().mint(&binding).await.unwrap();
    tokens.logout_sessions().record(&target("sid", "alice", "app")).await.unwrap();
    tokens.device_codes().create(&DeviceRequest::default()).await.unwrap();
    tokens.ciba_requests().create(&CibaRequest::default(), None).await.unwrap();
}

/// The tables whose names begin so.
async fn table_names(database: &AnyDatabase, prefix: &str) -> Vec<String> {
    let sql = match database.kind() {
        Kind::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table'",
        Kind::Postgres => "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
        Kind::MariaDb => "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
    };
    let names = database.client().await.texts(sql).await;
    names.into_iter().filter(|name| name.starts_with(prefix)).collect()
}

async fn promise_7_a_failing_table_stops_no_other_and_every_sweep_reports(kind: Kind) {
    let world = World::fresh(kind).await;
    use_every_store(&world.tokens).await;
    world.client().await.run("DROP TABLE dpop_nonces").await;
    world.pass(15 * DAY);
    let sweeper = Sweeper::start(&world.tokens, SweeperConfig::every(SignedDuration::from_hours(1_000))).unwrap();
    let swept = sweeper.sweep_now().await;
    for (table, rows) in &swept.removed {
        assert_eq!(*rows, u64::from(*table != "dpop_nonces"), "{table}");
    }
    assert_eq!(swept.report.outcome.as_str(), "partial");
    let failed: Vec<_> = swept.report.policies.iter().filter(|policy| policy.error.is_some()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].policy, "dpop_nonces");
    assert!(failed[0].error.as_ref().unwrap().contains("dpop_nonces"), "{:?}", failed[0].error);
}
