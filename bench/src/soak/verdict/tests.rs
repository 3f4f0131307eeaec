use super::super::record::{Trouble, Who};
use super::*;

const WARM_UP: Duration = Duration::from_secs(10);

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A life of so many measurements, a second apart.
fn life(
    life: usize,
    from: u64,
    count: u64,
    memory_kib: impl Fn(u64) -> u64,
    handles: impl Fn(u64) -> u64,
) -> Vec<Sample> {
    (0..count).map(|n| Sample { at: secs(from + n), life, memory_kib: memory_kib(n), handles: handles(n) }).collect()
}

fn met(samples: &[Sample]) -> Vec<bool> {
    growth(samples, WARM_UP).iter().map(Verdict::is_met).collect()
}

#[test]
fn flat_and_sawtooth_series_do_not_grow() {
    let flat = life(1, 0, 300, |n| 40_000 + n % 7, |n| 30 + n % 3);
    assert_eq!(met(&flat), [true, true]);
    let sawtooth = life(1, 0, 300, |n| 40_000 + (n % 50) * 300, |n| 30 + (n % 20));
    assert_eq!(met(&sawtooth), [true, true]);
}

#[test]
fn a_leak_of_memory_or_of_handles_is_growth() {
    let memory = life(1, 0, 300, |n| 40_000 + n * 60, |_| 30);
    assert_eq!(met(&memory), [false, true]);
    let handles = life(1, 0, 300, |_| 40_000, |n| 30 + n / 10);
    assert_eq!(met(&handles), [true, false]);
}

#[test]
fn what_a_daemon_takes_while_it_warms_up_is_no_growth() {
    let warm = life(1, 0, 300, |n| 40_000.min(10_000 + n * 3_000), |n| 30.min(n * 3));
    assert_eq!(met(&warm), [true, true]);
}

#[test]
fn the_daemon_that_lived_longest_is_judged_and_no_jump_between_two() {
    let mut samples = life(1, 0, 50, |n| 10_000 + n * 1_000, |_| 10);
    samples.extend(life(2, 50, 200, |_| 90_000, |_| 90));
    samples.extend(life(3, 250, 40, |_| 400_000, |_| 400));
    assert!(longest_life(&samples, WARM_UP).iter().all(|sample| sample.life == 2));
    assert_eq!(met(&samples), [true, true]);
}

#[test]
fn a_life_that_was_too_short_is_not_judged() {
    assert!(growth(&life(1, 0, 15, |n| n * 100_000, |n| n * 100), WARM_UP).is_empty());
    assert!(growth(&[], WARM_UP).is_empty());
}

fn pace() -> Pace {
    Pace::of_minutes(60)
}

fn late(part: Part, at: u64, oldest: u64) -> Lag {
    Lag { at: secs(at), part, oldest: secs(oldest), overdue: 1 }
}

#[test]
fn lag_that_grows_is_seen_and_lag_of_a_standstill_is_not() {
    let steady: Vec<Lag> = (0..100).map(|n| late(Part::Tokens, n * 3, n % 6)).collect();
    assert!(lag(Part::Tokens, &steady, &[], pace()).is_met());
    let growing: Vec<Lag> = (0..100).map(|n| late(Part::Tokens, n * 3, n)).collect();
    assert!(!lag(Part::Tokens, &growing, &[], pace()).is_met());
    assert!(lag(Part::Codes, &growing, &[], pace()).is_met(), "each part has its own");

    let stopped = [Disturbance { fault: Fault::Freeze, from: secs(100), to: secs(160) }];
    assert!(lag(Part::Tokens, &[late(Part::Tokens, 165, 65)], &stopped, pace()).is_met());
    assert!(!lag(Part::Tokens, &[late(Part::Tokens, 195, 95)], &stopped, pace()).is_met(), "it never came back");
    let reload = [Disturbance { fault: Fault::Reload, from: secs(100), to: secs(160) }];
    assert!(!lag(Part::Tokens, &[late(Part::Tokens, 165, 65)], &reload, pace()).is_met(), "a reload stops nobody");
}

#[test]
fn lag_that_the_daemon_tells_is_held_to_the_same() {
    let told = |at, lag| Told { at: secs(at), policy: "expired-codes".to_owned(), lag: secs(lag), backlog: None };
    assert!(told_lag(Part::Codes, &[told(50, 20)], &[], pace()).is_met());
    assert!(!told_lag(Part::Codes, &[told(50, 21)], &[], pace()).is_met());
    let held = [Disturbance { fault: Fault::Hold, from: secs(20), to: secs(40) }];
    assert!(told_lag(Part::Codes, &[told(50, 35)], &held, pace()).is_met());
}

fn run(sweep: &str, policy: &str, (began, ended): (u64, u64), outcome: &str) -> Run {
    Run {
        sweep: sweep.to_owned(),
        policy: policy.to_owned(),
        began: secs(began),
        ended: Some(secs(ended)),
        outcome: Some(outcome.to_owned()),
        removed: 10,
        error: None,
    }
}

