//! An auth server's sessions: those of applications with their tokens, and those of browsers that they hang on.

use bygone_testkit::{Database, PostgresEngine};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::failure::Failure;
use crate::rows::case::{Case, Work};
use crate::rows::series::Left;

/// Every foreign key that a session has in such a server, also those of tables that are empty here: each is asked for
/// every row that goes.
const TABLES: &str = "
    CREATE TABLE browsers (id uuid PRIMARY KEY, finished_at timestamptz);
    CREATE TABLE authentications (id uuid PRIMARY KEY, browser_id uuid NOT NULL REFERENCES browsers);
    CREATE TABLE sessions (id uuid PRIMARY KEY, browser_id uuid REFERENCES browsers, finished_at timestamptz);
    CREATE TABLE compat_sessions (id uuid PRIMARY KEY, browser_id uuid REFERENCES browsers);
    CREATE TABLE access_tokens (id uuid PRIMARY KEY, session_id uuid NOT NULL REFERENCES sessions);
    CREATE TABLE refresh_tokens (id uuid PRIMARY KEY, session_id uuid NOT NULL REFERENCES sessions,
        access_token_id uuid REFERENCES access_tokens ON DELETE SET NULL,
        next_id uuid REFERENCES refresh_tokens ON DELETE SET NULL);
    CREATE TABLE grants (id uuid PRIMARY KEY, session_id uuid REFERENCES sessions,
        browser_id uuid REFERENCES browsers ON DELETE SET NULL);
    CREATE TABLE device_grants (id uuid PRIMARY KEY, session_id uuid REFERENCES sessions ON DELETE CASCADE,
        browser_id uuid REFERENCES browsers);
    CREATE EXTENSION pg_prewarm";

const INDEXES: &str = "
    CREATE INDEX ON browsers (finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX ON sessions (finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX ON authentications (browser_id);
    CREATE INDEX ON sessions (browser_id);
    CREATE INDEX ON compat_sessions (browser_id);
    CREATE INDEX ON access_tokens (session_id);
    CREATE INDEX ON refresh_tokens (session_id);
    CREATE INDEX ON refresh_tokens (access_token_id);
    CREATE INDEX ON refresh_tokens (next_id);
    CREATE INDEX ON grants (session_id);
    CREATE INDEX ON grants (browser_id);
    CREATE INDEX ON device_grants (session_id);
    CREATE INDEX ON device_grants (browser_id);
    VACUUM ANALYZE;
    CHECKPOINT";

/// Fills a database. Finished are the first so many, in the order in which they were made.
pub(super) async fn build(database: &Database<PostgresEngine>, case: &Case) -> Result<(), Failure> {
    let (rows, expired) = (case.rows, case.expired);
    let finished = format!(
        "CASE WHEN n <= {expired} THEN now() - interval '1 hour' - ({expired} - n) * interval '1 second' END \
         FROM generate_series(1, {rows}) AS n"
    );
    let id = |kind: &str| format!("(lpad(to_hex(n), 8, '0') || left(md5('{kind}' || n), 24))::uuid");
    let fill = match case.work {
        Work::Tokens => return Err("tokens have a dataset of their own".into()),
        Work::Sessions => vec![
            format!("INSERT INTO sessions SELECT {}, NULL, {finished}", id("s")),
            format!("INSERT INTO access_tokens SELECT {}, {} FROM generate_series(1, {rows}) AS n", id("a"), id("s")),
            format!(
                "INSERT INTO refresh_tokens SELECT {}, {}, {}, NULL FROM generate_series(1, {rows}) AS n",
                id("r"),
                id("s"),
                id("a")
            ),
        ],
        Work::Browsers | Work::StuckBrowsers => {
            // A session of an application points at every browser session that is not over, or at all of them.
            let first = if case.work == Work::StuckBrowsers { 1 } else { expired + 1 };
            vec![
                format!("INSERT INTO browsers SELECT {}, {finished}", id("b")),
                format!(
                    "INSERT INTO authentications SELECT {}, {} FROM generate_series(1, {rows}) AS n",
                    id("u"),
                    id("b")
                ),
                format!(
                    "INSERT INTO sessions SELECT {}, {}, NULL FROM generate_series({first}, {rows}) AS n",
                    id("s"),
                    id("b")
                ),
            ]
        }
    };
    let mut connection = database.connect().await;
    let statements = TABLES.split(';').map(str::to_owned).chain(fill).chain(INDEXES.split(';').map(str::to_owned));
    for statement in statements {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    Ok(())
}

/// Everything into memory.
pub(super) async fn warm(connection: &mut PgConnection) -> Result<(), Failure> {
    let text = "SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace";
    sqlx::query(text).execute(connection).await?;
    Ok(())
}

/// The shape of what such a server runs itself: one statement for a batch and all that hangs on it.
const SESSIONS: &str = "
    WITH due AS (
        SELECT id, finished_at FROM sessions WHERE finished_at >= $1::timestamptz AND finished_at < $2::timestamptz
        ORDER BY finished_at LIMIT $3 FOR UPDATE
    ), refresh AS (
        DELETE FROM refresh_tokens USING due WHERE refresh_tokens.session_id = due.id
    ), access AS (
        DELETE FROM access_tokens USING due WHERE access_tokens.session_id = due.id
    ), gone AS (
        DELETE FROM sessions USING due WHERE sessions.id = due.id RETURNING due.finished_at
    )
    SELECT count(*), max(finished_at)::text FROM gone";

const BROWSERS: &str = "
    WITH due AS (
        SELECT id, finished_at FROM browsers WHERE finished_at >= $1::timestamptz AND finished_at < $2::timestamptz
        AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.browser_id = browsers.id)
        AND NOT EXISTS (SELECT 1 FROM compat_sessions WHERE compat_sessions.browser_id = browsers.id)
        ORDER BY finished_at LIMIT $3 FOR UPDATE
    ), proofs AS (
        DELETE FROM authentications USING due WHERE authentications.browser_id = due.id
    ), gone AS (
        DELETE FROM browsers USING due WHERE browsers.id = due.id RETURNING due.finished_at
    )
    SELECT count(*), max(finished_at)::text FROM gone";

/// The statement for a batch of this work.
pub(super) fn batch(work: Work) -> &'static str {
    if work == Work::Sessions { SESSIONS } else { BROWSERS }
}

/// What is left, and what of it should be gone: finished, and nothing points at it.
pub(super) async fn left(connection: &mut PgConnection, work: Work) -> Result<Left, Failure> {
    let text = match work {
        Work::Tokens | Work::Sessions => "SELECT count(*), count(*) FILTER (WHERE finished_at < now()) FROM sessions",
        Work::Browsers | Work::StuckBrowsers => {
            "SELECT count(*), count(*) FILTER (WHERE finished_at < now() \
             AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.browser_id = b.id)) FROM browsers b"
        }
    };
    let (rows, due): (i64, i64) = sqlx::query_as(text).fetch_one(connection).await?;
    Ok(Left { rows: rows.try_into()?, due: due.try_into()? })
}
