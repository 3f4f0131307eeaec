//! What `lease`, `queue` and `txn` share: a store by its URL, what goes in and what comes out, and what errors end in.

mod daemon;
mod direct;
mod input;
mod operations;
mod patience;

use std::sync::Arc;

use bygone_core::Clock;
use bygone_lease::{Delivery, Environment, Lease, Options, StoreUrl, SystemChance};
pub(crate) use bygone_server::Absent;
use bygone_server::leases::{DeliveryDocument, LeaseDocument};
use serde::Serialize;

pub(crate) use input::{STDIN, content, deliveries, lease, stream};
pub(crate) use operations::{Pieces, Store};

use crate::cli::store::StoreFlags;
use crate::cli::{Format, Global};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::remote::{Address, Client, Service};

/// A store, opened for one command.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: Box<dyn Store>,
    /// The URL, so that it means the same in every directory.
    pub(crate) url: String,
    pub(crate) format: Format,
}

/// Opens the store that the flags name.
pub(crate) async fn open(
    global: &Global,
    flags: &StoreFlags,
    clock: &Arc<dyn Clock>,
    absent: Absent,
) -> Result<Opened, Problem> {
    if global.now.is_some() {
        return Err(Problem::usage("a lease store goes by the clock", "leave `--now` out; `plan` and `sweep` take it"));
    }
    let Some(written) = &flags.store else {
        return Err(Problem::usage("which store?", "name it: `--store file:/path/to/store`, or set BYGONE_STORE"));
    };
    let format = if flags.json { Format::Json } else { global.format };
    if Address::is_meant(written) {
        // What becomes of a store that is not there, the daemon knows.
        let client = Client::new(Address::parse(written, Service::Leases)?, clock)?;
        return Ok(Opened { store: Box::new(client), url: written.clone(), format });
    }
    let url = StoreUrl::parse(written, Environment::of_process())
        .map_err(|error| Problem::usage(error.to_string(), "name another: `--store URL`, or set BYGONE_STORE"))?;
    if absent == Absent::Refuse && !url.exists().await? {
        let mut problem = Problem::failed(format!("there is no lease store at {url}"));
        problem.help = Some("correct the URL; `lease acquire`, `queue send` and `txn begin` make a store".to_owned());
        return Err(problem);
    }
    let store = url.open_by(Options::default(), Arc::clone(clock), Arc::new(SystemChance)).await?;
    let url = match url.directory().map(std::path::absolute) {
        None => written.clone(),
        Some(Ok(directory)) => format!("file:{}", directory.display()),
        Some(Err(error)) => return Err(Problem::failed(format!("cannot tell where {url} is: {error}"))),
    };
    Ok(Opened { store: Box::new(store), url, format })
}

impl Opened {
    /// Writes an answer: as text for people and simple scripts, or as JSON.
    pub(crate) fn answer(&self, text: &str, value: &impl Serialize) -> Result<Exit, Problem> {
        match self.format {
            Format::Table if text.is_empty() => {}
            Format::Table => output::data(text),
            format => output::json(format, value, &[value]).map_err(|error| Problem::failed(error.to_string()))?,
        }
        Ok(Exit::Done)
    }

    /// Writes a lease for other commands: one line of JSON, also where nobody asks for JSON.
    pub(crate) fn hand_on(&self, lease: &Lease) -> Result<Exit, Problem> {
        let document = LeaseDocument::from(lease);
        output::json(self.machine_format(), &document, &[&document])
            .map_err(|error| Problem::failed(error.to_string()))?;
        Ok(Exit::Done)
    }

    /// Writes deliveries for other commands: a line of JSON each, or one list.
    pub(crate) fn hand_on_all(&self, deliveries: &[Delivery]) -> Result<(), Problem> {
        let documents: Vec<DeliveryDocument> = deliveries.iter().map(DeliveryDocument::from).collect();
        output::json(self.machine_format(), &documents, &documents).map_err(|error| Problem::failed(error.to_string()))
    }

    fn machine_format(&self) -> Format {
        if self.format == Format::Table { Format::Jsonl } else { self.format }
    }
}

/// Who asks, where nobody says: the machine, and a process there.
pub(crate) fn owner(said: Option<&str>, process: u32) -> String {
    said.map_or_else(
        || format!("{}:{process}", rustix::system::uname().nodename().to_string_lossy()),
        ToOwned::to_owned,
    )
}

/// The shell that runs us: a command of its own has no process that anybody could look for.
pub(crate) fn shell() -> u32 {
    std::os::unix::process::parent_id()
}
