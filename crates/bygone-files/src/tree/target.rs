//! A tree as the engine sees it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{
    Boundary, Care, Clock, Cursor, ErrorKind, Page, PageRequest, Survey, SystemClock, Target, TargetError,
};
use jiff::SignedDuration;
use rustix::fs::{StatVfsMountFlags, fstatvfs, fsync};
use rustix::io::Errno;

use super::cap::{Cut, Gauge, find};
use super::census::Census;
use super::held::Held;
use super::judge::{Judge, Reach};
use super::page;
use super::policy::TreePolicy;
use super::root::Root;
use super::stamp::{Age, Stamp};
use super::swaps::Swaps;
use super::walk::{Guide, Purpose, Walk};

/// What is in use is read anew after this time, or after ten times as long as reading it took.
const HELD_FRESH: Duration = Duration::from_secs(1);

/// A policy bound to a directory tree.
///
/// The walk of a sweep is kept here between its pages, with a handle per level: the cursor only counts pages. All work is
/// done on blocking threads, so a runtime of Tokio must be around it.
#[derive(Debug)]
pub struct TreeTarget {
    tree: Arc<Tree>,
}

#[derive(Debug)]
struct Tree {
    policy: TreePolicy,
    root: Root,
    judge: Judge,
    clock: Arc<dyn Clock>,
    /// Held by whoever is at work; a page whose caller has gone away still ends and leaves the walk here.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The walk of the sweep that is under way.
    walk: Option<Walk>,
    pages: u64,
    /// How far the survey of this boundary reached.
    reach: Option<(Boundary, Reach)>,
    /// What the last survey saw.
    seen: Option<u64>,
    held: Option<(Held, Duration, Duration)>,
    touched: Option<Arc<std::os::fd::OwnedFd>>,
    /// What the sweep under way removed although it was not what it had looked at.
    swaps: Swaps,
}

impl TreeTarget {
    /// Opens the tree and checks the policy against it.
    pub fn bind(policy: TreePolicy) -> Result<Self, TargetError> {
        Self::bind_by(policy, Arc::new(SystemClock::new()))
    }

    /// The same by another clock, which only says when to look anew at what is in use.
    pub fn bind_by(policy: TreePolicy, clock: Arc<dyn Clock>) -> Result<Self, TargetError> {
        check(&policy)?;
        let judge = Judge::of(&policy)?;
        let root = Root::open(&policy)?;
        Ok(Self { tree: Arc::new(Tree { policy, root, judge, clock, state: Mutex::default() }) })
    }

    /// The directory that is swept.
    pub fn directory(&self) -> &Path {
        self.tree.root.path()
    }

    /// The policy as it was bound.
    pub fn tree_policy(&self) -> &TreePolicy {
        &self.tree.policy
    }

    /// What somebody should know before the first sweep: stamps that the file system does not keep, or keeps carelessly.
    pub fn preflight(&self) -> Vec<String> {
        self.tree.preflight()
    }

    /// Runs blocking work on the tree away from the runtime.
    async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Tree, &mut State) -> R + Send + 'static,
    ) -> Result<R, TargetError> {
        let tree = Arc::clone(&self.tree);
        tokio::task::spawn_blocking(move || work(&tree, &mut tree.state()))
            .await
            .map_err(|error| TargetError::new(ErrorKind::Failed, "the work on the tree ended").with_source(error))
    }
}

/// What is wrong with a policy whatever the tree is like.
fn check(policy: &TreePolicy) -> Result<(), TargetError> {
    let unfit =
        |key, message: &str, help: &str| Err(TargetError::new(ErrorKind::Unfit, message).about(key).with_help(help));
    if policy.keep.is_none() && !policy.has_caps() {
        return unfit(
            "keep",
            "the policy says nothing of what goes",
            "set `keep`, `max_bytes`, `max_count` or `min_free`",
        );
    }
    if policy.keep.is_some_and(|keep| keep.is_negative()) {
        return unfit("keep", "the keep is negative", "a file stays for no time or for some: write `0s` or more");
    }
    if policy.min_depth == 0 {
        return unfit("min_depth", "the swept directory itself never goes", "depths begin at 1: the entries in it");
    }
    Ok(())
}

impl Tree {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guide<'a>(&'a self, reach: &'a Reach) -> Guide<'a> {
        Guide { root: &self.root, judge: &self.judge, reach }
    }

    fn preflight(&self) -> Vec<String> {
        let mut findings = Vec::new();
        let age = self.policy.age;
        if !self.judge.is_dated() && self.root.facts().stamp().is_none() {
            findings.push("the file system does not keep this stamp: every file counts as unreadable and stays".into());
        }
        if let Ok(state) = fstatvfs(self.root.handle()) {
            if state.f_flag.contains(StatVfsMountFlags::RDONLY) {
                findings.push("the file system is mounted read-only: nothing can be removed".into());
            }
            if age == Age::Accessed && state.f_flag.contains(StatVfsMountFlags::NOATIME) {
                findings
                    .push("the file system is mounted with noatime: reading a file does not make it younger".into());
            } else if age == Age::Accessed && state.f_flag.contains(StatVfsMountFlags::RELATIME) {
                findings.push("the file system is mounted with relatime: times of access may be a day behind".into());
            }
        }
        if !Held::is_visible() {
            findings.push("/proc cannot be read: files that are open, but not locked, are not seen".into());
        }
        findings
    }

