//! Secrets are nowhere but with whom they were made for: not in the database, not in `Debug`, not in the log.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bygone_testkit::{AnyDatabase, Kind, on_each_engine};
use bygone_tokens::{
    CibaRequest, CodeGrant, CodeTake, ConsentBinding, DeviceRequest, Entropy, Remedy, Rotation, TokenError, Tokens,
    TokensOptions,
};
use serde_json::json;

use crate::refresh::begun;
use crate::world::{World, options};

on_each_engine!(no_secret_is_in_the_database_in_debug_or_in_the_log, a_secret_that_comes_again_is_given_to_nobody);

/// Chance that has none.
#[derive(Debug)]
struct Stuck;

impl Entropy for Stuck {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), TokenError> {
        bytes.fill(7);
        Ok(())
    }
}

/// Whose random bytes repeat themselves is told so; nothing is put in place of what is there, and a key that an expired
/// row had is free.
async fn a_secret_that_comes_again_is_given_to_nobody(kind: Kind) {
    let world = World::fresh(kind).await;
    let (entropy, clock) = (Arc::new(Stuck), world.clock.clone());
    let tokens = Tokens::open(TokensOptions { entropy, clock, ..options(&world.database) }).await.unwrap();
    let codes = tokens.authorization_codes();
    let alices = CodeGrant { subject: "alice".into(), ..CodeGrant::default() };
    let first = codes.issue(&alices).await.unwrap();
    let again = codes.issue(&CodeGrant { subject: "mallory".into(), ..CodeGrant::default() }).await.unwrap_err();
    assert!(matches!(again, TokenError::Repeated { table: "authorization_codes" }), "{again:?}");
    assert_eq!(again.remedy(), Remedy::Configure);
    let CodeTake::Granted { grant, .. } = codes.take(first.code.expose()).await.unwrap() else { panic!("not granted") };
    assert_eq!(grant.subject, "alice");
    let nonces = tokens.nonces();
    nonces.issue().await.unwrap();
    assert!(nonces.issue().await.is_err());
    let device = tokens.device_codes();
    device.create(&DeviceRequest::default()).await.unwrap();
    assert!(device.create(&DeviceRequest::default()).await.is_err(), "no user code is free");
    world.pass(std::time::Duration::from_secs(3_600));
    nonces.issue().await.unwrap();
    codes.issue(&alices).await.unwrap();
}

/// A log that can be read.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const NOTIFICATION: &str = "notification-token-of-the-client";

/// Uses all stores that make secrets; returns the secrets, and everything that `Debug` shows on the way.
async fn use_secrets(world: &World) -> (Vec<String>, String) {
    let tokens = &world.tokens;
    let (mut secrets, mut shown) = (vec![NOTIFICATION.to_owned()], format!("{tokens:?}"));
    let mut note = |secret: &str, debug: String| {
        secrets.push(secret.to_owned());
        shown.push_str(&debug);
    };
    let code = tokens.authorization_codes().issue(&CodeGrant::default()).await.unwrap();
    note(code.code.expose(), format!("{code:?} {:?}", tokens.authorization_codes().take(code.code.expose()).await));
    let first = begun(&tokens.refresh_tokens(), "alice").await;
    note(first.token.expose(), format!("{first:?}"));
    for _ in 0..2 {
        let rotation = tokens.refresh_tokens().rotate("app", first.token.expose()).await.unwrap();
        let (Rotation::Rotated(next) | Rotation::Retried(next)) = &rotation else { panic!("{rotation:?}") };
        note(next.token.expose(), format!("{rotation:?}"));
    }
    let nonce = tokens.nonces().issue().await.unwrap();
    note(nonce.nonce.expose(), format!("{nonce:?}"));
    let pushed = tokens.pushed_requests().put("app", &json!({})).await.unwrap();
    note(pushed.request_uri.expose().rsplit(':').next().unwrap(), format!("{pushed:?}"));
    let binding = ConsentBinding { subject: "a", client_id: "c", redirect_uri: "r", scope: &[], code_challenge: None };
    let consent = tokens.consent_grants().mint(&binding).await.unwrap();
    note(consent.token.expose(), format!("{consent:?}"));
    let device = tokens.device_codes().create(&DeviceRequest::default()).await.unwrap();
    note(device.device_code.expose(), format!("{device:?}"));
    let ciba = tokens.ciba_requests().create(&CibaRequest::default(), Some(NOTIFICATION)).await.unwrap();
    let notification = tokens.ciba_requests().notification_token(ciba.auth_req_id.expose()).await.unwrap();
    note(ciba.auth_req_id.expose(), format!("{ciba:?} {notification:?}"));
    (secrets, shown)
}

/// Every column of every row, as text and, where it is bytes, as what they would read as.
async fn dump(database: &AnyDatabase) -> String {
    let mut client = database.client().await;
    let tables = match database.kind() {
        Kind::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table'",
        Kind::Postgres => "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
        Kind::MariaDb => "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
    };
    let mut all = String::new();
    for table in client.texts(tables).await {
        let rows = match database.kind() {
            Kind::Postgres => format!("SELECT encode(convert_to(t::text, 'UTF8'), 'escape') FROM {table} AS t"),
            _ => format!("SELECT * FROM {table}"),
        };
        for row in lossy(&mut client, &rows).await {
            all.push_str(&row);
        }
    }
    all
}

async fn lossy(client: &mut bygone_testkit::Client, sql: &str) -> Vec<String> {
    match client {
        bygone_testkit::Client::MariaDb(connection) => {
            use sqlx::Row as _;
            let rows = sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).fetch_all(connection).await.unwrap();
            let text = |row: &sqlx::mysql::MySqlRow| {
                let columns = row.columns().iter().map(sqlx::Column::ordinal);
                let bytes = columns.map(|at| row.get_unchecked::<Option<Vec<u8>>, _>(at).unwrap_or_default());
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect::<String>()
            };
            rows.iter().map(text).collect()
        }
        client => {
            let rows = client.rows(sql).await;
            rows.into_iter().map(|row| row.into_iter().flatten().collect::<String>()).collect()
        }
    }
}

async fn no_secret_is_in_the_database_in_debug_or_in_the_log(kind: Kind) {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let world = World::fresh(kind).await;
    let (secrets, shown) = use_secrets(&world).await;
    world.sweep().await;
    let dump = dump(&world.database).await;
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(dump.contains("client_id") && dump.contains("alice"), "the dump shows what is there: {dump}");
    assert!(log.contains("tables swept"), "{log}");
    assert_eq!(secrets.len(), 10);
    for secret in secrets {
        assert!(secret.len() >= 32);
        assert!(!dump.contains(&secret), "{secret} is in the database");
        assert!(!shown.contains(&secret), "{secret} is in {shown}");
        assert!(!log.contains(&secret), "{secret} is in the log");
    }
}
