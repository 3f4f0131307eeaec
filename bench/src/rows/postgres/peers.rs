//! What people run on PostgreSQL instead: all at once, or a loop of small batches.

use sqlx::{Connection, PgConnection, Row};

use crate::failure::Failure;
use crate::rows::series::{Run, now_text};
use crate::stopwatch::Stopwatch;

/// Rows in a batch of the loop, as its authors set it.
const BATCH_ROWS: i64 = 1_000;

/// The limit: the database by itself, in one transaction.
pub(super) async fn one_delete(url: &str) -> Result<Run, Failure> {
    let watch = Stopwatch::start();
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query("DELETE FROM tokens WHERE expires_at < now()").execute(&mut connection).await?;
    let time = watch.time();
    connection.close().await?;
    Ok(Run::whole(time))
}

/// The loop that an auth server runs for its tokens: lock the next batch by time, delete it by id, commit, and go on
/// from the last time seen, until a batch comes back short. Two bounds without a NULL in them keep its index in use.
pub(super) const BATCH: &str = "
    WITH due AS (
        SELECT id, expires_at FROM tokens
        WHERE expires_at >= $1::timestamptz AND expires_at < $2::timestamptz
        ORDER BY expires_at LIMIT $3 FOR UPDATE
    ), gone AS (
        DELETE FROM tokens USING due WHERE tokens.id = due.id RETURNING due.expires_at
    )
    SELECT count(*), max(expires_at)::text FROM gone";

/// Batch after batch of such a statement, a transaction each, until one comes back short.
pub(super) async fn batch_loop(url: &str, text: &'static str) -> Result<Run, Failure> {
    let watch = Stopwatch::start();
    let mut connection = PgConnection::connect(url).await?;
    let until = now_text();
    let mut since = "-infinity".to_owned();
    let mut pages = Vec::new();
    loop {
        let page = Stopwatch::start();
        let mut transaction = connection.begin().await?;
        let row = sqlx::query(text).bind(&since).bind(&until).bind(BATCH_ROWS).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        pages.push(page.time());
        let (removed, last): (i64, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
        match last {
            Some(last) if removed >= BATCH_ROWS => since = last,
            _ => break,
        }
    }
    let time = watch.time();
    connection.close().await?;
    Ok(Run { time, pages, phases: None })
}
