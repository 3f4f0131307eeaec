//! A target that does what a script says, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{
    Boundary, Budget, Care, Consent, Cursor, ErrorKind, Gate, Job, ManualClock, Neighbours, Page, PageRequest,
    PolicyReport, Survey, Sweep, Tally, Target, TargetError,
};
use jiff::{SignedDuration, Timestamp};

/// How one page goes.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// It removes so many items and goes on.
    Removes(u64),
    /// It removes as many as it may and goes on.
    RemovesAll,
    /// It removes so many items and is the last.
    Ends(u64),
    /// It fails.
    Fails(ErrorKind),
    /// It removes nothing and stands still.
    StandsStill,
}

/// What a page was asked for.
pub(crate) type Asked = (u64, Care);

#[derive(Clone)]
pub(crate) struct Scripted {
    steps: Arc<Mutex<VecDeque<Step>>>,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) page_time: Duration,
    pub(crate) tidy_time: Duration,
    pub(crate) survey: Survey,
    pub(crate) settles: Result<(), ErrorKind>,
    pages: u64,
}

pub(crate) fn boundary() -> Boundary {
    Boundary::at(Timestamp::from_second(1_800_000_000).unwrap())
}

impl Scripted {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: Arc::new(Mutex::new(steps.into_iter().collect())),
            asked: Arc::default(),
            clock: Arc::new(ManualClock::at(boundary().instant())),
            page_time: Duration::from_millis(25),
            tidy_time: Duration::ZERO,
            survey: Survey { bygone: Some(10), ..Survey::default() },
            settles: Ok(()),
            pages: 0,
        }
    }

    /// Runs it alone, under a released brake.
    pub(crate) async fn run(&self, budget: Budget) -> PolicyReport {
        self.run_with(budget, Consent::Released).await
    }

    pub(crate) async fn run_with(&self, budget: Budget, consent: Consent) -> PolicyReport {
        self.sweep(self.job(budget).with_consent(consent)).await
    }

    /// Runs it alone, through these gates.
    pub(crate) async fn run_through(&self, budget: Budget, gates: Vec<Arc<dyn Gate>>) -> PolicyReport {
        self.sweep(self.job(budget).with_consent(Consent::Released).through(gates)).await
    }

    /// Runs it alone, beside these.
    pub(crate) async fn run_beside(&self, budget: Budget, neighbours: Arc<dyn Neighbours>) -> PolicyReport {
        self.sweep(self.job(budget).with_consent(Consent::Released).beside(neighbours)).await
    }

    fn job(&self, budget: Budget) -> Job {
        Job::new(Box::new(self.clone()), budget)
    }

    async fn sweep(&self, job: Job) -> PolicyReport {
        let clock = Arc::clone(&self.clock);
        Sweep::new(clock, boundary()).run(vec![job]).await.policies.remove(0)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Target for Scripted {
    fn policy(&self) -> &'static str {
        "scripted"
    }

    fn source(&self) -> &'static str {
        "script"
    }

    async fn survey(&mut self, _: Boundary) -> Result<Survey, TargetError> {
        Ok(self.survey.clone())
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        Ok(items <= 10_000)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        self.asked.lock().unwrap().push((request.limit, request.care));
        self.clock.advance(self.page_time);
        self.pages += 1;
        let step = self.steps.lock().unwrap().pop_front().unwrap_or(Step::Ends(0));
        let (items, next) = match step {
            Step::Fails(kind) => return Err(TargetError::new(kind, "as the script says")),
            Step::StandsStill => (0, request.cursor.cloned().or_else(|| Some(Cursor::new("here")))),
            Step::Removes(items) => (items, Some(Cursor::new(self.pages.to_string()))),
            Step::RemovesAll => (request.limit, Some(Cursor::new(self.pages.to_string()))),
            Step::Ends(items) => (items, None),
        };
        let mut tally = Tally::removed(items);
        if request.care == Care::KeepBack {
            tally = Tally { examined: 1, ..Tally::default() };
            tally.kept_back.conflict = 1;
        }
        Ok(Page { tally, requests: 2, next })
    }

    async fn tidy(&mut self) -> Result<(), TargetError> {
        self.clock.advance(self.tidy_time);
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        self.settles.map_err(|kind| TargetError::new(kind, "not settled"))
    }

    async fn lag(&mut self, _: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        Ok(Some(SignedDuration::from_secs(77)))
    }
}
