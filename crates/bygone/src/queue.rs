//! `bygone queue`: queues from the shell.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use bygone_core::Clock;
use bygone_lease::{Delivery, Enqueue, Nack, Namespace, Queue, Wait};
use bygone_server::leases::{AckedDocument, DeadLetters, EnqueuedDocument, NackedDocument, StatsDocument};

use crate::cli::queue::{self as flags, QueueVerb};
use crate::cli::{Format, Global};
use crate::exit::Exit;
use crate::output::{self, grouped, table};
use crate::problem::Problem;
use crate::store::{self, Absent, Opened};

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &flags::Queue, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let absent = match &flags.verb {
        // A worker may be there before the first message is.
        QueueVerb::Send(_) | QueueVerb::Receive(_) => Absent::Make,
        _ => Absent::Refuse,
    };
    let open = || store::open(global, &flags.store, clock, absent);
    let queue = |flag: &flags::QueueFlag| of(&flags.store.namespace, flag);
    match &flags.verb {
        QueueVerb::Send(send) => {
            let message = Enqueue {
                payload: store::content(&send.content)?,
                attributes: send.attributes.iter().cloned().collect::<BTreeMap<_, _>>(),
                delay: send.delay,
                ttl: send.ttl,
                txn: send.txn,
                attempts_max: send.attempts_max.map(NonZeroU32::get),
            };
            let opened = open().await?;
            let id = opened.store.enqueue(&queue(&send.queue), message).await?;
            opened.answer(&id.to_string(), &EnqueuedDocument { id })
        }
        QueueVerb::Receive(receive) => {
            let opened = open().await?;
            let owner = store::owner(receive.owner.as_deref(), store::shell());
            let (limit, wait) = (usize::from(receive.limit), receive.wait.unwrap_or(Wait::None));
            let taken = opened.store.dequeue(&queue(&receive.queue), &owner, receive.ttl, limit, wait).await?;
            opened.hand_on_all(&taken)?;
            Ok(Exit::Done)
        }
        QueueVerb::Ack { delivery } => {
            let deliveries = store::deliveries(delivery)?;
            let opened = open().await?;
            let (acked, exit) = each(&deliveries, async |delivery| opened.store.ack(delivery).await).await;
            opened.answer("", &AckedDocument::of(&acked))?;
            Ok(exit)
        }
        QueueVerb::Nack { delivery, delay, defer } => {
            let deliveries = store::deliveries(delivery)?;
            let opened = open().await?;
            let why = if *defer { Nack::Defer } else { Nack::Failure };
            let nack = async |delivery: &Delivery| opened.store.nack(delivery, why, *delay).await;
            let (nacked, exit) = each(&deliveries, nack).await;
            opened.answer("", &NackedDocument::of(&nacked))?;
            Ok(exit)
        }
        QueueVerb::Extend { delivery, ttl } => {
            let deliveries = store::deliveries(delivery)?;
            let opened = open().await?;
            let extend = async |delivery: &Delivery| opened.store.extend(delivery, *ttl).await;
            let (extended, exit) = each(&deliveries, extend).await;
            opened.hand_on_all(&extended)?;
            Ok(exit)
        }
        QueueVerb::Dead { queue: flag, limit } => {
            let opened = open().await?;
            let dead = opened.store.dead_letters(&queue(flag), *limit).await?;
            let lines: Vec<String> = dead.iter().map(ToString::to_string).collect();
            opened.answer(&lines.join("\n"), &DeadLetters { dead })
        }
        QueueVerb::Stats { queue: flag } => {
            let opened = open().await?;
            let stats = opened.store.queue_stats(&queue(flag)).await?;
            show_stats(&opened, &stats)
        }
    }
}

/// Each delivery by itself: one that is lost does not keep the others from it.
async fn each<T>(deliveries: &[Delivery], work: impl AsyncFn(&Delivery) -> Result<T, Problem>) -> (Vec<T>, Exit) {
    let (mut done, mut exit) = (Vec::new(), Exit::Done);
    for delivery in deliveries {
        match work(delivery).await {
            Ok(answer) => done.push(answer),
            Err(mut problem) => {
                problem.message = format!("{}: {}", delivery.id, problem.message);
                exit = exit.graver(problem.show());
            }
        }
    }
    (done, exit)
}

fn of(namespace: &Namespace, flag: &flags::QueueFlag) -> Queue {
    Queue { namespace: namespace.clone(), name: flag.name.clone() }
}

fn show_stats(opened: &Opened, stats: &StatsDocument) -> Result<Exit, Problem> {
    if opened.format != Format::Table {
        return opened.answer("", stats);
    }
    let mut rows = table(&["messages", "delayed", "dead"]);
    rows.add_row([stats.messages, stats.delayed, stats.dead].map(grouped));
    output::data(rows.to_string());
    Ok(Exit::Done)
}
