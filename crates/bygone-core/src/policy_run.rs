//! The run of one policy in a sweep: survey, brake, pages, and the accounts at the end.

use futures_util::future::join_all;
use jiff::SignedDuration;

use crate::ground::Ground;
use crate::sweep::record_error;
use crate::worker::Worker;
use crate::{BrakeDecision, Care, Consent, ErrorKind, Event, KeptBack, Outcome, Survey, Target, TargetError};

pub(crate) struct PolicyRun<'a> {
    ground: Ground<'a>,
}

impl<'a> PolicyRun<'a> {
    pub(crate) fn on(ground: Ground<'a>) -> Self {
        Self { ground }
    }

    /// Survey, brake, pages, settle; everything that happened stands in the report, also after an error.
    pub(crate) async fn run(self, target: &mut dyn Target, consent: Consent) {
        let ground = &self.ground;
        // A survey is work for the source, too.
        if let Some(outcome) = ground.at_the_gates().await {
            ground.books().report.outcome = outcome;
            return;
        }
        if let Err(error) = self.begin(target, consent).await {
            record_error(ground.books().report, &error);
            return;
        }
        match self.pages(target).await {
            Ok(outcome) => ground.books().report.outcome = outcome,
            Err(error) => record_error(ground.books().report, &error),
        }
        // Pages may be committed without waiting for the disk. Nothing is claimed before they are on it.
        let pages = ground.books().report.pages;
        if pages > 0
            && let Err(error) = settle(target).await
        {
            record_error(ground.books().report, &error);
        }
        self.warn(target.warnings());
        self.measure_lag(target).await;
    }

    async fn begin(&self, target: &mut dyn Target, consent: Consent) -> Result<(), TargetError> {
        let done = {
            let mut books = self.ground.books();
            // What an earlier run of the sweep has done stands; what it kept back is looked at again.
            let tally = &mut books.report.tally;
            tally.examined -= tally.kept_back.total();
            tally.kept_back = KeptBack::default();
            let done = tally.examined;
            books.items_left = books.items_left.saturating_sub(done);
            done
        };
        let survey = target.survey(self.ground.boundary).await?;
        {
            let mut books = self.ground.books();
            books.report.requests += survey.requests;
            // Where others have freed items of it, it may run again.
            books.report.bygone = survey.bygone.map(|bygone| bygone + books.report.tally.done());
        }
        self.warn(survey.warnings.clone());
        self.check_consent(target, consent.after(done), &survey).await?;
        {
            let tally = &mut self.ground.books().report.tally;
            tally.examined += survey.unreadable;
            tally.kept_back.unreadable += survey.unreadable;
        }
        self.ground.observer.on(&Event::PolicyStarted { policy: target.policy(), survey: &survey });
        Ok(())
    }

    async fn check_consent(
        &self,
        target: &mut dyn Target,
        consent: Consent,
        survey: &Survey,
    ) -> Result<(), TargetError> {
        let stopped = match consent {
            Consent::Released => None,
            Consent::Brake(brake) => match brake.decide(survey.bygone, target).await? {
                BrakeDecision::Go => None,
                BrakeDecision::Stop(why) => Some(why),
            },
            Consent::Plan { items } => {
                let mut books = self.ground.books();
                books.items_left = books.items_left.min(items);
                match survey.bygone {
                    Some(bygone) if bygone <= items => None,
                    Some(bygone) => Some(format!("{bygone} items are bygone, over the {items} that the plan allows")),
                    None => Some("how many items are bygone is unknown".to_owned()),
                }
            }
        };
        match stopped {
            None => Ok(()),
            Some(why) => Err(TargetError::new(ErrorKind::Brake, format!("the brake holds: {why}")).with_help(
                "look at `bygone plan`; then `--release-brake POLICY` for this run, or set `brake` on the policy",
            )),
        }
    }

    /// What is bygone as a whole goes first: it costs next to nothing, and leaves less to look through.
    async fn wholes(&self, target: &mut dyn Target) -> Result<(), TargetError> {
        let ground = &self.ground;
        while ground.must_stop(1).await.is_none() {
            let before = ground.clock.elapsed();
            let items_left = ground.books().items_left;
            let Some(page) = target.whole(ground.boundary, items_left).await? else { break };
            let time = ground.clock.elapsed().saturating_sub(before);
            ground.count(&page, None);
            let care = Care::Swift;
            ground.observer.on(&Event::PageSwept { policy: target.policy(), page: &page.tally, care, time });
        }
        Ok(())
    }

    async fn pages(&self, target: &mut dyn Target) -> Result<Outcome, TargetError> {
        self.wholes(target).await?;
        let mut parts = match self.ground.terms.budget.workers.get() {
            1 => Vec::new(),
            workers => target.parts(self.ground.boundary, workers).await?,
        };
        if parts.is_empty() {
            return Worker::new(&self.ground, target).run(target).await;
        }
        let ends = join_all(parts.iter_mut().map(|part| self.part(&mut **part))).await;
        for part in &mut parts {
            self.warn(part.warnings());
        }
        let mut whole = Outcome::Complete;
        for end in ends {
            let outcome = end?;
            if whole == Outcome::Complete {
                whole = outcome;
            }
        }
        Ok(whole)
    }

    /// A worker's part. Where it fails, the others end, too: the policy has failed.
    async fn part(&self, part: &mut dyn Target) -> Result<Outcome, TargetError> {
        let end = Worker::new(&self.ground, part).run(part).await;
        if end.is_err() {
            self.ground.break_off();
        }
        end
    }

    /// Adds what the report does not say yet: a policy may run more than once in a sweep.
    fn warn(&self, warnings: Vec<String>) {
        let said = &mut self.ground.books().report.warnings;
        for warning in warnings {
            if !said.contains(&warning) {
                said.push(warning);
            }
        }
    }

    /// The age of what is left. Nothing is left after a complete run that kept nothing back.
    async fn measure_lag(&self, target: &mut dyn Target) {
        let nothing_left = {
            let books = self.ground.books();
            let kept = books.report.tally.kept_back;
            books.report.outcome == Outcome::Complete && kept.total() == kept.unreadable
        };
        if nothing_left {
            return;
        }
        let lag = target.lag(self.ground.boundary).await;
        let report = &mut *self.ground.books().report;
        match lag {
            Ok(lag) => report.lag_seconds = lag.map_or(0, seconds),
            Err(error) => report.warnings.push(format!("the lag could not be read: {}", error.full_message())),
        }
    }
}

/// What was committed on one connection is made durable on any other: one that is lost is no reason to fail.
async fn settle(target: &mut dyn Target) -> Result<(), TargetError> {
    match target.settle().await {
        Err(error) if error.kind() == ErrorKind::Lost => target.settle().await,
        settled => settled,
    }
}

fn seconds(time: SignedDuration) -> u64 {
    u64::try_from(time.as_secs()).unwrap_or(0)
}
