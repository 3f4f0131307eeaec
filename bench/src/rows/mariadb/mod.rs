//! MariaDB: a private server, durable at every commit; a table filled anew for each run.

mod dataset;
mod peers;

use std::path::PathBuf;

use bygone_testkit::{Database, MariaDbEngine};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};

pub(crate) use self::peers::find_pt_archiver;
use super::Done;
use super::case::{Case, Contender};
use super::series::{self, Bed, Left, Run};
use crate::failure::Failure;
use crate::{output, server};

/// The database that a contender works on.
const COPY: &str = "copy";

/// Runs the cases; without a pt-archiver, without it.
pub(crate) async fn run(cases: &[Case], runs: usize, pt_archiver: Option<PathBuf>) -> Result<Done, Failure> {
    let (server, version) = server::mariadb::start().await?;
    let admin = server.fresh_database().await;
    let mut versions = vec![version];
    if let Some(program) = &pt_archiver {
        versions.push(peers::version(program)?);
    }
    let mut results = Vec::new();
    for case in cases {
        output::talk(&format!("{}: building {} rows, {} expired", case.title(), case.rows, case.expired));
        let template = server.fresh_database().await;
        let mut admin = admin.connect().await;
        dataset::build(&template, case).await?;
        server::mariadb::come_to_rest(&mut admin).await?;
        let mut bed = MariaDbBed { admin, template, pt_archiver: pt_archiver.clone() };
        results.push(series::measure(&mut bed, case, runs).await?);
        let name = bed.template.name().to_owned();
        bed.admin(format!("DROP DATABASE {name}")).await?;
    }
    Ok(Done { versions, results })
}

struct MariaDbBed {
    admin: MySqlConnection,
    template: Database<MariaDbEngine>,
    pt_archiver: Option<PathBuf>,
}

impl MariaDbBed {
    async fn admin(&mut self, text: String) -> Result<(), Failure> {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut self.admin).await?;
        Ok(())
    }
}

impl Bed for MariaDbBed {
    fn template(&self) -> String {
        self.template.url()
    }

    fn has(&self, peer: Contender) -> bool {
        self.pt_archiver.is_some() || !matches!(peer, Contender::PtArchiver | Contender::PtArchiverBulk)
    }

    async fn copy(&mut self) -> Result<String, Failure> {
        let template = self.template.name().to_owned();
        self.admin(format!("CREATE DATABASE {COPY}")).await?;
        for statement in dataset::copy(&template, COPY) {
            self.admin(statement).await?;
        }
        server::mariadb::come_to_rest(&mut self.admin).await?;
        let url = self.template.url();
        let (server, _) = url.rsplit_once('/').ok_or("a url without a database")?;
        Ok(format!("{server}/{COPY}"))
    }

    async fn peer(&mut self, peer: Contender, _case: &Case, copy: &str) -> Result<Run, Failure> {
        match (peer, &self.pt_archiver) {
            (Contender::OneDelete, _) => peers::one_delete(copy).await,
            (Contender::PtArchiver, Some(program)) => peers::pt_archiver(program, copy, false).await,
            (Contender::PtArchiverBulk, Some(program)) => peers::pt_archiver(program, copy, true).await,
            (other, _) => Err(format!("{} does not run on MariaDB", other.name()).into()),
        }
    }

    async fn left(&mut self, _case: &Case, copy: &str) -> Result<Left, Failure> {
        let mut connection = MySqlConnection::connect(copy).await?;
        let (rows, due): (i64, i64) = sqlx::query_as(
            "SELECT count(*), CAST(coalesce(sum(expires_at < utc_timestamp()), 0) AS SIGNED) FROM tokens",
        )
        .fetch_one(&mut connection)
        .await?;
        connection.close().await?;
        Ok(Left { rows: rows.try_into()?, due: due.try_into()? })
    }

    async fn discard(&mut self, _copy: &str) -> Result<(), Failure> {
        self.admin(format!("DROP DATABASE {COPY}")).await
    }
}
