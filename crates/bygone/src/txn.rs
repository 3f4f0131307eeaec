//! `bygone txn`: transactions from the shell, each of whose commands is a process of its own.

use std::sync::Arc;

use bygone_core::Clock;
use bygone_lease::Acquire;
use bygone_server::leases::{CommittedDocument, RolledBackDocument};

use crate::cli::Global;
use crate::cli::txn::{self as flags, TxnVerb};
use crate::exit::Exit;
use crate::lease::expected;
use crate::problem::Problem;
use crate::store::{self, Absent};

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &flags::Txn, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let absent = if matches!(flags.verb, TxnVerb::Begin { .. }) { Absent::Make } else { Absent::Refuse };
    let namespace = &flags.store.namespace;
    let open = || store::open(global, &flags.store, clock, absent);
    match &flags.verb {
        TxnVerb::Begin { ttl } => {
            let opened = open().await?;
            let begun = opened.store.begin(*ttl).await?;
            opened.answer(&begun.txn.to_string(), &begun)
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
            let staged = opened.store.stage(&acquire, state, expected(flags.if_version)).await?;
            opened.hand_on(&staged)
        }
        TxnVerb::Commit { txn } => {
            let opened = open().await?;
            opened.store.commit(txn.id).await?;
            opened.answer("", &CommittedDocument::of(txn.id))
        }
        TxnVerb::Rollback { txn } => {
            let opened = open().await?;
            let undone = opened.store.rollback(txn.id).await?;
            let document = RolledBackDocument::of(txn.id, undone);
            let text = if document.known { "" } else { "there was nothing to undo: it never was, or is long over" };
            opened.answer(text, &document)
        }
    }
}
