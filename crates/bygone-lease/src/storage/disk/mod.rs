//! A store in a directory: one embedded file, durable before it answers, shared by the processes of one machine.
//!
//! Writes go through one thread, which takes all that wait for it, carries them out in one transaction and makes that
//! durable once: with many clients a sync of the disk is shared by many, with one it is his own. Reads go beside it, on
//! threads of their own. The file is in WAL mode, which needs shared memory: two machines over a network file system must
//! not share it.

mod file;
mod line;
mod reader;
mod writer;

use std::path::Path;

use async_trait::async_trait;
use bygone_core::ClockReading;
use bytes::Bytes;

use self::reader::Readers;
use self::writer::{Change, Writer};
use super::{Capabilities, Expected, Listing, Storage, StorageError, Stored, Version};

/// The largest value: what one row may reasonably hold.
const VALUE_BYTES_MAX: usize = 64 << 20;
/// So many share a sync of the disk that carrying them out takes longer than the sync.
const REQUESTS_AT_ONCE: usize = 256;

/// A store in a directory.
#[derive(Debug)]
pub struct Disk {
    readers: Readers,
    writer: Writer,
}

impl Disk {
    /// Opens the store in a directory, and makes both where there is neither.
    pub fn open(directory: &Path) -> Result<Self, StorageError> {
        let path = file::prepare(directory)?;
        let writer = Writer::start(file::connect_to_write(&path)?)?;
        Ok(Self { readers: Readers::start(&path)?, writer })
    }

    /// Whether a directory has a store in it. Nothing is made.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(file::FILE).is_file()
    }
}

#[async_trait]
impl Storage for Disk {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            proven: true,
            list: true,
            delete_if_version: true,
            value_bytes_max: VALUE_BYTES_MAX,
            requests_at_once: REQUESTS_AT_ONCE,
        }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        let key = key.to_owned();
        self.readers.read(move |reader| file::get(reader, &key)).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let expected = match expected {
            Expected::Absent => None,
            Expected::Version(version) => Some(number(version)?),
        };
        let written = self.writer.send(Change::Put { key: key.to_owned(), body, expected }).await?;
        Ok(Version::new(written.to_string()))
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        let version = number(version)?;
        self.writer.send(Change::Delete { key: key.to_owned(), version }).await?;
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        self.readers.read(move |reader| file::list(reader, &prefix, after.as_deref(), limit)).await
    }

    /// The machine's own clock is the store's.
    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        Ok(None)
    }
}

/// A version of another store is one that no key has.
fn number(version: &Version) -> Result<i64, StorageError> {
    version.as_str().parse().map_err(|_| StorageError::conflict())
}
