//! Requests that wait for somebody's decision while a client polls: what device codes and CIBA have in common.
//!
//! Pending, then approved or denied, once; approved, then consumed, once.

use std::time::Duration;

use bygone_sql::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::secret::Digest;
use crate::store::Store;
use crate::table::{Change, Found, Key, Only, Set};

const PENDING: &str = "pending";
const APPROVED: &str = "approved";
const DENIED: &str = "denied";
const CONSUMED: &str = "consumed";

/// How much longer a client waits that polls too soon (RFC 8628, section 3.5).
const SLOWER: Duration = Duration::from_secs(5);

/// What was allowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Approval {
    /// Who allowed it.
    pub subject: String,
    /// What.
    pub scope: Vec<String>,
    /// How they were authenticated.
    pub acr: Option<String>,
    /// When, in seconds since 1970.
    pub auth_time: Option<i64>,
    /// Anything else.
    pub claims: Map<String, Json>,
}

/// What became of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It stands.
    Done,
    /// Somebody has decided before.
    AlreadyDecided,
    /// It came too late.
    Expired,
    /// There is no such request, or it was so long ago that nobody remembers.
    NotFound,
}

/// What a poll found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// Nobody has decided yet.
    Pending,
    /// The client polls too soon, and must from now on wait this long between two polls.
    SlowDown {
        /// In whole seconds.
        interval_seconds: i64,
    },
    /// It is approved: consume it.
    Approved,
    /// It is denied.
    Denied,
    /// It was consumed before.
    Consumed,
    /// It has expired.
    Expired,
    /// There is no such request of this client, or it was so long ago that nobody remembers.
    NotFound,
}

/// What became of an approved request that was presented.
#[derive(Clone, Debug, PartialEq)]
pub enum Consumed<R> {
    /// It is yours alone.
    Granted {
        /// What was asked for.
        request: R,
        /// What was allowed.
        approval: Approval,
    },
    /// Nobody has decided yet.
    Pending,
    /// It is denied.
    Denied,
    /// It was consumed before.
    AlreadyConsumed,
    /// It has expired.
    Expired,
    /// There is no such request of this client, or it was so long ago that nobody remembers.
    NotFound,
}

/// The status that a request begins with.
pub(crate) fn pending() -> Value {
    Value::from(PENDING)
}

fn is(status: &str) -> Only {
    Only::Is("status", Value::from(status))
}

fn of_client(client_id: &str) -> Only {
    Only::Is("client", Digest::of(client_id).into())
}

/// Decides a request: approved with what was allowed, or denied.
pub(crate) async fn decide(store: &Store, key: Key<'_>, approval: Option<&Approval>) -> Result<Decided, TokenError> {
    let (now, table) = (store.now(), store.table());
    let change = match approval {
        Some(approval) => {
            Change::of("status", APPROVED).and("granted", Set::To(table.written(approval)?)).only(is(PENDING))
        }
        None => Change::of("status", DENIED).only(is(PENDING)),
    };
    if table.change(key, &change, now).await?.is_some() {
        return Ok(Decided::Done);
    }
    Ok(match table.recall(key, now).await? {
        None => Decided::NotFound,
        Some(row) if row.word("status")? != PENDING => Decided::AlreadyDecided,
        Some(_) => Decided::Expired,
    })
}

/// Polls a request.
pub(crate) async fn poll(store: &Store, key: Key<'_>, client_id: &str) -> Result<Polled, TokenError> {
    let (now, table) = (store.now(), store.table());
    let polled = || Change::of("last_polled_at", Value::Int(now)).only(of_client(client_id));
    let in_time = polled().only(Only::Rested { since: "last_polled_at", wait: "poll_interval" });
    if let Some(row) = table.change(key, &in_time, now).await? {
        return Ok(match row.word("status")? {
            APPROVED => Polled::Approved,
            DENIED => Polled::Denied,
            CONSUMED => Polled::Consumed,
            _ => Polled::Pending,
        });
    }
    let slower = polled().and("poll_interval", Set::Plus(micros(SLOWER)));
    if let Some(row) = table.change(key, &slower, now).await? {
        return Ok(Polled::SlowDown { interval_seconds: row.int("poll_interval")?.div_euclid(1_000_000) });
    }
    let known = recall_of(store, key, client_id, now).await?;
    Ok(if known.is_some() { Polled::Expired } else { Polled::NotFound })
}

/// Consumes an approved request.
pub(crate) async fn consume(
    store: &Store,
    key: Key<'_>,
    client_id: &str,
) -> Result<Result<Found, Refusal>, TokenError> {
    let now = store.now();
    let change = Change::of("status", CONSUMED).only(is(APPROVED)).only(of_client(client_id));
    if let Some(row) = store.table().change(key, &change, now).await? {
        return Ok(Ok(row));
    }
    let Some(row) = recall_of(store, key, client_id, now).await? else { return Ok(Err(Refusal::NotFound)) };
    let live = row.is_live(now)?;
    Ok(Err(match row.word("status")? {
        CONSUMED => Refusal::AlreadyConsumed,
        DENIED => Refusal::Denied,
        PENDING if live => Refusal::Pending,
        _ => Refusal::Expired,
    }))
}

async fn recall_of(store: &Store, key: Key<'_>, client_id: &str, now: i64) -> Result<Option<Found>, TokenError> {
    let found = store.table().recall(key, now).await?;
    let client = Digest::of(client_id);
    Ok(found.filter(|row| row.bytes("client").is_some_and(|bytes| client.is(bytes))))
}

/// Why a request was not consumed.
pub(crate) enum Refusal {
    Pending,
    Denied,
    AlreadyConsumed,
    Expired,
    NotFound,
}

impl<R> From<Refusal> for Consumed<R> {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Pending => Self::Pending,
            Refusal::Denied => Self::Denied,
            Refusal::AlreadyConsumed => Self::AlreadyConsumed,
            Refusal::Expired => Self::Expired,
            Refusal::NotFound => Self::NotFound,
        }
    }
}
