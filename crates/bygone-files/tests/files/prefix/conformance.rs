//! The conformance suite over objects with their deadline in their key.
//!
//! Nothing holds an object or makes it stick on these servers, so those cases stay out.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bygone_core::Target;
use bygone_testkit::conformance::{Answer, Hold, KEEP, Stand, conforms};
use bygone_testkit::{Azurite, SeaweedFs, TestBucket};
use jiff::{SignedDuration, Timestamp};

use super::*;

/// A world of objects. A key names a microsecond, whose end is the deadline.
struct Objects {
    bucket: TestBucket,
    /// How the date is written, and the pattern that reads it.
    format: &'static str,
    pattern: &'static str,
    /// Whether of two who delete an object at once only one is told that he did. `SeaweedFS` looks first and deletes then.
    tells_who_removed: bool,
    /// The names that were put there, by number, which spares a listing for each.
    names: Mutex<BTreeMap<u32, String>>,
}

const MICRO: SignedDuration = SignedDuration::from_micros(1);

impl Objects {
    fn new(bucket: TestBucket, format: &'static str, pattern: &'static str) -> Self {
        let tells_who_removed = !bucket.url().starts_with("s3://");
        Self { bucket, format, pattern, tells_who_removed, names: Mutex::default() }
    }

    fn name(&self, key: u32, deadline: Option<Timestamp>) -> String {
        match deadline {
            Some(deadline) => {
                let named = deadline - MICRO;
                format!("{}-{key}", named.strftime(self.format))
            }
            // Before all dates: a listing in their order ends with the first that is not yet due.
            None => format!("0-undated-{key}"),
        }
    }

    fn number(name: &str) -> u32 {
        name.rsplit('-').next().unwrap().parse().unwrap()
    }
}

impl Stand for Objects {
    fn target(&self) -> Answer<'_, Box<dyn Target>> {
        Box::pin(async {
            let policy = PrefixPolicy { keep: KEEP, ..by_key(self.pattern) };
            target(&open(&self.bucket), policy)
        })
    }

    /// An object's date cannot be changed: it is written anew under another name.
    fn put(&self, key: u32, deadline: Option<Timestamp>) -> Answer<'_, ()> {
        Box::pin(async move {
            let name = self.name(key, deadline);
            let before = self.names.lock().unwrap().insert(key, name.clone());
            if let Some(before) = before {
                self.bucket.delete(&before).await;
            }
            self.bucket.put(&name, "x").await;
        })
    }

    fn items(&self) -> Answer<'_, BTreeMap<u32, Option<Timestamp>>> {
        Box::pin(async {
            let dates = KeyDate::parse(self.pattern, TimeZone::UTC).unwrap();
            self.bucket.keys().await.iter().map(|name| (Self::number(name), dates.deadline(name))).collect()
        })
    }

    fn stick(&self, _key: u32) -> Answer<'_, ()> {
        Box::pin(async { panic!("nothing sticks here") })
    }

    fn can_stick(&self) -> bool {
        false
    }

    fn tells_who_removed(&self) -> bool {
        self.tells_who_removed
    }

    fn hold(&self, _key: u32) -> Answer<'_, Option<Box<dyn Hold>>> {
        Box::pin(async { None })
    }

    fn reset(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.names.lock().unwrap().clear();
            for name in self.bucket.keys().await {
                self.bucket.delete(&name).await;
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seaweedfs_with_keys_in_order() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    conforms(&Objects::new(bucket, "%Y%m%dT%H%M%S%6f", "%Y%m%dT%H%M%S%f-*")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seaweedfs_with_keys_in_no_order() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    conforms(&Objects::new(bucket, "x/%s%6f", "*/%s%f-*")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn azurite_with_keys_in_order() {
    let bucket = Azurite::shared().await.fresh_bucket().await;
    conforms(&Objects::new(bucket, "%Y%m%dT%H%M%S%6f", "%Y%m%dT%H%M%S%f-*")).await;
}
