//! Servers that are killed while they are swept, at any moment, beside somebody who writes.
//!
//! Each round fills the table, sweeps it and kills the server behind a page drawn by lot, or behind the report; then the
//! server recovers, and what is there is held against what the writer was told and what the report claims.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Budget, Clock as _, Consent, ErrorKind, Job, Outcome, Report, SystemClock};
use bygone_sql::{Deadline, Engine, RowTarget};
use bygone_testkit::{AnyDatabase, Client, MariaDb, Options, Postgres};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::watch;

use super::{LATER, LIVING_FROM, Pages, Rows, Scene, job, seed, sweep_all};
use crate::world::{World, policy};

const ROUNDS: u64 = 20;
const DUE: u64 = 1_500;
const PAGE: u64 = 50;
const PAGES: u64 = DUE / PAGE;
/// Some of the kills must have come between the first page and the last.
const MIDWAY_MIN: u64 = 5;

/// A server of the test's own.
enum Own {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Own {
    /// Commits that somebody waits for outlive a kill. Those of PostgreSQL that nobody waits for are in the server's own
    /// memory for long, so that a kill takes many of them.
    async fn start(engine: Engine) -> Self {
        if engine == Engine::Postgres {
            let options = Options::default().set("fsync", "off").set("wal_writer_delay", "10s");
            Self::Postgres(Postgres::start(options).await.unwrap())
        } else {
            let options = Options::default()
                .set("innodb-flush-log-at-trx-commit", "1")
                .set("innodb-flush-method", "nosync")
                .set("innodb-log-file-size", "16M")
                .set("innodb-buffer-pool-size", "32M");
            Self::MariaDb(MariaDb::start(options).await.unwrap())
        }
    }

    async fn database(&self) -> World {
        World(match self {
            Self::Postgres(server) => AnyDatabase::Postgres(server.fresh_database().await),
            Self::MariaDb(server) => AnyDatabase::MariaDb(server.fresh_database().await),
        })
    }

    /// Ends it at once: by SIGKILL, or PostgreSQL also by its own "immediate" shutdown.
    fn end(&mut self, chance: &mut StdRng) {
        tokio::task::block_in_place(|| match self {
            Self::Postgres(server) if chance.random() => server.stop(),
            Self::Postgres(server) => server.kill(),
            Self::MariaDb(server) => server.kill(),
        });
    }

    async fn restart(&mut self) {
        match self {
            Self::Postgres(server) => server.restart().await.unwrap(),
            Self::MariaDb(server) => server.restart().await.unwrap(),
        }
    }
}

/// What a writer was told, and what it asked for last and was not told.
#[derive(Default)]
struct Written {
    extended: Vec<u64>,
    rows: Rows,
    unknown: Option<(u64, String)>,
}

/// Inserts rows that live and extends rows that are due, until the server is gone.
async fn write(mut client: Client, round: u64, mut chance: StdRng) -> Written {
    let mut written = Written::default();
    for number in 0.. {
        let extends = number % 2 == 0;
        let (id, note, sql) = if extends {
            let (id, note) = (chance.random_range(1..=DUE), format!("extended {round}"));
            let update =
                format!("UPDATE items SET deadline = '{LATER}', note = '{note}' WHERE id = {id} AND note = 'due'");
            (id, note, update)
        } else {
            let (id, note) = (LIVING_FROM * (2 + round) + number, format!("inserted {round}"));
            (id, note.clone(), format!("INSERT INTO items VALUES ({id}, '{LATER}', '{note}')"))
        };
        match client.try_run(&sql).await {
            Ok(0) => {}
            Ok(_) => {
                written.extended.extend(extends.then_some(id));
                written.rows.insert(id, note);
            }
            Err(_) => {
                written.unknown = Some((id, note));
                break;
            }
        }
    }
    written
}

struct Rounds {
    server: Own,
    scene: Scene,
    /// A policy over another database, which goes on.
    beside: World,
    chance: StdRng,
    midway: u64,
    undone: u64,
    written: u64,
}

impl Rounds {
    async fn of(engine: Engine) -> Self {
        let server = Own::start(engine).await;
        let scene = Scene::of(server.database().await, DUE).await;
        let beside = World::with(Engine::Sqlite, "CREATE TABLE others (id INT PRIMARY KEY, deadline TEXT)").await;
        Self { server, scene, beside, chance: StdRng::seed_from_u64(seed()), midway: 0, undone: 0, written: 0 }
    }

