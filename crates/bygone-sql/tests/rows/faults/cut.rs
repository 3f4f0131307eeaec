//! Connections that are cut at any byte, either way. A page whose answer is lost may have been committed or not: it is
//! asked for again, and what it has removed is gone and not claimed, no more than a page for each cut.

use std::sync::Arc;

use bygone_core::{ErrorKind, Event, Observer, Outcome, PolicyReport};
use bygone_sql::{ColumnRef, Engine, RowPolicy, RowTarget, Source, SourceOptions, SourceUrl};
use bygone_testkit::{Client, Cut, MariaDb, Postgres, Way, Wire};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Behind, Scene, job_over, seed, sweep_one};
use crate::world::World;

const DUE: u64 = 400;
const PAGE: u64 = 50;
/// Cuts of the whole conversation, from the first greeting on.
const ROUNDS: u32 = 36;
/// Bytes between two cuts of one page: of answers less than any of them has.
const STEPS: [(Way, usize); 2] = [(Way::ToServer, 24), (Way::ToClient, 6)];

struct Line {
    scene: Scene,
    policy: RowPolicy,
    wire: Arc<Wire>,
    unclaimed: u64,
}

impl Line {
    async fn of(engine: Engine) -> Self {
        let server = match engine {
            Engine::MySql => MariaDb::shared().await.port(),
            _ => Postgres::shared().await.port(),
        };
        let scene = Scene::of(World::fresh(engine).await, DUE).await;
        Self { scene, policy: Scene::policy(), wire: Arc::new(Wire::to(server).await), unclaimed: 0 }
    }

    /// The same where each row has children and might have others that guard it: a page is several statements.
    async fn of_families(engine: Engine) -> Self {
        let line = Self::of(engine).await;
        let column = "item BIGINT NOT NULL, FOREIGN KEY (item) REFERENCES items (id)";
        let create =
            format!("CREATE TABLE notes (id BIGINT PRIMARY KEY, {column}); CREATE TABLE guards (id BIGINT, {column})");
        line.scene.world.client().await.run(&create).await;
        let (with, guard) = (vec![vec![ColumnRef::new("notes", "item")]], vec![ColumnRef::new("guards", "item")]);
        Self { policy: RowPolicy { with, unless_referenced_by: guard, ..line.policy }, ..line }
    }

    /// Puts back what is due, each row with its child.
    async fn refill(&mut self) -> u64 {
        let due = self.scene.refill().await;
        if self.has_families() {
            let missing = "note = 'due' AND id NOT IN (SELECT item FROM notes)";
            let notes = format!("INSERT INTO notes SELECT id, id FROM items WHERE {missing}");
            self.scene.world.client().await.run(&notes).await;
        }
        due
    }

    fn has_families(&self) -> bool {
        !self.policy.with.is_empty()
    }

    fn options(&self) -> SourceOptions {
        let url = self.scene.world.0.url_through(self.wire.port());
        SourceOptions::new("world", SourceUrl::parse(&url).unwrap())
    }

    /// Over the wire; `None` if there was no way to begin.
    async fn bind(&self) -> Option<RowTarget> {
        let is_away = |kind| matches!(kind, ErrorKind::Lost | ErrorKind::Unreachable);
        let source = match Source::open(self.options()).await {
            Ok(source) => source.shared(),
            Err(error) => {
                assert!(is_away(error.kind()), "{error}");
                return None;
            }
        };
        let bound = RowTarget::bind(&source, &self.policy).await;
        bound.inspect_err(|error| assert!(is_away(error.kind()), "{error:?}")).ok()
    }

    async fn sweep(&self) -> Option<PolicyReport> {
        let target = self.bind().await?;
        Some(sweep_one(job_over(target, PAGE), Arc::new(())).await)
    }

    /// Holds what is gone against the report, after so many cuts at the most. Then sweeps the rest.
    async fn check(&mut self, due: u64, cuts: u64, report: Option<&PolicyReport>) {
        until_forgotten(&mut self.scene.world.client().await).await;
        let left = self.scene.look().await;
        if self.has_families() {
            let childless = "SELECT count(*) FROM items WHERE note = 'due' AND id NOT IN (SELECT item FROM notes)";
            assert_eq!(
                self.scene.world.client().await.number(childless).await,
                0,
                "a family goes as a whole: {report:?}"
            );
        }
        let (gone, claimed) = (due - left, report.map_or(0, |report| report.tally.removed));
        assert!(claimed <= gone && gone <= claimed + cuts * PAGE, "{gone} are gone: {report:?}");
        if let Some(report) = report {
            match report.error_kind {
                None => assert_eq!(report.outcome, Outcome::Complete, "{report:?}"),
                // One cut is made good by another connection; the next may come too soon.
                kind => assert!(cuts > 1 && kind == Some(ErrorKind::Unreachable), "{report:?}"),
            }
        }
        self.unclaimed += gone - claimed;
        self.scene.finish_by(&self.policy, left).await;
    }
}

