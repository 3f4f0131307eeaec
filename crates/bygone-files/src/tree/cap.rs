//! Caps: how far up the oldest must go until the rest fits, in memory that does not grow with the tree.
//!
//! The stamps of all items are counted into buckets that are fine for the young and coarse for the old; the bucket in which
//! enough is reached is looked at again, finer, until few enough items are left to sort. What comes out is a stamp: older
//! items go, younger ones stay, and of those that carry just this stamp as many go as are still needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::stamp::Stamp;

/// So many items are sorted at once; more are divided first.
const SORTED_MAX: u64 = 65_536;
/// Buckets of equal width that a range is divided into.
const EVEN_BUCKETS: u128 = 16_384;
/// Buckets within each doubling of the age.
const STEPS: u128 = 256;

/// What must go at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Needs {
    pub(crate) fn are_met(self) -> bool {
        self.count == 0 && self.bytes == 0
    }

    fn less(self, load: Load) -> Self {
        Self { count: self.count.saturating_sub(load.count), bytes: self.bytes.saturating_sub(load.bytes) }
    }
}

/// Some items and what they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Load {
    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    pub(crate) fn one(bytes: u64) -> Self {
        Self { count: 1, bytes }
    }
}

/// Which items the caps take. It counts them while it does.
#[derive(Debug)]
pub(crate) struct Cut {
    stamp: Stamp,
    ties: Mutex<Needs>,
    left: AtomicU64,
}

impl Cut {
    /// All before `stamp`, and of those at it as many as `ties` needs; `most` of them in all.
    pub(crate) fn new((stamp, ties): (Stamp, Needs), most: u64) -> Self {
        Self { stamp, ties: Mutex::new(ties), left: AtomicU64::new(most) }
    }

    pub(crate) fn is_before(&self, stamp: Stamp) -> bool {
        stamp < self.stamp
    }

    /// Whether an item of that stamp could be taken.
    pub(crate) fn is_up_to(&self, stamp: Stamp) -> bool {
        stamp <= self.stamp
    }

    /// Takes an item, if it is old enough and there is need.
    pub(crate) fn takes(&self, stamp: Stamp, share: u64) -> bool {
        if stamp > self.stamp {
            return false;
        }
        if stamp == self.stamp {
            let mut ties = self.ties.lock().unwrap_or_else(PoisonError::into_inner);
            if ties.are_met() {
                return false;
            }
            *ties = ties.less(Load::one(share));
        }
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }
}

/// How stamps fall into buckets. A higher bucket is an older one.
#[derive(Clone, Copy, Debug)]
struct Scale {
    newest: Stamp,
    /// The width of a bucket; `None` for one that grows with the age.
    width: Option<u128>,
}

impl Scale {
    fn even(oldest: Stamp, newest: Stamp) -> Self {
        let span = newest.0.abs_diff(oldest.0) + 1;
        Self { newest, width: Some(span.div_ceil(EVEN_BUCKETS)) }
    }

    fn bucket(self, stamp: Stamp) -> usize {
        let age = self.newest.0.abs_diff(stamp.0);
        let bucket = match self.width {
            Some(width) => age / width,
            None if age < STEPS => age,
            None => {
                let shift = age.ilog2() - STEPS.ilog2();
                u128::from(shift + 1) * STEPS + ((age >> shift) % STEPS)
            }
        };
        usize::try_from(bucket).unwrap_or(usize::MAX)
    }

    /// The oldest and the newest stamp of a bucket.
    fn range(self, bucket: usize) -> (Stamp, Stamp) {
        let bucket = bucket as u128;
        let (least, span) = match self.width {
            Some(width) => (bucket * width, width),
            None if bucket < STEPS => (bucket, 1),
            None => {
                let shift = bucket / STEPS - 1;
                ((STEPS + bucket % STEPS) << shift, 1 << shift)
            }
        };
        let before = |age: u128| Stamp(self.newest.0.saturating_sub_unsigned(age));
        (before(least + span - 1), before(least))
    }
}

/// What a pass over the tree measures for the caps.
#[derive(Clone, Debug)]
pub(crate) struct Gauge {
    oldest: Stamp,
    newest: Stamp,
    into: Measure,
}

