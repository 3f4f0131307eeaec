//! Those who write what expires, and those who look at what is there: one pair a part, with a book between them.
//!
//! Writers use what programs use. Who looks shares no code with bygone: he reads tables, directories and the lease store's
//! file by himself.

mod codes;
mod leases;
mod line;
mod logins;
mod messages;
mod records;
mod staged;
mod tokens;
mod uploads;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_lease::storage::Disk;
use bygone_lease::{LeaseStore, Options};

use super::book::Book;
use super::chance::Chance;
use super::pace::Pace;
use super::part::Part;
use super::record::Record;
use super::site::Site;
use crate::failure::Failure;

/// Somebody who writes.
#[async_trait]
pub(super) trait Writer: Send {
    /// A little of everything that is done with a part.
    async fn write(&mut self) -> Result<(), Failure>;
}

/// Somebody who looks.
#[async_trait]
pub(super) trait Looker: Send {
    /// What is there, whole, by the names that the book has.
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure>;
}

/// All who have to do with a part.
pub(super) struct Party {
    pub(super) book: Arc<Book>,
    pub(super) writer: Box<dyn Writer>,
    pub(super) looker: Box<dyn Looker>,
}

/// What every writer has.
pub(super) struct Desk {
    record: Arc<Record>,
    book: Arc<Book>,
    chance: Chance,
    pace: Pace,
    /// The names of items are numbers.
    last: i64,
}

impl Desk {
    /// The numbers of so many new items.
    fn numbers(&mut self, count: i64) -> Vec<i64> {
        let first = self.last + 1;
        self.last += count;
        (first..=self.last).collect()
    }

    /// A lifetime.
    fn life(&mut self) -> Duration {
        self.chance.time(Duration::from_millis(200)..=self.pace.life_max)
    }

    /// The end of a life that begins now, in milliseconds since 1970; that of one in twenty does not come in this run.
    fn end_of_life(&mut self) -> i64 {
        let life = if self.chance.one_in(20) { LONG_LIFE } else { self.life() };
        self.record.now().as_millisecond() + i64::try_from(life.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Longer than any run.
const LONG_LIFE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Everybody.
pub(super) async fn all(site: &Arc<Site>, record: &Arc<Record>, pace: Pace, seed: u64) -> Result<Vec<Party>, Failure> {
    let store = LeaseStore::open(Disk::open(&site.jobs())?, Options::default()).await?;
    let mut parties = Vec::new();
    for (stream, part) in (0..).zip(Part::ALL) {
        let book = Arc::new(Book::new(part));
        let chance = Chance::new(seed, stream);
        let desk = Desk { record: Arc::clone(record), book: Arc::clone(&book), chance, pace, last: 0 };
        let (writer, looker): (Box<dyn Writer>, Box<dyn Looker>) = match part {
            Part::Tokens => (Box::new(tokens::Clerk::new(desk, site)), Box::new(tokens::Reader::new(site))),
            Part::Logins => (Box::new(logins::Clerk::new(desk, site)), Box::new(logins::Reader::new(site))),
            Part::Codes => (Box::new(codes::Clerk::new(desk, site)?), Box::new(codes::Reader::new(site)?)),
            Part::Leases => (Box::new(leases::Worker::new(desk, &store)?), Box::new(leases::Reader::new(site))),
            Part::Messages => (Box::new(messages::Mailer::new(desk, &store)?), Box::new(messages::Reader::new(site))),
            Part::Staged => (Box::new(staged::Stager::new(desk, site)?), Box::new(staged::Reader::new(site))),
            Part::Uploads => (Box::new(uploads::Uploader::new(desk, site)), Box::new(uploads::Reader::new(site))),
        };
        parties.push(Party { book, writer, looker });
    }
    Ok(parties)
}
