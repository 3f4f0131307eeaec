//! Removing what a page found, in the best way that the store truly keeps to.
//!
//! In this order: many at once under a condition each, one by one under a condition, many at once without. Which of them
//! a store honours is proven on bygone objects: they are asked to go under a condition that none meets. Where one goes
//! all the same, nothing is lost, for it was to go anyway; but the store is known.

use std::time::Duration;

use bygone_core::{ErrorKind, TargetError};

use super::store::{Condition, Object, Store, Verdict};

/// Objects to prove a bulk delete with: the client sends fewer than two as a single delete.
const BULK_MIN: usize = 2;

/// Proofs tried in one page. Objects that may not go at all prove nothing, and there may be many of them.
const PROOFS_MAX: usize = 4;

/// What is known of a kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Trust {
    #[default]
    Unproven,
    Honoured,
    Ignored,
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It went.
    Removed,
    /// Somebody else removed it.
    Gone,
    /// It is another object now.
    Changed(Object),
    /// The store keeps it under a lock.
    Locked,
    /// The rights to remove it are missing.
    Denied,
    /// The store would not.
    Refused,
}

/// Knows what a store keeps to, once it has found out.
#[derive(Debug, Default)]
pub(super) struct Remover {
    bulk: Trust,
    single: Trust,
    /// The longest time between a listing and a delete without condition.
    window: Duration,
    removed: u64,
}

impl Remover {
    /// Whether objects are removed without a condition, so that they should have been listed a moment ago.
    pub(super) fn needs_fresh_listing(&self) -> bool {
        self.bulk != Trust::Honoured && self.single == Trust::Ignored
    }

    /// What a person should know of the deletes that were made.
    pub(super) fn warning(&self) -> Option<String> {
        let window = self.window.as_millis();
        (!self.window.is_zero()).then(|| {
            format!(
                "the store ignores the conditions of deletes: an object that is overwritten between its listing and its \
                 delete is removed with its new contents; that took at most {window} ms here"
            )
        })
    }

    /// Removes objects, which were listed at `listed_at`. The fates are in their order; there are fewer than objects
    /// where the rest should be listed again first.
    pub(super) async fn remove(
        &mut self,
        store: &Store,
        objects: &[Object],
        listed_at: Duration,
    ) -> Result<Vec<Fate>, TargetError> {
        store.wire.notes().resent.clear();
        let fresh = self.needs_fresh_listing();
        let mut fates = Vec::with_capacity(objects.len());
        self.prove_bulk(store, objects, &mut fates).await?;
        if self.bulk == Trust::Honoured && objects.len() - fates.len() >= BULK_MIN {
            let rest = &objects[fates.len()..];
            store.wire.notes().resent.clear();
            let verdicts = store.remove_in_bulk(rest, Condition::AsListed).await?;
            fates.extend(settle(store, rest, &verdicts).await);
            return self.done(store, fates);
        }
        self.prove_single(store, objects, &mut fates).await?;
        let rest = &objects[fates.len()..];
        if self.single == Trust::Honoured {
            let verdicts = store.remove_singly(rest, Condition::AsListed).await?;
            fates.extend(settle(store, rest, &verdicts).await);
        } else if self.single == Trust::Ignored && (fresh || self.bulk == Trust::Honoured) {
            let verdicts = match rest.len() {
                0 => Vec::new(),
                1 => store.remove_singly(rest, Condition::Whatever).await?,
                _ if store.has_bulk() => store.remove_in_bulk(rest, Condition::Whatever).await?,
                _ => store.remove_singly(rest, Condition::Whatever).await?,
            };
            fates.extend(settle(store, rest, &verdicts).await);
        }
        if self.single == Trust::Ignored {
            self.window = self.window.max(store.elapsed().saturating_sub(listed_at)).max(Duration::from_millis(1));
        }
        self.done(store, fates)
    }

    /// Rights that are missing altogether are an error; for single objects they are the objects' fate.
    fn done(&mut self, store: &Store, fates: Vec<Fate>) -> Result<Vec<Fate>, TargetError> {
        let removed = fates.iter().filter(|fate| **fate == Fate::Removed).count();
        self.removed += u64::try_from(removed).unwrap_or(u64::MAX);
        if self.removed == 0 && !fates.is_empty() && fates.iter().all(|fate| *fate == Fate::Denied) {
            let message = format!("the objects of {} may be listed, but not deleted", store.url());
            return Err(TargetError::new(ErrorKind::Denied, message)
                .with_help("give the credentials the right to delete: s3:DeleteObject, or its like"));
        }
        Ok(fates)
    }