#[derive(Clone, Debug)]
enum Measure {
    Buckets(Scale, Vec<Load>),
    Sorted(Vec<(Stamp, u64)>),
}

impl Gauge {
    /// The first pass: everything up to `newest`.
    pub(crate) fn all(newest: Stamp) -> Self {
        let scale = Scale { newest, width: None };
        Self { oldest: Stamp(i128::MIN), newest, into: Measure::Buckets(scale, Vec::new()) }
    }

    fn buckets(oldest: Stamp, newest: Stamp) -> Self {
        Self { oldest, newest, into: Measure::Buckets(Scale::even(oldest, newest), Vec::new()) }
    }

    fn sorted(oldest: Stamp, newest: Stamp) -> Self {
        Self { oldest, newest, into: Measure::Sorted(Vec::new()) }
    }

    pub(crate) fn add(&mut self, stamp: Stamp, share: u64) {
        if stamp < self.oldest || stamp > self.newest {
            return;
        }
        match &mut self.into {
            Measure::Buckets(scale, buckets) => {
                let bucket = scale.bucket(stamp);
                if bucket >= buckets.len() {
                    buckets.resize(bucket + 1, Load::default());
                }
                buckets[bucket].add(Load::one(share));
            }
            // One more than there may be shows that there were too many.
            Measure::Sorted(found) if found.len() as u64 <= SORTED_MAX => found.push((stamp, share)),
            Measure::Sorted(_) => {}
        }
    }

    /// Adds what another pair of hands has measured.
    pub(crate) fn join(&mut self, other: Self) {
        match (&mut self.into, other.into) {
            (Measure::Buckets(_, own), Measure::Buckets(_, others)) => {
                own.resize(own.len().max(others.len()), Load::default());
                own.iter_mut().zip(others).for_each(|(own, other)| own.add(other));
            }
            (Measure::Sorted(own), Measure::Sorted(others)) => own.extend(others),
            _ => {}
        }
    }
}

/// Where the oldest that meet the needs end: the stamp, and what is still needed of the items that carry it. `first` is
/// what the first pass measured; `pass` makes another.
pub(crate) fn find<E>(
    mut needs: Needs,
    first: Gauge,
    mut pass: impl FnMut(Gauge) -> Result<Gauge, E>,
) -> Result<(Stamp, Needs), E> {
    let mut gauge = first;
    loop {
        let (oldest, newest, load) = match gauge.into {
            Measure::Sorted(found) if found.len() as u64 > SORTED_MAX => (gauge.oldest, gauge.newest, u64::MAX),
            Measure::Sorted(found) => return Ok(among(needs, found, gauge.newest)),
            Measure::Buckets(scale, buckets) => {
                let Some((bucket, left)) = crossing(needs, &buckets) else { return Ok((gauge.newest, needs)) };
                needs = left;
                let (oldest, newest) = scale.range(bucket);
                (oldest, newest.min(gauge.newest), buckets[bucket].count)
            }
        };
        if oldest == newest {
            return Ok((newest, needs));
        }
        let finer = if load <= SORTED_MAX { Gauge::sorted(oldest, newest) } else { Gauge::buckets(oldest, newest) };
        gauge = pass(finer)?;
    }
}

/// The bucket in which the needs are met, coming from the oldest, and what is still needed when it begins.
fn crossing(mut needs: Needs, buckets: &[Load]) -> Option<(usize, Needs)> {
    for (bucket, load) in buckets.iter().enumerate().rev() {
        let left = needs.less(*load);
        if left.are_met() {
            return Some((bucket, needs));
        }
        needs = left;
    }
    None
}

