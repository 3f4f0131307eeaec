//! Databases that fail in the middle of `bygone sweep`: a server that is killed, a file that may not grow. What lives is
//! there, the report and the exit code say what happened, other sources go on, and the next sweep does the rest.

use std::process::Command;

use bygone_testkit::{MariaDb, Options, Postgres, Sqlite};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::support::{Database, Engine, FUTURE, PAST, Run, Running, TOKENS, World, seed};

const KILLS: u32 = 5;
const ROWS: u32 = 4_000;
const IS_BYGONE: &str = "n % 5 < 2";
const BYGONE: u64 = 1_600;
/// Between two of them is a rest, so that there is time for a kill.
const PAGE: u64 = 10;

/// A policy over another source, which goes on whatever happens to the first.
const BESIDE: &str = r#"
[source.beside]
url = "${BESIDE_URL}"

[[policy]]
name = "beside"
source = "beside"
table = "tokens"
deadline = "expires_at"
keep = "0s"
"#;

/// Two databases, the first with two rows that are due of every five, and a file with one of two.
struct Pair {
    world: World,
    beside: Sqlite,
}

impl Pair {
    async fn over(database: Database) -> Self {
        let pair = Self { world: World::over(database), beside: Sqlite::fresh() };
        pair.world.make_table("tokens").await;
        pair.world.configure(&format!("{TOKENS}budget = {{ page = {PAGE}, pause = \"4ms\" }}\n{BESIDE}"));
        pair.add("n % 5 >= 2", FUTURE).await;
        pair.beside.connect().execute_batch("CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at TEXT)").unwrap();
        pair
    }

    async fn add(&self, condition: &str, day: &str) {
        let missing = format!("{condition} AND n NOT IN (SELECT id FROM tokens)");
        let rows = self.world.database.engine().rows(1, ROWS, &missing, day);
        self.world.run_sql(&format!("INSERT INTO tokens (id, expires_at) {rows}")).await;
    }

    /// Makes due what was.
    async fn fill(&self) {
        self.add(IS_BYGONE, PAST).await;
        let rows = format!("INSERT INTO tokens VALUES (1, '{PAST}'), (2, '{FUTURE}')");
        self.beside.connect().execute_batch(&format!("DELETE FROM tokens; {rows}")).unwrap();
    }

    fn sweep(&self) -> Command {
        let mut command = self.world.bygone(&["sweep", "--format", "json"]);
        command.env("BESIDE_URL", self.beside.url());
        command
    }

    /// How many rows that are due are left. What lives must be there.
    async fn look(&self) -> u64 {
        let mut client = self.world.client().await;
        let living: Vec<String> = (1..=ROWS).filter(|id| id % 5 >= 2).map(|id| id.to_string()).collect();
        assert_eq!(client.texts("SELECT id FROM tokens WHERE id % 5 >= 2 ORDER BY id").await, living);
        client.number("SELECT count(*) FROM tokens WHERE id % 5 < 2").await
    }

    fn assert_the_other_went_on(&self, run: &Run) {
        assert_eq!(run.json()["policies"][1]["removed"], json!(1), "{run:#?}");
        let left: u32 = self.beside.connect().query_row("SELECT sum(id) FROM tokens", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 2);
    }

    async fn finish(&self, left: u64) {
        let run = Run::of(&mut self.sweep()).ends(0);
        assert_eq!(run.json()["policies"][0]["removed"], json!(left));
        assert_eq!(self.look().await, 0);
    }
}

fn removed(run: &Run) -> u64 {
    run.json()["policies"][0]["removed"].as_u64().unwrap()
}

/// What the report says of a sweep that the server did not outlive, beside what is gone.
fn assert_told(run: &Run, gone: u64, durable: bool) {
    let report = run.json();
    let policy = &report["policies"][0];
    assert_eq!((&report["outcome"], &policy["outcome"]), (&json!("partial"), &json!("failed")), "{run:#?}");
    assert!(policy["error"] != Value::Null && policy["help"] != Value::Null, "{run:#?}");
    assert!(gone <= removed(run) + PAGE, "{gone} are gone: {run:#?}");
    let warnings = policy["warnings"].to_string();
    assert!(if durable { removed(run) <= gone } else { warnings.contains("may be there again") }, "{gone}: {run:#?}");
}

macro_rules! killed {
    ($($name:ident: $server:ident, $kind:ident, $durable:literal, $options:expr;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let mut chance = SmallRng::seed_from_u64(seed(&bygone_core::SystemClock::new()));
                let mut server = $server::start($options).await.unwrap();
                let pair = Pair::over(Database::$kind(server.fresh_database().await)).await;
                for _ in 0..KILLS {
                    pair.fill().await;
                    let running = Running::start(&mut pair.sweep());
                    let at = u64::from(ROWS) - chance.random_range(1..BYGONE / 4);
                    pair.world
                        .client()
                        .await
                        .until(&format!("SELECT CASE WHEN count(*) <= {at} THEN 1 ELSE 0 END FROM tokens"))
                        .await;
                    server.kill();
                    let run = running.end().ends(69);
                    server.restart().await.unwrap();
                    let left = pair.look().await;
                    assert_told(&run, BYGONE - left, $durable);
                    pair.assert_the_other_went_on(&run);
                    pair.finish(left).await;
                }
                // What was reported without an error outlives a kill.
                pair.fill().await;
                let run = Run::of(&mut pair.sweep()).ends(0);
                server.kill();
                server.restart().await.unwrap();
                assert_eq!((removed(&run), pair.look().await), (BYGONE, 0));
            }
        )*
    };
}
killed! {
    postgres_is_killed: Postgres, Postgres, false, Options::default().set("fsync", "off").set("wal_writer_delay", "10s");
    mariadb_is_killed: MariaDb, MariaDb, true, Options::default().set("innodb-flush-method", "nosync");
}

/// As if the disk were full: nothing may be written behind so many bytes of a file.
fn with_no_room_behind(bytes: u64, plain: &Command) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    command.args(["-c", script, "sh", &(bytes / 512).to_string()]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(plain.get_current_dir().expect("the configuration's"));
    command
}

/// A log that has no room for the next page; or a file whose end cannot be written, not even to take a page back.
#[tokio::test]
async fn a_file_of_sqlite_that_may_not_grow() {
    for (journal, pages_min) in [("wal", 1), ("delete", 0)] {
        let pair = Pair::over(Database::fresh(Engine::Sqlite).await).await;
        pair.world.client().await.texts(&format!("PRAGMA journal_mode = {journal}")).await;
        pair.fill().await;
        let Database::Sqlite(file) = &pair.world.database else { unreachable!("it was asked for") };
        let bytes = file.path().metadata().unwrap().len();
        let room = if journal == "wal" { bytes } else { bytes / 2 };
        let run = Run::of(&mut with_no_room_behind(room, &pair.sweep())).ends(1);
        let policy = &run.json()["policies"][0];
        assert_eq!(policy["outcome"], "failed", "{run:#?}");
        assert!(policy["pages"].as_u64().unwrap() >= pages_min, "{run:#?}");
        let left = pair.look().await;
        assert_eq!(BYGONE - left, removed(&run), "{journal}: {run:#?}");
        assert_eq!(pair.world.client().await.texts("PRAGMA integrity_check").await, ["ok"]);
        pair.assert_the_other_went_on(&run);
        pair.finish(left).await;
    }
}
