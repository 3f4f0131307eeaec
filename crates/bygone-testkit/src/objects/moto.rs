//! moto: a second opinion on S3. It lets everybody in, and of this version no delete heeds a condition: a store that
//! ignores what it does not know, as many do. Its conditions of writes hold only while one request is answered at a
//! time, so here it answers them so.

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

/// A moto server. It has everything in memory: what was there is gone after a restart.
pub type Moto = Server<MotoService>;

/// Marks what belongs to moto.
#[derive(Debug, Clone, Copy)]
pub struct MotoService;

static SHARED: OnceCell<Moto> = OnceCell::const_new();

/// Its `moto_server`, one request at a time: by itself it answers in threads that share dictionaries, so of two that
/// swap the same value at once now and then both are told that they did.
const ONE_AT_A_TIME: &str = "\
import sys, threading
import moto.server

class OneAtATime(moto.server.DomainDispatcherApplication):
    turn = threading.Lock()

    def __call__(self, environ, start_response):
        with self.turn:
            return super().__call__(environ, start_response)

moto.server.DomainDispatcherApplication = OneAtATime
moto.server.main(sys.argv[1:])
";

impl sealed::Sealed for MotoService {}

impl Service for MotoService {
    const NAME: &'static str = "moto";
    const STOP: Signal = Signal::TERM;

    fn initialise(_instance: &Instance, _access: &Access) -> Result<Option<Invocation>, KitError> {
        Ok(None)
    }

    fn serve(_instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let mut arguments = vec!["-c".into(), ONE_AT_A_TIME.into()];
        arguments.extend(["-H".into(), HOST.to_string().into(), "-p".into(), access.port.to_string().into()]);
        arguments.extend(settings.iter().map(|(name, value)| format!("--{name}={value}").into()));
        Ok(Invocation {
            program: installed("moto_server", "moto-5.1.16", "bin/python")?,
            arguments,
            environment: Vec::new(),
        })
    }

    async fn look(access: &Access, _data: &Path) -> Result<(), String> {
        signed(access).try_out("/bygone-look", "/bygone-look/ready").await
    }

    fn shared_cell() -> &'static OnceCell<Moto> {
        &SHARED
    }
}

fn signed(access: &Access) -> Signed {
    Signed::s3(&format!("http://{HOST}:{}", access.port), USER, &access.password)
}

impl Moto {
    /// A new, empty bucket that nobody else uses.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn fresh_bucket(&self) -> TestBucket {
        let access = self.access();
        must(TestBucket::create(signed(access), USER, &access.password).await)
    }
}
