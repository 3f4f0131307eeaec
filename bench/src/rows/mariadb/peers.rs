//! What people run on MySQL and MariaDB instead: all at once, or Percona's pt-archiver.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use sqlx::{Connection, MySqlConnection};
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::rows::series::{Run, now_text};
use crate::stopwatch::Stopwatch;

/// The limit: the database by itself, in one transaction.
pub(super) async fn one_delete(url: &str) -> Result<Run, Failure> {
    let watch = Stopwatch::start();
    let mut connection = MySqlConnection::connect(url).await?;
    sqlx::query("DELETE FROM tokens WHERE expires_at < ?").bind(now_text()).execute(&mut connection).await?;
    let time = watch.time();
    connection.close().await?;
    Ok(Run::whole(time))
}

/// Looks for pt-archiver on the PATH.
pub(crate) fn find_pt_archiver() -> Result<PathBuf, Failure> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|directory| directory.join("pt-archiver")).find(|file| file.is_file()).ok_or_else(|| {
        "pt-archiver was not found: run `apt-get install percona-toolkit`, or leave it out with `--skip pt-archiver`"
            .into()
    })
}

/// `pt-archiver 3.2.1`.
pub(super) fn version(program: &Path) -> Result<String, Failure> {
    let output = Command::new(program).arg("--version").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// As its manual shows it for a purge in small transactions. It is a program of its own, so its start is in its time,
/// as ours is in ours.
pub(super) async fn pt_archiver(program: &Path, url: &str, bulk: bool) -> Result<Run, Failure> {
    let server = Address::of(url).ok_or("a url that pt-archiver cannot be given")?;
    let login = server.login()?;
    let mut command = Command::new(program);
    command
        .arg("--source")
        .arg(format!("F={},D={},t=tokens", login.path().display(), server.database))
        .arg("--where")
        .arg(format!("expires_at < '{}'", now_text()))
        .args(["--purge", "--limit", "1000", "--commit-each", "--no-check-charset"]);
    if bulk {
        command.arg("--bulk-delete");
    }
    let watch = Stopwatch::start();
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let time = watch.time();
    if !output.status.success() {
        return Err(format!("pt-archiver failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(Run::whole(time))
}

/// The parts of `mysql://user:password@host:port/database`, as the test kit writes it.
struct Address<'a> {
    user: &'a str,
    password: &'a str,
    host: &'a str,
    port: &'a str,
    database: &'a str,
}

impl<'a> Address<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (login, place) = url.strip_prefix("mysql://")?.split_once('@')?;
        let (user, password) = login.split_once(':')?;
        let (server, database) = place.split_once('/')?;
        let (host, port) = server.split_once(':')?;
        Some(Self { user, password, host, port, database })
    }

    /// A file of options that only we can read: a password on a command line is everybody's.
    fn login(&self) -> Result<NamedTempFile, Failure> {
        let mut file = NamedTempFile::new()?;
        let Self { user, password, host, port, .. } = self;
        write!(file, "[client]\nuser={user}\npassword={password}\nhost={host}\nport={port}\n")?;
        file.flush()?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let address = Address::of("mysql://bygone:0f@127.0.0.1:4242/copy").unwrap();
        let parts = [address.user, address.password, address.host, address.port, address.database];
        assert_eq!(parts, ["bygone", "0f", "127.0.0.1", "4242", "copy"]);
        assert!(Address::of("mysql://localhost/copy").is_none());
    }
}
