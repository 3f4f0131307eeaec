//! Where things stand in a store.
//!
//! | what | key |
//! |---|---|
//! | record of a key: lease, version, token, small state | `<ns>/meta/<key>` |
//! | state that is too large for that | `<ns>/state/<key>/<id>/<chunk>` |
//! | attachment | `<ns>/state/<key>/attachments/<id>/<chunk>` |
//! | expiry index | `<ns>/.lease-index/<hour>/<key>` |
//! | what the index leads to besides keys | `<ns>/.lease-index/<hour>/.errand-<id>` |
//! | its hours | `<ns>/.lease-index/buckets.json` |
//! | message of a queue | `<ns>/q/<queue>/msg/<ready>-<id>` |
//! | message that was put aside | `<ns>/q/<queue>/dlq/<ready>-<id>` |
//! | transaction | `.txns/<id>` |
//! | decision of a transaction | `.txn-decisions/m/<id>` |
//! | when decisions may be forgotten | `.txn-decisions/e/<hour>/<id>` |
//! | the hours of both | `.txn-decisions/buckets.json` |
//! | whose turn it is to sweep | `.bygone/sweeper.json` |
//! | what the store is, and its namespaces | `.bygone/store.json` |

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::blob::{BlobId, BlobKind};
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::queue::Queue;
use crate::txn::begun_at;

const HOUR_MILLIS: i64 = 3_600_000;

/// The first hour of the year 0, and the last that the calendar has, in hours since 1970.
const FIRST: i64 = -17_268_672;
const LAST: i64 = 70_389_502;

/// What the store is, and which namespaces it has.
pub(crate) const STORE: &str = ".bygone/store.json";

/// Whose turn it is to sweep, and where the last sweep stopped.
pub(crate) const SWEEPER: &str = ".bygone/sweeper.json";

/// The hours in which transactions began, and in which decisions may be forgotten.
pub(crate) const TXN_HOURS: &str = ".txn-decisions/buckets.json";

/// All transactions that are not over.
pub(crate) const TXNS: &str = ".txns/";

pub(crate) fn txn(id: Uuid) -> String {
    format!("{TXNS}{id}")
}

pub(crate) fn decision(id: Uuid) -> String {
    format!(".txn-decisions/m/{id}")
}

/// All decisions that may be forgotten in an hour.
pub(crate) fn decision_prefix(hour: Hour) -> String {
    format!(".txn-decisions/e/{hour}/")
}

pub(crate) fn decision_entry(hour: Hour, id: Uuid) -> String {
    format!("{}{id}", decision_prefix(hour))
}

pub(crate) fn record(namespace: &Namespace, key: &Key) -> String {
    format!("{}/meta/{}", namespace.segment(), key.segment())
}

/// All records of a namespace.
pub(crate) fn records(namespace: &Namespace) -> String {
    format!("{}/meta/", namespace.segment())
}

pub(crate) fn hours(namespace: &Namespace) -> String {
    format!("{}/.lease-index/buckets.json", namespace.segment())
}

/// All entries of an hour.
pub(crate) fn hour_prefix(namespace: &Namespace, hour: Hour) -> String {
    format!("{}/.lease-index/{hour}/", namespace.segment())
}

pub(crate) fn entry(namespace: &Namespace, hour: Hour, key: &Key) -> String {
    format!("{}{}", hour_prefix(namespace, hour), key.segment())
}

const ERRAND: &str = ".errand-";

/// Something else that the index leads to. No key begins with a dot.
pub(crate) fn errand(namespace: &Namespace, hour: Hour, id: Uuid) -> String {
    format!("{}{ERRAND}{id}", hour_prefix(namespace, hour))
}

/// When an errand was posted: its identifier says so.
pub(crate) fn posted_at(entry: &str) -> Option<Moment> {
    let id = entry.rsplit('/').next().and_then(|name| name.strip_prefix(ERRAND))?;
    Uuid::try_parse(id).ok().map(begun_at)
}

pub(crate) fn is_errand(entry: &str) -> bool {
    entry.rsplit('/').next().is_some_and(|name| name.starts_with(ERRAND))
}

/// All objects of a blob.
pub(crate) fn blob(namespace: &Namespace, key: &Key, blob: &BlobId) -> String {
    let folder = match blob.kind {
        BlobKind::State => "",
        BlobKind::Attachment => "attachments/",
    };
    format!("{}/state/{}/{folder}{}/", namespace.segment(), key.segment(), blob.id)
}

pub(crate) fn chunk(blob: &str, number: u32) -> String {
    format!("{blob}{number:06}")
}

/// All messages of a queue.
pub(crate) fn messages(queue: &Queue) -> String {
    format!("{}/q/{}/msg/", queue.namespace.segment(), queue.name.segment())
}

