//! `bygone lease exec`: a command under a lease.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::process::Signal;
use serde_json::json;

use super::shop::{Shop, parsed, until, until_written};
use crate::support::{PROGRAM, Run, Running};

/// Runs until somebody makes the file `go`, once it has said that it runs; and no longer than its directory is there.
pub(crate) const UNTIL_GO: &str = "echo up > up; while test -e up && ! test -e go; do sleep 0.02; done";

fn exec<'a>(key: &'a str, flags: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&["lease", "exec", "--key", key], flags, &["--", "sh", "-c", script]].concat()
}

#[test]
fn the_command_has_its_token_and_the_lease() {
    let shop = Shop::new();
    symlink(PROGRAM, shop.path("bygone")).unwrap();
    // It can use the lease without a flag, wherever it goes.
    let script = "cd /; echo $BYGONE_FENCING_TOKEN $BYGONE_LEASE_KEY $BYGONE_LEASE_ID; \
                  \"$OLDPWD\"/bygone lease describe --key k --json > $OLDPWD/seen; \
                  \"$OLDPWD\"/bygone lease update --text mine > $OLDPWD/version";
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let mut command = shop.bygone(&exec("k", &["--store", "file:store", "--owner", "ada"], script));
        let run = Run::of(command.env_remove("BYGONE_STORE")).ends(0);
        let words: Vec<&str> = run.stdout.split_whitespace().collect();
        let seen = parsed(&fs::read_to_string(shop.path("seen")).unwrap());
        assert_eq!([&seen["owner"], &seen["fencing_token"].to_string().into()], ["ada", words[0]]);
        assert_eq!(words[1], "k");
        assert_eq!(words[2].len(), 36, "{words:?}");
        tokens.push(words[0].parse::<u64>().unwrap());
        let after = shop.describe("k");
        assert_eq!([&after["owner"], &after["fencing_token"]], [&json!(null), &seen["fencing_token"]]);
        assert_eq!(run.stderr, "", "nothing to tell");
    }
    assert!(tokens[0] < tokens[1], "{tokens:?}");
    assert_eq!(shop.state("k").as_deref(), Some("mine"));
}

#[test]
fn it_ends_as_the_command_does() {
    let shop = Shop::new();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 79", 79)] {
        shop.run(&exec("k", &[], script)).ends(code);
        assert_eq!(shop.describe("k")["owner"], json!(null), "given back after {script}");
    }
    shop.run(&["lease", "exec", "--key", "k", "--", "/no/such/program"]).ends(1).says(&["cannot run /no/such/program"]);
    assert_eq!(shop.describe("k")["owner"], json!(null), "given back also then");
    let run = shop.pipe(&["lease", "exec", "--key", "k", "--", "cat"], "standard input is the command's");
    assert_eq!(run.ends(0).stdout, "standard input is the command's");
}

#[test]
fn a_lease_is_kept_alive_while_the_command_runs() {
    let shop = Shop::new();
    let running = Running::start(&mut shop.bygone(&exec("k", &["--ttl", "1s"], UNTIL_GO)));
    until_written(&shop.path("up"));
    let first = shop.describe("k");
    // Past the end that it was given with, and longer: also for others, who wait for clocks that differ.
    let long: jiff::Timestamp = first["expires_at"].as_str().unwrap().parse().unwrap();
    let long = format!("{:.3}", long + jiff::SignedDuration::from_secs(3));
    until("it is extended", || shop.describe("k")["expires_at"].as_str() > Some(&long));
    shop.run(&["lease", "acquire", "--key", "k"]).ends(75);
    assert_eq!(shop.describe("k")["fencing_token"], first["fencing_token"], "it is the same lease");
    assert!(running.is_alive());
    fs::write(shop.path("go"), "").unwrap();
    running.end().ends(0);
    shop.acquire("k", &[]);
}

