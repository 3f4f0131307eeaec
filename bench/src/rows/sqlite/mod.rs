//! SQLite: a file in WAL mode, copied for each run.

mod dataset;
mod probe;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use bygone_testkit::Sqlite;
use rusqlite::Connection;

use super::Done;
use super::case::{Case, Contender, Work};
use super::ours;
use super::series::{self, Bed, Left, Run, now_text};
use crate::failure::Failure;
use crate::output;
use crate::stopwatch::Stopwatch;

/// Runs the cases.
pub(crate) async fn run(cases: &[Case], runs: usize) -> Result<Done, Failure> {
    let mut results = Vec::new();
    for case in cases {
        output::talk(&format!("{}: building {} rows, {} expired", case.title(), case.rows, case.expired));
        let template = Sqlite::fresh();
        dataset::build(&mut template.connect(), case)?;
        let copy = template.directory().join("copy.db");
        let mut bed = SqliteBed { template, copy };
        results.push(series::measure(&mut bed, case, runs).await?);
    }
    Ok(Done { versions: vec![format!("SQLite {}", rusqlite::version())], results })
}

struct SqliteBed {
    template: Sqlite,
    copy: PathBuf,
}

impl Bed for SqliteBed {
    fn template(&self) -> String {
        self.template.url()
    }

    async fn copy(&mut self) -> Result<String, Failure> {
        fs::copy(self.template.path(), &self.copy)?;
        // Otherwise the first contender to sync would wait for the copy to reach the disk.
        File::open(&self.copy)?.sync_all()?;
        Ok(format!("sqlite:{}", self.copy.display()))
    }

    async fn peer(&mut self, peer: Contender, _case: &Case, _copy: &str) -> Result<Run, Failure> {
        match peer {
            Contender::OneDelete => one_delete(&self.copy),
            other => Err(format!("{} does not run on SQLite", other.name()).into()),
        }
    }

    async fn left(&mut self, _case: &Case, _copy: &str) -> Result<Left, Failure> {
        let text = "SELECT count(*), count(*) FILTER (WHERE expires_at < ?) FROM tokens";
        let count = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let (rows, due) = Connection::open(&self.copy)?.query_row(text, [now_text()], count)?;
        Ok(Left { rows: rows.try_into()?, due: due.try_into()? })
    }

    async fn discard(&mut self, _copy: &str) -> Result<(), Failure> {
        for suffix in ["", "-wal", "-shm"] {
            let mut path = self.copy.clone().into_os_string();
            path.push(suffix);
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// One more sweep, beside a second writer. Not timed, since the two take turns with the lock.
    async fn remarks(&mut self, _case: &Case) -> Result<Vec<String>, Failure> {
        let url = self.copy().await?;
        let probe = probe::Probe::start(&self.copy)?;
        ours::sweep(&url, Work::Tokens, NonZeroUsize::MIN).await?;
        let waits = probe.stop().await?;
        self.discard(&url).await?;
        Ok(vec![waits])
    }
}

/// The limit: the database by itself, in one transaction.
fn one_delete(path: &Path) -> Result<Run, Failure> {
    let watch = Stopwatch::start();
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.execute("DELETE FROM tokens WHERE expires_at < ?", [now_text()])?;
    Ok(Run::whole(watch.time()))
}
