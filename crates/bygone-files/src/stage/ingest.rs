//! How content comes into the area: once through the hash, into a temporary file.
//!
//! What is hashed is what is kept. Reading a file twice, once for its hash and once for its copy, would let it change in
//! between; so it is streamed once, and only afterwards is it known whether it was there already.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::area;
use super::attachment::{Content, Put};
use super::error::StageError;
use super::id::AttachmentId;
use super::name::Name;
use super::options::Ingest;
use super::quota::Meter;
use super::session::Temporary;
use super::stage::Shared;

/// Read at once. Large enough that calls cost nothing beside the hash, small enough for the processor's cache.
const BUFFER: usize = 256 << 10;

/// Content that has arrived: a temporary file, and what it is.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) temporary: Temporary,
    pub(crate) id: AttachmentId,
    pub(crate) size: u64,
    pub(crate) name: Name,
}

/// Takes content in, one after another, with one buffer.
pub(crate) struct Intake<'a> {
    shared: &'a Shared,
    buffer: Vec<u8>,
    /// Whether each file is synced by itself.
    sync: bool,
}

impl<'a> Intake<'a> {
    pub(crate) fn new(shared: &'a Shared, sync: bool) -> Self {
        Self { shared, buffer: vec![0; BUFFER], sync: sync && shared.area.is_durable() }
    }

    /// Streams the content into a temporary file of its own.
    pub(crate) fn take(&mut self, content: Content<'_>, put: &Put) -> Result<Arrival, StageError> {
        let name = put.name.clone().or_else(|| content.own_name()).unwrap_or_default();
        let temporary = self.shared.session.temporary();
        let (id, size) = match content {
            Content::Reader(mut reader) => self.copy(&mut *reader, &temporary, Meter::new(self.shared))?,
            Content::File(path) => self.take_file(&path, &temporary)?,
        };
        Ok(Arrival { temporary, id, size, name: Name::sanitised(&name) })
    }

    fn take_file(&mut self, path: &Path, temporary: &Temporary) -> Result<(AttachmentId, u64), StageError> {
        let (mut file, size) = open_file(path)?;
        let mut meter = Meter::new(self.shared);
        let whole = match self.shared.options.ingest {
            Ingest::Copy => None,
            Ingest::Reflink => self.reflink(&file, temporary)?,
            Ingest::HardLink => self.hard_link(&file, temporary),
        };
        if let Some(mut linked) = whole {
            let taken = self.hash(&mut linked, &mut meter)?;
            self.sync(&linked)?;
            return Ok(taken);
        }
        meter.expect(size)?;
        self.copy(&mut file, temporary, meter)
    }

    fn copy(
        &mut self,
        reader: &mut dyn Read,
        temporary: &Temporary,
        mut meter: Meter<'_>,
    ) -> Result<(AttachmentId, u64), StageError> {
        let file = self.shared.area.new_temporary(temporary.name());
        let mut file = File::from(file.map_err(StageError::call("make a temporary file"))?);
        let (mut hasher, mut size) = (Sha256::new(), 0);
        loop {
            let read = read_some(reader, &mut self.buffer)?;
            if read == 0 {
                break;
            }
            meter.admit(read)?;
            let chunk = &self.buffer[..read];
            hasher.update(chunk);
            file.write_all(chunk).map_err(StageError::write("write the file into the area"))?;
            size += read as u64;
        }
        self.sync(&file)?;
        Ok((AttachmentId::from_bytes(hasher.finalize().into()), size))
    }

    /// Hashes what is in the area already.
    fn hash(&mut self, file: &mut File, meter: &mut Meter<'_>) -> Result<(AttachmentId, u64), StageError> {
        let (mut hasher, mut size) = (Sha256::new(), 0);
        loop {
            let read = read_some(file, &mut self.buffer)?;
            if read == 0 {
                return Ok((AttachmentId::from_bytes(hasher.finalize().into()), size));
            }
            meter.admit(read)?;
            hasher.update(&self.buffer[..read]);
            size += read as u64;
        }
    }

    fn sync(&self, file: &File) -> Result<(), StageError> {
        if !self.sync {
            return Ok(());
        }
        rustix::fs::fsync(file).map_err(StageError::call("sync the file"))
    }

    /// A copy that shares its blocks; `None` where the file system has none to give.
    fn reflink(&self, source: &File, temporary: &Temporary) -> Result<Option<File>, StageError> {
        let made = self.shared.area.new_temporary(temporary.name());
        let made = made.map_err(StageError::call("make a temporary file"))?;
        if clone_blocks(&made, source) {
            return Ok(Some(File::from(made)));
        }
        // The copy makes the file anew, under the same name.
        let removed = rustix::fs::unlinkat(self.shared.area.tmp(), temporary.name(), AtFlags::empty());
        removed.map_err(StageError::call("remove a temporary file"))?;
        Ok(None)
    }

    /// A second name for the file that was opened, whatever its path leads to by now; `None` where it cannot be had.
    fn hard_link(&self, source: &File, temporary: &Temporary) -> Option<File> {
        let by_handle = format!("/proc/self/fd/{}", source.as_raw_fd());
        let tmp = self.shared.area.tmp();
        rustix::fs::linkat(rustix::fs::CWD, by_handle, tmp, temporary.name(), AtFlags::SYMLINK_FOLLOW).ok()?;
        source.try_clone().ok()
    }
}

#[cfg(target_os = "linux")]
fn clone_blocks(made: &OwnedFd, source: &File) -> bool {
    rustix::fs::ioctl_ficlone(made, source.as_fd()).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clone_blocks(_made: &OwnedFd, _source: &File) -> bool {
    false
}

/// Opens a file to stage. Waiting for somebody to write into a pipe is not what was asked for.
fn open_file(path: &Path) -> Result<(File, u64), StageError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Err(StageError::Missing(path.to_path_buf())),
        opened => opened.map_err(|errno| StageError::Read(errno.into()))?,
    };
    let stat = rustix::fs::fstat(&file).map_err(|errno| StageError::Read(errno.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((File::from(file), area::size(&stat))),
        FileType::Directory => Err(StageError::IsDirectory(path.to_path_buf())),
        _ => Err(StageError::NotAFile(path.to_path_buf())),
    }
}

fn read_some(reader: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, StageError> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(StageError::Read),
        }
    }
}
