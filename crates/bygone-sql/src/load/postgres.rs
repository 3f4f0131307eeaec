//! How busy a PostgreSQL server is.

use std::time::Duration;

use bygone_core::ErrorKind;

use super::line::Line;
use crate::connection::NamedRow;
use crate::error::SqlError;
use crate::value::Value;

/// Without this right a role sees that there are sessions and standbys, and nothing of what they do: that would read as
/// a server at rest.
const RIGHTS: &str = "SELECT current_user::text AS role, \
                      CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN 1 ELSE 0 END::bigint AS sees_all";

/// Those of bygone itself, several of which may sweep parts of one table, bear its name.
const SESSIONS: &str = "SELECT count(*) AS sessions FROM pg_stat_activity WHERE backend_type = 'client backend' \
                        AND state IN ('active', 'fastpath function call') AND pid <> pg_backend_pid() \
                        AND application_name <> 'bygone'";

/// Of this database: that is what a server counts by.
const TRANSACTIONS: &str = "SELECT xact_commit + xact_rollback AS transactions FROM pg_stat_database \
                            WHERE datname = current_database()";

/// Those that follow, or are about to; not the backups. One that has nothing to replay has no lag to tell.
const STANDBYS: &str = "SELECT coalesce(nullif(application_name, ''), 'without a name') AS name, state, \
                        CASE WHEN replay_lsn >= pg_current_wal_flush_lsn() THEN 0 ELSE extract(epoch FROM replay_lag) END::float8 AS seconds \
                        FROM pg_stat_replication WHERE state IN ('catchup', 'streaming')";

/// One that has replayed all that it has received is as new as its primary, if it is connected: the last transaction may be
/// old because there was none since.
const LAG: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END::bigint AS follows, \
                   CASE WHEN EXISTS (SELECT 1 FROM pg_stat_wal_receiver) \
                   AND pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn() THEN 0 \
                   ELSE greatest(0, extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())) END::float8 \
                   AS seconds";

/// How many sessions of others are at work.
pub(super) async fn sessions(server: &mut Line) -> Result<u64, SqlError> {
    check_rights(server).await?;
    let rows = server.ask(SESSIONS).await?;
    let sessions = rows.first().and_then(|row| row.get("sessions")?.count());
    sessions.ok_or_else(|| SqlError::new(ErrorKind::Failed, "the server does not tell"))
}

/// How many transactions the database has seen.
pub(super) async fn transactions(server: &mut Line) -> Result<u64, SqlError> {
    let rows = server.ask(TRANSACTIONS).await?;
    let transactions = rows.first().and_then(|row| row.get("transactions")?.count());
    transactions.ok_or_else(|| SqlError::new(ErrorKind::Failed, "the server does not tell"))
}

/// How far each standby is behind, as the primary has it.
pub(super) async fn standbys(server: &mut Line) -> Result<Vec<(String, Duration)>, SqlError> {
    check_rights(server).await?;
    let rows = server.ask(STANDBYS).await?;
    if rows.is_empty() {
        return Err(SqlError::unfit("no standby is connected: name them in `replicas`, or remove `replica_lag`"));
    }
    rows.iter().map(standby).collect()
}

fn standby(row: &NamedRow) -> Result<(String, Duration), SqlError> {
    let text = |column| row.get(column).and_then(Value::text).unwrap_or_default();
    match (row.get("seconds").and_then(seconds), text("state")) {
        (Some(lag), _) => Ok((text("name").to_owned(), lag)),
        // Nothing is measured yet of what it was sent a moment ago.
        (None, "streaming") => Ok((text("name").to_owned(), Duration::ZERO)),
        (None, _) => Err(SqlError::new(ErrorKind::Failed, format!("the standby {} is only catching up", text("name")))),
    }
}

/// How far a standby is behind, as it has it itself.
pub(super) async fn lag(replica: &mut Line) -> Result<Duration, SqlError> {
    let rows = replica.ask(LAG).await?;
    let row = rows.first().ok_or_else(|| SqlError::new(ErrorKind::Failed, "the server does not tell"))?;
    if !row.get("follows").is_some_and(Value::truth) {
        return Err(SqlError::unfit("it is no standby: correct `replicas`"));
    }
    let lag = row.get("seconds").and_then(seconds);
    lag.ok_or_else(|| SqlError::new(ErrorKind::Failed, "it has not replayed any transaction yet"))
}

async fn check_rights(server: &mut Line) -> Result<(), SqlError> {
    let rows = server.ask(RIGHTS).await?;
    let row = rows.first();
    if row.and_then(|row| row.get("sees_all")).is_some_and(Value::truth) {
        return Ok(());
    }
    let role = row.and_then(|row| row.get("role")?.text()).unwrap_or_default();
    let role = server.engine().quote(role);
    let message = format!("the role may not see what others do; let it: GRANT pg_monitor TO {role}");
    Err(SqlError::new(ErrorKind::Denied, message))
}

fn seconds(value: &Value) -> Option<Duration> {
    match value {
        Value::Real(seconds) => Duration::try_from_secs_f64(seconds.max(0.0)).ok(),
        _ => None,
    }
}
