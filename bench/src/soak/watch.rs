//! Those who look on: at the process, at the room that things take, at what is there, and at what the daemon answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bygone_core::CancellationToken;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use sqlx::Connection as _;

use super::api;
use super::book::{Book, Finding};
use super::record::{Lag, Record, Sample, Space, Told, Who};
use super::site::Site;
use super::writers::Looker;
use crate::failure::{Failure, with_causes};

const SAMPLE_EVERY: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_secs(3);
const ASK_EVERY: Duration = Duration::from_secs(3);
/// What is asked for again and again.
const PAGES: [&str; 7] = [
    "/api/v1/policies",
    "/api/v1/sources",
    "/api/v1/sweeps?limit=20",
    "/api/v1/alarms",
    "/api/v1/policies/expired-codes/explanation",
    "/",
    "/sweeps",
];

/// Sleeps, unless it is over.
async fn rest(record: &Record, time: Duration, over: &CancellationToken) -> bool {
    tokio::select! {
        () = over.cancelled() => false,
        () = record.sleep(time) => true,
    }
}

/// Measures the daemon's process, and the room that things take.
pub(super) async fn measure(site: Arc<Site>, record: Arc<Record>, over: CancellationToken) {
    while rest(&record, SAMPLE_EVERY, &over).await {
        let at = record.at();
        if let Some((pid, life)) = record.alive()
            && let (Some(memory_kib), Some(handles)) = (memory_kib(pid), handles(pid))
        {
            record.seen().samples.push(Sample { at, life, memory_kib, handles });
        }
        let sweeps = tokio::task::block_in_place(|| sweeps(&site.ledger())).unwrap_or_default();
        let (ledger, till, jobs) = (size(&site.ledger()), size(&site.till()), size(&site.jobs_file()));
        let shop = shop_bytes(&site).await.ok();
        record.seen().spaces.push(Space { at, ledger, sweeps: sweeps.into(), till, jobs, shop });
    }
}

fn memory_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn handles(pid: u32) -> Option<u64> {
    u64::try_from(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count()).ok()
}

/// A database file with what has not been taken over into it.
fn size(file: &Path) -> u64 {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    bytes(file) + bytes(&PathBuf::from(log))
}

fn sweeps(ledger: &Path) -> rusqlite::Result<u32> {
    let connection = Connection::open_with_flags(ledger, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.query_row("SELECT count(*) FROM sweep", [], |row| row.get(0))
}

async fn shop_bytes(site: &Site) -> Result<u64, Failure> {
    let mut connection = sqlx::PgConnection::connect(&site.database.url()).await?;
    let bytes: i64 =
        sqlx::query_scalar("SELECT pg_database_size(current_database())").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(u64::try_from(bytes)?)
}

/// Holds what is there against the book of a part, again and again; gives its looker back for the last look.
pub(super) async fn look_again(
    book: Arc<Book>,
    mut looker: Box<dyn Looker>,
    record: Arc<Record>,
    over: CancellationToken,
) -> (Arc<Book>, Box<dyn Looker>) {
    while rest(&record, LOOK_EVERY, &over).await {
        let from = record.at();
        match look(&book, &mut *looker, &record).await {
            Ok(finding) => {
                let lag = Lag { at: from, part: book.part(), oldest: finding.lag, overdue: finding.overdue };
                record.seen().lags.push(lag);
            }
            Err(error) => record.trouble(Who::Looker(book.part()), from, with_causes(&*error)),
        }
    }
    (book, looker)
}

/// Looks once. What is early is in the record.
pub(super) async fn look(book: &Book, looker: &mut dyn Looker, record: &Record) -> Result<Finding, Failure> {
    let before = book.before(record.now());
    let there = looker.look().await?;
    let finding = book.compare(&before, &there, record.now());
    let mut seen = record.seen();
    seen.looks += 1;
    seen.early.extend(finding.early.iter().cloned());
    Ok(finding)
}

/// Asks the daemon as a scraper and a console do, and as a program does until everybody is to be calm.
pub(super) async fn ask_again(port: u16, record: Arc<Record>, calm: CancellationToken, over: CancellationToken) {
    while rest(&record, ASK_EVERY, &over).await {
        if record.alive().is_none() {
            continue;
        }
        let from = record.at();
        if let Err(error) = ask(port, &record, !calm.is_cancelled()).await {
            record.trouble(Who::Asker, from, with_causes(&*error));
        }
    }
}

async fn ask(port: u16, record: &Record, works: bool) -> Result<(), Failure> {
    let text = String::from_utf8(api::get(port, "/metrics").await?)?;
    let told = told(&text, record.at());
    record.seen().told.extend(told);
    for page in PAGES {
        api::get(port, page).await?;
    }
    record.seen().answers += u64::try_from(PAGES.len()).unwrap_or_default() + 1;
    if works { work(port, record).await } else { Ok(()) }
}

/// Takes a lease and gives it back, and leaves a message.
async fn work(port: u16, record: &Record) -> Result<(), Failure> {
    let ttl = 2_000;
    let acquire = json!({ "namespace": "http", "key": "key", "owner": "asker", "ttl_ms": ttl });
    let lease = api::post(port, "/lease/v1/jobs/acquire", &acquire).await?;
    api::post(port, "/lease/v1/jobs/keepalive", &json!({ "lease": lease })).await?;
    api::post(port, "/lease/v1/jobs/release", &json!({ "lease": lease })).await?;
    let message = json!({ "namespace": "http", "queue": "queue", "payload": "mail", "ttl_ms": ttl });
    api::post(port, "/lease/v1/jobs/queue/enqueue", &message).await?;
    record.seen().answers += 4;
    Ok(())
}

/// Lag and backlog of each policy, out of what a scrape answers.
pub(super) fn told(metrics: &str, at: Duration) -> Vec<Told> {
    let value = |name: &str, policy: &str| {
        let begin = format!("{name}{{policy=\"{policy}\"");
        let line = metrics.lines().find(|line| line.starts_with(&begin))?;
        line.rsplit_once(' ')?.1.parse::<f64>().ok()
    };
    let policies = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix("bygone_lag_seconds{policy=\"")?;
        Some(rest.split_once('"')?.0)
    });
    let told = policies.filter_map(|policy| {
        let lag = Duration::try_from_secs_f64(value("bygone_lag_seconds", policy)?).ok()?;
        let backlog =
            value("bygone_backlog_items", policy).map(|items| format!("{items:.0}")).and_then(|n| n.parse().ok());
        Some(Told { at, policy: policy.to_owned(), lag, backlog })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_tells_lag_and_backlog_of_each_policy() {
        let text = "# TYPE bygone_lag_seconds gauge\nbygone_lag_seconds{policy=\"a\",source=\"s\"} 7\n\
                    bygone_lag_seconds{policy=\"b\",source=\"s\"} 0\nbygone_backlog_items{policy=\"a\",source=\"s\"} 12\n";
        let at = Duration::from_secs(9);
        let expected = [
            Told { at, policy: "a".into(), lag: Duration::from_secs(7), backlog: Some(12) },
            Told { at, policy: "b".into(), lag: Duration::ZERO, backlog: None },
        ];
        assert_eq!(told(text, at), expected);
    }

    #[test]
    fn a_process_says_what_it_takes() {
        let own = std::process::id();
        assert!(memory_kib(own).unwrap() > 100);
        let before = handles(own).unwrap();
        let _more: Vec<_> = (0..50).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        assert!(handles(own).unwrap() >= before + 40);
    }
}
