//! What is told to those who watch: alarms and numbers.

use std::sync::Arc;

use bygone_core::{Brake, Clock, SystemClock};
use bygone_server::{AlarmKind, AlarmRules, Daemon, Ledger};

use crate::daemon::Running;
use crate::shelves::{Shelves, shelf};

pub(crate) const FOUR_AT_MOST: Brake = Brake { fraction: 1.0, over_items: 0, max_items: Some(4) };

/// The value of a line of metrics.
fn value<'a>(text: &'a str, line: &str) -> &'a str {
    let found = text.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {line} in\n{text}"))
}

#[tokio::test]
async fn what_was_done_is_counted_by_policy_and_source() {
    let (one, two) = (shelf(3), shelf(2));
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &one, None), ("a-q", &two, None)]))).await;
    running.swept("a-p").await;
    let text = running.daemon.metrics().await.unwrap();
    let of = |name: &str| value(&text, &format!("bygone_{name}{{policy=\"a-p\",source=\"a\"}}"));
    assert_eq!((of("items_removed_total"), of("items_cleared_total"), of("pages_total")), ("3", "0", "1"));
    assert_eq!((of("page_seconds_count"), of("sweep_seconds_count")), ("1", "1"));
    assert_eq!((of("lag_seconds"), of("backlog_items"), of("held")), ("0.0", "0.0", "0.0"));
    assert_eq!(of("aborts_on_activity_total"), "0");
    let now = SystemClock::new().now().as_second();
    #[expect(clippy::cast_precision_loss, reason = "seconds of this century fit")]
    let ago = now as f64 - of("last_success_timestamp_seconds").parse::<f64>().unwrap();
    assert!((-1.0..600.0).contains(&ago), "{ago}");
    let kept = "bygone_items_kept_back_total{policy=\"a-p\",source=\"a\",reason=\"locked\"}";
    assert_eq!(value(&text, kept), "0");
    assert_eq!(value(&text, "bygone_runs_total{policy=\"a-p\",source=\"a\",outcome=\"complete\"}"), "1");
    assert_eq!(value(&text, "bygone_items_removed_total{policy=\"a-q\",source=\"a\"}"), "0", "nobody ran it");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!((two.keys().len(), running.end().await.len()), (3, 1));
}

#[tokio::test]
async fn a_policy_that_stands_against_the_brake_is_an_alarm_until_it_does_not() {
    let items = shelf(5);
    let running = Running::over(Arc::new(Shelves::new(&[("a-p", &items, None)]).braked_by(FOUR_AT_MOST))).await;
    assert_eq!(running.daemon.alarms(), []);
    running.swept("a-p").await;
    let alarms = running.daemon.alarms();
    assert_eq!((alarms.len(), alarms[0].kind, alarms[0].policy.as_str()), (1, AlarmKind::Brake, "a-p"));
    let text = running.daemon.metrics().await.unwrap();
    assert_eq!(value(&text, "bygone_alarm{policy=\"a-p\",kind=\"brake\"}"), "1");
    assert_eq!(value(&text, "bygone_backlog_items{policy=\"a-p\",source=\"a\"}"), "5.0");
    assert_eq!(items.keys().len(), 6, "nothing went");
    running.daemon.replace(Arc::new(Shelves::new(&[("a-p", &items, None)])));
    running.swept("a-p").await;
    assert_eq!((running.daemon.alarms(), items.keys()), (vec![], vec!["alive".to_owned()]));
    let text = running.daemon.metrics().await.unwrap();
    assert_eq!(value(&text, "bygone_alarm{policy=\"a-p\",kind=\"brake\"}"), "0");
    running.end().await;
}

/// What grows from nothing to one must have been nothing before.
#[tokio::test]
async fn every_series_of_a_policy_stands_at_zero_before_its_first_run() {
    let items = shelf(5);
    let leases = |shelves: Shelves| Arc::new(shelves.with_leases("b-l"));
    let running = Running::over(leases(Shelves::new(&[("a-p", &items, None), ("b-l", &items, None)]))).await;
    let text = running.daemon.metrics().await.unwrap();
    let zero = |line: &str| assert_eq!(value(&text, line), "0", "{line}");
    for name in ["items_removed", "items_cleared", "removed_bytes", "pages", "page_failures", "aborts_on_activity"] {
        zero(&format!("bygone_{name}_total{{policy=\"a-p\",source=\"a\"}}"));
    }
    for name in ["page_seconds_count", "sweep_seconds_count"] {
        zero(&format!("bygone_{name}{{policy=\"a-p\",source=\"a\"}}"));
    }
    for reason in ["referenced", "locked", "unreadable", "conflict"] {
        zero(&format!("bygone_items_kept_back_total{{policy=\"a-p\",source=\"a\",reason=\"{reason}\"}}"));
    }
    for outcome in bygone_core::Outcome::ALL.map(bygone_core::Outcome::as_str) {
        zero(&format!("bygone_runs_total{{policy=\"a-p\",source=\"a\",outcome=\"{outcome}\"}}"));
    }
    for kind in AlarmKind::ALL.map(AlarmKind::as_str) {
        zero(&format!("bygone_alarm{{policy=\"a-p\",kind=\"{kind}\"}}"));
    }
    for name in ["leases_cleared", "decision_markers_deleted", "index_entries_deleted", "messages_deleted"] {
        zero(&format!("bygone_{name}_total{{policy=\"b-l\",source=\"b\"}}"));
        assert!(!text.contains(&format!("bygone_{name}_total{{policy=\"a-p\"")), "rows have none:\n{text}");
    }
    running.daemon.replace(Arc::new(Shelves::new(&[("a-new", &items, None)])));
    let text = running.daemon.metrics().await.unwrap();
    assert_eq!(value(&text, "bygone_items_removed_total{policy=\"a-new\",source=\"a\"}"), "0");
    running.end().await;
}

#[tokio::test]
async fn what_is_known_and_held_outlives_the_daemon() {
    let items = shelf(5);
    let running =
        Running::over(Arc::new(Shelves::new(&[("a-p", &items, None), ("a-q", &items, None)]).braked_by(FOUR_AT_MOST)))
            .await;
    running.swept("a-p").await;
    running.daemon.pause(Some("a-q")).await.unwrap();
    let directory = running.leave().await;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let ledger = Ledger::open(&directory.path().join("ledger.db"), Arc::clone(&clock)).await.unwrap();
    let estate = Arc::new(Shelves::new(&[("a-p", &items, None), ("a-q", &items, None)]));
    let daemon = Daemon::new(estate, ledger, clock, AlarmRules::default()).await.unwrap();
    assert_eq!((daemon.held("a-p"), daemon.held("a-q")), (None, Some("the policy is paused")));
    let running = Running::of(daemon, directory);
    while running.daemon.alarms().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.daemon.alarms()[0].kind, AlarmKind::Brake);
    running.daemon.resume(Some("a-q")).await.unwrap();
    assert_eq!(running.daemon.held("a-q"), None);
    running.end().await;
}
