//! A unix socket, for its owner alone.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::{Address, ListenError};

/// A socket in the file system. It is gone with its daemon.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and number of the file: what stands there later may be another daemon's.
    file: (u64, u64),
}

impl Socket {
    pub(super) async fn bind(path: &Path) -> Result<Self, ListenError> {
        make_room(path).await?;
        bind_aside(path).map_err(|source| refused(path, source))
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let is_ours = std::fs::symlink_metadata(&self.path).is_ok_and(|there| id(&there) == self.file);
        if is_ours && let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the socket could not be removed");
        }
    }
}

fn id(file: &std::fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

fn refused(path: &Path, source: io::Error) -> ListenError {
    ListenError::Refused { address: Address::Unix(path.to_owned()), source }
}

/// A socket that a killed daemon left behind may go; one that somebody answers at may not.
async fn make_room(path: &Path) -> Result<(), ListenError> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => Err(ListenError::NoSocket(path.to_owned())),
        Ok(_) => match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Ok(_) => Err(ListenError::Taken(Address::Unix(path.to_owned()))),
            Err(source) => Err(refused(path, source)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(refused(path, source)),
    }
}

/// Made where nobody else can come, and put in its place once nobody else can use it.
fn bind_aside(path: &Path) -> io::Result<Socket> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let aside =
        tempfile::Builder::new().prefix(".").permissions(Permissions::from_mode(0o700)).tempdir_in(directory)?;
    let place = aside.path().join("s");
    let listener = UnixListener::bind(&place)?;
    std::fs::set_permissions(&place, Permissions::from_mode(0o600))?;
    let file = id(&std::fs::symlink_metadata(&place)?);
    std::fs::rename(&place, path)?;
    Ok(Socket { listener, path: path.to_owned(), file })
}
