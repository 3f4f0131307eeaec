//! Why a run ended.

use serde::{Deserialize, Serialize};

/// Why one policy's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing bygone is left that could be removed.
    Complete,
    /// The budget of items is spent.
    BudgetItems,
    /// The budget of requests is spent.
    BudgetRequests,
    /// The budget of time is spent.
    BudgetRuntime,
    /// The source was in use.
    Activity,
    /// The time of day for it was over, or not there yet.
    Window,
    /// Replicas were behind, or too many sessions at work.
    Lag,
    /// It was held, or another sweeper was at it.
    Held,
    /// Somebody asked it to stop.
    Cancelled,
    /// It was not allowed to begin.
    Refused,
    /// It could not go on.
    Failed,
}

impl Outcome {
    /// All there are.
    pub const ALL: [Self; 11] = [
        Self::Complete,
        Self::BudgetItems,
        Self::BudgetRequests,
        Self::BudgetRuntime,
        Self::Activity,
        Self::Window,
        Self::Lag,
        Self::Held,
        Self::Cancelled,
        Self::Refused,
        Self::Failed,
    ];

    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::BudgetItems => "budget_items",
            Self::BudgetRequests => "budget_requests",
            Self::BudgetRuntime => "budget_runtime",
            Self::Activity => "activity",
            Self::Window => "window",
            Self::Lag => "lag",
            Self::Held => "held",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// How a whole sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepOutcome {
    /// Every policy is complete.
    Complete,
    /// Some did less than all.
    Partial,
    /// None got anywhere, and one at least failed.
    Failed,
    /// None was allowed to begin.
    Refused,
}

impl SweepOutcome {
    /// The outcome of a sweep, from those of its policies.
    pub fn of(policies: impl IntoIterator<Item = Outcome>) -> Self {
        let (mut all_complete, mut all_refused, mut none_ran) = (true, true, true);
        let mut any = false;
        for outcome in policies {
            any = true;
            all_complete &= outcome == Outcome::Complete;
            all_refused &= outcome == Outcome::Refused;
            none_ran &= matches!(outcome, Outcome::Refused | Outcome::Failed);
        }
        match (all_complete, all_refused && any, none_ran && any) {
            (true, ..) => Self::Complete,
            (_, true, _) => Self::Refused,
            (_, _, true) => Self::Failed,
            _ => Self::Partial,
        }
    }

    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_follows_its_parts() {
        use Outcome::{BudgetItems, Cancelled, Complete, Failed, Refused};
        let of = |outcomes: &[Outcome]| SweepOutcome::of(outcomes.iter().copied());
        assert_eq!(of(&[Complete, Complete]), SweepOutcome::Complete);
        assert_eq!(of(&[Complete, Failed]), SweepOutcome::Partial);
        assert_eq!(of(&[Complete, BudgetItems]), SweepOutcome::Partial);
        assert_eq!(of(&[Cancelled]), SweepOutcome::Partial);
        assert_eq!(of(&[Refused, Failed]), SweepOutcome::Failed);
        assert_eq!(of(&[Refused, Refused]), SweepOutcome::Refused);
        assert_eq!(of(&[]), SweepOutcome::Complete);
    }

    #[test]
    fn the_words_are_those_of_the_report() {
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
        for whole in [SweepOutcome::Complete, SweepOutcome::Partial, SweepOutcome::Failed, SweepOutcome::Refused] {
            assert_eq!(serde_json::to_value(whole).unwrap(), whole.as_str());
        }
    }
}
