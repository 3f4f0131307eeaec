//! The daemon: policies run by their times, the history tells of it, and nothing that happens to the process or the file
//! stops that.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rustix::process::Signal;

use crate::support::{BYGONE_LAST, Client, Engine, LAST, PAST, Running, World, living, on_each_engine, policy_over};

/// Soon, and again and again.
const OFTEN: &str = "every = \"1s\"";

fn serve(world: &World, state: &str) -> Running {
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", state]));
    running.until_it_says("serving");
    running
}

/// A history, read beside the daemon that writes it.
fn ledger(world: &World, state: &str) -> Connection {
    let path = world.path(state).join("ledger.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn number(ledger: &Connection, sql: &str) -> u32 {
    ledger.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Waits until only so many tokens are left.
async fn until_left(client: &mut Client, table: &str, left: usize) {
    client.until(&format!("SELECT CASE WHEN count(*) = {left} THEN 1 ELSE 0 END FROM {table}")).await;
}

on_each_engine!(policies_run_by_their_times, a_killed_daemon_is_told_of_by_the_next);

async fn policies_run_by_their_times(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.add_lines(OFTEN);
    let running = serve(&world, "state");
    let mut client = world.client().await;
    until_left(&mut client, "tokens", living().len()).await;
    world.add("tokens", LAST + 1, LAST + 20, PAST).await;
    until_left(&mut client, "tokens", living().len()).await;
    running.signal(Signal::TERM);
    running.end().ends(0).says(&["stopping after this page"]);
    assert_eq!(world.survivors().await, living());
    let ledger = ledger(&world, "state");
    assert_eq!(number(&ledger, "SELECT sum(removed) FROM run"), BYGONE_LAST + 20);
    assert_eq!(number(&ledger, "SELECT count(*) FROM sweep WHERE ended_ms IS NULL OR report IS NULL"), 0);
    assert_eq!(number(&ledger, "SELECT count(*) FROM run WHERE policy NOT IN ('tokens', 'bygone-history')"), 0);
}

/// It stands in the history with what it did: together with what the next one does that is every row, once.
async fn a_killed_daemon_is_told_of_by_the_next(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.add_lines(&format!("{OFTEN}\nbudget = {{ page = 10, pause = \"10m\" }}"));
    let running = serve(&world, "state");
    let ledger = ledger(&world, "state");
    let mut wait = bygone_testkit::wait::Wait::up_to(Duration::from_mins(1));
    while number(&ledger, "SELECT coalesce(sum(removed), 0) FROM run") == 0 {
        assert!(wait.again().await, "the history does not tell of the first page");
    }
    running.signal(Signal::KILL);
    drop(running);
    assert_eq!(number(&ledger, "SELECT count(*) FROM sweep WHERE ended_ms IS NULL"), 1);
    world.add_lines(OFTEN);
    let running = serve(&world, "state");
    until_left(&mut world.client().await, "tokens", living().len()).await;
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert_eq!(world.survivors().await, living());
    assert_eq!(number(&ledger, "SELECT count(*) FROM sweep WHERE outcome = 'interrupted'"), 1);
    assert_eq!(number(&ledger, "SELECT sum(removed) FROM run WHERE outcome = 'interrupted'"), 10);
    assert_eq!(number(&ledger, "SELECT sum(removed) FROM run"), BYGONE_LAST);
}

#[tokio::test]
async fn a_file_that_is_wrong_leaves_the_old_one_in_force_and_a_right_one_takes_over() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.make_table("sessions").await;
    world.add_lines(OFTEN);
    let mut running = serve(&world, "state");
    let mut client = world.client().await;
    until_left(&mut client, "tokens", living().len()).await;

    world.add_lines("evry = \"1s\"");
    let said = running.until_it_says("the one before stays in force");
    assert!(said.contains("config::unknown_key") && said.contains("evry"), "{said}");
    world.add("tokens", LAST + 1, LAST + 20, PAST).await;
    until_left(&mut client, "tokens", living().len()).await;

    world.add("sessions", 1, 20, PAST).await;
    world.add_lines(&format!("{OFTEN}\n{}{OFTEN}", policy_over("sessions")));
    running.until_it_says("the configuration was read anew: 2 policies");
    until_left(&mut client, "sessions", 0).await;
    running.signal(Signal::HUP);
    running.until_it_says("the configuration was read anew: 2 policies");
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn two_daemons_over_one_database_share_the_work() {
    let world = World::with_tokens(Engine::Postgres).await;
    world.add_lines(OFTEN);
    let daemons = [serve(&world, "one"), serve(&world, "two")];
    let mut client = world.client().await;
    for round in 0..5 {
        until_left(&mut client, "tokens", living().len()).await;
        world.add("tokens", LAST + 1 + round * 20, LAST + 20 + round * 20, PAST).await;
    }
    until_left(&mut client, "tokens", living().len()).await;
    for daemon in daemons {
        daemon.signal(Signal::TERM);
        daemon.end().ends(0);
    }
    assert_eq!(world.survivors().await, living());
    let removed = |state| number(&ledger(&world, state), "SELECT coalesce(sum(removed), 0) FROM run");
    assert_eq!(removed("one") + removed("two"), BYGONE_LAST + 5 * 20, "each row is counted once");
}

#[tokio::test]
async fn a_state_is_one_daemons() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let running = serve(&world, "state");
    let run = world.run(&["serve", "--state", "state"]).ends(75);
    run.says(&["another daemon keeps its state in state", "--state DIR"]);
    running.signal(Signal::TERM);
    running.end().ends(0).says(&["never run by themselves: tokens"]);
    world.run(&["serve", "--now", "2026-01-01T00:00:00Z"]).ends(64).says(&["a daemon has no `--now`"]);
    world.run(&["serve", "--state", "bygone.toml"]).ends(64).says(&["the state cannot be kept in bygone.toml"]);
}

/// Hears what the service manager would.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    fn new(world: &World) -> Self {
        let socket = UnixDatagram::bind(world.path("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Self { socket }
    }

    /// The next message that is no sign of life.
    fn hears(&self) -> String {
        loop {
            let message = self.next();
            if message != "WATCHDOG=1" {
                return message;
            }
        }
    }

    fn next(&self) -> String {
        let mut message = [0; 4_096];
        let length = self.socket.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap().trim_end().to_owned()
    }
}

#[tokio::test]
async fn the_service_manager_is_told_of_beginning_reloads_life_and_end() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("every = \"1h\"");
    let manager = Manager::new(&world);
    let mut command = world.bygone(&["serve", "--state", "state"]);
    command.env("NOTIFY_SOCKET", world.path("notify")).env("WATCHDOG_USEC", "20000");
    let mut running = Running::start(&mut command);
    assert_eq!(manager.next(), "READY=1\nSTATUS=1 policy runs by its time");
    assert_eq!(manager.next(), "WATCHDOG=1");
    running.until_it_says("serving");
    running.signal(Signal::HUP);
    let reloading = manager.hears();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(manager.hears(), "READY=1\nSTATUS=1 policy runs by its time");
    world.add_lines("evry = \"1s\"");
    assert!(manager.hears().starts_with("RELOADING=1"));
    assert!(manager.hears().ends_with("the one before stays in force"));
    running.signal(Signal::TERM);
    assert_eq!(manager.hears(), "STOPPING=1");
    running.end().ends(0);
}

/// The unit names a command and codes: they are the program's.
#[tokio::test]
async fn the_unit_runs_what_there_is() {
    let unit = include_str!("../../../../packaging/bygone.service");
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let mut words = value("ExecStart=").split(' ');
    assert_eq!(words.next(), Some("/usr/bin/bygone"));
    let arguments: Vec<&str> = words.chain(["--state", "state"]).collect();
    let world = World::with_tokens(Engine::Sqlite).await;
    // The file is missing, and does not come by trying again.
    let run = world.run(&arguments).ends(65);
    run.says(&["/etc/bygone/bygone.toml"]);
    assert_eq!(value("RestartPreventExitStatus="), "64 65");
    assert_eq!((value("Type="), value("StateDirectory=")), ("notify", "bygone"));
}
