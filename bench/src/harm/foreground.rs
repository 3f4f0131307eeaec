//! Those whom a sweep disturbs: four clients of pgbench, each of whom asks again as soon as he is answered.
//!
//! A transaction is what an application does with a token: it reads one by its secret, makes another, and writes a time into
//! a third column of the first. pgbench writes down when each ended and how long it took, so that what others did meanwhile
//! can be laid beside it afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::failure::Failure;
use crate::rows::case::Case;
use crate::statistics::percentile_ms;
use crate::stopwatch::rate;

/// Clients, and the threads of pgbench that serve them.
const CLIENTS: &str = "4";
const THREADS: &str = "2";

/// `n` is a row that does not expire.
const SCRIPT: &str = r"\set n random(:first, :last)
BEGIN;
SELECT id, session_id, expires_at FROM tokens WHERE token = 'tok_' || md5('token' || :n);
INSERT INTO tokens VALUES (gen_random_uuid(), gen_random_uuid(), 'tok_' || gen_random_uuid(), now(), now() + interval '1 day');
UPDATE tokens SET revoked_at = now() WHERE id = md5('id' || :n)::uuid;
END;
";

/// A pgbench under way.
pub(super) struct Foreground {
    child: Child,
    directory: TempDir,
}

/// One transaction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    ended_us: i64,
    took: Duration,
}

/// A piece of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

/// How the foreground fared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) tps: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

impl Foreground {
    /// Begins, for so long.
    pub(super) fn start(pgbench: &Path, url: &str, case: &Case, time: Duration) -> Result<Self, Failure> {
        let directory = TempDir::with_prefix("bygone-bench-")?;
        let script = directory.path().join("script");
        fs::write(&script, SCRIPT)?;
        let seconds = time.as_secs().max(1);
        let mut command = Command::new(pgbench);
        command
            .args(["--no-vacuum", "--protocol=prepared", "--client", CLIENTS, "--jobs", THREADS, "--log"])
            .arg(format!("--time={seconds}"))
            .arg(format!("--define=first={}", case.expired + 1))
            .arg(format!("--define=last={}", case.rows))
            .arg(format!("--log-prefix={}", directory.path().join("log").display()))
            .arg("--file")
            .arg(script)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Ok(Self { child: command.spawn()?, directory })
    }

    /// Waits for its end, and answers what it did.
    pub(super) async fn transactions(self) -> Result<Vec<Transaction>, Failure> {
        let output = self.child.wait_with_output().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("pgbench failed ({}): {}", output.status, said.trim()).into());
        }
        let logs = fs::read_dir(self.directory.path())?.collect::<Result<Vec<_>, _>>()?;
        let is_log = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."));
        let mut transactions = Vec::new();
        for path in logs.into_iter().map(|entry| entry.path()).filter(is_log) {
            for line in fs::read_to_string(&path)?.lines() {
                transactions.push(parse(line).ok_or_else(|| format!("pgbench logged {line:?}"))?);
            }
        }
        Ok(transactions)
    }
}

/// `client transaction latency_us script epoch_s us`.
fn parse(line: &str) -> Option<Transaction> {
    let mut fields = line.split_whitespace();
    let took = Duration::from_micros(fields.nth(2)?.parse().ok()?);
    let seconds: i64 = fields.nth(1)?.parse().ok()?;
    let micros: i64 = fields.next()?.parse().ok()?;
    Some(Transaction { ended_us: seconds.checked_mul(1_000_000)?.checked_add(micros)?, took })
}

impl Load {
    /// Of the transactions that ended within these windows.
    pub(super) fn within(windows: &[(Window, &[Transaction])]) -> Result<Self, Failure> {
        let (mut times, mut seconds) = (Vec::new(), Duration::ZERO);
        for (window, transactions) in windows {
            let (from, until) = (window.from.as_microsecond(), window.until.as_microsecond());
            let inside = transactions.iter().filter(|one| (from..until).contains(&one.ended_us));
            times.extend(inside.map(|one| one.took));
            seconds += Duration::from_micros(u64::try_from(until - from)?);
        }
        let percentile = |percent| percentile_ms(&times, percent).ok_or("pgbench did nothing meanwhile");
        let tps = rate(u64::try_from(times.len())?, seconds);
        Ok(Self { tps, p50_ms: percentile(50)?, p99_ms: percentile(99)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).unwrap()
    }

    #[test]
    fn a_line_of_the_log_says_when_and_how_long() {
        let transaction = parse("3 17 1520 0 1795300000 25").unwrap();
        assert_eq!(transaction, Transaction { ended_us: 1_795_300_000_000_025, took: Duration::from_micros(1_520) });
        assert_eq!(parse("3 17 failed 0 1795300000 25"), None);
    }

    #[test]
    fn only_what_ended_within_the_windows_counts() {
        let one = |ended_us, millis| Transaction { ended_us, took: Duration::from_millis(millis) };
        let transactions = [one(999_999, 900), one(1_000_000, 10), one(1_500_000, 30), one(3_000_000, 900)];
        let window = Window { from: at(1_000_000), until: at(3_000_000) };
        let load = Load::within(&[(window, &transactions)]).unwrap();
        assert!((load.tps - 1.0).abs() < 1e-9, "{load:?}");
        assert!((load.p50_ms - 10.0).abs() < 1e-9 && (load.p99_ms - 30.0).abs() < 1e-9, "{load:?}");
        assert!(Load::within(&[(Window { from: at(5_000_000), until: at(6_000_000) }, &transactions)]).is_err());
    }
}
