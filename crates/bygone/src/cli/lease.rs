//! The flags of `bygone lease`.

use std::ffi::OsString;
use std::time::Duration;

use bygone_lease::{Key, TxnId, Wait};
use clap::{Args, Subcommand};

use super::attachment::{self, Attach, Fetch};
use super::store::{Content, LeaseFile, StoreFlags, key, time, txn, wait};

/// Flags of `lease`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
#[command(after_long_help = "\
A lease is printed as one line of JSON; the other commands take it from a file, from standard input \
or from the variable BYGONE_LEASE. Exit codes: 75 when somebody else holds it, 79 when it is lost.

Examples:
  export BYGONE_STORE=file:/var/lib/jobs
  bygone lease exec --key nightly --wait 1m -- ./nightly.sh

  lease=$(bygone lease acquire --key report --ttl 5m) &&
    echo \"$lease\" | bygone lease update --lease - --text done --release
  bygone lease get --key report")]
pub(crate) struct Lease {
    #[command(flatten)]
    pub(crate) store: StoreFlags,
    #[command(subcommand)]
    pub(crate) verb: LeaseVerb,
}

/// What to do with a lease.
#[derive(Debug, Subcommand)]
pub(crate) enum LeaseVerb {
    /// Take the lease of a key, and print it.
    Acquire(Acquire),
    /// Extend a lease, and print it as it is then.
    Keepalive {
        #[command(flatten)]
        lease: LeaseFile,
        /// How long it lasts from now on, as in 30s. Default: as long as it was given for.
        #[arg(long, value_name = "TIME", value_parser = time)]
        ttl: Option<Duration>,
    },
    /// Give a lease back. Doing so twice is no error.
    Release {
        #[command(flatten)]
        lease: LeaseFile,
    },
    /// Print the state of a key, as it is: that which everybody sees, or with a lease that which its holder sees.
    Get {
        /// The key.
        #[arg(long, value_name = "KEY", value_parser = key, conflicts_with = "lease")]
        key: Option<Key>,
        #[command(flatten)]
        lease: LeaseFile,
    },
    /// Change the state of a key, under its lease, and print its new version.
    #[command(after_long_help = "\
Examples:
  bygone lease update --lease lease.json state.json
  date | bygone lease update --lease lease.json - --if-version 3
  bygone lease update --lease lease.json --text done --release")]
    Update {
        #[command(flatten)]
        lease: LeaseFile,
        #[command(flatten)]
        content: Content,
        /// Only if the state has this version.
        #[arg(long, value_name = "N")]
        if_version: Option<u64>,
        /// Give the lease back in the same step.
        #[arg(long)]
        release: bool,
    },
    /// Remove the state of a key and its attachments, under its lease. Fencing tokens go on from where they are.
    Remove {
        #[command(flatten)]
        lease: LeaseFile,
        /// Only if the state has this version.
        #[arg(long, value_name = "N")]
        if_version: Option<u64>,
    },
    /// Print what is known of a key: its holder, its last fencing token, its version.
    Describe {
        /// The key.
        #[arg(long, value_name = "KEY", value_parser = key)]
        key: Key,
    },
    /// Attach a file to a key, under its lease, and print its SHA-256.
    Attach(Attach),
    /// List the attachments of a key.
    Attachments {
        /// The key.
        #[arg(long, value_name = "KEY", value_parser = key)]
        key: Key,
    },
    /// Write an attachment of a key to a file or to standard output, as it is.
    Fetch(Fetch),
    /// Remove an attachment of a key, under its lease.
    Detach {
        #[command(flatten)]
        lease: LeaseFile,
        /// What it is called.
        #[arg(long, value_name = "NAME", value_parser = attachment::name)]
        name: String,
    },
    /// Run a command while a lease is held: like flock, with an expiry and a fencing token.
    Exec(Exec),
}

/// Flags of `lease acquire`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bygone lease acquire --key nightly > lease.json
  bygone lease acquire --key nightly --ttl 5m --wait 1m
  bygone lease acquire --key config --if-not-exists       # only while nobody has written its state")]
pub(crate) struct Acquire {
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// Your own name for this request: asked again with the same, and by the same owner, you get the same lease.
    #[arg(long, value_name = "ID")]
    pub(crate) request: Option<String>,
    /// Only if the key has no state.
    #[arg(long)]
    pub(crate) if_not_exists: bool,
    /// In this transaction: what its holder changes comes true when that is committed.
    #[arg(long, value_name = "ID", env = "BYGONE_TXN", value_parser = txn)]
    pub(crate) txn: Option<TxnId>,
}

/// Which lease, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The key.
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(crate) key: Key,
    /// How long it lasts unless it is extended, as in 30s; at most 30m.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub(crate) ttl: Duration,
    /// How long to wait while somebody else holds it, as in 1m, or `forever`. Default: not at all.
    #[arg(long, value_name = "TIME", value_parser = wait)]
    pub(crate) wait: Option<Wait>,
    /// Who asks, as others may see it. Default: the machine and the process.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
}

/// Flags of `lease exec`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The command finds its fencing token in BYGONE_FENCING_TOKEN, which is higher than that of everybody \
before it; hand it to what the lease guards. BYGONE_LEASE_KEY and BYGONE_LEASE_ID say which lease it \
is, and BYGONE_LEASE and BYGONE_STORE let it use `bygone lease` itself without further flags.

The lease is extended every third of its lifetime and given back at the end. Signals (HUP, INT, QUIT, \
TERM) are passed on. The command gets a process group of its own, all of which gets them, unless \
standard input is a terminal: then it stays in the foreground with us, and Ctrl-C and Ctrl-Z reach it \
as they always do.

When the lease is lost, because it could not be extended in time or somebody else has it, the command \
gets SIGTERM and, after --grace, SIGKILL.

Exit codes: that of the command, 128 + n if signal n ended it; 75 when somebody else holds the lease; \
79 when it was lost; otherwise those of bygone.

Examples:
  bygone lease exec --store file:/var/lib/jobs --key nightly -- ./nightly.sh
  bygone lease exec --store s3://jobs/leases --key nightly --ttl 1m --wait forever -- ./nightly.sh")]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// How long the command has between SIGTERM and SIGKILL when the lease is lost.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s")]
    pub(crate) grace: Duration,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
