//! What sources are asked for people who look: one question about a thing at a time, bounded in time, and an answer that is
//! good for some seconds. However often a page is loaded again, the source notices it once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bygone_core::{Clock, TargetError};

use crate::estate::Estate;

/// How long an answer is good.
const GOOD_FOR: Duration = Duration::from_secs(10);
/// How long a source may take: less than a request may, so that whoever asks is told.
const WITHIN: Duration = Duration::from_secs(8);

/// Why something is not told of a source or a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotTold {
    /// There is no such source.
    #[error("there is no source `{0}`")]
    NoSuchSource(String),
    /// There is no such policy.
    #[error("there is no policy `{0}`")]
    NoSuchPolicy(String),
    /// The source could not be asked.
    #[error("{message}")]
    Unanswered {
        /// What went wrong.
        message: String,
        /// What a person can do about it.
        help: Option<String>,
    },
}

impl From<TargetError> for NotTold {
    fn from(error: TargetError) -> Self {
        Self::Unanswered { message: error.full_message(), help: error.help().map(str::to_owned) }
    }
}

/// An answer, and whom it was of.
#[derive(Debug)]
struct Answered<T> {
    /// By the clock's own count, so that setting the clock makes none better.
    at: Duration,
    estate: Weak<dyn Estate>,
    told: Result<T, NotTold>,
}

type Asked<T> = Arc<tokio::sync::Mutex<Option<Answered<T>>>>;

/// Answers by what they are about: names that an estate has or had.
#[derive(Debug)]
pub(super) struct Answers<T>(Mutex<BTreeMap<String, Asked<T>>>);

impl<T> Default for Answers<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Answers<T> {
    /// Asks about a thing of the estate, unless somebody did so just now: a failure is an answer, too.
    pub(super) async fn ask(
        &self,
        name: &str,
        estate: &Arc<dyn Estate>,
        clock: &dyn Clock,
        question: impl Future<Output = Result<T, TargetError>>,
    ) -> Result<T, NotTold> {
        let asked =
            Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default());
        let mut last = asked.lock().await;
        let is_good = |last: &Answered<T>| {
            let is_same = last.estate.upgrade().is_some_and(|known| Arc::ptr_eq(&known, estate));
            is_same && clock.elapsed().saturating_sub(last.at) < GOOD_FOR
        };
        if let Some(last) = last.as_ref().filter(|last| is_good(last)) {
            return last.told.clone();
        }
        let told = tokio::select! {
            biased;
            told = question => told.map_err(NotTold::from),
            () = clock.sleep(WITHIN) => {
                let message = format!("the source did not answer within {} s", WITHIN.as_secs());
                Err(NotTold::Unanswered { message, help: None })
            }
        };
        *last = Some(Answered { at: clock.elapsed(), estate: Arc::downgrade(estate), told: told.clone() });
        told
    }
}
