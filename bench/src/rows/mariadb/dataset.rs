//! Tokens in InnoDB, which keeps a table in the order of its primary key.

use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_testkit::{Database, MariaDbEngine};
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::failure::Failure;
use crate::output;
use crate::rows::case::{Case, Layout};

const TABLE: &str = "CREATE TABLE tokens (
    id BINARY(16) NOT NULL PRIMARY KEY,
    session_id BINARY(16) NOT NULL,
    token VARCHAR(64) CHARACTER SET ascii NOT NULL,
    created_at DATETIME(6) NOT NULL,
    expires_at DATETIME(6) NULL,
    revoked_at DATETIME(6) NULL,
    UNIQUE KEY token (token),
    KEY session_id (session_id),
    KEY expires_at (expires_at)
) ENGINE = InnoDB";

/// How long the server may take to come to rest.
const REST_MAX: Duration = Duration::from_secs(120);
const REST_LOOK: Duration = Duration::from_millis(200);
/// What a server at rest may still have to write and to purge: it is never quite nothing.
const DIRTY_PAGES_MAX: i64 = 200;
const HISTORY_MAX: i64 = 50;

/// Fills a database.
pub(super) async fn build(database: &Database<MariaDbEngine>, case: &Case) -> Result<(), Failure> {
    let mut connection = database.connect().await;
    for statement in [TABLE.to_owned(), fill(case), "ANALYZE TABLE tokens".to_owned()] {
        run(&mut connection, statement).await?;
    }
    Ok(())
}

/// In the order of their making; identifiers follow it or not, sessions and secrets never do.
fn fill(case: &Case) -> String {
    let (rows, expired) = (case.rows, case.expired);
    let id = match case.layout {
        Layout::Ordered => {
            "UNHEX(CONCAT(LPAD(HEX(CAST(UNIX_TIMESTAMP(@now) * 1000 AS INT) + seq * 1000), 12, '0'), LEFT(MD5(CONCAT('id', seq)), 20)))"
        }
        Layout::Mixed => "UNHEX(MD5(CONCAT('id', seq)))",
    };
    format!(
        "SET @now = UTC_TIMESTAMP();
         INSERT INTO tokens
         SELECT {id}, UNHEX(MD5(CONCAT('session', seq DIV 10))), CONCAT('tok_', MD5(CONCAT('token', seq))),
                @now - INTERVAL 60 DAY + INTERVAL seq SECOND,
                IF(seq <= {expired}, @now - INTERVAL 1 HOUR - INTERVAL ({expired} - seq) SECOND,
                   @now + INTERVAL 1 DAY + INTERVAL seq SECOND),
                NULL
         FROM seq_1_to_{rows} ORDER BY seq"
    )
}

/// Fills a copy in the order of making, so that its pages are as full as those of a table that grew.
pub(super) fn copy(from: &str, to: &str) -> [String; 3] {
    [
        format!("CREATE TABLE {to}.tokens LIKE {from}.tokens"),
        format!("INSERT INTO {to}.tokens SELECT * FROM {from}.tokens ORDER BY created_at"),
        format!("ANALYZE TABLE {to}.tokens"),
    ]
}

/// Waits until the server has written its dirty pages and purged what earlier runs deleted: otherwise a contender
/// would pay for the one before it.
pub(super) async fn come_to_rest(connection: &mut MySqlConnection) -> Result<(), Failure> {
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
