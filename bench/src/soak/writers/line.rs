//! A connection to PostgreSQL that is made anew when it was lost.

use std::sync::Arc;

use sqlx::{Connection, PgConnection};

use super::super::site::Site;
use crate::failure::Failure;

/// A connection, while there is one.
pub(super) struct Line {
    site: Arc<Site>,
    connection: Option<PgConnection>,
}

impl Line {
    pub(super) fn new(site: &Arc<Site>) -> Self {
        Self { site: Arc::clone(site), connection: None }
    }

    /// The connection, new if the last one was given up.
    pub(super) async fn open(&mut self) -> Result<&mut PgConnection, Failure> {
        if self.connection.is_none() {
            self.connection = Some(PgConnection::connect(&self.site.database.url()).await?);
        }
        self.connection.as_mut().ok_or_else(|| "there is no connection".into())
    }

    /// What came of a statement; after a failure the next one has a connection of its own.
    pub(super) fn after<T>(&mut self, done: Result<T, sqlx::Error>) -> Result<T, Failure> {
        if done.is_err() {
            self.connection = None;
        }
        Ok(done?)
    }
}
