//! What people run on PostgreSQL instead: all at once, or a loop of small batches.

use bygone_core::CancellationToken;
use sqlx::{Connection, PgConnection, Row};

use crate::failure::Failure;
use crate::rows::series::{Run, now_text};
use crate::stopwatch::Stopwatch;

/// Rows in a batch of the loop, as its authors set it.
const BATCH_ROWS: i64 = 1_000;

/// The limit: the database by itself, in one transaction. Answers how many rows went.
pub(crate) async fn one_delete(url: &str) -> Result<(u64, Run), Failure> {
    let watch = Stopwatch::start();
    let mut connection = PgConnection::connect(url).await?;
    let done = sqlx::query("DELETE FROM tokens WHERE expires_at < now()").execute(&mut connection).await?;
    let time = watch.time();
    connection.close().await?;
    Ok((done.rows_affected(), Run::whole(time)))
}

/// The loop that an auth server runs for its tokens: lock the next batch by time, delete it by id, commit, and go on
/// from the last time seen, until a batch comes back short. Two bounds without a NULL in them keep its index in use.
pub(crate) const BATCH: &str = "
    WITH due AS (
        SELECT id, expires_at FROM tokens
        WHERE expires_at >= $1::timestamptz AND expires_at < $2::timestamptz
        ORDER BY expires_at LIMIT $3 FOR UPDATE
    ), gone AS (
        DELETE FROM tokens USING due WHERE tokens.id = due.id RETURNING due.expires_at
    )
    SELECT count(*), max(expires_at)::text FROM gone";

/// Batch after batch of such a statement, a transaction each, until one comes back short or somebody cancels. Answers how
/// many rows went.
pub(crate) async fn batch_loop(
    url: &str,
    text: &'static str,
    cancel: &CancellationToken,
) -> Result<(u64, Run), Failure> {
    let watch = Stopwatch::start();
    let mut connection = PgConnection::connect(url).await?;
    let until = now_text();
    let mut since = "-infinity".to_owned();
    let (mut rows, mut pages) = (0, Vec::new());
    while !cancel.is_cancelled() {
        let page = Stopwatch::start();
        let mut transaction = connection.begin().await?;
        let row = sqlx::query(text).bind(&since).bind(&until).bind(BATCH_ROWS).fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        pages.push(page.time());
        let (removed, last): (i64, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
        rows += removed.unsigned_abs();
        match last {
            Some(last) if removed >= BATCH_ROWS => since = last,
            _ => break,
        }
    }
    let time = watch.time();
    connection.close().await?;
    Ok((rows, Run { time, pages, phases: None }))
}
