//! The flags of `bygone queue`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use bygone_lease::{QueueName, TxnId, Wait};
use clap::{Args, Subcommand};

use super::store::{Content, StoreFlags, attribute, queue_name, time, txn, wait};

/// Flags of `queue`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
#[command(after_long_help = "\
A message is delivered at least once, to one worker at a time. `receive` prints one line of JSON for \
each; `ack`, `nack` and `extend` take such lines from a file, from standard input or from the variable \
BYGONE_DELIVERY. Nothing to receive is no error: nothing is printed.

Examples:
  export BYGONE_STORE=file:/var/lib/jobs
  bygone queue send --queue mail --text hello
  bygone queue receive --queue mail --wait 1m > mail.json
  jq -r .payload mail.json | ./deliver.sh && bygone queue ack --delivery mail.json")]
pub(crate) struct Queue {
    #[command(flatten)]
    pub(crate) store: StoreFlags,
    #[command(subcommand)]
    pub(crate) verb: QueueVerb,
}

/// What to do with a queue.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueVerb {
    /// Put a message into a queue, and print its id.
    Send(Send),
    /// Take messages that are ready, the oldest first, and print a line of JSON for each.
    Receive(Receive),
    /// The work is done: the messages go.
    Ack {
        #[command(flatten)]
        delivery: DeliveryFile,
    },
    /// Give messages back, to be delivered again.
    Nack {
        #[command(flatten)]
        delivery: DeliveryFile,
        /// How long nobody gets them.
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
        delay: Duration,
        /// It was not the time for them: the attempt does not count.
        #[arg(long)]
        defer: bool,
    },
    /// Keep messages for longer, and print them as they are then.
    Extend {
        #[command(flatten)]
        delivery: DeliveryFile,
        /// How long from now on, as in 5m.
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
        ttl: Duration,
    },
    /// List the messages that were delivered too often and put aside, the oldest first.
    Dead {
        #[command(flatten)]
        queue: QueueFlag,
        /// How many at most.
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Count the messages of a queue.
    Stats {
        #[command(flatten)]
        queue: QueueFlag,
    },
}

/// Which queue.
#[derive(Debug, Args)]
pub(crate) struct QueueFlag {
    /// The queue.
    #[arg(long = "queue", value_name = "NAME", value_parser = queue_name)]
    pub(crate) name: QueueName,
}

/// Messages that were received before.
#[derive(Debug, Args)]
pub(crate) struct DeliveryFile {
    /// A file with what `receive` printed; `-` is standard input. Default: what the variable BYGONE_DELIVERY holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) delivery: Option<PathBuf>,
}

/// Flags of `queue send`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bygone queue send --queue mail --text hello --attribute to=ada
  ./report.sh | bygone queue send --queue reports - --attempts-max 5")]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) queue: QueueFlag,
    #[command(flatten)]
    pub(crate) content: Content,
    /// What is known of it besides; may be given several times.
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    pub(crate) attributes: Vec<(String, String)>,
    /// How long nobody gets it.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    pub(crate) delay: Duration,
    /// How long it is of use: then it goes, delivered or not. Default: for ever.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) ttl: Option<Duration>,
    /// In this transaction: nobody gets it before that is committed.
    #[arg(long, value_name = "ID", env = "BYGONE_TXN", value_parser = txn)]
    pub(crate) txn: Option<TxnId>,
    /// How often it is delivered before it is put aside. Default: as often as needed.
    #[arg(long, value_name = "N")]
    pub(crate) attempts_max: Option<NonZeroU32>,
}

/// Flags of `queue receive`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bygone queue receive --queue mail --wait forever > mail.json
  bygone queue receive --queue mail --limit 10 --ttl 5m > mails.json")]
pub(crate) struct Receive {
    #[command(flatten)]
    pub(crate) queue: QueueFlag,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) limit: u16,
    /// How long they are yours unless that is extended, as in 30s; at most 30m.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub(crate) ttl: Duration,
    /// How long to wait while there is none, as in 1m, or `forever`. Default: not at all.
    #[arg(long, value_name = "TIME", value_parser = wait)]
    pub(crate) wait: Option<Wait>,
    /// Who asks, as others may see it. Default: the machine and the process.
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
}
