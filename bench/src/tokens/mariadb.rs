//! MariaDB: a private server, and one database for all.

use bygone_testkit::{Database, MariaDbEngine};
use sqlx::{AssertSqlSafe, MySqlConnection};

use super::Done;
use super::bare;
use super::case::Case;
use super::credentials::{LIVE_FROM_US, Times};
use super::series::{self, Bed, Tables, Workers};
use crate::failure::Failure;
use crate::server;

/// Runs the cases.
pub(crate) async fn run(cases: &[Case], runs: usize) -> Result<Done, Failure> {
    let (server, version) = server::mariadb::start().await?;
    let database = server.fresh_database().await;
    let admin = database.connect().await;
    let mut bed = MariaDbBed { database, admin };
    Ok(Done { version, results: series::measure_all(&mut bed, cases, runs).await? })
}

struct MariaDbBed {
    database: Database<MariaDbEngine>,
    admin: MySqlConnection,
}

impl MariaDbBed {
    async fn admin(&mut self, text: String) -> Result<(), Failure> {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.admin).await?;
        Ok(())
    }
}

impl Bed for MariaDbBed {
    const BARE: &'static str = "bare sqlx";

    fn url(&self, _tables: Tables) -> String {
        self.database.url()
    }

    async fn bare(&self, case: &Case) -> Result<Workers, Failure> {
        bare::mariadb::workers(&self.database.url(), case).await
    }

    /// In the order of the keys, which lie evenly apart; without checks an empty table is filled in bulk.
    async fn fill(&mut self, tables: Tables, rows: u64) -> Result<(), Failure> {
        let table = format!("{}dpop_replays", tables.prefix());
        let Times { now, .. } = Times::of_jti();
        self.admin("SET unique_checks = 0, foreign_key_checks = 0".to_owned()).await?;
        self.admin(format!(
            "INSERT INTO {table} (jti, inserted_at, expires_at, horizon)
             SELECT UNHEX(CONCAT(LPAD(HEX(seq * 4294967296 DIV {rows}), 8, '0'), LEFT(SHA2(seq, 256), 56))),
                    {now}, {now} + {LIVE_FROM_US} + seq, {now} + {LIVE_FROM_US} + seq
             FROM seq_0_to_{}",
            rows - 1
        ))
        .await?;
        self.admin("SET unique_checks = 1, foreign_key_checks = 1".to_owned()).await?;
        self.admin(format!("ANALYZE TABLE {table}")).await
    }

    async fn come_to_rest(&mut self) -> Result<(), Failure> {
        server::mariadb::come_to_rest(&mut self.admin).await
    }
}
