//! sqlx on PostgreSQL.

use async_trait::async_trait;
use sqlx::{Connection, PgConnection};

use crate::failure::Failure;
use crate::tokens::case::{Case, Work};
use crate::tokens::credentials::{Times, digest, document};
use crate::tokens::series::{Each, Operation, Workers};

/// Connects them.
pub(crate) async fn workers(url: &str, case: &Case) -> Result<Workers, Failure> {
    let mut workers = Workers::new();
    for _ in 0..case.workers {
        let connection = PgConnection::connect(url).await?;
        workers.push(match case.work {
            Work::IssueAndTake => Box::new(Each(Codes { connection, document: document()? })),
            Work::Remember | Work::RememberAmong(_) => Box::new(Each(Jtis { connection })),
        });
    }
    Ok(workers)
}

struct Codes {
    connection: PgConnection,
    document: String,
}

impl Codes {
    async fn issue(&mut self, code: [u8; 32]) -> Result<(), Failure> {
        let times = Times::of_code();
        sqlx::query(
            "INSERT INTO bare_authorization_codes (code, family, subject, inserted_at, expires_at, horizon, data)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
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
        let _: String = sqlx::query_scalar(
            "UPDATE bare_authorization_codes SET taken_at = $1
             WHERE code = $2 AND taken_at IS NULL AND expires_at > $1 RETURNING data",
        )
        .bind(Times::of_code().now)
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
    connection: PgConnection,
}

#[async_trait]
impl Operation for Jtis {
    async fn once(&mut self) -> Result<(), Failure> {
        let times = Times::of_jti();
        sqlx::query("INSERT INTO bare_dpop_replays (jti, inserted_at, expires_at, horizon) VALUES ($1, $2, $3, $4)")
            .bind(digest().as_slice())
            .bind(times.now)
            .bind(times.expires_at)
            .bind(times.horizon)
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }
}
