//! Objects under a prefix, as the engine sweeps them.

use async_trait::async_trait;
use bygone_core::{Boundary, Care, Cursor, ErrorKind, Page, PageRequest, Survey, Tally, Target, TargetError};
use bygone_objects::folder;
use jiff::{SignedDuration, Timestamp};

use super::listing::{Step, Walk};
use super::policy::{Selection, end_of_instant};
use super::removal::{Fate, Remover};
use super::store::{LISTING_KEYS, Object, Store};
use super::{Bucket, PrefixDeadline, PrefixError, PrefixPolicy, Scheme};

/// Items of one page where each is removed by a request of its own.
const SINGLE_ITEMS_MAX: u64 = 256;

/// A policy bound to a bucket.
#[derive(Debug)]
pub struct PrefixTarget {
    policy: PrefixPolicy,
    selection: Selection,
    store: Store,
    walk: Option<Walk>,
    remover: Remover,
    /// Deletes hide objects instead of removing them.
    versioned: bool,
    /// How many items the last survey saw, and whether that was all of them.
    seen: Option<(u64, bool)>,
    /// The policy may end at the first key that is not yet due.
    ordered: bool,
}

/// What an object is to a policy.
enum Standing {
    /// None of its business.
    Other,
    /// Its deadline cannot be read.
    Unreadable,
    /// Not yet past its time.
    Young,
    /// Past its time.
    Bygone(Timestamp),
}

impl PrefixTarget {
    /// Binds a policy to a bucket. Contacts nobody.
    pub fn bind(bucket: &Bucket, policy: PrefixPolicy) -> Result<Self, PrefixError> {
        if policy.keep.is_negative() {
            return Err(PrefixError::Keep { keep: policy.keep });
        }
        let prefix = folder(policy.prefix.as_deref().unwrap_or_default())?;
        let selection = Selection::of(&policy)?;
        let store = bucket.store(&prefix)?;
        let ordered = match &policy.deadline {
            PrefixDeadline::ByModified => false,
            PrefixDeadline::ByKey(dates) => dates.ordered_prefix().is_some(),
        };
        Ok(Self {
            policy,
            selection,
            store,
            walk: None,
            remover: Remover::default(),
            versioned: false,
            seen: None,
            ordered,
        })
    }

    fn deadline(&self, object: &Object) -> Option<Timestamp> {
        match &self.policy.deadline {
            PrefixDeadline::ByModified => object.modified.and_then(end_of_instant),
            PrefixDeadline::ByKey(dates) => dates.deadline(&object.key),
        }
    }

    fn standing(&self, object: &Object, boundary: Boundary) -> Standing {
        if !self.selection.covers(&object.key) {
            return Standing::Other;
        }
        match self.deadline(object) {
            None => Standing::Unreadable,
            Some(deadline) if boundary.passed(deadline, self.policy.keep) => Standing::Bygone(deadline),
            Some(_) => Standing::Young,
        }
    }

    /// Whether deletes hide objects, as far as it is known by now.
    fn note_versions(&mut self) {
        self.versioned |= self.store.wire.notes().versioned;
    }

    fn version_warning(&self) -> Option<String> {
        self.versioned.then(|| {
            let rule = match self.store.url().scheme() {
                Scheme::S3 => "a lifecycle rule for noncurrent versions and expired delete markers",
                Scheme::Azure => "a lifecycle rule for previous versions",
                Scheme::Google => "a lifecycle rule for noncurrent versions",
            };
            format!(
                "{} keeps versions: what is removed is hidden, not gone, and frees no bytes; that takes {rule}",
                self.store.url()
            )
        })
    }

