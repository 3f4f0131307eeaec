//! A server for tests, shared or private.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::access::Access;
use crate::database::Database;
use crate::engine::{Engine, Service};
use crate::error::{KitError, must};
use crate::guardian;
use crate::instance::{Instance, Invocation, Tenancy, temp_root};
use crate::process::Process;
use crate::shared::{self, Record};
use crate::wait::Wait;

/// How often to try another port when somebody took the one that was free.
const PORT_ATTEMPTS_MAX: usize = 5;
/// How long one look at a server that is starting may take.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// What a private server is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Settings by the server's own names (`postgres -c NAME=VALUE`, `mariadbd --NAME=VALUE`).
    /// They win over the kit's; without any, the server is as durable as it comes: fsync is on.
    pub settings: Vec<(String, String)>,
    /// How long the start, or a recovery after [`Server::kill`], may take.
    pub start_limit: Duration,
    /// How large a file the server may write, in bytes: as if the disk were full for what is larger.
    pub file_bytes_max: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { settings: Vec::new(), start_limit: Duration::from_secs(60), file_bytes_max: None }
    }
}

impl Options {
    /// Adds a setting.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }
}

/// A server that listens on a loopback port of its own: a database ([`Postgres`](crate::Postgres),
/// [`MariaDb`](crate::MariaDb)) or an object store ([`SeaweedFs`](crate::SeaweedFs), [`Moto`](crate::Moto),
/// [`Azurite`](crate::Azurite)).
///
/// A shared server stops when the test runner ends. A private one stops when its value is dropped.
/// Both also stop, within a second or so, when whoever owns them is killed: a guardian process
/// watches for that, stops the server by its process id and removes its directory.
#[derive(Debug)]
pub struct Server<E: Service> {
    access: Access,
    process: Process,
    directory: PathBuf,
    private: Option<Private>,
    engine: PhantomData<E>,
}

#[derive(Debug)]
struct Private {
    instance: Instance,
    options: Options,
}

impl<E: Service> Server<E> {
    /// The server of this test run: the first test that asks starts it, all others join. It trades
    /// safety from crashes for speed; a test that crashes its server wants [`start`](Self::start).
    ///
    /// # Panics
    /// If it cannot be started, with the remedy or the end of its log: a test that has no server
    /// fails, it is not skipped.
    pub async fn shared() -> &'static Self {
        let joined = E::shared_cell().get_or_try_init(|| async {
            let record = shared::join::<E>().await?;
            Ok(Self::new(record, None))
        });
        must(joined.await)
    }

    /// A server that belongs to the returned value and stops with it.
    pub async fn start(options: Options) -> Result<Self, KitError> {
        let tenancy = Tenancy { owner: Process::current(), root: &temp_root()?, whole_root: false };
        let (instance, record) = start::<E>(&tenancy, &options).await?;
        Ok(Self::new(record, Some(Private { instance, options })))
    }

    /// The same, with data that another program makes than the server's own, for whoever has this access.
    pub(crate) async fn start_over(
        options: Options,
        access: Access,
        make: impl FnOnce(&Instance) -> Result<Invocation, KitError>,
    ) -> Result<Self, KitError> {
        let tenancy = Tenancy { owner: Process::current(), root: &temp_root()?, whole_root: false };
        let mut instance = Instance::create(E::NAME, E::ACCOUNTS, E::STOP, &tenancy)?;
        let make = make(&instance)?;
        instance.run(&make, options.start_limit).await?;
        let (instance, record) = serve::<E>(instance, access, &options).await?;
        Ok(Self::new(record, Some(Private { instance, options })))
    }

    fn new(record: Record, private: Option<Private>) -> Self {
        Self {
            access: record.access,
            process: record.process,
            directory: record.directory,
            private,
            engine: PhantomData,
        }
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.access.port
    }

    /// The server's process; after [`kill`](Self::kill), the one that was.
    pub fn process(&self) -> Process {
        self.process
    }

    /// The directory with everything of this server: `data`, `log`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Kills the server and all its processes with SIGKILL, as a crash does. The data stays, and
    /// [`restart`](Self::restart) recovers it.
    ///
    /// # Panics
    /// If the server is shared: it is not the caller's to kill.
    pub fn kill(&mut self) {
        let private = self.own();
        if private.instance.process().is_some() {
            private.instance.kill();
            E::after_kill(&private.instance);
        }
    }

    /// Stops the server in its own way, without waiting for its clients. The data stays: PostgreSQL leaves it as a crash
    /// does, by an "immediate" shutdown.
    ///
    /// # Panics
    /// If the server is shared: it is not the caller's to stop.
    pub fn stop(&mut self) {
        self.own().instance.stop();
    }

    /// Starts the server again on the same port and data, stopping it first if it runs.
    ///
    /// # Panics
    /// If the server is shared: it is not the caller's to stop.
    pub async fn restart(&mut self) -> Result<(), KitError> {
        let access = self.access.clone();
        let Private { instance, options } = self.own();
        instance.stop();
        self.process = launch::<E>(instance, &access, options).await?;
        Ok(())
    }

    /// How to reach it.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    fn own(&mut self) -> &mut Private {
        match &mut self.private {
            Some(private) => private,
            None => panic!("the shared {} server serves other tests too", E::NAME),
        }
    }
}

