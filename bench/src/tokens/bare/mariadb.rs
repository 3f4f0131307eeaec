//! sqlx on MariaDB, whose `UPDATE` returns no rows.

use async_trait::async_trait;
use sqlx::{Connection, MySqlConnection};

use crate::failure::Failure;
use crate::tokens::case::{Case, Work};
use crate::tokens::credentials::{Times, digest, document};
use crate::tokens::series::{Each, Operation, Workers};

/// Connects them.
pub(crate) async fn workers(url: &str, case: &Case) -> Result<Workers, Failure> {
    let mut workers = Workers::new();
    for _ in 0..case.workers {
        let connection = MySqlConnection::connect(url).await?;
        workers.push(match case.work {
            Work::IssueAndTake => Box::new(Each(Codes { connection, document: document()? })),
            Work::Remember | Work::RememberAmong(_) => Box::new(Each(Jtis { connection })),
        });
    }
    Ok(workers)
}

struct Codes {
    connection: MySqlConnection,
    document: String,
}

impl Codes {
    async fn issue(&mut self, code: [u8; 32]) -> Result<(), Failure> {
        let times = Times::of_code();
        sqlx::query(
            "INSERT INTO bare_authorization_codes (code, family, subject, inserted_at, expires_at, horizon, data)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(code.as_slice())
        .bind(digest().as_slice())
        .bind(digest().as_slice())
        .bind(times.now)
        .bind(times.expires_at)
        .bind(times.horizon)
        .bind(&self.document)
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    async fn take(&mut self, code: [u8; 32]) -> Result<(), Failure> {
        let now = Times::of_code().now;
        let done = sqlx::query(
            "UPDATE bare_authorization_codes SET taken_at = ? WHERE code = ? AND taken_at IS NULL AND expires_at > ?",
        )
        .bind(now)
        .bind(code.as_slice())
        .bind(now)
        .execute(&mut self.connection)
        .await?;
        if done.rows_affected() != 1 {
            return Err("a new code was not taken".into());
        }
        let _: String = sqlx::query_scalar("SELECT data FROM bare_authorization_codes WHERE code = ?")
            .bind(code.as_slice())
            .fetch_one(&mut self.connection)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl Operation for Codes {
    async fn once(&mut self) -> Result<(), Failure> {
        let code = digest();
        self.issue(code).await?;
        self.take(code).await
    }
}

struct Jtis {
    connection: MySqlConnection,
}

#[async_trait]
impl Operation for Jtis {
    async fn once(&mut self) -> Result<(), Failure> {
        let times = Times::of_jti();
        sqlx::query("INSERT INTO bare_dpop_replays (jti, inserted_at, expires_at, horizon) VALUES (?, ?, ?, ?)")
            .bind(digest().as_slice())
            .bind(times.now)
            .bind(times.expires_at)
            .bind(times.horizon)
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }
}
