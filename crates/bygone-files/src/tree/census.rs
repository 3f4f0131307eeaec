//! Counting: one walk that touches nothing and says what a sweep would find.

use std::sync::{Mutex, PoisonError};

use bygone_core::Survey;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::cap::{Gauge, Load, Needs};
use super::facts::Facts;
use super::hands::{hands, with_hands};
use super::links::Links;
use super::policy::TreePolicy;
use super::stamp::Stamp;
use super::walk::{Bar, Barred, Batch, DEPTH_MAX, Guide, Purpose, Step, Walk};

/// What one walk counted.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Everything that was seen, covered or not.
    pub(crate) seen: u64,
    /// What the policy covers.
    covered: Load,
    /// What is past its time by age.
    aged: Load,
    /// What the caps take on top.
    pub(crate) capped: u64,
    /// Directories that go.
    directories: u64,
    bytes: u64,
    unreadable: u64,
    pub(crate) oldest: Option<Stamp>,
    barred: Vec<(Bar, u64, Vec<u8>)>,
    lost_links: bool,
    pub(crate) gauge: Option<Gauge>,
}

impl Census {
    /// Walks the tree and counts; `gauge` measures what is not past its time by age.
    pub(crate) fn take(guide: Guide<'_>, gauge: Option<&Gauge>) -> Self {
        let walk = Mutex::new(Walk::begin(guide, Purpose::Look));
        let links = Links::default();
        let parts = with_hands(hands(), || {
            let mut counter = Counter { guide, walk: &walk, links: &links, path: Vec::new(), census: Self::default() };
            counter.census.gauge = gauge.cloned();
            counter.count();
            counter.census
        });
        let mut census = parts.into_iter().reduce(Self::join).unwrap_or_default();
        census.lost_links = links.lost_some();
        let walk = walk.into_inner().unwrap_or_else(PoisonError::into_inner);
        if guide.judge.empty_dirs {
            census.seen += walk.entered();
        }
        census
    }

    fn join(mut self, other: Self) -> Self {
        self.seen += other.seen;
        self.covered.add(other.covered);
        self.aged.add(other.aged);
        self.capped += other.capped;
        self.directories += other.directories;
        self.bytes += other.bytes;
        self.unreadable += other.unreadable;
        self.oldest = earlier(self.oldest, other.oldest);
        for (why, count, path) in other.barred {
            self.bar(why, count, path);
        }
        match (&mut self.gauge, other.gauge) {
            (Some(own), Some(others)) => own.join(others),
            (own, others) => *own = own.take().or(others),
        }
        self
    }

    fn bar(&mut self, why: Bar, count: u64, path: Vec<u8>) {
        match self.barred.iter_mut().find(|(known, ..)| *known == why) {
            Some((_, known, _)) => *known += count,
            None => self.barred.push((why, count, path)),
        }
    }

    /// What must go besides the aged so that the rest fits the caps.
    pub(crate) fn needs(&self, policy: &TreePolicy, free: u64) -> Needs {
        let rest = Load { count: self.covered.count - self.aged.count, bytes: self.covered.bytes - self.aged.bytes };
        let over = |most: Option<u64>, there: u64| most.map_or(0, |most| there.saturating_sub(most));
        let short = policy.min_free.map_or(0, |least| least.saturating_sub(free.saturating_add(self.aged.bytes)));
        Needs { count: over(policy.max_count, rest.count), bytes: over(policy.max_bytes, rest.bytes).max(short) }
    }

    pub(crate) fn survey(&self) -> Survey {
        Survey {
            bygone: Some(self.aged.count + self.capped + self.directories),
            unreadable: self.unreadable,
            oldest: self.oldest.map(Stamp::timestamp),
            bytes: Some(self.bytes),
            warnings: self.warnings(),
            requests: 1,
        }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self
            .barred
            .iter()
            .filter_map(|(why, count, path)| {
                let first = String::from_utf8_lossy(path);
                let first = if first.is_empty() { "the swept directory itself".into() } else { first };
                let directories = if *count == 1 { "directory is" } else { "directories are" };
                Some(match why {
                    Bar::Mount => format!("{count} {directories} mount points, which are not entered: {first}"),
                    Bar::Deep => format!(
                        "{count} {directories} deeper than {DEPTH_MAX} levels and stay with all that they hold: {first}"
                    ),
                    Bar::Closed(error) => {
                        let error = std::io::Error::from(*error);
                        format!(
                            "{count} {directories} closed to bygone and stay with all that they hold ({error}): {first}"
                        )
                    }
                    Bar::Locked => return None,
                })
            })
            .collect();
        if self.lost_links {
            warnings.push("very many files have several names: not all of their bytes are counted".into());
        }
        warnings
    }
}