impl<E: Engine> Server<E> {
    /// A new, empty database that nobody else uses.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn fresh_database(&self) -> Database<E> {
        must(Database::create(&self.access).await)
    }
}

/// Sets up a server and starts it. Whatever goes wrong, nothing is left behind.
pub(crate) async fn start<E: Service>(
    tenancy: &Tenancy<'_>,
    options: &Options,
) -> Result<(Instance, Record), KitError> {
    let mut instance = Instance::create(E::NAME, E::ACCOUNTS, E::STOP, tenancy)?;
    let access = Access::fresh(E::MORE_PORTS)?;
    if let Some(initialise) = E::initialise(&instance, &access)? {
        instance.run(&initialise, options.start_limit).await?;
    }
    serve::<E>(instance, access, options).await
}

/// Starts a server that is set up, on another port where somebody has taken its own.
async fn serve<E: Service>(
    mut instance: Instance,
    mut access: Access,
    options: &Options,
) -> Result<(Instance, Record), KitError> {
    let mut attempts = 1;
    let process = loop {
        match launch::<E>(&mut instance, &access, options).await {
            Ok(process) => break process,
            Err(KitError::Ended { log, .. })
                if attempts < PORT_ATTEMPTS_MAX && log.to_lowercase().contains("address already in use") =>
            {
                attempts += 1;
                access = access.on_another_port()?;
            }
            Err(error) => return Err(error),
        }
    };
    let directory = instance.directory().to_owned();
    let record = Record { access, process, directory };
    Ok((instance, record))
}

/// Runs the server of an instance until it answers, which for a crashed one is after recovery.
async fn launch<E: Service>(instance: &mut Instance, access: &Access, options: &Options) -> Result<Process, KitError> {
    let mut invocation = E::serve(instance, access, &options.settings)?;
    invocation.environment.extend(options.file_bytes_max.map(guardian::file_limit));
    instance.launch(&invocation)?;
    let data = instance.data();
    let mut wait = Wait::up_to(options.start_limit);
    let mut last = String::from("no answer");
    loop {
        instance.check()?;
        match tokio::time::timeout(LOOK_LIMIT, E::look(access, &data)).await {
            Ok(Ok(())) => {
                if let Some(process) = instance.process() {
                    return Ok(process);
                }
            }
            Ok(Err(why)) => last = why,
            Err(_) => last = format!("no answer within {LOOK_LIMIT:?}"),
        }
        if !wait.again().await {
            let what = format!("the start of {} (at last: {last})", E::NAME);
            return Err(instance.slow(what, wait.limit()));
        }
    }
}
