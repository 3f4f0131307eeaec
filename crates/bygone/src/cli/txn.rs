//! The flags of `bygone txn`.

use std::time::Duration;

use bygone_lease::{Key, TxnId};
use clap::{Args, Subcommand};

use super::store::{Content, StoreFlags, key, time, txn};

/// Flags of `txn`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
#[command(after_long_help = "\
Several keys change together, or none does. A transaction that is not committed before its time is \
over is undone, whoever comes by first.

Examples:
  export BYGONE_STORE=file:/var/lib/bank
  export BYGONE_TXN=$(bygone txn begin)
  bygone txn stage --key ada --if-version 7 --text 60
  bygone txn stage --key bob --if-version 3 --text 40
  bygone txn commit")]
pub(crate) struct Txn {
    #[command(flatten)]
    pub(crate) store: StoreFlags,
    #[command(subcommand)]
    pub(crate) verb: TxnVerb,
}

/// What to do with a transaction.
#[derive(Debug, Subcommand)]
pub(crate) enum TxnVerb {
    /// Begin a transaction, and print its id.
    Begin {
        /// How long it lasts unless it is committed, as in 5m; at most 30m.
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
        ttl: Duration,
    },
    /// Take the lease of a key and stage a change of its state, in one step; print the lease.
    Stage(Stage),
    /// Make everything that was staged come true at once.
    Commit {
        #[command(flatten)]
        txn: TxnFlag,
    },
    /// Undo everything that was staged. Doing so twice is no error; after a commit it is.
    Rollback {
        #[command(flatten)]
        txn: TxnFlag,
    },
}

/// Which transaction.
#[derive(Debug, Args)]
pub(crate) struct TxnFlag {
    /// The transaction, as `begin` printed it.
    #[arg(long = "txn", value_name = "ID", env = "BYGONE_TXN", value_parser = txn)]
    pub(crate) id: TxnId,
}

/// Flags of `txn stage`.
#[derive(Debug, Args)]
pub(crate) struct Stage {
    #[command(flatten)]
    pub(crate) txn: TxnFlag,
    /// The key.
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Key,
    #[command(flatten)]
    pub(crate) content: Content,
    /// Only if the state has this version.
    #[arg(long, value_name = "N")]
    pub(crate) if_version: Option<u64>,
    /// How long the lease lasts unless it is extended; the transaction lasts as long, too.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub(crate) ttl: Duration,
    /// Who asks, as others may see it. Default: the machine and the process.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
}