    /// One pass over everything that the policy may have to do with.
    async fn count(&mut self, boundary: Boundary) -> Result<Count, TargetError> {
        let mut count = Count { whole: true, ..Count::default() };
        let mut walk = Walk::begin(&self.store, None).await?;
        while let Some(step) = walk.next(&self.store).await? {
            let object = match step {
                Step::Object(object) => object,
                Step::Unnameable(key) => {
                    if self.selection.covers(&key) {
                        count.items += 1;
                        count.unnameable += 1;
                        count.unnameable_key.get_or_insert(key);
                    }
                    continue;
                }
            };
            match self.standing(&object, boundary) {
                Standing::Other => continue,
                Standing::Unreadable => count.unreadable += 1,
                Standing::Young if self.ordered => {
                    count.items += 1;
                    count.whole = false;
                    break;
                }
                Standing::Young => {}
                Standing::Bygone(deadline) => {
                    count.bygone += 1;
                    count.bytes += object.bytes;
                    if count.oldest.is_none_or(|oldest| deadline < oldest) {
                        count.oldest = Some(deadline);
                    }
                }
            }
            count.items += 1;
            count.any_key.get_or_insert(object.key);
        }
        Ok(count)
    }

    /// The walk that stands behind the cursor.
    async fn walk_behind(&mut self, cursor: Option<&str>) -> Result<Walk, TargetError> {
        let fresh = self.remover.needs_fresh_listing() && self.store.lists_from_key();
        match self.walk.take() {
            Some(walk) if walk.is_behind(cursor) && !fresh => Ok(walk),
            _ => Walk::begin(&self.store, cursor).await,
        }
    }

    /// Looks through at most one listing's worth of keys for at most so many bygone objects.
    async fn find(&mut self, request: &PageRequest<'_>) -> Result<Find, TargetError> {
        let cursor = request.cursor.map(Cursor::as_str);
        let mut walk = self.walk_behind(cursor).await?;
        let limit = usize::try_from(request.limit.min(self.page_items_max())).unwrap_or(usize::MAX).max(1);
        let (mut objects, mut last) = (Vec::new(), None);
        let mut looked = 0;
        let ended = loop {
            let Some(step) = walk.next(&self.store).await? else { break true };
            looked += 1;
            let object = match step {
                Step::Object(object) => object,
                Step::Unnameable(key) => {
                    last = Some(key);
                    continue;
                }
            };
            last = Some(object.key.clone());
            match self.standing(&object, request.boundary) {
                Standing::Young if self.ordered => break true,
                Standing::Bygone(_) => objects.push(object),
                _ => {}
            }
            if objects.len() >= limit || looked >= LISTING_KEYS {
                break false;
            }
        };
        // A store that begins at the beginning whatever it is asked would be walked through for ever.
        if !ended && last.as_deref() == cursor && objects.is_empty() {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("{} does not list from a key on", self.store.url()),
            )
            .with_help("this store cannot be swept in pages; tell its makers"));
        }
        let listed_at = walk.listed_at();
        Ok(Find { objects, last, ended, listed_at, walk })
    }

    fn tally(&self, objects: &[Object], fates: &[Fate], boundary: Boundary) -> Tally {
        let mut tally = Tally::default();
        let mut bytes = 0;
        for (object, fate) in objects.iter().zip(fates) {
            match fate {
                Fate::Removed => {
                    tally.removed += 1;
                    bytes += object.bytes;
                }
                Fate::Locked => tally.kept_back.locked += 1,
                Fate::Denied | Fate::Refused => tally.kept_back.conflict += 1,
                // Another object has its key now. If that one is past its time too, it is left to the next sweep.
                Fate::Changed(now) if matches!(self.standing(now, boundary), Standing::Bygone(_)) => {
                    tally.kept_back.conflict += 1;
                }
                // Young again, or removed by somebody else, who counts it: not an item of this sweep any more.
                Fate::Changed(_) | Fate::Gone => {}
            }
        }
        tally.examined = tally.removed + tally.kept_back.total();
        tally.bytes = (!self.versioned).then_some(bytes);
        tally
    }

    async fn try_page(&mut self, request: &PageRequest<'_>) -> Result<Page, TargetError> {
        let requests = self.store.wire.requests();
        let mut found = self.find(request).await?;
        let tally = if request.care == Care::KeepBack {
            found.objects.truncate(1);
            let mut tally = Tally { examined: found.objects.len() as u64, ..Tally::default() };
            tally.kept_back.conflict = tally.examined;
            tally
        } else {
            let mut fates = self.remover.remove(&self.store, &found.objects, found.listed_at).await?;
            if fates.is_empty() && !found.objects.is_empty() {
                // It has just been learnt that the store ignores conditions. What is listed anew goes without.
                found = self.find(request).await?;
                fates = self.remover.remove(&self.store, &found.objects, found.listed_at).await?;
            }
            self.note_versions();
            let tally = self.tally(&found.objects, &fates, request.boundary);
            if fates.len() < found.objects.len() {
                // The rest is listed again: the page ends with the last object whose fate is known.
                let known = fates.len().checked_sub(1).and_then(|at| found.objects.get(at));
                found.last = known.map(|object| object.key.clone()).or(found.last);
                found.ended = false;
            }
            tally
        };
        let next = found.last.filter(|_| !found.ended).map(Cursor::new);
        if next.as_ref().is_some_and(|next| found.walk.is_behind(Some(next.as_str()))) {
            self.walk = Some(found.walk);
        }
        Ok(Page { tally, requests: self.store.wire.requests() - requests, next })
    }

    fn warn_of_count(&self, count: &Count) -> Vec<String> {
        let mut warnings: Vec<String> = self.version_warning().into_iter().collect();
        if let Some(key) = &count.unnameable_key {
            let number = count.unnameable;
            warnings.push(format!(
                "{number} objects have keys that cannot be named exactly, and stay; one of them is {key:?}"
            ));
        }
        warnings
    }
}