    /// Sweeps while the writer writes, and kills the server. What the report says, and what the writer knows.
    async fn kill_one(&mut self, round: u64) -> (Report, Written) {
        let others = "INSERT INTO others VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')";
        self.beside.client().await.run(&format!("DELETE FROM others; {others}")).await;
        let source = self.scene.world.source().await;
        let items = RowTarget::bind(&source, &Scene::policy()).await.unwrap();
        // Long enough for a kill to come between.
        let budget = Budget { page_items_max: PAGE, pause: Duration::from_millis(2), ..Budget::default() };
        let jobs = vec![
            Job::new(Box::new(items), budget).with_consent(Consent::Released),
            job(self.beside.options(), &policy("others", Deadline::column("deadline")), PAGE).await,
        ];
        let chance = StdRng::seed_from_u64(self.chance.random());
        let writing = tokio::spawn(write(self.scene.world.client().await, round, chance));
        let (pages, mut seen) = watch::channel(0);
        let mut sweeping = tokio::spawn(sweep_all(jobs, Arc::new(Pages(pages))));
        let page = self.chance.random_range(0..=PAGES);
        let report = tokio::select! {
            _ = seen.wait_for(|pages| *pages >= page) => None,
            report = &mut sweeping => Some(report.unwrap()),
        };
        SystemClock::new().sleep(Duration::from_micros(self.chance.random_range(0..2_000))).await;
        self.server.end(&mut self.chance);
        let report = match report {
            Some(report) => report,
            None => sweeping.await.unwrap(),
        };
        (report, writing.await.unwrap())
    }

    /// Takes in what the writer knows; what it was not told is so or is not so.
    fn note(&mut self, written: Written, living: &Rows, due: &mut u64) {
        *due -= written.extended.len() as u64;
        self.written += written.rows.len() as u64;
        self.scene.alive.extend(written.rows);
        if let Some((id, note)) = written.unknown
            && living.get(&id) == Some(&note)
            && !self.scene.alive.contains_key(&id)
        {
            *due -= u64::from(id < LIVING_FROM);
            self.scene.alive.insert(id, note);
        }
    }

    async fn round(&mut self, round: u64) {
        let mut due = self.scene.refill().await;
        let (report, written) = self.kill_one(round).await;
        self.server.restart().await;
        let (left, living) = self.scene.see().await;
        self.note(written, &living, &mut due);
        assert_eq!(living, self.scene.alive, "round {round}: what lives is there, and nothing else");

        let [items, others] = report.policies.as_slice() else { panic!("{report:?}") };
        let gone = due - left;
        let claimed = items.tally.removed;
        if items.error.is_none() {
            assert_eq!((items.outcome, claimed), (Outcome::Complete, gone), "round {round}: {items:?}");
        } else {
            assert_eq!((items.outcome, items.error_kind), (Outcome::Failed, Some(ErrorKind::Unreachable)), "{items:?}");
            assert!(gone <= claimed + PAGE, "round {round}: {gone} are gone: {items:?}");
            if self.scene.world.engine() == Engine::MySql {
                assert!(claimed <= gone, "round {round}: what was answered is on disk: {gone} are gone: {items:?}");
            } else {
                let told = items.warnings.iter().any(|warning| warning.contains("may be there again"));
                assert!(told || items.pages == 0, "round {round}: nothing was settled: {items:?}");
            }
        }
        self.midway += u64::from(0 < items.pages && items.error.is_some());
        self.undone += claimed.saturating_sub(gone);
        assert_eq!((others.outcome, others.tally.removed), (Outcome::Complete, 1), "round {round}: {others:?}");
        assert_eq!(self.beside.client().await.texts("SELECT id FROM others").await, ["2"]);
        self.scene.finish(left).await;
    }
}

async fn survives_kills(engine: Engine) {
    let mut rounds = Rounds::of(engine).await;
    for round in 1..=ROUNDS {
        rounds.round(round).await;
    }
    let Rounds { midway, undone, written, .. } = &rounds;
    eprintln!("{ROUNDS} kills, {midway} of them midway; {undone} rows undone by them; {written} rows written");
    assert!(*midway >= MIDWAY_MIN && *written >= ROUNDS, "{midway} midway, {written} written");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_that_is_killed() {
    survives_kills(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_that_is_killed() {
    survives_kills(Engine::MySql).await;
}
