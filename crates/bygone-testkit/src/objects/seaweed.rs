//! SeaweedFS: an S3 server that people run, with conditions that it keeps to.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use tokio::sync::OnceCell;

use super::bucket::TestBucket;
use super::signed::Signed;
use crate::access::{Access, HOST, USER};
use crate::engine::{Service, sealed};
use crate::error::{KitError, must};
use crate::instance::{Instance, Invocation};
use crate::programs::installed;
use crate::server::Server;

/// A SeaweedFS server.
pub type SeaweedFs = Server<SeaweedFsService>;

/// Marks what belongs to SeaweedFS.
#[derive(Debug, Clone, Copy)]
pub struct SeaweedFsService;

static SHARED: OnceCell<SeaweedFs> = OnceCell::const_new();

/// One process with many doors; each needs a port, or it takes a fixed one that may be taken.
const DOORS: [&str; 9] = [
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port.grpc",
    "admin.port",
    "admin.port.grpc",
];

/// Each bucket would take several volumes for its own, of which there are as many as the disk has room for: after some
/// dozens of buckets none is left. Small objects need no volume, and for others there are many.
const SETTINGS: [(&str, &str); 10] = [
    ("filer.saveToFilerLimit", "65536"),
    ("volume.max", "5000"),
    ("ip", "127.0.0.1"),
    ("ip.bind", "127.0.0.1"),
    ("webdav", "false"),
    ("admin.ui", "false"),
    ("s3.port.iceberg", "0"),
    ("s3.port.lance", "0"),
    ("s3.autoCreateBucket", "false"),
    ("master.telemetry", "false"),
];

impl sealed::Sealed for SeaweedFsService {}

impl Service for SeaweedFsService {
    const NAME: &'static str = "seaweedfs";
    const STOP: Signal = Signal::TERM;
    const MORE_PORTS: usize = DOORS.len();

    fn initialise(instance: &Instance, _access: &Access) -> Result<Option<Invocation>, KitError> {
        let data = instance.data();
        fs::create_dir(&data).map_err(KitError::file("make", &data))?;
        Ok(None)
    }

    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let mut arguments: Vec<OsString> = vec!["mini".into()];
        let mut set = |name: &str, value: &str| arguments.push(format!("-{name}={value}").into());
        set("s3.port", &access.port.to_string());
        for (door, port) in DOORS.iter().zip(&access.more_ports) {
            set(door, &port.to_string());
        }
        let given = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in SETTINGS.into_iter().chain(given) {
            set(name, value);
        }
        let mut directory = OsString::from("-dir=");
        directory.push(instance.data());
        arguments.push(directory);
        Ok(Invocation {
            program: installed("weed", "seaweedfs-4.48", "bin/weed")?,
            arguments,
            environment: vec![("AWS_ACCESS_KEY_ID", USER.into()), ("AWS_SECRET_ACCESS_KEY", (&access.password).into())],
        })
    }

    /// A bucket is made and filled, so that every part of it is known to be there.
    async fn look(access: &Access, _data: &Path) -> Result<(), String> {
        signed(access).try_out("/bygone-look", "/bygone-look/ready").await
    }

    fn shared_cell() -> &'static OnceCell<SeaweedFs> {
        &SHARED
    }
}

fn signed(access: &Access) -> Signed {
    Signed::s3(&format!("http://{HOST}:{}", access.port), USER, &access.password)
}

impl SeaweedFs {
    /// A new, empty bucket that nobody else uses.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn fresh_bucket(&self) -> TestBucket {
        let access = self.access();
        must(TestBucket::create(signed(access), USER, &access.password).await)
    }
}