#[test]
fn what_somebody_else_holds_is_not_run() {
    let shop = Shop::new();
    let held = shop.acquire("k", &["--owner", "ada", "--ttl", "10m"]);
    let run = shop.run(&exec("k", &[], "echo ran")).ends(75).says(&["held by \"ada\""]);
    assert_eq!(run.stdout, "");
    shop.run(&exec("k", &["--wait", "50ms"], "echo ran")).ends(75);
    // Whoever waits for long enough gets it.
    let waiting = Running::start(&mut shop.bygone(&exec("k", &["--wait", "forever"], "echo ran")));
    let waiting_too = Running::start(&mut shop.bygone(&exec("k", &["--wait", "1m"], "echo ran")));
    shop.pipe(&["lease", "release", "--lease", "-"], &held).ends(0);
    assert_eq!(waiting.end().ends(0).stdout, "ran\n");
    assert_eq!(waiting_too.end().ends(0).stdout, "ran\n");
}

#[test]
fn signals_are_passed_on() {
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP"), (Signal::QUIT, "QUIT")] {
        let shop = Shop::new();
        let script = format!("trap 'exit 5' {name}; {UNTIL_GO}");
        let running = Running::start(&mut shop.bygone(&exec("k", &[], &script)));
        until_written(&shop.path("up"));
        running.signal(signal);
        running.end().ends(5);
        assert_eq!(shop.describe("k")["owner"], json!(null), "given back after {name}");
    }
    // One that the command does not heed is none of ours.
    let shop = Shop::new();
    let script = format!("trap '' INT; {UNTIL_GO}");
    let running = Running::start(&mut shop.bygone(&exec("k", &[], &script)));
    until_written(&shop.path("up"));
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    fs::write(shop.path("go"), "").unwrap();
    running.end().ends(0);
}

/// The command may be a shell that runs others: they get what it gets, and it ends as it always would.
#[test]
fn the_whole_group_is_told() {
    let shop = Shop::new();
    let script =
        "sh -c 'trap \"echo told > told; exit\" TERM; echo up > up; while test -e up; do sleep 0.02; done' & wait";
    let running = Running::start(&mut shop.bygone(&exec("k", &[], script)));
    until_written(&shop.path("up"));
    running.signal(Signal::TERM);
    running.end().ends(143);
    assert_eq!(until_written(&shop.path("told")), "told");
}

#[test]
fn whoever_is_told_to_stop_while_he_waits_starts_nothing() {
    let shop = Shop::new();
    let held = shop.acquire("k", &["--ttl", "10m"]);
    let mut command = shop.bygone(&exec("k", &["--wait", "forever"], "echo ran > ran"));
    let running = Running::start(command.env("BYGONE_LOG", "trace"));
    until("it listens", || listens(running.pid()));
    running.signal(Signal::TERM);
    running.end().ends(143);
    shop.pipe(&["lease", "release", "--lease", "-"], &held).ends(0);
    assert!(!shop.path("ran").exists());
    shop.acquire("k", &[]);
}

/// Whether a process has a handler for SIGTERM.
fn listens(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    caught & (1 << (Signal::TERM.as_raw() - 1)) != 0
}

/// As `nohup` has it.
#[test]
fn what_was_ignored_before_stays_ignored() {
    let shop = Shop::new();
    let script = format!("trap '' HUP; exec {PROGRAM} lease exec --key k -- sh -c '{UNTIL_GO}'");
    let mut command = shop.bygone(&[]);
    let program = std::mem::replace(&mut command, std::process::Command::new("sh"));
    command.args(["-c", &script]).stdin(std::process::Stdio::null()).current_dir(shop.path("")).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let running = Running::start(&mut command);
    until_written(&shop.path("up"));
    running.signal(Signal::HUP);
    fs::write(shop.path("go"), "").unwrap();
    running.end().ends(0);
}

/// In the foreground of a terminal the command stays where it can read from it; elsewhere it has a group of its own.
#[test]
fn the_group_follows_the_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let shop = Shop::new();
    let script = "cut -d' ' -f5 /proc/$$/stat /proc/$PPID/stat | uniq | wc -l";
    let groups = |run: Run| run.ends(0).stdout.trim().to_owned();
    assert_eq!(groups(shop.run(&exec("k", &[], script))), "2");
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let end = fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    assert_eq!(groups(Run::of(shop.bygone(&exec("k", &[], script)).stdin(end))), "1");
}
