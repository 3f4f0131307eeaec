//! The brake: a guard against a policy that would remove far more than anybody meant.
//!
//! "5 typed for 50", a keep in the wrong unit, a clock a year ahead: all of them look like a table most of which
//! is suddenly bygone. Before the first page the survey is compared with the brake; over it, or where the count
//! is unknown, the policy is refused until a person says otherwise.

use crate::{Target, TargetError};

/// When a policy is refused for removing too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brake {
    /// More than this share of the stored items...
    pub fraction: f64,
    /// ... of a store that holds more than this many.
    pub over_items: u64,
    /// More than this many, whatever the share.
    pub max_items: Option<u64>,
}

impl Default for Brake {
    fn default() -> Self {
        Self { fraction: 0.5, over_items: 1_000, max_items: None }
    }
}

/// What the brake says of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrakeDecision {
    /// Within bounds.
    Go,
    /// Over the brake, and why.
    Stop(String),
}

impl Brake {
    /// Compares a survey with the brake. It asks the target only as much about its size as the answer needs, so
    /// that the cost follows the expired and not the stored.
    pub async fn decide(&self, bygone: Option<u64>, target: &mut dyn Target) -> Result<BrakeDecision, TargetError> {
        let Some(bygone) = bygone else {
            return Ok(BrakeDecision::Stop("how many items are bygone is unknown".into()));
        };
        if let Some(max) = self.max_items.filter(|max| bygone > *max) {
            return Ok(BrakeDecision::Stop(format!("{bygone} items are bygone, over the limit of {max}")));
        }
        // The smallest store in which `bygone` is no more than the fraction.
        let needed = share_of(bygone, self.fraction);
        if needed <= self.over_items || target.holds_at_least(needed).await? {
            return Ok(BrakeDecision::Go);
        }
        if target.holds_at_least(self.over_items.saturating_add(1)).await? {
            return Ok(BrakeDecision::Stop(format!(
                "{bygone} items are bygone, more than {:.0} % of all",
                self.fraction * 100.0
            )));
        }
        Ok(BrakeDecision::Go)
    }
}

/// `ceil(items / fraction)`, where a fraction that is no number means that no store is large enough.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count over 2^53 loses its last digits, which a share does not need; the cast back saturates"
)]
fn share_of(items: u64, fraction: f64) -> u64 {
    if fraction > 0.0 { (items as f64 / fraction).ceil() as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::memory::{Item, MemoryTarget, Shelf};

    fn holding(items: usize) -> MemoryTarget {
        let item = |n| Item::due(format!("{n:06}"), Timestamp::UNIX_EPOCH);
        MemoryTarget::new("p", Shelf::new((0..items).map(item)))
    }

    async fn decide(brake: Brake, bygone: Option<u64>, stored: usize) -> bool {
        brake.decide(bygone, &mut holding(stored)).await.unwrap() == BrakeDecision::Go
    }

    #[tokio::test]
    async fn more_than_half_of_a_large_store_stops() {
        let brake = Brake::default();
        assert!(decide(brake, Some(1_000), 2_000).await, "exactly half goes");
        assert!(!decide(brake, Some(1_001), 2_000).await);
        assert!(decide(brake, Some(1_000), 1_000).await, "a small store may be emptied");
        assert!(!decide(brake, Some(1_001), 1_001).await);
        assert!(decide(brake, Some(0), 5_000).await);
    }

    #[tokio::test]
    async fn the_limit_and_the_unknown_stop() {
        let brake = Brake { max_items: Some(10), ..Brake::default() };
        assert!(decide(brake, Some(10), 50_000).await);
        assert!(!decide(brake, Some(11), 50_000).await);
        assert!(!decide(brake, None, 50_000).await);
        let broken = Brake { fraction: f64::NAN, ..Brake::default() };
        assert!(!decide(broken, Some(600), 50_000).await);
    }
}
