//! `bygone txn`: transactions from the shell, each of whose commands is a process of its own.

use std::sync::Arc;

use bygone_core::Clock;
use bygone_lease::{Acquire, RolledBack};
use serde_json::json;

use crate::cli::Global;
use crate::cli::txn::{self as flags, TxnVerb};
use crate::exit::Exit;
use crate::lease::expected;
use crate::problem::Problem;
use crate::store::{self, Absent, problem};

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &flags::Txn, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let absent = if matches!(flags.verb, TxnVerb::Begin { .. }) { Absent::Make } else { Absent::Refuse };
    let namespace = &flags.store.namespace;
    let open = || store::open(global, &flags.store, clock, absent);
    match &flags.verb {
        TxnVerb::Begin { ttl } => {
            let opened = open().await?;
            let txn = opened.store.begin_shared(Some(*ttl)).await.map_err(|error| problem(&error))?;
            let expires_at = opened.store.txn_expires_at(txn).await.map_err(|error| problem(&error))?;
            let expires_at = expires_at.map(|at| at.to_string());
            opened.answer(&txn.0.to_string(), &json!({ "txn": txn, "expires_at": expires_at }))
        }
        TxnVerb::Stage(flags) => {
            let state = store::content(&flags.content)?;
            let opened = open().await?;
            let owner = store::owner(flags.owner.as_deref(), store::shell());
            let acquire = Acquire {
                ttl: Some(flags.ttl),
                txn: Some(flags.txn.id),
                ..Acquire::new(namespace.clone(), flags.key.clone(), owner)
            };
            let staged = opened.store.stage(&acquire, &state, expected(flags.if_version)).await;
            opened.hand_on(&staged.map_err(|error| problem(&error))?)
        }
        TxnVerb::Commit { txn } => {
            let opened = open().await?;
            opened.store.commit(txn.id).await.map_err(|error| problem(&error))?;
            opened.answer("", &json!({ "txn": txn.id, "state": "commit" }))
        }
        TxnVerb::Rollback { txn } => {
            let opened = open().await?;
            let undone = opened.store.rollback(txn.id).await.map_err(|error| problem(&error))?;
            let known = undone == RolledBack::Now;
            let text = if known { "" } else { "there was nothing to undo: it never was, or is long over" };
            opened.answer(text, &json!({ "txn": txn.id, "state": "rollback", "known": known }))
        }
    }
}