    fn survey(&self, state: &mut State, boundary: Boundary) -> Result<Survey, TargetError> {
        let aged = Reach::aged(boundary, self.policy.keep);
        let gauge = self.policy.has_caps().then(|| Gauge::all(Stamp::from(boundary.instant())));
        let mut census = Census::take(self.guide(&aged), gauge.as_ref());
        state.seen = Some(census.seen);
        state.reach = None;
        let mut reach = aged;
        if let Some(measured) = census.gauge.take() {
            let free = self.free()?;
            let needs = census.needs(&self.policy, free);
            if !needs.are_met() {
                let (stamp, ties) = find(needs, measured, |gauge| {
                    let pass = Census::take(self.guide(&reach), Some(&gauge));
                    pass.gauge.ok_or_else(|| TargetError::new(ErrorKind::Failed, "a pass measured nothing"))
                })?;
                // Counted with the cut, and then allowed as many as were counted.
                let counting = Reach::aged(boundary, self.policy.keep).with_cut(Cut::new((stamp, ties), u64::MAX));
                census = Census::take(self.guide(&counting), None);
                reach = reach.with_cut(Cut::new((stamp, ties), census.capped));
            }
        }
        state.reach = Some((boundary, reach));
        Ok(census.survey())
    }

    fn free(&self) -> Result<u64, TargetError> {
        if self.policy.min_free.is_none() {
            return Ok(0);
        }
        self.root.free().map_err(|error| {
            TargetError::new(ErrorKind::Unreachable, "how much is free cannot be read")
                .about("min_free")
                .with_help("see whether the file system is there, or leave `min_free` out")
                .with_source(std::io::Error::from(error))
        })
    }

    fn page(&self, state: &mut State, boundary: Boundary, restart: bool, limit: u64, care: Care) -> Page {
        let reach = match state.reach.take() {
            Some((of, reach)) if of == boundary => reach,
            // Without a survey the caps are unknown, and take nothing.
            _ => Reach::aged(boundary, self.policy.keep),
        };
        let guide = self.guide(&reach);
        let walk = state.walk.take().filter(|_| !restart);
        if restart {
            state.swaps = Swaps::default();
        }
        let mut walk = walk.unwrap_or_else(|| Walk::begin(guide, Purpose::Sweep));
        let held = self.held(state);
        let limit = if care == Care::KeepBack { limit.min(1) } else { limit };
        let swept = page::sweep(guide, &mut walk, held, limit, care);
        state.touched = swept.touched.or(state.touched.take());
        state.swaps.add(swept.swaps);
        state.pages += 1;
        let next = (!walk.is_done()).then(|| Cursor::new(state.pages.to_string()));
        state.walk = next.is_some().then_some(walk);
        state.reach = Some((boundary, reach));
        Page { tally: swept.tally, requests: 1, next }
    }

    /// What is in use, as fresh as it can be had without doing little else.
    fn held<'a>(&self, state: &'a mut State) -> &'a Held {
        let now = self.clock.elapsed();
        let fresh = state.held.take().filter(|(_, read, cost)| now.saturating_sub(*read) < HELD_FRESH.max(*cost * 10));
        let held = fresh.unwrap_or_else(|| {
            let held = Held::read(self.root.facts().identity().device);
            (held, now, self.clock.elapsed().saturating_sub(now))
        });
        &state.held.insert(held).0
    }
}

#[async_trait]
impl Target for TreeTarget {
    fn policy(&self) -> &str {
        &self.tree.policy.name
    }

    fn source(&self) -> &str {
        &self.tree.policy.source
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        self.run(move |tree, state| {
            let mut survey = tree.survey(state, boundary)?;
            survey.warnings.extend(tree.preflight());
            Ok(survey)
        })
        .await?
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        self.run(move |tree, state| {
            let seen = state.seen.unwrap_or_else(|| {
                let nothing = Reach::aged(Boundary::at(jiff::Timestamp::MIN), None);
                Census::take(tree.guide(&nothing), None).seen
            });
            state.seen = Some(seen);
            seen >= items
        })
        .await
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let PageRequest { boundary, cursor, limit, care } = request;
        let restart = cursor.is_none();
        self.run(move |tree, state| tree.page(state, boundary, restart, limit, care)).await
    }

    /// What file systems with a journal have written for the last directory stands behind all that came before. Elsewhere
    /// a crash may bring files back: they are past their time still, and the next sweep removes them again.
    async fn settle(&mut self) -> Result<(), TargetError> {
        let settled = self.run(|_, state| state.touched.take().map_or(Ok(()), fsync)).await?;
        match settled {
            Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::BADF) => Ok(()),
            Err(error) => Err(TargetError::new(ErrorKind::Failed, "the removals could not be made durable")
                .with_help("see the system's log for what its disk says")
                .with_source(std::io::Error::from(error))),
        }
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        self.run(move |tree, _| {
            let reach = Reach::aged(boundary, tree.policy.keep);
            let cutoff = reach.aged_before()?;
            let oldest = Census::take(tree.guide(&reach), None).oldest?;
            Some(cutoff.timestamp().duration_since(oldest.timestamp()))
        })
        .await
    }

    fn warnings(&mut self) -> Vec<String> {
        self.tree.state().swaps.warning().into_iter().collect()
    }
}
