//! A job queue: jobs that fail come again, those that always fail are put aside, and a long one is kept while it lasts.
//!
//! ```sh
//! cargo run -p bygone-lease --example job_queue [DIRECTORY]
//! ```

#![expect(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_lease::storage::Disk;
use bygone_lease::{Delivery, Enqueue, LeaseStore, Nack, Namespace, Options, Queue, QueueName, Wait};

/// How long a worker has a job before somebody else gets it. If he dies, that is how long it lies idle.
const TTL: Duration = Duration::from_millis(1_500);
/// How long a job rests after its first failure.
const REST: Duration = Duration::from_millis(50);
/// How long the worker waits for another job before he goes home.
const PATIENCE: Duration = Duration::from_millis(500);

/// Does a job. What takes longer than a worker has is extended on the way.
async fn perform(store: &LeaseStore, delivery: &Delivery) -> Result<&'static str, Box<dyn Error>> {
    match &delivery.payload[..] {
        b"resize cat.png" => Ok("done"),
        b"fetch news" if delivery.attempts == 1 => Err("the network is down".into()),
        b"fetch news" => Ok("done at last"),
        b"encode film" => {
            for _ in 0..4 {
                SystemClock::new().sleep(TTL / 2).await;
                store.extend(delivery, Some(TTL)).await?;
            }
            Ok("done, after twice the time")
        }
        _ => Err("nobody knows how".into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let store = LeaseStore::open(Disk::open(&directory)?, Options::default()).await?;
    let jobs = Queue { namespace: Namespace::new("example")?, name: QueueName::new("jobs")? };

    for job in ["resize cat.png", "fetch news", "square the circle", "encode film"] {
        let message = Enqueue { payload: job.into(), attempts_max: Some(3), ..Enqueue::default() };
        store.enqueue(&jobs, &message).await?;
    }

    loop {
        let delivery = store.dequeue(&jobs, "worker-1", Some(TTL), 1, Wait::For(PATIENCE)).await?.pop();
        let Some(delivery) = delivery else { break };
        let job = String::from_utf8_lossy(&delivery.payload);
        match perform(&store, &delivery).await {
            Ok(how) => {
                // Only now: whoever dies before has not done it, and somebody else will.
                store.ack(&delivery).await?;
                println!("{job}: {how}");
            }
            Err(why) => {
                store.nack(&delivery, Nack::Failure, REST * delivery.attempts).await?;
                println!("{job}: {why} (attempt {})", delivery.attempts);
            }
        }
    }

    let stats = store.queue_stats(&jobs).await?;
    println!("{} left to do, {} put aside", stats.messages, stats.dead);
    Ok(())
}
