//! Policies over files and objects, from the configuration's words to those of their crate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bygone_core::{Clock, ErrorKind, TargetError};
use bygone_files::key_date::KeyDate;
use bygone_files::prefix::{Bucket, PrefixDeadline, PrefixPolicy, PrefixTarget};
use bygone_files::stage::{Inspection, Reconcile, Stage, StageError, StageOptions};
use bygone_files::tree::{Age, TreePolicy, TreeTarget};
use jiff::tz::TimeZone;

use super::{Access, BoundTarget, Finding, Sketch};
use crate::config::{self, FileDeadline, Policy, Prefix, Subject, Tree};

/// The code of what surveys of files and objects have to say.
const SURVEY: &str = "files::survey";

/// Binds a policy over a directory.
pub(super) fn in_directory(
    directory: &Path,
    policy: &Policy,
    access: Access,
    clock: &Arc<dyn Clock>,
) -> Result<BoundTarget, TargetError> {
    match &policy.subject {
        Subject::Tree(tree) => bound_tree(tree_policy(directory, policy, tree)?),
        Subject::Prefix(prefix) => bound_tree(prefix_policy_on_disk(directory, policy, prefix)?),
        Subject::Stage(stage) => {
            let target = match access {
                Access::Read => inspected(directory)?.target(&policy.name, &policy.source),
                Access::Write => open_stage(directory, clock)?.target(&policy.name, &policy.source),
            };
            let sketch = Sketch {
                place: directory.display().to_string(),
                walk: "manifest",
                why: "the manifest keeps deadlines in their order",
                findings: Vec::new(),
                survey_code: SURVEY,
            };
            Ok(BoundTarget::Other(Box::new(target.keeping(stage.keep)), sketch))
        }
        Subject::Rows(_) | Subject::Leases(_) => Err(misfit(policy)),
    }
}

/// Binds a policy over a bucket.
pub(super) fn in_bucket(bucket: &Bucket, policy: &Policy) -> Result<BoundTarget, TargetError> {
    let Subject::Prefix(prefix) = &policy.subject else { return Err(misfit(policy)) };
    let deadline = match &prefix.deadline {
        config::ObjectDeadline::Modified => PrefixDeadline::ByModified,
        config::ObjectDeadline::Key(date) => PrefixDeadline::ByKey(key_date(date)?),
    };
    let place = match &prefix.path {
        Some(path) => format!("{path} of {}", bucket.url()),
        None => bucket.url().to_string(),
    };
    let target = PrefixTarget::bind(
        bucket,
        PrefixPolicy {
            name: policy.name.clone(),
            source: policy.source.clone(),
            prefix: prefix.path.clone(),
            deadline,
            keep: prefix.keep,
            include: prefix.include.clone(),
            exclude: prefix.exclude.clone(),
        },
    )?;
    let sketch = Sketch {
        place,
        walk: "listing",
        why: "object stores list keys in their order, and know no other",
        findings: Vec::new(),
        survey_code: SURVEY,
    };
    Ok(BoundTarget::Other(Box::new(target), sketch))
}

/// A kind that its source does not hold. The configuration is refused before it comes to that.
pub(super) fn misfit(policy: &Policy) -> TargetError {
    let message = format!("the source `{}` holds no items of the kind that the policy sweeps", policy.source);
    TargetError::new(ErrorKind::Unfit, message).about("source")
}

fn bound_tree(policy: TreePolicy) -> Result<BoundTarget, TargetError> {
    let target = TreeTarget::bind(policy)?;
    let found = |message| Finding {
        code: "tree::preflight",
        key: "path",
        message,
        help: "docs/files.md says what it means".to_owned(),
    };
    let sketch = Sketch {
        place: target.directory().display().to_string(),
        walk: "tree",
        why: "directories know no order of age: every entry is looked at",
        findings: target.preflight().into_iter().map(found).collect(),
        survey_code: SURVEY,
    };
    Ok(BoundTarget::Other(Box::new(target), sketch))
}

fn tree_policy(directory: &Path, policy: &Policy, tree: &Tree) -> Result<TreePolicy, TargetError> {
    Ok(TreePolicy {
        path: tree.path.as_ref().map(PathBuf::from),
        age: match &tree.deadline {
            FileDeadline::Modified | FileDeadline::Key(_) => Age::Modified,
            FileDeadline::Accessed => Age::Accessed,
            FileDeadline::Changed => Age::Changed,
            FileDeadline::Born => Age::Born,
        },
        date: match &tree.deadline {
            FileDeadline::Key(date) => Some(key_date(date)?),
            _ => None,
        },
        keep: tree.keep,
        include: tree.include.clone(),
        exclude: tree.exclude.clone(),
        min_depth: tree.min_depth,
        empty_dirs: tree.empty_dirs,
        max_bytes: tree.max_bytes,
        max_count: tree.max_count,
        min_free: tree.min_free,
        ..TreePolicy::new(&policy.name, &policy.source, directory)
    })
}

/// A directory that is kept like a bucket: its files are the objects, and their paths the keys.
fn prefix_policy_on_disk(directory: &Path, policy: &Policy, prefix: &Prefix) -> Result<TreePolicy, TargetError> {
    Ok(TreePolicy {
        path: prefix.path.as_ref().map(PathBuf::from),
        date: match &prefix.deadline {
            config::ObjectDeadline::Modified => None,
            config::ObjectDeadline::Key(date) => Some(key_date(date)?),
        },
        keep: Some(prefix.keep),
        include: prefix.include.clone(),
        exclude: prefix.exclude.clone(),
        ..TreePolicy::new(&policy.name, &policy.source, directory)
    })
}

/// The zone's name was looked up when the configuration was read.
fn key_date(date: &config::KeyDate) -> Result<KeyDate, TargetError> {
    let zone = date.zone.as_ref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    KeyDate::parse(&date.pattern, zone).map_err(|error| {
        TargetError::new(ErrorKind::Unfit, error.to_string())
            .with_help("say where the date stands: `deadline = { key = \"logs/%Y/%m/%d/**\" }`")
            .about("deadline")
    })
}

/// The staging area of a URL, only to be looked at.
pub(crate) fn inspected_stage(url: &str) -> Result<Inspection, TargetError> {
    inspected(&super::directory(url)?)
}

fn inspected(directory: &Path) -> Result<Inspection, TargetError> {
    Stage::inspect(directory).map_err(unfit)
}

/// Opens an area that is there. One that is not is never made by a policy over it.
fn open_stage(directory: &Path, clock: &Arc<dyn Clock>) -> Result<Stage, TargetError> {
    inspected(directory)?;
    // What a sweep costs follows what has expired: only after a crash is everything looked at.
    let options =
        StageOptions { reconcile: Reconcile::AfterCrash, clock: Arc::clone(clock), ..StageOptions::default() };
    Stage::open(directory, options).map_err(unfit)
}

fn unfit(error: StageError) -> TargetError {
    TargetError::new(error.kind(), "the staging area cannot be opened").about("source").with_source(error)
}
