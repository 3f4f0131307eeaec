//! A writer: it owns every eighth row, changes them at random, and remembers what it has committed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_sql::Engine;
use bygone_testkit::Client;
use bygone_testkit::wait::Wait;
use jiff::{SignedDuration, Timestamp};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;

use super::{WRITERS, cutoff};
use crate::world::{World, literal};

/// How often each thing was done and committed.
#[derive(Debug, Default)]
pub(super) struct Done {
    inserted: u32,
    extended: u32,
    shortened: u32,
    deleted: u32,
    locked: u32,
    rolled_back: u32,
    found_gone: u32,
    refused: u32,
}

impl Done {
    pub(super) fn add(&mut self, other: &Self) {
        self.inserted += other.inserted;
        self.extended += other.extended;
        self.shortened += other.shortened;
        self.deleted += other.deleted;
        self.locked += other.locked;
        self.rolled_back += other.rolled_back;
        self.found_gone += other.found_gone;
        self.refused += other.refused;
    }

    pub(super) fn committed(&self) -> u32 {
        self.inserted + self.extended + self.shortened + self.deleted + self.locked
    }
}

pub(super) struct Writer {
    engine: Engine,
    client: Client,
    chance: StdRng,
    next_id: u64,
    /// The rows that it has not deleted, with their deadlines as committed. A sweeper may take those that are due.
    rows: BTreeMap<u64, Option<Timestamp>>,
    done: Done,
}

/// Whether no sweeper may take a row with this deadline.
fn lives(deadline: Option<Timestamp>) -> bool {
    deadline.is_none_or(|deadline| deadline >= cutoff())
}

impl Writer {
    pub(super) async fn new(world: Arc<World>, number: u64, chance: StdRng) -> Self {
        let client = world.client().await;
        Self { engine: world.engine(), client, chance, next_id: number, rows: BTreeMap::new(), done: Done::default() }
    }

    /// Works, and returns the rows that must be there at the end.
    pub(super) async fn run(mut self, operations: u32) -> (BTreeMap<u64, Option<Timestamp>>, Done) {
        for _ in 0..operations {
            match self.chance.random_range(0..12) {
                0..4 => self.insert().await,
                4..6 => self.extend().await,
                6..8 => self.shorten().await,
                8 => self.delete().await,
                _ => self.lock().await,
            }
        }
        self.rows.retain(|_, deadline| lives(*deadline));
        (self.rows, self.done)
    }

    fn due(&mut self) -> Timestamp {
        let micros = [1, 2, 1_000_000, 3_600_000_000, 86_400_000_000].into_iter().choose(&mut self.chance).unwrap();
        cutoff() - SignedDuration::from_micros(micros)
    }

    fn alive(&mut self) -> Option<Timestamp> {
        let micros = [0, 1, 1_000_000, 3_600_000_000].into_iter().choose(&mut self.chance).unwrap();
        (!self.chance.random_bool(0.1)).then(|| cutoff() + SignedDuration::from_micros(micros))
    }

    /// One of its rows; rather one that is due, since those are what everybody is after.
    fn pick(&mut self) -> Option<u64> {
        let due = self.rows.iter().filter(|(_, deadline)| !lives(**deadline)).map(|(id, _)| *id);
        match due.choose(&mut self.chance) {
            Some(id) if self.chance.random_bool(0.8) => Some(id),
            _ => self.rows.keys().copied().choose(&mut self.chance),
        }
    }

    async fn insert(&mut self) {
        let id = self.next_id;
        self.next_id += WRITERS;
        let deadline = if self.chance.random_bool(0.8) { Some(self.due()) } else { self.alive() };
        let value = literal(self.engine, deadline);
        if self.commits(&format!("INSERT INTO items (id, deadline) VALUES ({id}, {value})")).await.is_some() {
            self.rows.insert(id, deadline);
            self.done.inserted += 1;
        }
    }

