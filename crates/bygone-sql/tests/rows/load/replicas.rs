//! Replicas that are behind: real ones, told to wait.

use std::time::Duration;

use bygone_core::Hindrance;
use bygone_sql::{LoadLimits, SourceUrl};
use bygone_testkit::{Client, Database, Engine, MariaDb, Options, Postgres, PostgresEngine, Server};
use sqlx::Connection as _;

use super::Watch;

fn lag(limit: Duration, replicas: &[&str]) -> LoadLimits {
    let replicas = replicas.iter().map(|url| SourceUrl::parse(url).unwrap()).collect();
    LoadLimits { replica_lag: Some(limit), replicas, ..LoadLimits::default() }
}

/// The same database on another server.
fn url_on<E: Engine>(server: &Server<E>, primary: &Server<E>, url: &str) -> String {
    url.replace(&format!(":{}/", primary.port()), &format!(":{}/", server.port()))
}

/// A primary with a standby, and a database on both.
struct Pair {
    _primary: Postgres,
    _standby: Postgres,
    database: Database<PostgresEngine>,
    standby_url: String,
    on_primary: Client,
    on_standby: Client,
}

impl Pair {
    async fn start() -> Self {
        let primary = Postgres::start(Options::default()).await.unwrap();
        let database = primary.fresh_database().await;
        let standby = primary.start_standby(Options::default()).await.unwrap();
        let standby_url = url_on(&standby, &primary, &database.url());
        let mut on_primary = Client::Postgres(database.connect().await);
        on_primary.run("CREATE TABLE items (id int)").await;
        let mut on_standby = Client::Postgres(sqlx::PgConnection::connect(&standby_url).await.unwrap());
        on_standby.until("SELECT CASE WHEN to_regclass('items') IS NULL THEN 0 ELSE 1 END").await;
        Self { _primary: primary, _standby: standby, database, standby_url, on_primary, on_standby }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_does_not_replay_closes_the_gate() {
    let mut pair = Pair::start().await;
    let (url, limit) = (pair.database.url(), Duration::from_secs(1));
    // By the primary's word, and by its own.
    let watches = [Watch::over(&url, lag(limit, &[])), Watch::over(&url, lag(limit, &[&pair.standby_url]))];

    // Nothing happens for longer than the limit: the standby is as new as can be.
    let old =
        "SELECT CASE WHEN clock_timestamp() - pg_last_xact_replay_timestamp() > interval '1500 ms' THEN 1 ELSE 0 END";
    pair.on_standby.until(old).await;
    for watch in &watches {
        watch.until_open().await;
    }
    pair.on_standby.until(old).await;
    for watch in &watches {
        assert_eq!(watch.now().await, None);
    }

    pair.on_standby.run("SELECT pg_wal_replay_pause()").await;
    pair.on_standby.until("SELECT CASE WHEN pg_get_wal_replay_pause_state() = 'paused' THEN 1 ELSE 0 END").await;
    pair.on_primary.run("INSERT INTO items VALUES (1)").await;
    let told = watches[1].until_closed("behind, over 1 s").await;
    assert_eq!(told.by, Hindrance::Lag);
    assert!(told.reason.starts_with("the replica postgres://127.0.0.1:"), "{}", told.reason);
    let told = watches[0].until_closed("behind, over 1 s").await;
    assert_eq!(told.by, Hindrance::Lag);
    assert!(told.reason.starts_with("the standby walreceiver is "), "{}", told.reason);
    let patient = Watch::over(&url, lag(Duration::from_hours(1), &[&pair.standby_url]));
    assert_eq!(patient.now().await, None, "not so far behind as that");

    pair.on_standby.run("SELECT pg_wal_replay_resume()").await;
    for watch in &watches {
        watch.until_open().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_without_a_standby_and_a_replica_that_is_none_close_the_gate() {
    let server = Postgres::start(Options::default()).await.unwrap();
    let url = server.fresh_database().await.url();
    let hour = Duration::from_hours(1);
    let closed = Watch::over(&url, lag(hour, &[])).now().await.unwrap();
    let unknown = "how far replicas are behind cannot be told: no standby is connected: name them in `replicas`, or \
                   remove `replica_lag`";
    assert_eq!((closed.by, closed.reason.as_str()), (Hindrance::Lag, unknown));
    let closed = Watch::over(&url, lag(hour, &[&url])).now().await.unwrap();
    assert!(closed.reason.ends_with("cannot be told: it is no standby: correct `replicas`"), "{}", closed.reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_of_mariadb_that_waits_or_stands_still_closes_the_gate() {
    let settings = |id: &str| Options::default().set("server-id", id).set("log-bin", "binlog");
    let (primary, replica) = tokio::try_join!(MariaDb::start(settings("1")), MariaDb::start(settings("2"))).unwrap();
    let database = primary.fresh_database().await;
    let password = database.url().split(['@', ':']).nth(2).unwrap().to_owned();
    let own = replica.fresh_database().await;
    let mut on_replica = Client::MariaDb(own.connect().await);
    let follow = format!(
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='bygone', MASTER_PASSWORD='{password}', \
         MASTER_USE_GTID=slave_pos, MASTER_SSL_VERIFY_SERVER_CERT=0",
        primary.port()
    );
    on_replica.run(&format!("SET GLOBAL gtid_slave_pos = ''; {follow}; START SLAVE")).await;
    let watch = Watch::over(&database.url(), lag(Duration::from_secs(1), &[&own.url()]));
    watch.until_open().await;

    on_replica.run("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 3600; START SLAVE").await;
    watch.until_open().await;
    let mut on_primary = Client::MariaDb(database.connect().await);
    on_primary.run("CREATE TABLE items (id int)").await;
    let told = watch.until_closed("behind, over 1 s").await;
    assert_eq!(told.by, Hindrance::Lag);
    assert!(told.reason.starts_with("the replica mysql://127.0.0.1:"), "{}", told.reason);
    on_replica.run("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY = 0; START SLAVE").await;
    watch.until_open().await;

    on_replica.run("STOP SLAVE SQL_THREAD").await;
    let told = watch.until_closed("it does not replicate (reading: Yes, applying: No)").await;
    assert_eq!(told.by, Hindrance::Lag);

    let none = Watch::over(&database.url(), lag(Duration::from_secs(1), &[&database.url()])).now().await.unwrap();
    assert!(none.reason.ends_with("cannot be told: it is no replica: correct `replicas`"), "{}", none.reason);
}
