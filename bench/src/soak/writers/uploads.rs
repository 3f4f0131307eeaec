//! Files of a directory tree, some of which are touched before their time.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::task::block_in_place;

use super::super::book::Promise;
use super::super::part::Part;
use super::super::site::Site;
use super::staged::files_below;
use super::{Desk, Looker, Writer};
use crate::failure::Failure;

const WRITTEN: i64 = 5;
const TOUCHED: usize = 2;
const USERS: i64 = 7;
/// A file system cannot tell a touch from a removal that comes at the same moment, so files are touched well before.
const WELL_BEFORE: SignedDuration = SignedDuration::from_millis(800);

pub(super) struct Uploader {
    desk: Desk,
    root: PathBuf,
}

impl Uploader {
    pub(super) fn new(desk: Desk, site: &Arc<Site>) -> Self {
        Self { desk, root: site.uploads() }
    }

    /// From when on a file is due that was changed last at this moment.
    fn due(&self, changed: Timestamp) -> Timestamp {
        changed + Part::Uploads.keep(self.desk.pace)
    }

    fn upload(&mut self, number: i64) -> Result<(), Failure> {
        let user = format!("user-{}", number % USERS);
        fs::create_dir_all(self.root.join(&user))?;
        let place = format!("{user}/{number}.bin");
        let path = self.root.join(&place);
        fs::write(&path, [b'.'; 2_000])?;
        // Some are of the time to come, and so stay.
        if number % 20 == 0 {
            let later = self.desk.record.now() + SignedDuration::from_hours(7 * 24);
            File::options().write(true).open(&path)?.set_modified(later.into())?;
        }
        let changed = Timestamp::try_from(fs::metadata(&path)?.modified()?)?;
        self.desk.book.enter(place, Promise::until(self.due(changed)));
        Ok(())
    }

    fn touch(&mut self, place: &str) -> Result<(), Failure> {
        let now = self.desk.record.now();
        File::options().write(true).open(self.root.join(place))?.set_modified(now.into())?;
        self.desk.book.move_to(place, self.due(now), true);
        Ok(())
    }
}

#[async_trait]
impl Writer for Uploader {
    async fn write(&mut self) -> Result<(), Failure> {
        block_in_place(|| {
            for number in self.desk.numbers(WRITTEN) {
                self.upload(number)?;
            }
            let soon = self.desk.record.now() + WELL_BEFORE;
            let last = soon + Part::Uploads.keep(self.desk.pace);
            for place in self.desk.book.some(&mut self.desk.chance, TOUCHED, soon, last) {
                self.touch(&place)?;
            }
            Ok(())
        })
    }
}

pub(super) struct Reader(PathBuf);

impl Reader {
    pub(super) fn new(site: &Arc<Site>) -> Self {
        Self(site.uploads())
    }
}

#[async_trait]
impl Looker for Reader {
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure> {
        let Self(root) = self;
        block_in_place(|| files_below(root))
    }
}
