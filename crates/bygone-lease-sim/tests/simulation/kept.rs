//! Without a planted bug no promise is broken, and everything that may go wrong did.

use bygone_lease_sim::{Report, Settings, play};

const OPERATIONS: u64 = 1_000_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
}

fn run(seed: u64, operations: u64) -> Report {
    play(Settings { seed, operations }).unwrap_or_else(|broken| panic!("{broken}"))
}

#[test]
fn a_seed_plays_the_same_way_again() {
    let first = run(7, 3_000);
    assert_eq!(first, run(7, 3_000));
    assert_ne!(first.trace, run(8, 3_000).trace);
}

#[test]
fn promises_are_kept_in_bad_weather() {
    let (seed, operations) = (setting("BYGONE_SIM_SEED", 1), setting("BYGONE_SIM_OPERATIONS", OPERATIONS));
    let report = run(seed, operations);
    println!("{report:#?}");
    assert!(report.operations >= operations && !report.is_stopped);
    if operations < OPERATIONS {
        return;
    }
    let faults = [
        "throttled",
        "collided",
        "unreachable",
        "lost_request",
        "lost_reply",
        "late",
        "sent_twice",
        "stall",
        "stale_listing",
        "bare_listing",
        "crash",
        "pause",
        "overdue",
    ];
    assert_eq!(report.faults.len(), faults.len(), "{:?}", report.faults);
    for fault in faults {
        assert!(report.faults.get(fault).is_some_and(|fired| *fired >= 2_000), "{fault}: {:?}", report.faults);
    }
    // What should be refused was, and what nobody can know was said to be unknown; and most things went well.
    for (what, how, least) in [
        ("acquire", "ok", 10_000),
        ("acquire", "waiting", 10_000),
        ("acquire again", "ok", 100),
        ("update", "ok", 5_000),
        ("update", "fencing_mismatch", 100),
        ("update", "lease_expired", 100),
        ("update", "outcome_unknown", 1),
        ("update and release", "ok", 5_000),
        ("update large", "ok", 5_000),
        ("attach", "ok", 3_000),
        ("attach staged", "ok", 1_000),
        ("stage large", "ok", 500),
        ("detach", "ok", 1_000),
        ("get attachment", "ok", 1_000),
        ("list attachments", "ok", 1_000),
        ("remove", "ok", 1_000),
        ("keepalive", "ok", 5_000),
        ("commit", "ok", 5_000),
        ("commit", "txn_conflict", 1_000),
        ("commit", "outcome_unknown", 100),
        ("commit early", "ok", 1_000),
        ("rollback", "ok", 5_000),
        ("describe", "ok", 5_000),
        ("enqueue", "ok", 10_000),
        ("enqueue with ttl", "ok", 5_000),
        ("enqueue staged", "ok", 5_000),
        ("dequeue", "ok", 10_000),
        ("ack", "ok", 10_000),
        ("ack", "fencing_mismatch", 100),
        ("nack", "ok", 1_000),
        ("extend", "ok", 1_000),
        ("sweep", "ok", 1_000),
        ("idle sweep", "complete", 100),
        ("idle sweep", "activity", 50),
        ("idle sweep", "requests", 1_000),
        ("idle sweep", "swept by another", 10),
        ("idle sweep", "busy", 100),
    ] {
        assert!(report.answered(what, how) >= least, "{what}: {how}: {:#?}", report.answers);
    }
    assert!(report.linearized >= 200_000 && report.nights >= 500, "{report:?}");
}