/// What a pass over everything counts.
#[derive(Default)]
struct Count {
    items: u64,
    bygone: u64,
    bytes: u64,
    unreadable: u64,
    unnameable: u64,
    unnameable_key: Option<String>,
    any_key: Option<String>,
    oldest: Option<Timestamp>,
    whole: bool,
}

/// What a page found.
struct Find {
    objects: Vec<Object>,
    /// The last key that was looked at.
    last: Option<String>,
    ended: bool,
    listed_at: std::time::Duration,
    walk: Walk,
}

/// A connection that fails before anything was done is a store that cannot be reached.
fn unreachable(error: TargetError) -> TargetError {
    if error.kind() != ErrorKind::Lost {
        return error;
    }
    let reworded = TargetError::new(ErrorKind::Unreachable, error.to_string());
    match error.help() {
        Some(help) => reworded.with_help(help),
        None => reworded,
    }
}

#[async_trait]
impl Target for PrefixTarget {
    fn policy(&self) -> &str {
        &self.policy.name
    }

    fn source(&self) -> &str {
        &self.policy.source
    }

    fn page_items_max(&self) -> u64 {
        if self.store.has_bulk() { LISTING_KEYS as u64 } else { SINGLE_ITEMS_MAX }
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let requests = self.store.wire.requests();
        self.walk = None;
        self.remover = Remover::default();
        let count = self.count(boundary).await.map_err(unreachable)?;
        // An object's own headers say whether there are versions of it.
        if let Some(key) = &count.any_key {
            self.store.look(key).await.map_err(unreachable)?;
        }
        self.note_versions();
        self.seen = Some((count.items, count.whole));
        Ok(Survey {
            bygone: Some(count.bygone),
            unreadable: count.unreadable + count.unnameable,
            oldest: count.oldest,
            bytes: (!self.versioned).then_some(count.bytes),
            warnings: self.warn_of_count(&count),
            requests: self.store.wire.requests() - requests,
        })
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        if let Some((seen, whole)) = self.seen
            && (whole || seen >= items)
        {
            return Ok(seen >= items);
        }
        let mut walk = Walk::begin(&self.store, None).await?;
        let mut seen = 0;
        while seen < items {
            match walk.next(&self.store).await? {
                None => return Ok(false),
                Some(Step::Object(Object { key, .. }) | Step::Unnameable(key)) => {
                    seen += u64::from(self.selection.covers(&key));
                }
            }
        }
        Ok(true)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        // A page that fails leaves no walk behind: the next try lists again from its cursor.
        self.try_page(&request).await
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        let oldest = self.count(boundary).await?.oldest;
        let cutoff = boundary.cutoff(self.policy.keep);
        Ok(oldest.zip(cutoff).map(|(oldest, cutoff)| cutoff.duration_since(oldest)))
    }

    fn warnings(&mut self) -> Vec<String> {
        self.version_warning().into_iter().chain(self.remover.warning()).collect()
    }
}
