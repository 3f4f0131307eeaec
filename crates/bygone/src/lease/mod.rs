//! `bygone lease`: leases, and what they guard, from the shell.

mod attachments;
mod exec;
mod keeper;

use std::io::Write as _;
use std::sync::Arc;

use bygone_core::Clock;
use bygone_lease::{Acquire, Description, IfVersion, Key, Namespace, Released, Versioned, Wait};
use serde_json::json;

use crate::cli::lease::{self as flags, Ask, LeaseVerb};
use crate::cli::store::{Content, LeaseFile};
use crate::cli::{Format, Global};
use crate::exit::Exit;
use crate::output::{self, table};
use crate::problem::Problem;
use crate::store::{self, Absent, Opened, problem, text_or_base64};

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
            let kept = opened.store.keepalive(&lease, *ttl).await.map_err(|error| problem(&error))?;
            opened.hand_on(&kept)
        }
        LeaseVerb::Release { lease } => {
            let lease = store::lease(lease, None)?;
            let opened = open().await?;
            let released = opened.store.release(&lease).await.map_err(|error| problem(&error))?;
            let is_now = released == Released::Now;
            let text = if is_now { "released" } else { "it was over already" };
            opened.answer(text, &json!({ "released": is_now }))
        }
        LeaseVerb::Get { key, lease } => get(open, namespace, key.as_ref(), lease).await,
        LeaseVerb::Update { lease, content, if_version, release } => {
            update(open, lease, content, *if_version, *release).await
        }
        LeaseVerb::Remove { lease, if_version } => {
            let lease = store::lease(lease, None)?;
            let opened = open().await?;
            let removed = opened.store.remove(&lease, expected(*if_version)).await;
            changed(&opened, &lease, removed.map_err(|error| problem(&error))?)
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
    let lease = opened.store.acquire(&request).await.map_err(|error| problem(&error))?;
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
    match found.map_err(|error| problem(&error))? {
        Some(found) => show_state(&opened, &namespace, &key, &found),
        None => Err(Problem::failed(format!("the key `{key}` has no state"))),
    }
}

/// In a script the state is what is wanted, byte by byte, and nothing else.
fn show_state(opened: &Opened, namespace: &Namespace, key: &Key, found: &Versioned) -> Result<Exit, Problem> {
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
    let (state, state_base64) = text_or_base64(&found.state);
    let mut value = json!({ "namespace": namespace, "key": key, "version": found.version });
    match state_base64 {
        Some(base64) => value["state_base64"] = json!(base64),
        None => value["state"] = json!(state),
    }
    opened.answer("", &value)
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
    let if_version = expected(if_version);
    let updated = if release {
        opened.store.update_and_release(&lease, &state, if_version).await
    } else {
        opened.store.update(&lease, &state, if_version).await
    };
    changed(&opened, &lease, updated.map_err(|error| problem(&error))?)
}

fn changed(opened: &Opened, lease: &bygone_lease::Lease, version: u64) -> Result<Exit, Problem> {
    let value = json!({ "namespace": lease.namespace, "key": lease.key, "version": version });
    opened.answer(&version.to_string(), &value)
}

async fn describe(opened: &Opened, namespace: &Namespace, key: &Key) -> Result<Exit, Problem> {
    let found = opened.store.describe(namespace, key).await.map_err(|error| problem(&error))?;
    let Some(found) = found else { return Err(Problem::failed(format!("nothing is known of the key `{key}`"))) };
    let Description { exists, attachments, version, fencing_token, updated_at, owner, expires_at } = found;
    let expires_at = expires_at.map(|at| at.to_string());
    // One that never had state was never changed.
    let updated_at = (version > 0).then(|| updated_at.to_string());
    if opened.format != Format::Table {
        let value = json!({
            "namespace": namespace, "key": key, "exists": exists, "attachments": attachments, "version": version,
            "fencing_token": fencing_token, "updated_at": updated_at, "owner": owner, "expires_at": expires_at,
        });
        return opened.answer("", &value);
    }
    let none = || "–".to_owned();
    let mut rows = table(&["key", "held by", "until", "fencing token", "state", "version", "changed"]);
    rows.add_row([
        key.to_string(),
        owner.unwrap_or_else(none),
        expires_at.unwrap_or_else(none),
        fencing_token.to_string(),
        if exists { "yes" } else { "none" }.to_owned(),
        version.to_string(),
        updated_at.unwrap_or_else(none),
    ]);
    output::data(rows.to_string());
    Ok(Exit::Done)
}

pub(crate) fn expected(version: Option<u64>) -> IfVersion {
    version.map_or(IfVersion::Any, IfVersion::Is)
}