#[test]
fn a_failed_sweep_needs_a_fault_of_its_own_source() {
    let cut = [Disturbance { fault: Fault::Cut, from: secs(50), to: secs(51) }];
    let failed = |policy, at| [run("s", policy, (at, at + 1), "failed")];
    assert!(failures(&failed("expired-tokens", 50), &cut).is_met());
    assert!(!failures(&failed("expired-tokens", 70), &cut).is_met());
    assert!(!failures(&failed("expired-codes", 50), &cut).is_met());
    assert!(!failures(&failed("bygone-history", 50), &cut).is_met(), "nothing happens to the history");
    assert!(!failures(&[run("s", "expired-tokens", (90, 91), "refused")], &cut).is_met());
    assert!(failures(&[run("s", "expired-tokens", (90, 91), "held")], &cut).is_met());
}

#[test]
fn only_a_kill_interrupts() {
    let interrupted = [run("s", "expired-codes", (10, 14), "interrupted")];
    let at = |fault| [Disturbance { fault, from: secs(11), to: secs(14) }];
    assert!(interruptions(&interrupted, &at(Fault::Kill)).is_met());
    assert!(!interruptions(&interrupted, &at(Fault::Restart)).is_met());
    let open = Run { ended: None, outcome: None, ..interrupted[0].clone() };
    assert!(!interruptions(&[open], &at(Fault::Kill)).is_met());
}

#[test]
fn a_history_tells_of_each_sweep_once() {
    let runs =
        [run("a", "p", (1, 2), "complete"), run("b", "p", (2, 3), "complete"), run("b", "q", (2, 3), "complete")];
    let listed = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let gone = BTreeMap::from([("p", 20), ("q", 10)]);
    assert!(history(&runs, &listed(&["b", "a"]), &gone).is_met());
    assert!(!history(&runs, &listed(&["b", "a", "b"]), &gone).is_met(), "listed twice");
    assert!(!history(&runs, &listed(&["c"]), &gone).is_met(), "listed, and unknown to the file");
    assert!(!history(&runs, &[], &BTreeMap::from([("p", 19)])).is_met(), "more removed than gone");
    let beside = [run("a", "p", (1, 5), "complete"), run("b", "p", (3, 6), "complete")];
    assert!(!history(&beside, &[], &BTreeMap::new()).is_met(), "two sweeps of a policy at once");
}

#[test]
fn trouble_needs_a_fault() {
    let trouble = Trouble { from: secs(30), to: secs(31), who: Who::Asker, what: "refused".to_owned() };
    let mut seen = Seen { troubles: vec![trouble], ..Seen::default() };
    assert!(!troubles(&seen).is_met());
    seen.disturbances.push(Disturbance { fault: Fault::Kill, from: secs(29), to: secs(33) });
    assert!(troubles(&seen).is_met());
}

#[test]
fn a_single_item_too_early_or_left_is_told_with_its_name() {
    let early_item = super::super::book::Early {
        part: Part::Staged,
        id: "ab/file".to_owned(),
        until: jiff::Timestamp::MAX,
        missed: jiff::Timestamp::UNIX_EPOCH,
    };
    let seen = Seen { early: vec![early_item], ..Seen::default() };
    let verdict = early(Part::Staged, &seen);
    assert!(!verdict.is_met() && verdict.reasons().concat().contains("ab/file"));
    assert!(early(Part::Tokens, &seen).is_met());
    assert!(left(Part::Tokens, 0, 0).is_met());
    assert!(!left(Part::Tokens, 1, 0).is_met());
    assert!(!left(Part::Tokens, 0, 1).is_met());
}

#[test]
fn the_ledger_may_grow_by_its_sweeps_alone() {
    use super::super::record::Space;
    let spaces = |bytes: fn(u64) -> u64| {
        let space = |n| Space { at: secs(n), ledger: bytes(n), sweeps: n, ..Space::default() };
        Seen { spaces: (1..100).map(space).collect(), ..Seen::default() }
    };
    assert!(ledger(&spaces(|n| 1_000 * n)).unwrap().is_met());
    assert!(!ledger(&spaces(|n| 100 * n * n)).unwrap().is_met());
}

#[test]
fn what_nobody_looked_at_proves_nothing() {
    let lags: Vec<Lag> = Part::ALL.into_iter().map(|part| late(part, 1, 0)).collect();
    let told = |part: Part| Told { at: secs(1), policy: part.policy().to_owned(), lag: Duration::ZERO, backlog: None };
    let mut seen = Seen { lags, told: Part::ALL.into_iter().map(told).collect(), ..Seen::default() };
    assert!(unwatched(&seen).is_met());
    seen.told.retain(|told| told.policy != Part::Staged.policy());
    assert_eq!(unwatched(&seen).reasons.concat(), "staged");
    seen.lags.clear();
    assert!(!unwatched(&seen).is_met());
}
