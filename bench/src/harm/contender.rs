//! Who removes rows beside the foreground, and how.

use std::time::Duration;

use bygone_core::{Budget, CancellationToken, Duty};

use crate::failure::Failure;
use crate::rows::ours;
use crate::rows::postgres::peers;

/// Who removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    /// All at once, by the database itself.
    OneDelete,
    /// Batches of 1,000 rows, a transaction each, one after another.
    PeerLoop,
    /// Ours, as it comes.
    Bygone,
    /// Ours, with regard for others.
    Polite(Pace),
}

/// How much regard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) page_time: Duration,
    /// The share of the time that pages may take, in percent.
    pub(super) duty_percent: u32,
}

impl Contender {
    /// The name in reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::OneDelete => "one DELETE".to_owned(),
            Self::PeerLoop => "the peer's loop".to_owned(),
            Self::Bygone => "bygone".to_owned(),
            Self::Polite(pace) => {
                format!("bygone polite ({} ms, {} %)", pace.page_time.as_millis(), pace.duty_percent)
            }
        }
    }

    /// Removes what is expired until nothing is left or somebody cancels, and answers how many rows went.
    pub(super) async fn remove(&self, url: &str, cancel: CancellationToken) -> Result<u64, Failure> {
        match self {
            Self::OneDelete => Ok(peers::one_delete(url).await?.0),
            Self::PeerLoop => Ok(peers::batch_loop(url, peers::BATCH, &cancel).await?.0),
            Self::Bygone => ours::sweep_until(url, Budget::default(), cancel).await,
            Self::Polite(pace) => ours::sweep_until(url, pace.budget()?, cancel).await,
        }
    }
}

impl Pace {
    fn budget(self) -> Result<Budget, Failure> {
        let duty = Duty::of(f64::from(self.duty_percent) / 100.0).ok_or("the duty is 1 to 100 percent")?;
        Ok(Budget { page_time: self.page_time, duty, ..Budget::default() })
    }
}
