//! MariaDB, durable at every commit.

use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_testkit::{MariaDb, Options};
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::failure::Failure;
use crate::output;

/// How long the server may take to come to rest.
const REST_MAX: Duration = Duration::from_secs(120);
const REST_LOOK: Duration = Duration::from_millis(200);
/// What a server at rest may still have to write and to purge: it is never quite nothing.
const DIRTY_PAGES_MAX: i64 = 200;
const HISTORY_MAX: i64 = 50;

/// Starts a server, and says its version.
pub(crate) async fn start() -> Result<(MariaDb, String), Failure> {
    // It reads past the system's cache, so that only what this holds is in memory.
    let server = MariaDb::start(Options::default().set("innodb-buffer-pool-size", "2G")).await?;
    let database = server.fresh_database().await;
    let version: String = sqlx::query_scalar("SELECT VERSION()").fetch_one(&mut database.connect().await).await?;
    let version = version.split('-').next().unwrap_or("?");
    Ok((server, format!("MariaDB {version}")))
}

/// Waits until the server has written its dirty pages and purged what earlier runs deleted: otherwise a contender
/// would pay for the one before it.
pub(crate) async fn come_to_rest(connection: &mut MySqlConnection) -> Result<(), Failure> {
    run(connection, "SET GLOBAL innodb_max_dirty_pages_pct = 0, innodb_io_capacity = 20000".to_owned()).await?;
    let clock = SystemClock::new();
    loop {
        let dirty = status(connection, "Innodb_buffer_pool_pages_dirty").await?;
        let history = status(connection, "Innodb_history_list_length").await?;
        if dirty <= DIRTY_PAGES_MAX && history <= HISTORY_MAX {
            break;
        }
        if clock.elapsed() > REST_MAX {
            output::talk(&format!(
                "the server does not come to rest: {dirty} dirty pages, {history} undo logs to purge"
            ));
            break;
        }
        clock.sleep(REST_LOOK).await;
    }
    run(connection, "SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT, innodb_io_capacity = DEFAULT".to_owned()).await
}

async fn status(connection: &mut MySqlConnection, name: &str) -> Result<i64, Failure> {
    let (_, value): (String, String) =
        sqlx::query_as("SHOW GLOBAL STATUS WHERE Variable_name = ?").bind(name).fetch_one(connection).await?;
    Ok(value.parse()?)
}

async fn run(connection: &mut MySqlConnection, text: String) -> Result<(), Failure> {
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await?;
    Ok(())
}
