//! How many transactions a second others make: the difference of two readings, less what we did ourselves.

use std::time::Duration;

use bygone_core::Clock;

use super::line::Line;
use super::{ASK_AGAIN, mysql, postgres};
use crate::connection::own_work;
use crate::engine::Engine;
use crate::error::SqlError;

/// What was long ago says nothing of now.
const AGE_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Rate {
    last: Option<Reading>,
}

#[derive(Clone, Copy, Debug)]
struct Reading {
    at: Duration,
    /// Everybody's, since the server began to count.
    total: u64,
    own: u64,
}

impl Rate {
    pub(super) async fn look(&mut self, server: &mut Line, clock: &dyn Clock) -> Result<u64, SqlError> {
        if let Some(rate) = self.since_last(server, clock).await? {
            return Ok(rate);
        }
        // A first look has nothing to compare with, and a gate that opened for that would let a run into the middle of a
        // rush: it takes a second one.
        clock.sleep(ASK_AGAIN).await;
        Ok(self.since_last(server, clock).await?.unwrap_or(0))
    }

    /// The rate since the last look; `None` where that cannot be compared with.
    pub(super) async fn since_last(&mut self, server: &mut Line, clock: &dyn Clock) -> Result<Option<u64>, SqlError> {
        let now = read(server, clock).await?;
        let before = self.last.replace(now);
        Ok(before.filter(|before| now.is_after(before)).map(|before| now.rate_since(&before)))
    }
}

async fn read(server: &mut Line, clock: &dyn Clock) -> Result<Reading, SqlError> {
    let total = match server.engine() {
        Engine::Postgres => postgres::transactions(server).await?,
        _ => mysql::statements(server).await?,
    };
    Ok(Reading { at: clock.elapsed(), total, own: own_work(server.url()) })
}

impl Reading {
    /// Whether it can be compared with an earlier one: not long after, and of the same count. Servers begin anew.
    fn is_after(&self, last: &Self) -> bool {
        self.at.saturating_sub(last.at) <= AGE_MAX && self.total >= last.total
    }

    fn rate_since(&self, last: &Self) -> u64 {
        let others = self.total.saturating_sub(last.total).saturating_sub(self.own.saturating_sub(last.own));
        let nanos = self.at.saturating_sub(last.at).as_nanos().max(1);
        u64::try_from(u128::from(others) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_do_ourselves_is_not_counted() {
        let reading = |at, total, own| Reading { at: Duration::from_millis(at), total, own };
        assert_eq!(reading(3_000, 1_700, 250).rate_since(&reading(1_000, 500, 50)), 500);
        assert_eq!(reading(3_000, 600, 250).rate_since(&reading(1_000, 500, 50)), 0, "ours is told before theirs");
        assert!(reading(2_000, 500, 0).is_after(&reading(1_000, 500, 0)));
        assert!(!reading(12_000, 500, 0).is_after(&reading(1_000, 500, 0)), "too long ago");
        assert!(!reading(2_000, 3, 0).is_after(&reading(1_000, 500, 0)), "counted anew");
    }
}
