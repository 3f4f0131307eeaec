//! PostgreSQL: a private server with fsync on, a template database per case, a copy of it per run.

mod dataset;
mod peers;
mod sessions;

use bygone_testkit::{Database, PostgresEngine};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::Done;
use super::case::{Case, Contender, Work};
use super::series::{self, Bed, Left, Run};
use crate::failure::Failure;
use crate::{output, server};

/// The database that a contender works on.
const COPY: &str = "copy";

/// Runs the cases.
pub(crate) async fn run(cases: &[Case], runs: usize) -> Result<Done, Failure> {
    let (server, version) = server::postgres::start().await?;
    let admin = server.fresh_database().await;
    let mut results = Vec::new();
    for case in cases {
        output::talk(&format!("{}: building {} rows, {} expired", case.title(), case.rows, case.expired));
        let template = server.fresh_database().await;
        match case.work {
            Work::Tokens => dataset::build(&template, case).await?,
            _ => sessions::build(&template, case).await?,
        }
        let mut bed = PostgresBed { admin: admin.connect().await, template, work: case.work };
        results.push(series::measure(&mut bed, case, runs).await?);
        bed.drop_template().await?;
    }
    Ok(Done { versions: vec![version], results })
}

struct PostgresBed {
    admin: PgConnection,
    template: Database<PostgresEngine>,
    work: Work,
}

impl PostgresBed {
    async fn admin(&mut self, text: String) -> Result<(), Failure> {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.admin).await?;
        Ok(())
    }

    async fn drop_template(mut self) -> Result<(), Failure> {
        self.admin(format!("DROP DATABASE {} WITH (FORCE)", self.template.name())).await
    }

    /// Copying files is quicker than going through the log, which only newer servers do unless told.
    async fn copy_clause(&mut self) -> Result<&'static str, Failure> {
        let version: i32 =
            sqlx::query_scalar("SELECT current_setting('server_version_num')::int").fetch_one(&mut self.admin).await?;
        Ok(if version >= 150_000 { " STRATEGY file_copy" } else { "" })
    }
}

impl Bed for PostgresBed {
    fn template(&self) -> String {
        self.template.url()
    }

    async fn copy(&mut self) -> Result<String, Failure> {
        let clause = self.copy_clause().await?;
        self.admin(format!("CREATE DATABASE {COPY} TEMPLATE {}{clause}", self.template.name())).await?;
        let template = self.template.url();
        let (server, _) = template.rsplit_once('/').ok_or("a url without a database")?;
        let url = format!("{server}/{COPY}");
        let mut connection = PgConnection::connect(&url).await?;
        match self.work {
            Work::Tokens => dataset::warm(&mut connection).await?,
            _ => sessions::warm(&mut connection).await?,
        }
        connection.close().await?;
        self.admin("CHECKPOINT".to_owned()).await?;
        Ok(url)
    }

    async fn peer(&mut self, peer: Contender, case: &Case, copy: &str) -> Result<Run, Failure> {
        match peer {
            Contender::OneDelete => peers::one_delete(copy).await,
            Contender::PeerLoop if case.work == Work::Tokens => peers::batch_loop(copy, peers::BATCH).await,
            Contender::PeerLoop => peers::batch_loop(copy, sessions::batch(case.work)).await,
            other => Err(format!("{} does not run on PostgreSQL", other.name()).into()),
        }
    }

    async fn left(&mut self, case: &Case, copy: &str) -> Result<Left, Failure> {
        let mut connection = PgConnection::connect(copy).await?;
        if case.work != Work::Tokens {
            return sessions::left(&mut connection, case.work).await;
        }
        let (rows, due): (i64, i64) =
            sqlx::query_as("SELECT count(*), count(*) FILTER (WHERE expires_at < now()) FROM tokens")
                .fetch_one(&mut connection)
                .await?;
        connection.close().await?;
        Ok(Left { rows: rows.try_into()?, due: due.try_into()? })
    }

    async fn discard(&mut self, _copy: &str) -> Result<(), Failure> {
        self.admin(format!("DROP DATABASE {COPY} WITH (FORCE)")).await
    }
}
