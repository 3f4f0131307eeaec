//! Whether others are at work in a database: whom a sweep gives way to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, Neighbours};
use tokio::sync::Mutex;

use super::line::Line;
use super::rate::Rate;
use super::{ASK_AGAIN, mysql, postgres};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::url::SourceUrl;

/// So many transactions a second (for MySQL and MariaDB: statements) are those who look after a server, not those who use it.
const CARETAKING: u64 = 10;

/// Those who work in a database besides us.
pub struct DatabaseNeighbours {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    server: Line,
    rate: Rate,
    /// What was found last, and when.
    found: Option<(Duration, bool)>,
}

impl fmt::Debug for DatabaseNeighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseNeighbours").finish_non_exhaustive()
    }
}

impl DatabaseNeighbours {
    /// Those of the server at this address; `None` where it is no server, and nobody can be asked. Nothing is asked before
    /// somebody comes.
    pub fn of(url: SourceUrl, clock: Arc<dyn Clock>) -> Option<Arc<Self>> {
        if url.engine() == Engine::Sqlite {
            return None;
        }
        let state = State { server: Line::new(url), rate: Rate::default(), found: None };
        Some(Arc::new(Self { clock, state: Mutex::new(state) }))
    }
}

impl State {
    /// Many small transactions, or one long statement.
    async fn look(&mut self, clock: &dyn Clock) -> Result<bool, SqlError> {
        // A first look has nothing to compare with: until the second they are taken to be there.
        let rate = self.rate.since_last(&mut self.server, clock).await?;
        if rate.is_none_or(|rate| rate > CARETAKING) {
            return Ok(true);
        }
        let sessions = match self.server.engine() {
            Engine::Postgres => postgres::sessions(&mut self.server).await?,
            _ => mysql::sessions(&mut self.server).await?,
        };
        Ok(sessions > 0)
    }
}

#[async_trait]
impl Neighbours for DatabaseNeighbours {
    async fn are_at_work(&self) -> bool {
        let mut state = self.state.lock().await;
        let now = self.clock.elapsed();
        if let Some((at, found)) = state.found
            && now.saturating_sub(at) < ASK_AGAIN
        {
            return found;
        }
        let found = state.look(&*self.clock).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "whether others are at work cannot be told");
            true
        });
        state.found = Some((self.clock.elapsed(), found));
        found
    }
}
