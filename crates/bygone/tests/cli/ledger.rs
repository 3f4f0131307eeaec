//! The history of a daemon is swept like anything else: by its engine, in pages, never early, and by nobody's leave but `keep`.

use std::time::Duration;

use bygone_testkit::wait::Wait;
use rusqlite::Connection;
use rustix::process::Signal;

use crate::api::{ask, serve};
use crate::support::{Engine, Running, World, everyone};

/// So many that a sweep of them takes a while.
const OLD: u32 = 100_000;
const NEEDED: u32 = 16;
const JSON: &str = "Content-Type: application/json\r\n";

fn number(ledger: &Connection, sql: &str) -> u32 {
    ledger.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Sweeps of a policy that ended a hundred days ago, one a millisecond; and one of another.
fn age(ledger: &mut Connection, old: u32) {
    let change = ledger.transaction().unwrap();
    change
        .execute_batch(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {old})
             INSERT INTO sweep SELECT printf('00000000-0000-7000-8000-%012x', n), 0,
                                      (unixepoch() - 100 * 86400) * 1000 + n, 'schedule', 'complete', '{{}}' FROM n;
             INSERT INTO sweep SELECT '00000000-0000-6000-8000-000000000000', 0, 86400000, 'schedule', 'complete', '{{}}';
             INSERT INTO run (sweep, policy, ended_ms, outcome)
             SELECT id, iif(id LIKE '%-6000-%', 'yearly', 'tokens'), ended_ms, outcome FROM sweep;",
        ))
        .unwrap();
    change.commit().unwrap();
}

/// Those that stay.
const LEFT: &str = "SELECT count(*) FROM sweep WHERE id LIKE '00000000-%'";

fn begin(port: u16) {
    let begun = ask(port, "POST /api/v1/sweeps", JSON, "{\"policies\":[\"bygone-history\"]}");
    assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
}

#[tokio::test]
async fn old_history_goes_in_pages_also_over_a_kill_and_what_standings_need_stays() {
    let world = World::with_tokens(Engine::Sqlite).await;
    end(serve(&world).0);
    let mut ledger = Connection::open(world.path("state").join("ledger.db")).unwrap();
    ledger.busy_timeout(Duration::from_secs(10)).unwrap();
    age(&mut ledger, OLD);
    let (running, port) = serve(&world);
    let standing = ask(port, "GET /api/v1/policies/tokens", "", "");
    let plan = ask(port, "POST /api/v1/policies/bygone-history/plan", "", "");
    assert!(plan.contains(&format!("\"would_remove\":{}", OLD - NEEDED)), "{plan}");
    begin(port);
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while number(&ledger, LEFT) == OLD + 1 {
        assert!(wait.again().await, "no page was committed");
    }
    running.signal(Signal::KILL);
    drop(running);
    let left = number(&ledger, LEFT);
    assert!(left > NEEDED + 1, "it was killed too late to show anything: {left}");
    assert_eq!(number(&ledger, "SELECT count(*) FROM run WHERE sweep NOT IN (SELECT id FROM sweep)"), 0);
    assert_eq!(number(&ledger, "SELECT count(*) FROM sweep WHERE id NOT IN (SELECT sweep FROM run)"), 0);

    let (running, port) = serve(&world);
    begin(port);
    let mut wait = Wait::up_to(Duration::from_mins(2));
    while number(&ledger, "SELECT count(*) FROM run WHERE policy = 'bygone-history' AND outcome = 'complete'") == 0 {
        assert!(wait.again().await, "the sweep does not end");
    }
    assert_eq!(number(&ledger, LEFT), NEEDED + 1);
    assert_eq!(number(&ledger, "SELECT count(*) FROM run WHERE policy = 'yearly'"), 1);
    assert_eq!(
        number(&ledger, "SELECT count(*) FROM run WHERE policy = 'bygone-history' AND outcome = 'interrupted'"),
        1
    );
    let newest = format!("{LEFT} AND id > printf('00000000-0000-7000-8000-%012x', {})", OLD - NEEDED);
    assert_eq!(number(&ledger, &newest), NEEDED, "the newest are those that stay");
    assert_eq!(ask(port, "GET /api/v1/policies/tokens", "", "").lines().last(), standing.lines().last());
    let removed = number(&ledger, "SELECT sum(removed) FROM run WHERE policy = 'bygone-history'");
    assert!(removed <= OLD - NEEDED, "nothing is counted twice: {removed}");
    let metrics = ask(port, "GET /metrics", "", "");
    let labels = "{policy=\"bygone-history\",source=\"bygone-history\"}";
    assert!(metrics.contains(&format!("bygone_items_removed_total{labels} ")), "{metrics}");
    assert!(ask(port, "GET /policies/bygone-history", "", "").starts_with("HTTP/1.1 200"));
    end(running);
    assert_eq!(world.survivors().await, everyone(), "nothing else was swept");
}

#[tokio::test]
async fn a_daemon_tells_more_of_its_history_than_goes_into_one_answer() {
    let world = World::with_tokens(Engine::Sqlite).await;
    end(serve(&world).0);
    age(&mut Connection::open(world.path("state").join("ledger.db")).unwrap(), 450);
    let (running, port) = serve(&world);
    let daemon = format!("http://127.0.0.1:{port}");
    let both = |flags: &[&str]| {
        let flags = [&["history", "--format", "json"], flags].concat();
        let kept = world.run(&[&flags[..], &["--state", "state"]].concat()).ends(0).json();
        assert_eq!(world.run(&[&flags[..], &["--daemon", &daemon]].concat()).ends(0).json(), kept, "{flags:?}");
        kept
    };
    let all = both(&["--limit", "1000"]);
    let all = all["sweeps"].as_array().unwrap();
    assert_eq!(all.len(), 451);
    let newer = both(&["--limit", "250"]);
    assert_eq!(newer["sweeps"].as_array().unwrap()[..], all[..250]);
    let older = both(&["--limit", "250", "--before", newer["next_before"].as_str().unwrap()]);
    assert_eq!((&older["sweeps"].as_array().unwrap()[..], older["next_before"].is_null()), (&all[250..], true));
    end(running);
}

fn end(running: Running) {
    running.signal(Signal::TERM);
    running.end().ends(0);
}
