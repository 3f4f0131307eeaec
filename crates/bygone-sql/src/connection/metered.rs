//! What this process does to a server by itself, counted as the server counts it: whoever asks how busy a server is wants
//! to know of the others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::{Connection, NamedRow};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::url::SourceUrl;
use crate::value::Row;

/// By url: connections to one database are made in several places, and count together.
static DONE: Mutex<BTreeMap<String, Arc<AtomicU64>>> = Mutex::new(BTreeMap::new());

/// How many transactions (PostgreSQL) or statements (MySQL) this process has made there so far.
pub(crate) fn own_work(url: &SourceUrl) -> u64 {
    counter(url).load(Ordering::Relaxed)
}

fn counter(url: &SourceUrl) -> Arc<AtomicU64> {
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(done.entry(url.as_str().to_owned()).or_default())
}

/// A connection whose work is counted.
pub(super) struct Metered {
    inner: Box<dyn Connection>,
    engine: Engine,
    done: Arc<AtomicU64>,
    is_within: bool,
}

impl Metered {
    pub(super) fn new(inner: Box<dyn Connection>, url: &SourceUrl) -> Self {
        Self { inner, engine: url.engine(), done: counter(url), is_within: false }
    }

    /// MySQL counts every statement; PostgreSQL what stands between a beginning and an end as one.
    fn count(&mut self, text: &str) {
        if self.engine == Engine::Postgres {
            self.is_within = match text {
                "COMMIT" | "ROLLBACK" => false,
                text => self.is_within || text.starts_with("BEGIN"),
            };
        }
        if !self.is_within {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[async_trait]
impl Connection for Metered {
    async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError> {
        self.count(query.text());
        self.inner.query(query).await
    }

    async fn show(&mut self, query: &Query) -> Result<Vec<NamedRow>, SqlError> {
        self.count(query.text());
        self.inner.show(query).await
    }

    async fn execute(&mut self, query: &Query) -> Result<u64, SqlError> {
        self.count(query.text());
        self.inner.execute(query).await
    }

    async fn run(&mut self, text: &str) -> Result<(), SqlError> {
        self.count(text);
        self.inner.run(text).await
    }
}