    async fn extend(&mut self) {
        let deadline = self.alive();
        if self.update(deadline).await {
            self.done.extended += 1;
        }
    }

    async fn shorten(&mut self) {
        let deadline = self.due();
        if self.update(Some(deadline)).await {
            self.done.shortened += 1;
        }
    }

    async fn update(&mut self, deadline: Option<Timestamp>) -> bool {
        let Some(id) = self.pick() else { return false };
        let value = literal(self.engine, deadline);
        let changed = self.commits(&format!("UPDATE items SET deadline = {value} WHERE id = {id}")).await;
        let Some(changed) = changed else { return false };
        if self.found(id, changed > 0) {
            self.rows.insert(id, deadline);
        }
        changed > 0
    }

    async fn delete(&mut self) {
        let Some(id) = self.pick() else { return };
        self.begin().await;
        let named = self.inside(&format!("UPDATE items SET remover = 'writer' WHERE id = {id}")).await;
        let deleted = match named {
            Some(0) => Some(0),
            Some(_) => self.inside(&format!("DELETE FROM items WHERE id = {id}")).await,
            None => return,
        };
        let Some(_) = deleted else { return };
        self.client.run("COMMIT").await;
        if self.found(id, named != Some(0)) {
            self.rows.remove(&id);
            self.done.deleted += 1;
        }
    }

    /// Holds a row for a while; then extends it, or takes that back, or leaves it as it was.
    async fn lock(&mut self) {
        let Some(id) = self.pick() else { return };
        self.begin().await;
        let suffix = if self.engine == Engine::Sqlite { "" } else { " FOR UPDATE" };
        let held = self.client.texts(&format!("SELECT id FROM items WHERE id = {id}{suffix}")).await.len() == 1;
        let deadline = self.alive();
        let value = literal(self.engine, deadline);
        let extends = held && self.chance.random_bool(0.8);
        if extends && self.inside(&format!("UPDATE items SET deadline = {value} WHERE id = {id}")).await.is_none() {
            return;
        }
        self.linger().await;
        let takes_back = extends && self.chance.random_bool(0.3);
        self.client.run(if takes_back { "ROLLBACK" } else { "COMMIT" }).await;
        if !self.found(id, held) {
            return;
        }
        if takes_back {
            self.done.rolled_back += 1;
        } else {
            self.done.locked += 1;
            if extends {
                self.rows.insert(id, deadline);
            }
        }
    }

    /// Stays in its transaction for a while; now and then for longer than any sweeper waits.
    async fn linger(&mut self) {
        for _ in 0..self.chance.random_range(0..12) {
            self.client.number("SELECT count(*) FROM audit").await;
        }
        // In SQLite everybody would wait.
        if self.engine != Engine::Sqlite && self.chance.random_bool(0.01) {
            let mut wait = Wait::up_to(Duration::from_millis(1_500));
            while wait.again().await {}
        }
    }

    /// A row that is gone must have been due. True when it is there.
    fn found(&mut self, id: u64, there: bool) -> bool {
        if !there {
            let known = self.rows.remove(&id).expect("it was picked");
            assert!(!lives(known), "row {id} with the committed deadline {known:?} is gone");
            self.done.found_gone += 1;
        }
        there
    }

    async fn begin(&mut self) {
        let begin = if self.engine == Engine::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.client.run(begin).await;
    }

    /// A statement that commits by itself; `None` when it was refused (a deadlock), and so undone.
    async fn commits(&mut self, sql: &str) -> Option<u64> {
        let changed = self.client.try_run(sql).await.ok();
        self.done.refused += u32::from(changed.is_none());
        changed
    }

    /// A statement in a transaction; `None` when it was refused, and the transaction undone.
    async fn inside(&mut self, sql: &str) -> Option<u64> {
        let changed = self.commits(sql).await;
        if changed.is_none() {
            self.client.run("ROLLBACK").await;
        }
        changed
    }
}
