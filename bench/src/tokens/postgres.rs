//! PostgreSQL: a private server, and one database for all.

use bygone_testkit::{Database, PostgresEngine};
use sqlx::{AssertSqlSafe, PgConnection};

use super::Done;
use super::bare;
use super::case::Case;
use super::credentials::{LIVE_FROM_US, Times};
use super::series::{self, Bed, Tables, Workers};
use crate::failure::Failure;
use crate::server;

/// Runs the cases.
pub(crate) async fn run(cases: &[Case], runs: usize) -> Result<Done, Failure> {
    let (server, version) = server::postgres::start().await?;
    let database = server.fresh_database().await;
    let admin = database.connect().await;
    let mut bed = PostgresBed { database, admin };
    Ok(Done { version, results: series::measure_all(&mut bed, cases, runs).await? })
}

struct PostgresBed {
    database: Database<PostgresEngine>,
    admin: PgConnection,
}

impl PostgresBed {
    async fn admin(&mut self, text: String) -> Result<(), Failure> {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.admin).await?;
        Ok(())
    }
}

impl Bed for PostgresBed {
    const BARE: &'static str = "bare sqlx";

    fn url(&self, _tables: Tables) -> String {
        self.database.url()
    }

    async fn bare(&self, case: &Case) -> Result<Workers, Failure> {
        bare::postgres::workers(&self.database.url(), case).await
    }

    /// In the order of the keys, which lie evenly apart: neither index is ever split in the middle.
    async fn fill(&mut self, tables: Tables, rows: u64) -> Result<(), Failure> {
        let table = format!("{}dpop_replays", tables.prefix());
        let Times { now, .. } = Times::of_jti();
        self.admin(format!(
            "INSERT INTO {table} (jti, inserted_at, expires_at, horizon)
             SELECT decode(lpad(to_hex(g * 4294967296 / {rows}), 8, '0'), 'hex') || substr(sha256(g::text::bytea), 1, 28),
                    {now}, {now} + {LIVE_FROM_US} + g, {now} + {LIVE_FROM_US} + g
             FROM generate_series(0::bigint, {rows} - 1) AS g"
        ))
        .await?;
        self.admin(format!("VACUUM ANALYZE {table}")).await
    }

    async fn come_to_rest(&mut self) -> Result<(), Failure> {
        self.admin("CHECKPOINT".to_owned()).await
    }
}
