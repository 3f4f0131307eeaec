//! Two daemons over the same database and the same lease store, either of which is killed again and again.

use std::collections::BTreeSet;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_testkit::wait::Wait;
use bygone_testkit::{SeaweedFs, TestBucket};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::{Connection, OpenFlags};
use rustix::process::Signal;

use crate::support::{BYGONE_LAST, Client, Engine, LAST, PAST, Run, Running, TOKENS, World, living, seed};

const KILLS: u32 = 20;
/// Some must have hit a daemon in the middle of a sweep, or nothing was shown: until then it goes on.
const INTERRUPTED_MIN: u32 = 3;
const KILLS_MAX: u32 = 100;
/// Rows that every round adds, a page of which is a twelfth.
const ADDED: u32 = 60;
const STATES: [&str; 2] = ["one", "two"];

/// The tokens in small pages, and the messages of a store in a bucket.
fn policies(bucket: &TestBucket) -> String {
    let url = bucket.url();
    format!(
        "{TOKENS}every = \"1s\"\nbudget = {{ page = 5, pause = \"50ms\" }}\n\n[source.store]\nurl = \"{url}\"\n\n[[policy]]\n\
         name = \"leases\"\nsource = \"store\"\nkind = \"leases\"\nevery = \"1s\"\n"
    )
}

struct Site {
    world: World,
    bucket: TestBucket,
    messages: u32,
}

impl Site {
    fn serve(&self, state: &str) -> Running {
        let mut command = self.world.bygone(&["serve", "--state", state]);
        let mut running = Running::start(command.envs(self.bucket.credentials()));
        running.until_it_says("serving");
        running
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.world.bygone(arguments);
        Run::of(command.envs(self.bucket.credentials()).env("BYGONE_STORE", self.bucket.url()))
    }

    /// A message that nobody will receive in time.
    fn send(&mut self) {
        self.run(&["queue", "send", "--queue", "q", "--text", "late", "--ttl", "1ms"]).ends(0);
        self.messages += 1;
    }

    fn waiting(&self) -> u64 {
        let stats = self.run(&["queue", "stats", "--queue", "q", "--json"]).ends(0).json();
        stats["messages"].as_u64().unwrap()
    }

    fn ledger(&self, state: &str) -> Connection {
        let path = self.world.path(state).join("ledger.db");
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
    }

    /// A number of both histories together.
    fn number(&self, sql: &str) -> u32 {
        STATES.iter().map(|state| self.ledger(state).query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap()).sum()
    }

    fn removed(&self, policy: &str) -> u32 {
        self.number(&format!("SELECT coalesce(sum(removed), 0) FROM run WHERE policy = '{policy}'"))
    }

    fn interrupted(&self) -> u32 {
        self.number("SELECT count(*) FROM sweep WHERE outcome = 'interrupted'")
    }

    fn sweeps(&self) -> Vec<String> {
        let sweeps = |state: &&str| {
            let ledger = self.ledger(state);
            let mut statement = ledger.prepare("SELECT id FROM sweep").unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect::<Vec<String>>()
        };
        STATES.iter().flat_map(sweeps).collect()
    }
}

/// Waits until only the living are left of the tokens.
async fn until_swept(client: &mut Client) {
    let left = living().len();
    client.until(&format!("SELECT CASE WHEN count(*) = {left} THEN 1 ELSE 0 END FROM tokens")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_of_two_daemons_is_killed_sweeps_go_on() {
    let clock = SystemClock::new();
    let mut chance = StdRng::seed_from_u64(seed(&clock));
    let world = World::with_tokens(Engine::Postgres).await;
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    world.configure(&policies(&bucket));
    let mut site = Site { world, bucket, messages: 0 };
    site.send();
    site.run(&["lease", "acquire", "--key", "held", "--ttl", "30m", "--owner", "me"]).ends(0);
    let mut daemons = STATES.map(|state| Some(site.serve(state)));
    let mut client = site.world.client().await;
    let mut kills = 0;
    while kills < KILLS || site.interrupted() < INTERRUPTED_MIN {
        assert!(kills < KILLS_MAX, "{kills} kills have shown too little");
        let first = LAST + 1 + kills * ADDED;
        site.world.add("tokens", first, first + ADDED - 1, PAST).await;
        site.send();
        clock.sleep(Duration::from_millis(chance.random_range(0..1_200))).await;
        let victim = chance.random_range(0..STATES.len());
        daemons[victim].take().unwrap().signal(Signal::KILL);
        // The other one goes on without it, or it goes on itself.
        if chance.random_bool(0.5) {
            daemons[victim] = Some(site.serve(STATES[victim]));
        }
        until_swept(&mut client).await;
        daemons[victim] = daemons[victim].take().or_else(|| Some(site.serve(STATES[victim])));
        kills += 1;
    }
    let mut patience = Wait::up_to(Duration::from_mins(3));
    while site.waiting() > 0 {
        assert!(patience.again().await, "messages are left");
    }
    for daemon in daemons.into_iter().flatten() {
        daemon.signal(Signal::TERM);
        daemon.end().ends(0);
    }
    assert_eq!(site.world.survivors().await, living(), "no row went early");
    let held = site.run(&["lease", "describe", "--key", "held", "--json"]).ends(0).json();
    assert_eq!(held["owner"], "me", "no lease went early");
    let (rows, tokens, messages) = (BYGONE_LAST + kills * ADDED, site.removed("tokens"), site.removed("leases"));
    println!("{kills} kills, {} in a sweep", site.interrupted());
    println!("in the history: {tokens} of {rows} rows and {messages} of {} messages", site.messages);
    // What a killed daemon did in its last moments may be missing; nothing stands there twice.
    assert!(tokens <= rows && messages <= site.messages);
    assert!(tokens >= ADDED && messages > 0, "the history tells of the work");
    let sweeps = site.sweeps();
    assert_eq!(sweeps.iter().collect::<BTreeSet<_>>().len(), sweeps.len());
}
