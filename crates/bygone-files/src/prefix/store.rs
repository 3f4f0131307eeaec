//! The few things that are asked of a store, and what its answers mean.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ClockReading, ErrorKind, TargetError};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use opendal::options::{DeleteOptions, ListOptions};
use opendal::raw::percent_encode_path;
use opendal::{Lister, Operator};

use super::answers::Refusal;
use super::wire::{Fault, Wire};
use super::{BucketUrl, Scheme};

/// Keys asked for in one request: as many as any store gives.
pub(super) const LISTING_KEYS: usize = 1_000;
/// Single deletes and looks under way at once: enough to hide the wire, few enough for any store.
const AT_ONCE: usize = 16;

/// An object as it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    /// Its key below the prefix.
    pub(super) key: String,
    pub(super) bytes: u64,
    pub(super) modified: Option<Timestamp>,
    pub(super) etag: Option<String>,
    pub(super) generation: Option<String>,
}

/// Under which condition an object may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It is still the one that was listed.
    AsListed,
    /// One that no object meets.
    Impossible,
    /// None.
    Whatever,
}

/// What the store says became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is gone.
    Removed,
    /// The condition was not met: it is another one now, or none.
    Unmet,
    /// It is under a lock that the store itself keeps.
    Locked,
    /// The rights are missing.
    Denied,
    /// The store would not, for another reason or for the moment.
    Refused,
}

/// The way to the objects below one prefix.
#[derive(Debug)]
pub(super) struct Store {
    operator: Operator,
    pub(super) wire: Wire,
    url: BucketUrl,
    /// The whole prefix, from the bucket's root.
    pub(super) place: String,
    pub(super) clock: Arc<dyn Clock>,
}

impl Store {
    pub(super) fn new(operator: Operator, wire: Wire, url: BucketUrl, place: String, clock: Arc<dyn Clock>) -> Self {
        Self { operator, wire, url, place, clock }
    }

    /// Whether many objects can go by one request, each with its own verdict.
    pub(super) fn has_bulk(&self) -> bool {
        self.url.scheme() == Scheme::S3
    }

    pub(super) fn lists_from_key(&self) -> bool {
        self.operator.info().capability().list_with_start_after
    }

    pub(super) fn url(&self) -> &BucketUrl {
        &self.url
    }

    /// Begins a listing of everything, or of what comes after a key.
    pub(super) async fn list(&self, after: Option<&str>, keys: usize) -> Result<Lister, TargetError> {
        let options = ListOptions {
            limit: Some(keys),
            start_after: after.map(str::to_owned),
            recursive: true,
            ..ListOptions::default()
        };
        self.operator.lister_options("", options).await.map_err(|error| self.failure("list", &error))
    }

    pub(super) async fn read_clock(&self) -> Result<ClockReading, TargetError> {
        let mut lister = self.list(None, 1).await?;
        lister.next().await.transpose().map_err(|error| self.failure("list", &error))?;
        self.wire.notes().clock.ok_or_else(|| {
            TargetError::new(ErrorKind::Unfit, format!("{} does not say what time it is", self.url))
                .with_help("answers need a `Date`: see whether a proxy in between takes it away")
        })
    }

