//! Tokens as an auth server keeps them: a time-ordered uuid, the session it belongs to, a secret, three times.

use bygone_testkit::{Database, PostgresEngine};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::failure::Failure;
use crate::rows::case::{Case, Layout};

const TABLE: &str = "CREATE TABLE tokens (
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    token text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz
)";

/// Made after the rows, which is quicker and leaves them dense, as after a REINDEX.
const INDEXES: &str = "
    ALTER TABLE tokens ADD PRIMARY KEY (id);
    CREATE INDEX tokens_session_id ON tokens (session_id);
    CREATE UNIQUE INDEX tokens_token ON tokens (token);
    CREATE INDEX tokens_expires_at ON tokens (expires_at) WHERE expires_at IS NOT NULL;
    CREATE EXTENSION pg_prewarm;
    VACUUM ANALYZE tokens;
    CHECKPOINT";

/// Fills a database.
pub(super) async fn build(database: &Database<PostgresEngine>, case: &Case) -> Result<(), Failure> {
    let mut connection = database.connect().await;
    let settings = "SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'";
    for statement in [settings, TABLE, &fill(case)] {
        run(&mut connection, statement.to_owned()).await?;
    }
    for statement in INDEXES.split(';') {
        // One by one: VACUUM does not run beside others.
        run(&mut connection, statement.to_owned()).await?;
    }
    Ok(())
}

/// `place` is where a row lies in the heap, and `rank` how soon it expires; both begin at one.
fn fill(case: &Case) -> String {
    let (rows, expired) = (case.rows, case.expired);
    let order = match case.layout {
        Layout::Ordered => format!("SELECT g AS place, g AS rank FROM generate_series(1, {rows}) AS g"),
        Layout::Mixed => format!(
            "SELECT row_number() OVER (ORDER BY md5(g::text)) AS place, g AS rank FROM generate_series(1, {rows}) AS g"
        ),
    };
    // Identifiers follow the time of creation, as ULIDs and UUIDv7s do; sessions and secrets follow nothing.
    format!(
        "INSERT INTO tokens
         SELECT md5('id' || place)::uuid,
                md5('session' || place / 10)::uuid,
                'tok_' || md5('token' || place),
                created,
                CASE WHEN rank <= {expired} THEN now() - interval '1 hour' - ({expired} - rank) * interval '1 second'
                     ELSE now() + interval '1 day' + rank * interval '1 second' END,
                NULL
         FROM (SELECT place, rank, now() - interval '60 days' + place * interval '1 second' AS created
               FROM ({order}) AS ordered) AS numbered
         ORDER BY place"
    )
}

/// Reads the table and its indexes into the server's memory, so that no contender pays for the first look at them.
pub(super) async fn warm(connection: &mut PgConnection) -> Result<(), Failure> {
    let text = "SELECT sum(pg_prewarm(oid::regclass)) FROM pg_class WHERE oid = 'tokens'::regclass
                OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'tokens'::regclass)";
    run(connection, text.to_owned()).await
}

async fn run(connection: &mut PgConnection, text: String) -> Result<(), Failure> {
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await?;
    Ok(())
}
