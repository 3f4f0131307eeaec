//! A target that does what a script says, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
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
    /// It keeps so many items back, as referenced, and is the last.
    KeepsBack(u64),
    /// It fails.
    Fails(ErrorKind),
    /// It removes nothing and stands still.
    StandsStill,
}

/// What a page was asked for.
pub(crate) type Asked = (u64, Care);

#[derive(Clone)]
pub(crate) struct Scripted {
    pub(crate) name: &'static str,
    steps: Arc<Mutex<VecDeque<Step>>>,
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    /// Where each page was to begin.
    begins: Arc<Mutex<Vec<Option<Cursor>>>>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) page_time: Duration,
    pub(crate) tidy_time: Duration,
    pub(crate) survey: Survey,
    /// How often the connection is lost in a survey, and between two pages.
    pub(crate) lost_in_survey: Arc<AtomicU32>,
    pub(crate) lost_between: Arc<AtomicU32>,
    /// What becomes of the next attempts to settle; afterwards they succeed.
    unsettled: Arc<Mutex<VecDeque<ErrorKind>>>,
    /// Parts that can go as a whole, by their items.
    wholes: Arc<Mutex<VecDeque<u64>>>,
    pages: u64,
}

pub(crate) fn boundary() -> Boundary {
    Boundary::at(Timestamp::from_second(1_800_000_000).unwrap())
}

impl Scripted {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            name: "scripted",
            steps: Arc::new(Mutex::new(steps.into_iter().collect())),
            asked: Arc::default(),
            begins: Arc::default(),
            clock: Arc::new(ManualClock::at(boundary().instant())),
            page_time: Duration::from_millis(25),
            tidy_time: Duration::ZERO,
            survey: Survey { bygone: Some(10), ..Survey::default() },
            lost_in_survey: Arc::default(),
            lost_between: Arc::default(),
            unsettled: Arc::default(),
            wholes: Arc::default(),
            pages: 0,
        }
    }

    /// Fails to settle so many times.
    pub(crate) fn unsettled(self, kinds: impl IntoIterator<Item = ErrorKind>) -> Self {
        Self { unsettled: Arc::new(Mutex::new(kinds.into_iter().collect())), ..self }
    }

    /// With parts of so many items that can go as a whole.
    pub(crate) fn with_wholes(self, items: impl IntoIterator<Item = u64>) -> Self {
        Self { wholes: Arc::new(Mutex::new(items.into_iter().collect())), ..self }
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

    pub(crate) fn job(&self, budget: Budget) -> Job {
        Job::new(Box::new(self.clone()), budget)
    }

    async fn sweep(&self, job: Job) -> PolicyReport {
        let clock = Arc::clone(&self.clock);
        Sweep::new(clock, boundary()).run(vec![job]).await.policies.remove(0)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Where each page was to begin: behind a page by its number, or at the very beginning.
    pub(crate) fn begins(&self) -> Vec<Option<String>> {
        self.begins.lock().unwrap().iter().map(|begin| begin.as_ref().map(|at| at.as_str().to_owned())).collect()
    }
}

fn loses(times: &AtomicU32) -> Result<(), TargetError> {
    let left = times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    left.map_or(Ok(()), |_| Err(TargetError::new(ErrorKind::Lost, "as the script says")))
}

#[async_trait]
impl Target for Scripted {
    fn policy(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> &'static str {
        "script"
    }

    async fn survey(&mut self, _: Boundary) -> Result<Survey, TargetError> {
        loses(&self.lost_in_survey)?;
        Ok(self.survey.clone())
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        Ok(items <= 10_000)
    }

    async fn whole(&mut self, _: Boundary, items_max: u64) -> Result<Option<Page>, TargetError> {
        let mut wholes = self.wholes.lock().unwrap();
        let fits = wholes.front().is_some_and(|items| *items <= items_max);
        let items = if fits { wholes.pop_front() } else { None };
        self.clock.advance(if fits { self.page_time } else { Duration::ZERO });
        Ok(items.map(|items| Page { tally: Tally::removed(items), requests: 3, next: None }))
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        self.asked.lock().unwrap().push((request.limit, request.care));
        self.begins.lock().unwrap().push(request.cursor.cloned());
        self.clock.advance(self.page_time);
        self.pages += 1;
        let step = self.steps.lock().unwrap().pop_front().unwrap_or(Step::Ends(0));
        let (items, next) = match step {
            Step::Fails(kind) => return Err(TargetError::new(kind, "as the script says")),
            Step::StandsStill => (0, request.cursor.cloned().or_else(|| Some(Cursor::new("here")))),
            Step::Removes(items) => (items, Some(Cursor::new(self.pages.to_string()))),
            Step::RemovesAll => (request.limit, Some(Cursor::new(self.pages.to_string()))),
            Step::Ends(items) => (items, None),
            Step::KeepsBack(_) => (0, None),
        };
        let mut tally = Tally::removed(items);
        if let Step::KeepsBack(items) = step {
            tally.examined = items;
            tally.kept_back.referenced = items;
        }
        if request.care == Care::KeepBack {
            tally = Tally { examined: 1, ..Tally::default() };
            tally.kept_back.conflict = 1;
        }
        Ok(Page { tally, requests: 2, next })
    }

    async fn tidy(&mut self) -> Result<(), TargetError> {
        self.clock.advance(self.tidy_time);
        loses(&self.lost_between)
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        match self.unsettled.lock().unwrap().pop_front() {
            Some(kind) => Err(TargetError::new(kind, "not settled")),
            None => Ok(()),
        }
    }

    async fn lag(&mut self, _: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        Ok(Some(SignedDuration::from_secs(77)))
    }
}