pub(crate) fn message(queue: &Queue, name: &str) -> String {
    format!("{}{name}", messages(queue))
}

/// All messages of a queue that were put aside.
pub(crate) fn dead_letters(queue: &Queue) -> String {
    format!("{}/q/{}/dlq/", queue.namespace.segment(), queue.name.segment())
}

pub(crate) fn dead_letter(queue: &Queue, name: &str) -> String {
    format!("{}{name}", dead_letters(queue))
}

/// An hour of the index, in UTC, such as `2026111801`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hour(i64);

impl Hour {
    /// The hour that a moment falls into; of one beyond the years that have names, the nearest that has one. Whoever looks then
    /// finds out that it was not the time yet.
    pub fn of(moment: Moment) -> Self {
        Self(moment.millis().div_euclid(HOUR_MILLIS).clamp(FIRST, LAST))
    }

    /// When it begins.
    pub(crate) fn begin(self) -> Moment {
        Moment::from_millis(self.0.saturating_mul(HOUR_MILLIS))
    }

    /// When it is over.
    pub(crate) fn end(self) -> Moment {
        Moment::from_millis((self.0 + 1).saturating_mul(HOUR_MILLIS))
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = jiff::Timestamp::from_second(self.0.saturating_mul(3_600)).map_err(|_| fmt::Error)?;
        let start = start.to_zoned(jiff::tz::TimeZone::UTC);
        write!(f, "{:04}{:02}{:02}{:02}", start.year(), start.month(), start.day(), start.hour())
    }
}

/// What is not the name of an hour.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not an hour such as 2026111801")]
pub struct BadHour(String);

impl FromStr for Hour {
    type Err = BadHour;

    fn from_str(text: &str) -> Result<Self, BadHour> {
        let bad = || BadHour(text.to_owned());
        if text.len() != 10 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(bad());
        }
        let part = |from: usize, to: usize| text[from..to].parse::<i16>().map_err(|_| bad());
        let byte = |from, to| part(from, to).and_then(|part| i8::try_from(part).map_err(|_| bad()));
        let at = jiff::civil::DateTime::new(part(0, 4)?, byte(4, 6)?, byte(6, 8)?, byte(8, 10)?, 0, 0, 0);
        let at = at.and_then(|at| at.to_zoned(jiff::tz::TimeZone::UTC)).map_err(|_| bad())?;
        Ok(Self::of(Moment::from(at.timestamp())))
    }
}

impl TryFrom<String> for Hour {
    type Error = BadHour;

    fn try_from(text: String) -> Result<Self, BadHour> {
        text.parse()
    }
}

impl From<Hour> for String {
    fn from(hour: Hour) -> Self {
        hour.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_a_name_and_an_end() {
        let at = |text: &str| Moment::from(text.parse::<jiff::Timestamp>().unwrap());
        let hour = Hour::of(at("2026-11-18T01:59:59.999Z"));
        assert_eq!(hour.to_string(), "2026111801");
        assert_eq!(hour, Hour::of(at("2026-11-18T01:00:00Z")));
        assert_eq!((hour.begin(), hour.end()), (at("2026-11-18T01:00:00Z"), at("2026-11-18T02:00:00Z")));
        assert_eq!("2026111801".parse::<Hour>().unwrap(), hour);
        assert!(Hour::of(at("2026-11-18T02:00:00Z")) > hour);
    }

    #[test]
    fn every_moment_has_an_hour_with_a_name() {
        let name = |millis| Hour::of(Moment::from_millis(millis)).to_string();
        let (first, last) = ("0000010100", "9999123022");
        for (millis, expected) in
            [(i64::MIN, first), (-62_167_219_200_000, first), (253_402_207_200_000, last), (i64::MAX, last)]
        {
            assert_eq!(name(millis), expected);
            assert_eq!(expected.parse::<Hour>().unwrap(), Hour::of(Moment::from_millis(millis)));
        }
        assert!(!Hour::of(Moment::from_millis(i64::MAX)).end().has_passed(Moment::from_millis(0)));
    }

    #[test]
    fn what_is_no_hour_is_refused() {
        for text in ["", "2026111824", "2026131801", "20261118011", "202611180x", "+026111801"] {
            assert!(text.parse::<Hour>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_stay_within_their_segments() {
        let (namespace, key) = (Namespace::new("a/b").unwrap(), Key::new("../x").unwrap());
        assert_eq!(record(&namespace, &key), "a~2Fb/meta/~2E.~2Fx");
        let hour = "2026111801".parse().unwrap();
        assert_eq!(entry(&namespace, hour, &key), "a~2Fb/.lease-index/2026111801/~2E.~2Fx");
    }
}
