//! What was answered is on the disk: the calls of the program, as the kernel sees them.

use std::fs;

use super::shop::Shop;
use crate::support::{Run, clean};

const CALLS: &str = "trace=write,pwrite64,fsync,fdatasync";

/// Runs the program under `strace`, and gives its calls, one a line.
fn traced(shop: &Shop, arguments: &[&str]) -> String {
    let trace = shop.path("trace");
    let inner = shop.bygone(arguments);
    let mut command = clean("strace", &["--follow-forks", "--decode-fds=path", "-e", CALLS, "-o"]);
    command.arg(&trace).arg(inner.get_program()).args(inner.get_args()).current_dir(shop.path(""));
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap_or_else(|error| panic!("cannot run strace: {error}; `./test` installs it"));
    Run::from(output).ends(0);
    fs::read_to_string(trace).unwrap()
}

/// Follows the calls: how many answers there were, each of them with nothing in the log that was not synced.
fn answers(calls: &str) -> usize {
    let (mut is_dirty, mut syncing, mut syncs, mut answers) = (false, None, 0, 0);
    for call in calls.lines() {
        let process = call.split_whitespace().next();
        let (is_log, is_sync) = (call.contains("leases.db-wal>"), call.contains("sync"));
        if is_log && call.contains("pwrite64(") {
            is_dirty = true;
        } else if is_log && is_sync && call.contains("<unfinished") {
            syncing = process;
        } else if (is_log && is_sync) || (call.contains("sync resumed") && syncing == process) {
            assert!(call.ends_with("= 0"), "{call}");
            (is_dirty, syncs) = (false, syncs + 1);
        } else if call.contains(" write(1<") {
            assert!(!is_dirty, "answered before it was on the disk:\n{calls}");
            answers += 1;
        }
    }
    assert!(syncs > 0, "nothing was synced:\n{calls}");
    answers
}

/// Defect 16 of the original: an answer came before what it told of was on the disk.
#[test]
fn defect_16_what_is_answered_is_on_the_disk() {
    let shop = Shop::new();
    fs::write(shop.path("lease.json"), shop.acquire("k", &["--ttl", "10m"])).unwrap();
    for arguments in [
        &["lease", "acquire", "--key", "other"][..],
        &["lease", "update", "--lease", "lease.json", "--text", "state"],
        &["lease", "release", "--lease", "lease.json"],
        &["queue", "send", "--queue", "q", "--text", "hello"],
    ] {
        assert_eq!(answers(&traced(&shop, arguments)), 1, "{arguments:?}");
    }
}
