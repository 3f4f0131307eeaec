//! Which items a policy covers, and which of them are past their time.

use std::ffi::CStr;

use bygone_core::{Boundary, TargetError};
use jiff::SignedDuration;

use super::cap::Cut;
use super::directory::Directory;
use super::facts::Facts;
use super::globs::Globs;
use super::policy::TreePolicy;
use super::stamp::{Age, Stamp};
use crate::key_date::KeyDate;
use crate::turn::TURN_FILE;

/// What of a policy does not depend on the time.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(crate) age: Age,
    date: Option<KeyDate>,
    globs: Globs,
    min_depth: u32,
    pub(crate) empty_dirs: bool,
}

impl Judge {
    pub(crate) fn of(policy: &TreePolicy) -> Result<Self, TargetError> {
        Ok(Self {
            age: policy.age,
            date: policy.date.clone(),
            globs: Globs::compile(&policy.include, &policy.exclude)?,
            min_depth: policy.min_depth,
            empty_dirs: policy.empty_dirs,
        })
    }

    /// Whether the item of that name is one of the policy's. `path` is room for its path.
    pub(crate) fn covers(&self, directory: &Directory, name: &CStr, path: &mut Vec<u8>) -> bool {
        // A sweeper that counted its own turn would find it locked, and be further behind with every sweep.
        if directory.depth() + 1 < self.min_depth || name.to_bytes() == TURN_FILE.as_bytes() {
            return false;
        }
        self.globs.cover_all() || {
            directory.path_of(name, path);
            self.globs.cover(path)
        }
    }

    /// The item's deadline; `None` where it has none that can be read. `path` is room for its path.
    pub(crate) fn stamp(&self, directory: &Directory, name: &CStr, facts: &Facts, path: &mut Vec<u8>) -> Option<Stamp> {
        let Some(date) = &self.date else { return facts.stamp() };
        directory.path_of(name, path);
        date.deadline_bytes(path).map(Stamp::from)
    }

    /// Whether an item's deadline stands in its path, and so cannot change while it has it.
    pub(crate) fn is_dated(&self) -> bool {
        self.date.is_some()
    }

    /// Whether the walk stays out of the directory of that name.
    pub(crate) fn closes(&self, directory: &Directory, name: &CStr, path: &mut Vec<u8>) -> bool {
        !self.globs.cover_all() && {
            directory.path_of(name, path);
            self.globs.close(path)
        }
    }
}

/// How far a sweep reaches: everything before an instant, and what the caps take.
#[derive(Debug)]
pub(crate) struct Reach {
    /// What carries an earlier stamp is past its time. `None` where age alone removes nothing.
    aged_before: Option<Stamp>,
    cut: Option<Cut>,
}

impl Reach {
    /// By age alone: `stamp + keep < boundary`, strictly.
    pub(crate) fn aged(boundary: Boundary, keep: Option<SignedDuration>) -> Self {
        let cutoff = keep.and_then(|keep| boundary.cutoff(keep));
        Self { aged_before: cutoff.map(Stamp::from), cut: None }
    }

    /// The same, with what the caps take on top.
    pub(crate) fn with_cut(self, cut: Cut) -> Self {
        Self { cut: Some(cut), ..self }
    }

    pub(crate) fn aged_before(&self) -> Option<Stamp> {
        self.aged_before
    }

    pub(crate) fn is_aged(&self, stamp: Stamp) -> bool {
        self.aged_before.is_some_and(|cutoff| stamp < cutoff)
    }

    /// Whether an item could go, without counting it.
    pub(crate) fn may_take(&self, stamp: Stamp) -> bool {
        self.is_aged(stamp) || self.cut.as_ref().is_some_and(|cut| cut.is_up_to(stamp))
    }

    /// Whether an item goes. What the caps take is counted here: asking twice takes twice.
    pub(crate) fn takes(&self, stamp: Stamp, facts: &Facts) -> bool {
        self.is_aged(stamp) || self.cut.as_ref().is_some_and(|cut| cut.takes(stamp, facts.share()))
    }

    /// Whether an item that was found to go still does: by its age, or because it is as old as when the caps took it.
    pub(crate) fn still_takes(&self, found: Stamp, now: Stamp) -> bool {
        self.is_aged(now) || (self.cut.is_some() && !self.is_aged(found) && now == found)
    }

    /// Whether a directory is old enough to go when it is empty: past its time, or older than all that the caps leave.
    pub(crate) fn takes_directory(&self, stamp: Stamp) -> bool {
        self.is_aged(stamp) || self.cut.as_ref().is_some_and(|cut| cut.is_before(stamp))
    }
}
