//! A gate that keeps a sweep from adding to the load of a server that has enough of it: sessions at work, transactions of
//! others, replicas that are behind.
//!
//! What cannot be told counts as too much. The reason says what is missing.

mod line;
mod mysql;
mod neighbours;
mod postgres;
mod rate;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, Closed, Gate, Hindrance};
use tokio::sync::Mutex;

use self::line::Line;
pub use self::neighbours::DatabaseNeighbours;
use self::rate::Rate;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::url::SourceUrl;

/// How long an answer is taken for true: pages are faster than loads change. Sessions of PostgreSQL tell of their work
/// once a second; a little longer than that, and each has told.
const ASK_AGAIN: Duration = Duration::from_millis(1_100);
/// Connections that lay idle for longer are made anew: something between here and there may have forgotten them.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How much is too much. What is not said is not asked for.
#[derive(Clone, Debug, Default)]
pub struct LoadLimits {
    /// The most sessions that may be at work, besides our own.
    pub active_sessions: Option<u64>,
    /// The most transactions of others in a second; for MySQL and MariaDB, statements.
    pub transactions_per_second: Option<u64>,
    /// The farthest that a replica may be behind.
    pub replica_lag: Option<Duration>,
    /// The replicas to ask. PostgreSQL knows of its own: without any here, it is asked itself.
    pub replicas: Vec<SourceUrl>,
}

/// Open while a server has less to do than its limits say.
pub struct LoadGate {
    clock: Arc<dyn Clock>,
    limits: LoadLimits,
    state: Mutex<State>,
}

struct State {
    server: Line,
    replicas: Vec<Line>,
    rate: Rate,
    /// What was found last, and when.
    found: Option<(Duration, Option<Closed>)>,
}

impl fmt::Debug for LoadGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadGate").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl LoadGate {
    /// A gate for the server at this address. Nothing is asked before somebody comes.
    pub fn new(url: SourceUrl, limits: LoadLimits, clock: Arc<dyn Clock>) -> Arc<Self> {
        let replicas = limits.replicas.iter().cloned().map(Line::new).collect();
        let state = State { server: Line::new(url), replicas, rate: Rate::default(), found: None };
        Arc::new(Self { clock, limits, state: Mutex::new(state) })
    }

    async fn look(&self, state: &mut State) -> Option<Closed> {
        if let Some(limit) = self.limits.active_sessions
            && let Some(reason) = too_many_sessions(state, limit).await
        {
            return Some(Closed { by: Hindrance::Lag, reason });
        }
        if let Some(limit) = self.limits.replica_lag
            && let Some(reason) = too_far_behind(state, limit).await
        {
            return Some(Closed { by: Hindrance::Lag, reason });
        }
        let limit = self.limits.transactions_per_second?;
        let reason = self.too_many_transactions(state, limit).await?;
        Some(Closed { by: Hindrance::Activity, reason })
    }

    async fn too_many_transactions(&self, state: &mut State, limit: u64) -> Option<String> {
        let what = match state.server.engine() {
            Engine::Postgres => "transactions",
            _ => "statements",
        };
        match state.rate.look(&mut state.server, &*self.clock).await {
            Ok(rate) => (rate > limit).then(|| format!("{rate} {what} a second, over {limit}")),
            Err(error) => Some(format!("the {what} of others cannot be counted: {error}")),
        }
    }
}

async fn too_many_sessions(state: &mut State, limit: u64) -> Option<String> {
    let counted = match state.server.engine() {
        Engine::Postgres => postgres::sessions(&mut state.server).await,
        _ => mysql::sessions(&mut state.server).await,
    };
    match counted {
        Ok(sessions) => (sessions > limit).then(|| format!("{sessions} sessions are at work, over {limit}")),
        Err(error) => Some(format!("the sessions at work cannot be counted: {error}")),
    }
}

async fn too_far_behind(state: &mut State, limit: Duration) -> Option<String> {
    if state.replicas.is_empty() {
        let lags = match state.server.engine() {
            Engine::Postgres => postgres::standbys(&mut state.server).await,
            _ => Err(SqlError::unfit("a server of this kind does not know: name them in `replicas`")),
        };
        return match lags {
            Ok(lags) => lags.into_iter().find_map(|(name, lag)| behind(&format!("the standby {name}"), lag, limit)),
            Err(error) => Some(format!("how far replicas are behind cannot be told: {error}")),
        };
    }
    for line in &mut state.replicas {
        let name = format!("the replica {}", line.url());
        let lag = match line.engine() {
            Engine::Postgres => postgres::lag(line).await,
            _ => mysql::lag(line).await,
        };
        let reason = match lag {
            Ok(lag) => behind(&name, lag, limit),
            Err(error) => Some(format!("how far {name} is behind cannot be told: {error}")),
        };
        if reason.is_some() {
            return reason;
        }
    }
    None
}

fn behind(name: &str, lag: Duration, limit: Duration) -> Option<String> {
    (lag > limit).then(|| format!("{name} is {} behind, over {}", seconds(lag), seconds(limit)))
}

fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{} s", time.as_secs()),
        millis => format!("{}.{} s", time.as_secs(), millis / 100),
    }
}

#[async_trait]
impl Gate for LoadGate {
    async fn closed(&self) -> Option<Closed> {
        let mut state = self.state.lock().await;
        let now = self.clock.elapsed();
        if let Some((at, found)) = &state.found {
            let age = now.saturating_sub(*at);
            if age < ASK_AGAIN {
                return found.clone();
            }
            if age > IDLE_MAX {
                state.server.close();
                state.replicas.iter_mut().for_each(Line::close);
            }
        }
        let found = self.look(&mut state).await;
        state.found = Some((self.clock.elapsed(), found.clone()));
        found
    }
}
