//! One server for all the processes of a test run.
//!
//! nextest runs every test in a process of its own, and a server per test would cost more than the
//! test. The processes of a run have one thing in common: the runner, their parent. So the runner's
//! identity names a directory; whoever comes first starts the server there under a lock and leaves
//! a record; the others read it. The server belongs to the runner: the guardian watches that.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::engine::Service;
use crate::error::KitError;
use crate::instance::{Tenancy, temp_root, write_private};
use crate::process::Process;
use crate::server::{self, Options};
use crate::wait::Wait;

/// How long to wait while another process starts the server: longer than a start may take.
const LOCK_LIMIT: Duration = Duration::from_secs(180);

/// What the first process leaves for the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) access: Access,
    pub(crate) process: Process,
    pub(crate) directory: PathBuf,
}

/// The server of this test run, started if it is not there or has ended.
pub(crate) async fn join<E: Service>() -> Result<Record, KitError> {
    let runner = Process::runner();
    let name = format!("bygone-{}-{}-{}", E::NAME, runner.pid, runner.started);
    let root = temp_root()?.join(name);
    fs::create_dir_all(&root).map_err(KitError::file("make", &root))?;
    // The server's account must get through, whatever the umask says.
    fs::set_permissions(&root, Permissions::from_mode(0o711)).map_err(KitError::file("open up", &root))?;

    // Held until the end of this function, or of this process.
    let _lock = lock(&root.join("lock")).await?;
    let path = root.join("server.json");
    if let Some(record) = read(&path)
        && record.process.is_alive()
    {
        return Ok(record);
    }
    let settings = E::QUICK.iter().map(|&(name, value)| (name.into(), value.into()));
    let options = Options { settings: settings.collect(), ..Options::default() };
    let tenancy = Tenancy { owner: runner, root: &root, whole_root: true };
    let (instance, record) = server::start::<E>(&tenancy, &options).await?;
    write(&path, &record)?;
    instance.keep();
    Ok(record)
}

/// Takes the lock without blocking the thread, which may have other tests to run. The system gives
/// it back when its holder ends, however that happens.
async fn lock(path: &Path) -> Result<File, KitError> {
    let file = File::create(path).map_err(KitError::file("make", path))?;
    let mut wait = Wait::up_to(LOCK_LIMIT);
    loop {
        let error = match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if wait.again().await => continue,
            Err(TryLockError::WouldBlock) => io::ErrorKind::TimedOut.into(),
            Err(TryLockError::Error(error)) => error,
        };
        return Err(KitError::file("lock", path)(error));
    }
}

/// A record that is absent or torn is none: the server is started anew.
fn read(path: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write(path: &Path, record: &Record) -> Result<(), KitError> {
    let text = serde_json::to_string_pretty(record).map_err(|error| KitError::file("write", path)(error.into()))?;
    write_private(path, &text)
}
