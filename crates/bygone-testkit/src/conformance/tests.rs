//! The suite itself, tested: the reference target passes it, and targets with one fault each do not.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bygone_core::memory::{Item, MemoryTarget, Shelf};
use bygone_core::{Survey, TargetError};

use super::*;

/// Makes the target of a stand; a fault wraps the reference target.
type Make = fn(MemoryTarget) -> Box<dyn Target>;

struct MemoryStand {
    shelf: Mutex<Shelf>,
    make: Make,
}

impl MemoryStand {
    fn of(make: Make) -> Self {
        Self { shelf: Mutex::new(Shelf::default()), make }
    }

    fn shelf(&self) -> Shelf {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes an item where it lies.
    fn change(shelf: &Shelf, key: u32, change: impl FnOnce(&mut Item)) {
        let name = name(key);
        let known = shelf.items().into_iter().find(|item| item.key == name);
        let mut item = known.unwrap_or(Item { key: name, deadline: None, locked: false, stuck: false });
        change(&mut item);
        shelf.put(item);
    }
}

fn name(key: u32) -> String {
    format!("{key:08}")
}

struct MemoryHold {
    shelf: Shelf,
    key: u32,
}

impl Hold for MemoryHold {
    fn release(self: Box<Self>) -> Answer<'static, ()> {
        MemoryStand::change(&self.shelf, self.key, |item| item.locked = false);
        Box::pin(std::future::ready(()))
    }
}

impl Stand for MemoryStand {
    fn target(&self) -> Answer<'_, Box<dyn Target>> {
        let target = (self.make)(MemoryTarget::new("reference", self.shelf()).keeping(KEEP));
        Box::pin(std::future::ready(target))
    }

    fn put(&self, key: u32, deadline: Option<Timestamp>) -> Answer<'_, ()> {
        Self::change(&self.shelf(), key, |item| item.deadline = deadline);
        Box::pin(std::future::ready(()))
    }

    fn items(&self) -> Answer<'_, BTreeMap<u32, Option<Timestamp>>> {
        let items = self.shelf().items().into_iter().map(|item| (item.key.parse().unwrap(), item.deadline)).collect();
        Box::pin(std::future::ready(items))
    }

    fn stick(&self, key: u32) -> Answer<'_, ()> {
        Self::change(&self.shelf(), key, |item| item.stuck = true);
        Box::pin(std::future::ready(()))
    }

    fn hold(&self, key: u32) -> Answer<'_, Option<Box<dyn Hold>>> {
        let hold = MemoryHold { shelf: self.shelf(), key };
        Self::change(&hold.shelf, key, |item| item.locked = true);
        Box::pin(std::future::ready(Some(Box::new(hold) as Box<dyn Hold>)))
    }

    fn reset(&self) -> Answer<'_, ()> {
        *self.shelf.lock().unwrap_or_else(PoisonError::into_inner) = Shelf::default();
        Box::pin(std::future::ready(()))
    }
}

/// The reference target with one fault.
struct Faulty {
    inner: MemoryTarget,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Takes what is exactly on the boundary.
    OnTheBoundary,
    /// Takes twice as many items as it was asked to.
    OverTheLimit,
    /// Begins every page at the beginning.
    ForgetsTheCursor,
    /// Counts what it left as removed.
    CountsWhatIsLeft,
    /// Says that it is done after one page.
    StopsShort,
    /// Does not see items without a deadline.
    BlindToNone,
}

impl Faulty {
    fn make(inner: MemoryTarget, fault: Fault) -> Box<dyn Target> {
        Box::new(Self { inner, fault })
    }

    fn boundary(&self, boundary: Boundary) -> Boundary {
        let early = SignedDuration::from_micros(i64::from(self.fault == Fault::OnTheBoundary));
        Boundary::at(boundary.instant() + early)
    }
}

#[async_trait]
impl Target for Faulty {
    fn policy(&self) -> &'static str {
        "faulty"
    }

    fn source(&self) -> &'static str {
        "memory"
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let mut survey = self.inner.survey(boundary).await?;
        if self.fault == Fault::BlindToNone {
            survey.unreadable = 0;
        }
        Ok(survey)
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        self.inner.holds_at_least(items).await
    }

    async fn page(&mut self, mut request: PageRequest<'_>) -> Result<Page, TargetError> {
        request.boundary = self.boundary(request.boundary);
        match self.fault {
            Fault::OverTheLimit => request.limit *= 2,
            Fault::ForgetsTheCursor => request.cursor = None,
            _ => {}
        }
        let mut page = self.inner.page(request).await?;
        match self.fault {
            Fault::CountsWhatIsLeft => {
                page.tally.removed += page.tally.kept_back.total();
                page.tally.kept_back = bygone_core::KeptBack::default();
            }
            Fault::StopsShort => page.next = None,
            _ => {}
        }
        Ok(page)
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        self.inner.settle().await
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        self.inner.lag(boundary).await
    }
}

#[tokio::test]
async fn the_reference_target_conforms() {
    conforms(&MemoryStand::of(|target| Box::new(target))).await;
}

#[tokio::test]
async fn a_target_with_any_of_these_faults_does_not() {
    let faults: [(&str, Make); 6] = [
        ("strict boundary", |target| Faulty::make(target, Fault::OnTheBoundary)),
        ("isolation", |target| Faulty::make(target, Fault::OverTheLimit)),
        ("cursor progress", |target| Faulty::make(target, Fault::ForgetsTheCursor)),
        ("cursor progress", |target| Faulty::make(target, Fault::CountsWhatIsLeft)),
        ("cursor progress", |target| Faulty::make(target, Fault::StopsShort)),
        ("no deadline is counted", |target| Faulty::make(target, Fault::BlindToNone)),
    ];
    for (case, make) in faults {
        let suite = tokio::spawn(async move { conforms(&MemoryStand::of(make)).await });
        let panic = suite.await.expect_err(case).into_panic();
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains(case), "expected `{case}` to fail: {message}");
    }
}
