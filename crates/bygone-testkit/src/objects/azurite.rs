//! Azurite: Azure Blob Storage as its makers emulate it.

use std::ffi::OsString;
use std::path::Path;

use rustix::process::Signal;
use tokio::sync::OnceCell;

use super::bucket::TestBucket;
use super::signed::Signed;
use crate::access::{Access, HOST};
use crate::engine::{Service, sealed};
use crate::error::{KitError, must};
use crate::instance::{Instance, Invocation};
use crate::programs::installed;
use crate::server::Server;

/// An Azurite server, for blobs.
pub type Azurite = Server<AzuriteService>;

/// Marks what belongs to Azurite.
#[derive(Debug, Clone, Copy)]
pub struct AzuriteService;

static SHARED: OnceCell<Azurite> = OnceCell::const_new();

/// The account that clients take for an emulator's. Its key is the server's password, which is good Base64.
const ACCOUNT: &str = "devstoreaccount1";

impl sealed::Sealed for AzuriteService {}

impl Service for AzuriteService {
    const NAME: &'static str = "azurite";
    const STOP: Signal = Signal::TERM;

    fn initialise(_instance: &Instance, _access: &Access) -> Result<Option<Invocation>, KitError> {
        Ok(None)
    }

    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let mut arguments: Vec<OsString> =
            ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--blobHost"].map(OsString::from).into();
        arguments.push(HOST.to_string().into());
        arguments.extend(["--blobPort".into(), access.port.to_string().into()]);
        arguments.extend(["--location".into(), instance.data().into()]);
        for (name, value) in settings {
            arguments.extend([format!("--{name}").into(), value.into()]);
        }
        Ok(Invocation {
            program: installed("azurite-blob", "azurite-3.35.0", "node_modules/.bin/azurite-blob")?,
            arguments,
            environment: vec![("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{}", access.password).into())],
        })
    }

    async fn look(access: &Access, _data: &Path) -> Result<(), String> {
        let container = format!("/{ACCOUNT}/bygone-look");
        signed(access).try_out(&format!("{container}?restype=container"), &format!("{container}/ready")).await
    }

    fn shared_cell() -> &'static OnceCell<Azurite> {
        &SHARED
    }
}

fn signed(access: &Access) -> Signed {
    Signed::azure(&format!("http://{HOST}:{}", access.port), ACCOUNT, &access.password)
}

impl Azurite {
    /// A new, empty container that nobody else uses.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn fresh_bucket(&self) -> TestBucket {
        let access = self.access();
        must(TestBucket::create(signed(access), ACCOUNT, &access.password).await)
    }
}
