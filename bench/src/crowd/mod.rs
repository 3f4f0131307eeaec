//! Many clients at once, each of whom waits for his answer before he asks again.
//!
//! What a durable answer costs wanders with the disk and its other users, by more than what is measured. So contenders
//! take turns of about a second, each round begins with another one, and the medians of many turns are compared.

pub(crate) mod race;

use std::mem;
use std::time::Duration;

use async_trait::async_trait;

use crate::failure::Failure;
use crate::statistics::{median, percentile_ms};
use crate::stopwatch::{Stopwatch, rate};

/// One of those who ask at once.
#[async_trait]
pub(crate) trait Client: Send {
    /// Does it once. False when there was nothing left to do.
    async fn once(&mut self) -> Result<bool, Failure>;
}

/// All clients of a contender.
pub(crate) type Clients = Vec<Box<dyn Client>>;

/// How long a turn lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// For so long.
    Over(Duration),
    /// Until nothing is left to do.
    Done,
}

/// A contender, and what its turns came to.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    clients: Clients,
    rates: Vec<f64>,
    times: Vec<Duration>,
}

impl Contender {
    pub(crate) fn new(name: &'static str, clients: Clients) -> Self {
        Self { name, clients, rates: Vec::new(), times: Vec::new() }
    }

    /// The median of the turns, a second.
    pub(crate) fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// How long one client waited for one thing to be done, in milliseconds: so many percent of them no longer.
    pub(crate) fn wait_ms(&self, percent: usize) -> f64 {
        percentile_ms(&self.times, percent).unwrap_or_default()
    }

    /// One turn of all clients. Answers how much they did.
    pub(crate) async fn turn(&mut self, until: Until) -> Result<u64, Failure> {
        let watch = Stopwatch::start();
        let tasks: Vec<_> = mem::take(&mut self.clients)
            .into_iter()
            .map(|mut client| tokio::spawn(async move { work(&mut *client, until).await.map(|times| (client, times)) }))
            .collect();
        let mut count = 0;
        for task in tasks {
            let (client, times) = task.await??;
            self.clients.push(client);
            count += times.len() as u64;
            self.times.extend(times);
        }
        self.rates.push(rate(count, watch.time()));
        Ok(count)
    }

    /// Forgets its turns so far: the first ones connect and warm up.
    pub(crate) fn forget(&mut self) {
        self.rates.clear();
        self.times.clear();
    }
}

/// What one client does in a turn: how long each thing took.
async fn work(client: &mut dyn Client, until: Until) -> Result<Vec<Duration>, Failure> {
    let (watch, mut times) = (Stopwatch::start(), Vec::new());
    let mut before = Duration::ZERO;
    while !matches!(until, Until::Over(limit) if before >= limit) && client.once().await? {
        let now = watch.time();
        times.push(now.saturating_sub(before));
        before = now;
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Countdown(u64);

    #[async_trait]
    impl Client for Countdown {
        async fn once(&mut self) -> Result<bool, Failure> {
            let left = self.0 > 0;
            self.0 = self.0.saturating_sub(1);
            Ok(left)
        }
    }

    #[tokio::test]
    async fn a_turn_counts_what_was_done_by_all() {
        let clients: Clients = vec![Box::new(Countdown(3)), Box::new(Countdown(4))];
        let mut contender = Contender::new("ours", clients);
        assert_eq!(contender.turn(Until::Done).await.unwrap(), 7);
        assert_eq!((contender.rates.len(), contender.times.len()), (1, 7));
        assert_eq!(contender.turn(Until::Over(Duration::ZERO)).await.unwrap(), 0);
        contender.forget();
        assert_eq!(contender.times.len(), 0);
    }
}
