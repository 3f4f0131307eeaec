//! How busy a MySQL or MariaDB server is.

use std::time::Duration;

use bygone_core::ErrorKind;

use super::line::Line;
use crate::connection::NamedRow;
use crate::error::SqlError;
use crate::value::Value;

/// Whoever is let in may ask for these. A list of sessions would take a right, and leave out others without it.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_running', 'Questions')";

/// The second is for servers that do not know the new word yet.
const REPLICATION: [&str; 2] = ["SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

/// How many threads are at work, besides the one that asks.
pub(super) async fn sessions(server: &mut Line) -> Result<u64, SqlError> {
    Ok(status(server, "Threads_running").await?.saturating_sub(1))
}

/// How many statements the server has seen. Transactions it counts only where somebody ends them by a statement: where
/// each statement is one, it would seem to be at rest.
pub(super) async fn statements(server: &mut Line) -> Result<u64, SqlError> {
    status(server, "Questions").await
}

async fn status(server: &mut Line, variable: &str) -> Result<u64, SqlError> {
    let rows = server.ask(STATUS).await?;
    let row = rows.iter().find(|row| said(row, &["Variable_name"]).is_some_and(|name| name == variable));
    let value = row.and_then(|row| said(row, &["Value"])?.parse().ok());
    value.ok_or_else(|| SqlError::new(ErrorKind::Failed, format!("the server does not tell its {variable}")))
}

/// How far a replica is behind, by the channel that is farthest.
pub(super) async fn lag(replica: &mut Line) -> Result<Duration, SqlError> {
    let rows = match replica.ask(REPLICATION[0]).await {
        Err(error) if error.kind() == ErrorKind::Unfit => replica.ask(REPLICATION[1]).await,
        answer => answer,
    };
    let rows = rows.map_err(|error| match error.kind() {
        ErrorKind::Denied => {
            let remedy = "let it: GRANT REPLICATION CLIENT ON *.*, in MariaDB REPLICA MONITOR";
            SqlError::new(ErrorKind::Denied, format!("the user may not see it; {remedy} ({error})"))
        }
        _ => error,
    })?;
    let lags: Result<Vec<Duration>, SqlError> = rows.iter().map(channel).collect();
    lags?.into_iter().max().ok_or_else(|| SqlError::unfit("it is no replica: correct `replicas`"))
}

fn channel(row: &NamedRow) -> Result<Duration, SqlError> {
    let reads = said(row, &["Replica_IO_Running", "Slave_IO_Running"]).unwrap_or_default();
    let applies = said(row, &["Replica_SQL_Running", "Slave_SQL_Running"]).unwrap_or_default();
    let seconds = said(row, &["Seconds_Behind_Source", "Seconds_Behind_Master"]).and_then(|text| text.parse().ok());
    match seconds {
        Some(seconds) if reads == "Yes" && applies == "Yes" => Ok(Duration::from_secs(seconds)),
        _ => {
            let message = format!("it does not replicate (reading: {reads}, applying: {applies}); START REPLICA there");
            Err(SqlError::new(ErrorKind::Failed, message))
        }
    }
}

/// What a row says under the first of these names that it has.
fn said(row: &NamedRow, names: &[&str]) -> Option<String> {
    match names.iter().find_map(|name| row.get(*name))? {
        Value::Text(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    }
}
