//! What is told of a policy besides its pages: what the survey found, warnings, lag, names, and lines for a log.

use std::sync::{Arc, Mutex};

use bygone_core::{Budget, ErrorKind, Job, Outcome, Sweep, TargetError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::scripted::{Scripted, Step, boundary};

#[tokio::test]
async fn what_cannot_be_read_is_examined_and_kept_back() {
    let mut target = Scripted::new([Step::Ends(4)]);
    target.survey.unreadable = 3;
    target.survey.requests = 5;
    let report = target.run(Budget::default()).await;
    assert_eq!((report.tally.examined, report.tally.kept_back.unreadable, report.requests), (7, 3, 5 + 2));
    assert_eq!(report.lag_seconds, 0, "nothing is late that nobody can tell the time of");
}

#[tokio::test]
async fn what_stays_has_an_age() {
    for (last, lag) in [(Step::Ends(1), 0), (Step::KeepsBack(1), 77)] {
        let report = Scripted::new([Step::Removes(1), last]).run(Budget::default()).await;
        assert_eq!((report.outcome, report.lag_seconds), (Outcome::Complete, lag));
    }
}

#[tokio::test]
async fn a_warning_is_told_once() {
    let mut target = Scripted::new([Step::Ends(1), Step::Ends(0)]);
    target.survey.warnings = vec!["of the survey".to_owned(), "known".to_owned()];
    let job = target.job(Budget::default()).with_warnings(vec!["known".to_owned()]);
    assert_eq!(job.warnings(), ["known"]);
    // It runs twice.
    let job = job.that_frees(vec!["scripted".to_owned()]);
    let report = Sweep::new(Arc::clone(&target.clock) as Arc<_>, boundary()).run(vec![job]).await;
    assert_eq!(report.policies[0].warnings, ["known", "of the survey"]);
}

#[tokio::test]
async fn a_sweep_and_its_jobs_tell_who_they_are() {
    let bound = Scripted::new([]).job(Budget::default());
    let unbound = Job::unbound("misspelt", "auth", TargetError::new(ErrorKind::Unfit, "no such table"));
    let names = [&bound, &unbound].map(|job| (job.policy().to_owned(), job.source().to_owned()));
    let expected = [("scripted", "script"), ("misspelt", "auth")].map(|(p, s)| (p.to_owned(), s.to_owned()));
    assert_eq!(names, expected);
    let sweep = Sweep::new(Scripted::new([]).clock, boundary());
    let id = sweep.id();
    let report = sweep.run(vec![bound, unbound]).await;
    assert_eq!(report.sweep, id);
    let told = report.policies.into_iter().map(|told| (told.policy, told.source));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// Listens to lines and remembers at which level they were told.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Level>>>);

struct IsEnd(bool);

impl Visit for IsEnd {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0 |= field.name() == "message" && format!("{value:?}") == "policy ended";
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut end = IsEnd(false);
        event.record(&mut end);
        if end.0 {
            self.0.lock().unwrap().push(*event.metadata().level());
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A policy that has nothing to do is no news; what was removed is, and what went wrong is more than that.
#[test]
fn a_line_is_as_loud_as_its_news() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let targets = [Step::Ends(0), Step::Ends(1), Step::Fails(ErrorKind::Failed)].map(|step| Scripted::new([step]));
    runtime.block_on(async {
        for target in &targets {
            target.run(Budget::default()).await;
        }
    });
    assert_eq!(*lines.0.lock().unwrap(), [Level::DEBUG, Level::INFO, Level::WARN]);
}
