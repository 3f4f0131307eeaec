//! PostgreSQL with fsync on.

use bygone_testkit::{Options, Postgres};

use crate::failure::Failure;

/// Starts a server, and says its version.
pub(crate) async fn start() -> Result<(Postgres, String), Failure> {
    // As the measurements were made: all data in memory, no checkpoint and no vacuum in the middle of a run.
    let options = Options::default()
        .set("shared_buffers", "1GB")
        .set("max_wal_size", "8GB")
        .set("checkpoint_timeout", "1h")
        .set("autovacuum", "off");
    let server = Postgres::start(options).await?;
    let database = server.fresh_database().await;
    let version: String =
        sqlx::query_scalar("SELECT current_setting('server_version')").fetch_one(&mut database.connect().await).await?;
    let version = version.split_whitespace().next().unwrap_or("?");
    Ok((server, format!("PostgreSQL {version}")))
}