/// One pair of hands at counting.
struct Counter<'a> {
    guide: Guide<'a>,
    walk: &'a Mutex<Walk>,
    links: &'a Links,
    path: Vec<u8>,
    census: Census,
}

impl Counter<'_> {
    fn count(&mut self) {
        loop {
            let step = self.walk.lock().unwrap_or_else(PoisonError::into_inner).next(self.guide, usize::MAX);
            match step {
                None => return,
                Some(Step::Barred(Barred { why, path })) => self.census.bar(why, 1, path),
                Some(Step::Finished(directory)) => {
                    self.census.directories += 1;
                    self.census.oldest = earlier(self.census.oldest, directory.stamp());
                    if let Some(place) = directory.into_place() {
                        self.walk.lock().unwrap_or_else(PoisonError::into_inner).release(place.parent);
                    }
                }
                Some(Step::Names(batch)) => {
                    self.count_names(&batch);
                    self.walk.lock().unwrap_or_else(PoisonError::into_inner).release(batch.directory);
                }
            }
        }
    }

    fn count_names(&mut self, batch: &Batch) {
        for at in batch.next..batch.end {
            if !self.goes(batch, at) {
                batch.directory.mark_stays();
            }
        }
    }

    /// Counts one name. True when it goes, or is gone.
    fn goes(&mut self, batch: &Batch, at: usize) -> bool {
        if matches!(batch.names.kind(at), FileType::CharacterDevice | FileType::BlockDevice) {
            return false;
        }
        self.census.seen += 1;
        let (directory, name) = (&batch.directory, batch.names.name(at));
        let Guide { judge, reach, root } = self.guide;
        if !judge.covers(directory, name, &mut self.path) {
            return false;
        }
        let facts = match Facts::of_name(directory, name, judge.age) {
            Ok(facts) => facts,
            Err(Errno::NOENT) => return true,
            Err(_) => {
                self.census.unreadable += 1;
                return false;
            }
        };
        if !is_item(facts.kind()) || facts.identity().device != root.facts().identity().device {
            return false;
        }
        self.census.covered.add(Load::one(facts.share()));
        let Some(stamp) = judge.stamp(directory, name, &facts, &mut self.path) else {
            self.census.unreadable += 1;
            return false;
        };
        let aged = reach.is_aged(stamp);
        if aged {
            self.census.aged.add(Load::one(facts.share()));
        } else if let Some(gauge) = &mut self.census.gauge {
            gauge.add(stamp, facts.share());
        }
        if !reach.takes(stamp, &facts) {
            return false;
        }
        self.census.capped += u64::from(!aged);
        self.census.bytes += self.links.freed(&facts);
        self.census.oldest = earlier(self.census.oldest, Some(stamp));
        true
    }
}

/// Directories are items of another kind, and device nodes of none.
pub(crate) fn is_item(kind: FileType) -> bool {
    matches!(kind, FileType::RegularFile | FileType::Symlink | FileType::Socket | FileType::Fifo)
}

fn earlier(one: Option<Stamp>, other: Option<Stamp>) -> Option<Stamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_what_is_over_the_caps_once_the_aged_are_gone() {
        let census = Census {
            covered: Load { count: 100, bytes: 10_000 },
            aged: Load { count: 30, bytes: 3_000 },
            ..Census::default()
        };
        let policy = TreePolicy::new("p", "s", "/tmp");
        let needs = |max_count, max_bytes, min_free| {
            let needs = census.needs(&TreePolicy { max_bytes, max_count, min_free, ..policy.clone() }, 500);
            (needs.count, needs.bytes)
        };
        assert_eq!(needs(Some(70), Some(7_000), Some(3_500)), (0, 0));
        assert_eq!(needs(Some(69), Some(6_999), None), (1, 1));
        assert_eq!(needs(None, None, Some(3_600)), (0, 100));
        assert_eq!(needs(None, Some(6_000), Some(3_600)), (0, 1_000), "the larger of the two");
    }
}