fn among(mut needs: Needs, mut found: Vec<(Stamp, u64)>, newest: Stamp) -> (Stamp, Needs) {
    found.sort_unstable();
    for group in found.chunk_by(|a, b| a.0 == b.0) {
        let left = group.iter().fold(needs, |needs, (_, share)| needs.less(Load::one(*share)));
        if left.are_met() {
            return (group[0].0, needs);
        }
        needs = left;
    }
    // Some of what was counted has gone since. What is left of the range is older than what stays.
    (newest, needs)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    const NOW: Stamp = Stamp(1_794_744_000_000_000_000);

    /// What goes by the book: sorted by age, from the oldest on, until the needs are met.
    fn by_the_book(needs: Needs, items: &[(Stamp, u64)]) -> Vec<Stamp> {
        let mut items: Vec<_> = items.iter().filter(|(stamp, _)| *stamp <= NOW).copied().collect();
        items.sort_unstable();
        let (mut count, mut bytes, mut gone) = (0, 0, Vec::new());
        for (stamp, share) in items {
            if count >= needs.count && bytes >= needs.bytes {
                break;
            }
            (count, bytes) = (count + 1, bytes + share);
            gone.push(stamp);
        }
        gone
    }

    fn cut(needs: Needs, items: &[(Stamp, u64)]) -> (Vec<Stamp>, u32) {
        let mut passes = 0;
        let mut pass = |mut gauge: Gauge| {
            passes += 1;
            for (stamp, share) in items {
                gauge.add(*stamp, *share);
            }
            Ok::<_, Infallible>(gauge)
        };
        let first = pass(Gauge::all(NOW)).unwrap_or_else(|never| match never {});
        let found = find(needs, first, &mut pass).unwrap_or_else(|never| match never {});
        let cut = Cut::new(found, u64::MAX);
        // Of equal stamps the sorted order takes the lighter ones first; any order is right.
        let mut sorted = items.to_vec();
        sorted.sort_unstable();
        (sorted.iter().filter(|(stamp, share)| cut.takes(*stamp, *share)).map(|(stamp, _)| *stamp).collect(), passes)
    }

    fn items() -> impl Strategy<Value = Vec<(Stamp, u64)>> {
        let age = prop_oneof![0..50_i128, -5..2_000_000_000_i128, 0..4_000_000_000_000_000_000_i128];
        prop::collection::vec((age.prop_map(|age| Stamp(NOW.0 - age)), 0..10_000_u64), 0..200)
    }

    proptest! {
        #[test]
        fn the_cut_is_what_sorting_says(items in items(), count in 0..250_u64, bytes in 0..1_000_000_u64) {
            let needs = Needs { count, bytes };
            prop_assume!(!needs.are_met());
            prop_assert_eq!(cut(needs, &items).0, by_the_book(needs, &items));
        }

        #[test]
        fn every_stamp_is_in_the_range_of_its_bucket(age in 0..i128::from(u64::MAX) * 1_000, width in 1..1_000_000_u128) {
            let stamp = Stamp(NOW.0 - age);
            // Even buckets divide a range into so many: their number always fits.
            let width = width + age.unsigned_abs() / 1_000_000;
            for scale in [Scale { newest: NOW, width: None }, Scale { newest: NOW, width: Some(width) }] {
                let (oldest, newest) = scale.range(scale.bucket(stamp));
                prop_assert!(oldest <= stamp && stamp <= newest, "{scale:?}: {stamp:?} in {oldest:?}..{newest:?}");
            }
        }
    }

    #[test]
    fn more_items_than_are_sorted_at_once_are_divided_until_they_are_few() {
        // A quarter of a million within one second, two years ago: one bucket of the first pass.
        let ago = 63_072_000_000_000_000;
        let items: Vec<_> = (0..250_000_u64).map(|n| (Stamp(NOW.0 - ago - i128::from(n) * 4_000), 4_096)).collect();
        let needs = Needs { count: 100_000, bytes: 0 };
        let (gone, passes) = cut(needs, &items);
        assert_eq!(gone, by_the_book(needs, &items));
        assert!(passes <= 6, "{passes} passes");
    }

    #[test]
    fn equal_stamps_by_the_hundred_thousand_go_by_their_number() {
        let items = vec![(Stamp(NOW.0 - 1_000_000_000_000), 1); 100_000];
        for needs in [Needs { count: 70_001, bytes: 0 }, Needs { count: 0, bytes: 70_001 }] {
            assert_eq!(cut(needs, &items).0.len(), 70_001);
        }
    }

    #[test]
    fn no_more_go_than_were_allowed() {
        let cut = Cut::new((NOW, Needs::default()), 2);
        let old = Stamp(NOW.0 - 1);
        assert_eq!((0..5).filter(|_| cut.takes(old, 1)).count(), 2);
        assert!(!cut.takes(NOW, 1), "nothing is needed of those at the stamp itself");
    }
}
