//! What is particular to PostgreSQL, which is many processes: a crash ends them all.

use std::time::Duration;

use bygone_testkit::wait::Wait;
use bygone_testkit::{Options, Postgres, Process};

/// A backend in the middle of a long computation does not notice that its server is gone.
const LONG: &str = "SELECT count(*) FROM generate_series(1, 100000000000)";

#[tokio::test]
async fn a_busy_backend_dies_with_its_killed_server() {
    let mut server = Postgres::start(Options::default()).await.unwrap();
    let database = server.fresh_database().await;
    let mut worker = database.connect().await;
    let work = tokio::spawn(async move { sqlx::raw_sql(LONG).execute(&mut worker).await.map(drop) });

    let mut observer = database.connect().await;
    let mut wait = Wait::up_to(Duration::from_secs(30));
    let pid: i32 = loop {
        let busy = "SELECT pid FROM pg_stat_activity WHERE query = $1 AND state = 'active'";
        let found = sqlx::query_scalar(busy).bind(LONG).fetch_optional(&mut observer).await.unwrap();
        match found {
            Some(pid) => break pid,
            None => assert!(wait.again().await, "the query does not run"),
        }
    };
    let backend = Process::of(u32::try_from(pid).unwrap()).unwrap();

    server.kill();
    assert!(!server.process().is_alive());
    assert!(!backend.is_alive());
    assert!(work.await.unwrap().is_err());
    server.restart().await.unwrap();
}
