//! Tokens in InnoDB, which keeps a table in the order of its primary key.

use bygone_testkit::{Database, MariaDbEngine};
use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::failure::Failure;
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

async fn run(connection: &mut MySqlConnection, text: String) -> Result<(), Failure> {
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await?;
    Ok(())
}
