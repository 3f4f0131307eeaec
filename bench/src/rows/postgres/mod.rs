//! PostgreSQL: a private server with fsync on, a template database per case, a copy of it per run.

mod dataset;
pub(crate) mod peers;
mod sessions;

use bygone_core::CancellationToken;
use bygone_testkit::{Database, Postgres, PostgresEngine};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::Done;
use super::case::{Case, Contender, Work};
use super::series::{self, Bed, Left, Run};
use crate::failure::Failure;
use crate::{output, server};

/// The database that a contender works on.
const COPY: &str = "copy";

/// Runs the cases.
pub(super) async fn run(cases: &[Case], runs: usize) -> Result<Done, Failure> {
    let (server, version) = server::postgres::start().await?;
    let mut results = Vec::new();
    for case in cases {
        let mut bed = PostgresBed::new(&server, case).await?;
        results.push(series::measure(&mut bed, case, runs).await?);
        bed.drop_template().await?;
    }
    Ok(Done { versions: vec![version], results })
}

/// A template with the dataset of a case, and a connection from elsewhere: nobody may be in a database that is copied.
pub(crate) struct PostgresBed {
    admin: PgConnection,
    template: Database<PostgresEngine>,
    work: Work,
}

impl PostgresBed {
    /// Builds the dataset.
    pub(crate) async fn new(server: &Postgres, case: &Case) -> Result<Self, Failure> {
        output::talk(&format!("{}: building {} rows, {} expired", case.title(), case.rows, case.expired));
        let template = server.fresh_database().await;
        match case.work {
            Work::Tokens => dataset::build(&template, case).await?,
            _ => sessions::build(&template, case).await?,
        }
        let admin = server.fresh_database().await.connect().await;
        Ok(Self { admin, template, work: case.work })
    }

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
            Contender::OneDelete => Ok(peers::one_delete(copy).await?.1),
            Contender::PeerLoop => {
                let text = if case.work == Work::Tokens { peers::BATCH } else { sessions::batch(case.work) };
                Ok(peers::batch_loop(copy, text, &CancellationToken::new()).await?.1)
            }
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
