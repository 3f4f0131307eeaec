//! What is left after the demo's sweep, and why: asked by plain SQL that shares nothing with the engine.

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::auth_server::{AuthServer, DemoTable, TABLES};
use crate::output::{grouped, table};

/// A table of survivors by reason: rows, and behind them what is left of the `others`.
pub(super) fn render(server: &AuthServer, others: Vec<Vec<String>>, boundary: Timestamp) -> rusqlite::Result<String> {
    let connection = server.connect()?;
    let mut rows =
        table(&["place", "left", "not over yet", "over, but kept", "exactly on the boundary", "no deadline", "bygone"]);
    for demo in &TABLES {
        let cutoff = boundary - demo.keep;
        let moment = |at: Timestamp| (demo.write)(at, 0);
        // One unit of the column's own precision behind the cutoff.
        let behind = moment(cutoff + SignedDuration::from_secs(1));
        let count = |condition: &str, values: &[&Value]| count(&connection, demo, condition, values);
        rows.add_row([
            demo.name.to_owned(),
            count("1", &[])?,
            count("{} >= ?", &[&moment(boundary)])?,
            count("{} >= ? AND {} < ?", &[&behind, &moment(boundary)])?,
            count("{} >= ? AND {} < ?", &[&moment(cutoff), &behind])?,
            count("{} IS NULL", &[])?,
            count("{} < ?", &[&moment(cutoff)])?,
        ]);
    }
    for left in others {
        rows.add_row(left);
    }
    Ok(rows.to_string())
}

fn count(connection: &Connection, demo: &DemoTable, condition: &str, values: &[&Value]) -> rusqlite::Result<String> {
    let sql = format!("SELECT count(*) FROM {} WHERE {}", demo.name, condition.replace("{}", demo.column));
    let count: i64 = connection.query_row(&sql, rusqlite::params_from_iter(values), |row| row.get(0))?;
    Ok(grouped(u64::try_from(count).unwrap_or(0)))
}