/// Waits until the server has noticed that nobody is there any more: it may still be at what was cut.
async fn until_forgotten(client: &mut Client) {
    let sessions = match client {
        Client::MariaDb(_) => "information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()",
        _ => {
            "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        }
    };
    client.until(&format!("SELECT CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END FROM {sessions}")).await;
}

async fn anywhere(engine: Engine) {
    let mut line = Line::of(engine).await;
    let mut chance = StdRng::seed_from_u64(seed());
    let whole = line.sweep().await.unwrap();
    assert_eq!(whole.tally.removed, DUE);
    let bytes = |way| line.wire.passed(way);
    let (to_server, to_client) = (bytes(Way::ToServer), bytes(Way::ToClient));
    let mut begun = 0;
    for round in 0..ROUNDS {
        let due = line.refill().await;
        let cuts = if round % 3 == 0 { chance.random_range(2..=4) } else { 1 };
        line.wire.cut((0..cuts).map(|_| {
            let (way, bytes) = if chance.random() { (Way::ToServer, to_server) } else { (Way::ToClient, to_client) };
            Cut { way, after_bytes: chance.random_range(0..bytes) }
        }));
        let report = line.sweep().await;
        line.wire.cut([]);
        begun += u32::from(report.as_ref().is_some_and(|report| report.pages > 0));
        line.check(due, cuts, report.as_ref()).await;
    }
    eprintln!("{to_server} and {to_client} bytes, {} cuts; {begun} of {ROUNDS} sweeps got to pages", line.wire.cuts());
    // By chance some come behind the end, or never because there was no way to begin.
    assert!(line.wire.cuts() >= ROUNDS as usize / 2 && begun > ROUNDS / 10);
}

/// Bytes that go this way for a page, as the fourth of a sweep takes them.
async fn bytes_of_a_page(line: &Line, way: Way) -> u64 {
    let (ended, mut marks) = tokio::sync::mpsc::unbounded_channel();
    let wire = Arc::clone(&line.wire);
    let marking = Arc::new(Marking(Box::new(move || ended.send(wire.passed(way)).unwrap())));
    sweep_one(job_over(line.bind().await.unwrap(), PAGE), marking).await;
    let passed: Vec<u64> = std::iter::from_fn(|| marks.try_recv().ok()).collect();
    passed[3] - passed[2]
}

/// Calls behind every page.
struct Marking(Box<dyn Fn() + Send + Sync>);

impl Observer for Marking {
    fn on(&self, event: &Event<'_>) {
        if matches!(event, Event::PageSwept { .. }) {
            (self.0)();
        }
    }
}

async fn behind_every_byte_of_a_page(engine: Engine) {
    let mut line = Line::of(engine).await;
    for (way, step) in STEPS {
        line.unclaimed = 0;
        line.refill().await;
        let bytes = bytes_of_a_page(&line, way).await;
        for after_bytes in (0..bytes).step_by(step) {
            let due = line.refill().await;
            let wire = Arc::clone(&line.wire);
            let cut = Behind::page(3, async move || wire.cut([Cut { way, after_bytes }]));
            let report = sweep_one(job_over(line.bind().await.unwrap(), PAGE), cut).await;
            line.check(due, 1, Some(&report)).await;
        }
        eprintln!("{bytes} bytes {way:?}: {} rows gone and not claimed", line.unclaimed);
        // What the server did not hear it did not do; of the answers one is that of the commit.
        assert_eq!(line.unclaimed > 0, way == Way::ToClient, "{} rows", line.unclaimed);
    }
}

/// A page that is a transaction: its last bytes are the commit, and the last of the answers is that of the commit.
async fn around_the_commit(engine: Engine) {
    let mut line = Line::of_families(engine).await;
    for way in [Way::ToServer, Way::ToClient] {
        line.unclaimed = 0;
        line.refill().await;
        let bytes = bytes_of_a_page(&line, way).await;
        for back in (1..=36).step_by(5) {
            let due = line.refill().await;
            let wire = Arc::clone(&line.wire);
            let cut = Behind::page(3, async move || wire.cut([Cut { way, after_bytes: bytes - back }]));
            let report = sweep_one(job_over(line.bind().await.unwrap(), PAGE), cut).await;
            assert_eq!(report.tally.children.values().sum::<u64>(), report.tally.removed, "{report:?}");
            line.check(due, 1, Some(&report)).await;
        }
        eprintln!("{bytes} bytes {way:?}: {} rows gone and not claimed", line.unclaimed);
        assert_eq!(line.unclaimed > 0, way == Way::ToClient, "{} rows", line.unclaimed);
    }
}

macro_rules! lines {
    ($($name:ident: $engine:ident;)*) => {
        $(
            mod $name {
                #[tokio::test(flavor = "multi_thread")]
                async fn cut_anywhere() {
                    super::anywhere(bygone_sql::Engine::$engine).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn cut_behind_every_byte_of_a_page() {
                    super::behind_every_byte_of_a_page(bygone_sql::Engine::$engine).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn cut_around_the_commit() {
                    super::around_the_commit(bygone_sql::Engine::$engine).await;
                }
            }
        )*
    };
}
lines! {
    postgres: Postgres;
    mariadb: MySql;
}