    async fn prove_bulk(
        &mut self,
        store: &Store,
        objects: &[Object],
        fates: &mut Vec<Fate>,
    ) -> Result<(), TargetError> {
        for _ in 0..PROOFS_MAX {
            if self.bulk != Trust::Unproven || !store.has_bulk() || objects.len() - fates.len() < BULK_MIN {
                return Ok(());
            }
            let pair = &objects[fates.len()..fates.len() + BULK_MIN];
            let verdicts = store.remove_in_bulk(pair, Condition::Impossible).await?;
            let now: Vec<_> =
                store.look_at_all(&[&pair[0].key, &pair[1].key]).await.into_iter().collect::<Result<_, _>>()?;
            let kept = |at: usize| verdicts[at] == Verdict::Unmet && now[at].is_some();
            if kept(0) && kept(1) {
                self.bulk = Trust::Honoured;
                return Ok(());
            }
            // Kept, but said to be gone: an answer that cannot be believed is as good as none.
            let let_go = |at: usize| verdicts[at] == Verdict::Removed;
            if let_go(0) || let_go(1) {
                self.bulk = Trust::Ignored;
            }
            for at in 0..BULK_MIN {
                match proof_fate(verdicts[at], now[at].is_some()) {
                    Some(fate) => fates.push(fate),
                    // It is there still, and its turn comes again.
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    async fn prove_single(
        &mut self,
        store: &Store,
        objects: &[Object],
        fates: &mut Vec<Fate>,
    ) -> Result<(), TargetError> {
        for _ in 0..PROOFS_MAX {
            if self.single != Trust::Unproven || fates.len() == objects.len() {
                return Ok(());
            }
            let object = &objects[fates.len()..=fates.len()];
            let verdict = store.remove_singly(object, Condition::Impossible).await?[0];
            let there = store.look(&object[0].key).await?.is_some();
            match (verdict, there) {
                (Verdict::Unmet, true) => self.single = Trust::Honoured,
                (Verdict::Removed, _) => self.single = Trust::Ignored,
                _ => {}
            }
            match proof_fate(verdict, there) {
                Some(fate) => fates.push(fate),
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// What a proof did to its object; `None` if it is there still and can be removed.
fn proof_fate(verdict: Verdict, there: bool) -> Option<Fate> {
    match (verdict, there) {
        (Verdict::Removed, false) => Some(Fate::Removed),
        (Verdict::Unmet, false) => Some(Fate::Gone),
        (Verdict::Removed | Verdict::Unmet, true) => None,
        (Verdict::Locked, _) => Some(Fate::Locked),
        (Verdict::Denied, _) => Some(Fate::Denied),
        (Verdict::Refused, _) => Some(Fate::Refused),
    }
}

/// From verdicts to fates. A condition that was not met says that the object is another or gone; which, and by whom, is
/// looked up. Objects are gone by then, so nothing here fails the page: they have to be counted.
async fn settle(store: &Store, objects: &[Object], verdicts: &[Verdict]) -> Vec<Fate> {
    let unmet = objects.iter().zip(verdicts).filter(|(_, verdict)| **verdict == Verdict::Unmet);
    let keys: Vec<_> = unmet.map(|(object, _)| object.key.as_str()).collect();
    let mut now = store.look_at_all(&keys).await.into_iter();
    // What is gone after its request was sent twice went by the first, and so did a whole bulk of which the second found
    // nothing more. Otherwise somebody else removed it, and counts it.
    let resent_in_bulk = !store.wire.notes().resent.is_empty() && !verdicts.contains(&Verdict::Removed);
    let looked_up = |object: &Object, look: Option<_>| match look {
        Some(Ok(Some(now))) => Fate::Changed(now),
        Some(Ok(None)) if resent_in_bulk || store.resent(object) => Fate::Removed,
        Some(Ok(None)) => Fate::Gone,
        _ => Fate::Refused,
    };
    objects
        .iter()
        .zip(verdicts)
        .map(|(object, verdict)| match verdict {
            Verdict::Removed => Fate::Removed,
            Verdict::Unmet => looked_up(object, now.next()),
            Verdict::Locked => Fate::Locked,
            Verdict::Denied => Fate::Denied,
            Verdict::Refused => Fate::Refused,
        })
        .collect()
}
