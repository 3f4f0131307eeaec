//! `bygone lease`: leases, and what they guard, from the shell.

mod attachments;
mod exec;
mod keeper;

use std::io::Write as _;
use std::sync::Arc;

use bygone_core::Clock;
use bygone_lease::{Acquire, IfVersion, Key, Namespace, Versioned, Wait};
use bygone_server::leases::{DescriptionDocument, ReleasedDocument, StateDocument, VersionDocument};
use jiff::Timestamp;

use crate::cli::lease::{self as flags, Ask, LeaseVerb};
use crate::cli::store::{Content, LeaseFile};
use crate::cli::{Format, Global};
use crate::exit::Exit;
use crate::output::{self, table};
use crate::problem::Problem;
use crate::store::{self, Absent, Opened};

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &flags::Lease, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let absent = match &flags.verb {
        LeaseVerb::Acquire(_) | LeaseVerb::Exec(_) => Absent::Make,
        _ => Absent::Refuse,
    };
    let namespace = &flags.store.namespace;
    let open = || store::open(global, &flags.store, clock, absent);
    match &flags.verb {
        LeaseVerb::Acquire(ask) => acquire(&open().await?, namespace, ask).await,
        LeaseVerb::Keepalive { lease, ttl } => {
            let lease = store::lease(lease, None)?;
            let opened = open().await?;
            let kept = opened.store.keepalive(&lease, *ttl).await?;
            opened.hand_on(&kept)
        }
        LeaseVerb::Release { lease } => {
            let lease = store::lease(lease, None)?;
            let opened = open().await?;
            let released = opened.store.release(&lease).await?;
            let document = ReleasedDocument::from(released);
            let text = if document.released { "released" } else { "it was over already" };
            opened.answer(text, &document)
        }
        LeaseVerb::Get { key, lease } => get(open, namespace, key.as_ref(), lease).await,
        LeaseVerb::Update { lease, content, if_version, release } => {
            update(open, lease, content, *if_version, *release).await
        }
        LeaseVerb::Remove { lease, if_version } => {
            let lease = store::lease(lease, None)?;
            let opened = open().await?;
            let removed = opened.store.remove(&lease, expected(*if_version)).await;
            changed(&opened, &lease, removed?)
        }
        LeaseVerb::Describe { key } => describe(&open().await?, namespace, key).await,
        LeaseVerb::Attach(flags) => attachments::attach(open, flags).await,
        LeaseVerb::Attachments { key } => attachments::list(&open().await?, namespace, key).await,
        LeaseVerb::Fetch(flags) => attachments::fetch(&open().await?, namespace, flags).await,
        LeaseVerb::Detach { lease, name } => attachments::detach(open, lease, name).await,
        LeaseVerb::Exec(flags) => {
            let opened = open().await?;
            let request = request(namespace, &flags.ask, std::process::id());
            exec::run(&opened, &request, flags, &**clock).await
        }
    }
}

fn request(namespace: &Namespace, ask: &Ask, process: u32) -> Acquire {
    Acquire {
        ttl: Some(ask.ttl),
        wait: ask.wait.unwrap_or(Wait::None),
        ..Acquire::new(namespace.clone(), ask.key.clone(), store::owner(ask.owner.as_deref(), process))
    }
}

async fn acquire(opened: &Opened, namespace: &Namespace, flags: &flags::Acquire) -> Result<Exit, Problem> {
    let request = Acquire {
        request: flags.request.clone(),
        if_not_exists: flags.if_not_exists,
        txn: flags.txn,
        ..request(namespace, &flags.ask, store::shell())
    };
    let lease = opened.store.acquire(&request).await?;
    opened.hand_on(&lease)
}

async fn get(
    open: impl AsyncFnOnce() -> Result<Opened, Problem>,
    namespace: &Namespace,
    key: Option<&Key>,
    lease: &LeaseFile,
) -> Result<Exit, Problem> {
    let (opened, found, namespace, key) = if let Some(key) = key {
        let opened = open().await?;
        let found = opened.store.get(namespace, key).await;
        (opened, found, namespace.clone(), key.clone())
    } else {
        let lease = store::lease(lease, None)?;
        let opened = open().await?;
        let found = opened.store.get_held(&lease).await;
        (opened, found, lease.namespace, lease.key)
    };
    match found? {
        Some(found) => show_state(&opened, namespace, key, &found),
        None => Err(Problem::failed(format!("the key `{key}` has no state"))),
    }
}

/// In a script the state is what is wanted, byte by byte, and nothing else.
fn show_state(opened: &Opened, namespace: Namespace, key: Key, found: &Versioned) -> Result<Exit, Problem> {
    if opened.format == Format::Table {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(&found.state).and_then(|()| stdout.flush());
        return match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Problem::failed(format!("cannot write to standard output: {error}")))
            }
            _ => Ok(Exit::Done),
        };
    }
    opened.answer("", &StateDocument::of(namespace, key, found))
}

async fn update(
    open: impl AsyncFnOnce() -> Result<Opened, Problem>,
    lease: &LeaseFile,
    content: &Content,
    if_version: Option<u64>,
    release: bool,
) -> Result<Exit, Problem> {
    let lease = store::lease(lease, Some(content))?;
    let state = store::content(content)?;
    let opened = open().await?;
    let version = opened.store.update(&lease, state, expected(if_version), release).await?;
    changed(&opened, &lease, version)
}

fn changed(opened: &Opened, lease: &bygone_lease::Lease, version: u64) -> Result<Exit, Problem> {
    let document = VersionDocument { namespace: lease.namespace.clone(), key: lease.key.clone(), version };
    opened.answer(&version.to_string(), &document)
}

async fn describe(opened: &Opened, namespace: &Namespace, key: &Key) -> Result<Exit, Problem> {
    let found = opened.store.describe(namespace, key).await?;
    let document = found.ok_or_else(|| Problem::failed(format!("nothing is known of the key `{key}`")))?;
    if opened.format != Format::Table {
        return opened.answer("", &document);
    }
    let DescriptionDocument { exists, version, fencing_token, updated_at, owner, expires_at, .. } = document;
    let none = || "–".to_owned();
    let told = |at: Option<Timestamp>| at.map_or_else(none, |at| format!("{at:.3}"));
    let mut rows = table(&["key", "held by", "until", "fencing token", "state", "version", "changed"]);
    rows.add_row([
        key.to_string(),
        owner.map_or_else(none, |owner| output::in_a_line(&owner).into_owned()),
        told(expires_at),
        fencing_token.to_string(),
        if exists { "yes" } else { "none" }.to_owned(),
        version.to_string(),
        told(updated_at),
    ]);
    output::data(rows.to_string());
    Ok(Exit::Done)
}

pub(crate) fn expected(version: Option<u64>) -> IfVersion {
    version.map_or(IfVersion::Any, IfVersion::Is)
}