    /// The object that has a key now.
    pub(super) async fn look(&self, key: &str) -> Result<Option<Object>, TargetError> {
        match self.operator.stat(key).await {
            Ok(metadata) => Ok(Some(Object::of(key.to_owned(), &metadata))),
            Err(error) if error.kind() == opendal::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failure("look at an object of", &error)),
        }
    }

    /// Looks at several keys, in their order.
    pub(super) async fn look_at_all(&self, keys: &[&str]) -> Vec<Result<Option<Object>, TargetError>> {
        let looks: Vec<_> = keys.iter().map(|key| self.look(key)).collect();
        stream::iter(looks).buffered(AT_ONCE).collect().await
    }

    /// Removes objects one by one, several at once; the verdicts are in their order. An error means that nobody knows.
    pub(super) async fn remove_singly(
        &self,
        objects: &[Object],
        condition: Condition,
    ) -> Result<Vec<Verdict>, TargetError> {
        let removals: Vec<_> = objects.iter().map(|object| self.remove_one(object, condition)).collect();
        let verdicts: Vec<_> = stream::iter(removals).buffered(AT_ONCE).collect().await;
        // The others of the page are done; one that got no answer is left to the next look at it.
        let any = verdicts.iter().any(Result::is_ok);
        verdicts
            .into_iter()
            .map(|verdict| if any { Ok(verdict.unwrap_or(Verdict::Refused)) } else { verdict })
            .collect()
    }

    async fn remove_one(&self, object: &Object, condition: Condition) -> Result<Verdict, TargetError> {
        let Some(options) = self.options(object, condition) else { return Ok(Verdict::Refused) };
        let Err(error) = self.operator.delete_options(&object.key, options).await else {
            return Ok(Verdict::Removed);
        };
        let complaint = match self.wire.notes().fault.clone() {
            Some(Fault::Refused(_, complaint)) => complaint.unwrap_or_default(),
            _ => (String::new(), String::new()),
        };
        match error.kind() {
            opendal::ErrorKind::ConditionNotMatch | opendal::ErrorKind::NotFound => Ok(Verdict::Unmet),
            opendal::ErrorKind::Conflict => Ok(Verdict::Refused),
            _ if speaks_of_a_lock(&complaint.0, &complaint.1) => Ok(Verdict::Locked),
            opendal::ErrorKind::PermissionDenied => Ok(Verdict::Denied),
            _ => Err(self.failure("delete from", &error)),
        }
    }

    /// Removes at least two objects by one request; the verdicts are in their order. An error means that nobody knows.
    pub(super) async fn remove_in_bulk(
        &self,
        objects: &[Object],
        condition: Condition,
    ) -> Result<Vec<Verdict>, TargetError> {
        self.wire.notes().refusals = None;
        let sent = self.send_bulk(objects, condition).await;
        let refusals = self.wire.notes().refusals.take();
        let refusals: HashMap<String, Refusal> = match (sent, refusals) {
            (Ok(()), _) => HashMap::new(),
            // The client's error is about one of the keys; the answer is about each.
            (Err(_), Some(refusals)) => refusals.into_iter().map(|refusal| (refusal.key.clone(), refusal)).collect(),
            (Err(error), None) => return Err(self.failure("delete from", &error)),
        };
        let verdict = |object: &Object| match refusals.get(&format!("{}{}", self.place, object.key)) {
            // Left out of the request.
            None if self.options(object, condition).is_none() => Verdict::Refused,
            None => Verdict::Removed,
            Some(refusal) => refusal.verdict(),
        };
        Ok(objects.iter().map(verdict).collect())
    }

    async fn send_bulk(&self, objects: &[Object], condition: Condition) -> opendal::Result<()> {
        let mut deleter = self.operator.deleter().await?;
        for object in objects {
            if let Some(options) = self.options(object, condition) {
                deleter.delete((object.key.clone(), options)).await?;
            }
        }
        deleter.close().await
    }

    /// `None` for an object that has nothing to tell it by.
    fn options(&self, object: &Object, condition: Condition) -> Option<DeleteOptions> {
        let none = DeleteOptions::default();
        Some(match (condition, self.url.scheme()) {
            (Condition::Whatever, _) => none,
            (Condition::AsListed, Scheme::Google) => {
                DeleteOptions { if_version_match: Some(object.generation.clone()?), ..none }
            }
            (Condition::AsListed, _) => DeleteOptions { if_match: Some(object.etag.clone()?), ..none },
            (Condition::Impossible, Scheme::S3) => {
                DeleteOptions { if_match: Some(format!("\"{}\"", "0".repeat(32))), ..none }
            }
            (Condition::Impossible, Scheme::Azure) => {
                DeleteOptions { if_match: Some("\"0x8000000000000000\"".to_owned()), ..none }
            }
            // Generations are microseconds since 1970: nothing was written in the first.
            (Condition::Impossible, Scheme::Google) => DeleteOptions { if_version_match: Some("1".to_owned()), ..none },
        })
    }

    /// What a failed request means for the sweep. The client's error may hold a signed URL, so only what the store
    /// itself complained of is passed on.
    pub(super) fn failure(&self, action: &str, error: &opendal::Error) -> TargetError {
        let url = &self.url;
        let fault = self.wire.notes().fault.clone();
        let cannot = |kind, why: String| TargetError::new(kind, format!("cannot {action} {url}: {why}"));
        match (fault, error.kind()) {
            (Some(Fault::NoConnection), _) => cannot(ErrorKind::Lost, "no connection, or one that was cut".to_owned())
                .with_help("see whether the endpoint is right and the store is up"),
            (Some(Fault::TimedOut), _) => cannot(ErrorKind::TooSlow, error.message().to_owned()),
            (Some(Fault::Overloaded(status)), _) => {
                cannot(ErrorKind::Busy, format!("it answers {status}, again and again"))
                    .with_help("the store asks for fewer requests: give the policy a pause or a budget of requests")
            }
            (fault, kind) => {
                let said = match fault {
                    Some(Fault::Refused(status, Some((code, message)))) => format!("{status}, {code}: {message}"),
                    Some(Fault::Refused(status, None)) => status.to_string(),
                    _ => error.message().to_owned(),
                };
                match kind {
                    opendal::ErrorKind::PermissionDenied => cannot(ErrorKind::Denied, said)
                        .with_help(format!("look at {}, and at what they may do", url.scheme().variables())),
                    opendal::ErrorKind::NotFound | opendal::ErrorKind::ConfigInvalid => cannot(ErrorKind::Unfit, said)
                        .with_help("see whether the bucket's name is right and the bucket is there")
                        .about("source"),
                    _ if error.is_temporary() => cannot(ErrorKind::Transient, said),
                    _ => cannot(ErrorKind::Failed, said),
                }
            }
        }
    }

    /// Whether the delete of this object alone was sent more than once since that was last forgotten.
    pub(super) fn resent(&self, object: &Object) -> bool {
        let path = percent_encode_path(&format!("{}{}", self.place, object.key));
        self.wire.notes().resent.iter().any(|resent| resent.strip_suffix(&path).is_some_and(|rest| rest.ends_with('/')))
    }

    /// The time since some moment, for measuring.
    pub(super) fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }
}

impl Object {
    pub(super) fn of(key: String, metadata: &opendal::Metadata) -> Self {
        Self {
            key,
            bytes: metadata.content_length(),
            modified: metadata.last_modified().map(opendal::raw::Timestamp::into_inner),
            etag: metadata.etag().map(str::to_owned),
            generation: metadata.version().map(str::to_owned),
        }
    }
}

impl Refusal {
    fn verdict(&self) -> Verdict {
        match self.code.as_str() {
            "PreconditionFailed" | "NoSuchKey" | "NoSuchVersion" | "412 Precondition Failed" => Verdict::Unmet,
            _ if speaks_of_a_lock(&self.code, &self.message) => Verdict::Locked,
            "AccessDenied" => Verdict::Denied,
            _ => Verdict::Refused,
        }
    }
}

/// Locks on objects have no code of their own on S3: they are denied like anything else, in other words.
fn speaks_of_a_lock(code: &str, message: &str) -> bool {
    let text = format!("{code} {message}").to_lowercase();
    ["object lock", "objectlock", "legal hold", "legalhold", "retention", "worm", "immutab", "leaseidmissing"]
        .iter()
        .any(|word| text.contains(word))
}
