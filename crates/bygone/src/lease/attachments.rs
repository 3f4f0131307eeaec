//! `bygone lease attach`, `attachments`, `fetch` and `detach`: what belongs to a key besides its state, streamed.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bygone_lease::{Key, Lease, Namespace};
use bygone_server::leases::Detached;
use tempfile::NamedTempFile;

use crate::cli::Format;
use crate::cli::attachment::{Attach, Fetch};
use crate::cli::store::LeaseFile;
use crate::exit::Exit;
use crate::output::{self, size, table};
use crate::problem::Problem;
use crate::signals::Relayed;
use crate::store::{self, Opened, Pieces};

pub(super) async fn attach(
    open: impl AsyncFnOnce() -> Result<Opened, Problem>,
    flags: &Attach,
) -> Result<Exit, Problem> {
    let lease = store::lease(&flags.lease, Some(&flags.content))?;
    let name = name(flags)?;
    let source = store::stream(&flags.content).await?;
    let opened = open().await?;
    let put = opened.store.put_attachment(&lease, &name, flags.content_type.as_deref(), source).await?;
    opened.answer(&put.sha256, &put)
}

/// What it is to be called, where nobody says: as its file is.
fn name(flags: &Attach) -> Result<String, Problem> {
    let own = flags.content.file.as_deref().filter(|file| *file != Path::new(store::STDIN)).and_then(Path::file_name);
    let name = flags.name.clone().or_else(|| own.and_then(|name| name.to_str()).map(ToOwned::to_owned));
    let name = name.ok_or_else(|| Problem::usage("what is it to be called?", "say so: `--name NAME`"))?;
    bygone_lease::Attachment::check_name(&name)?;
    Ok(name)
}

pub(super) async fn list(opened: &Opened, namespace: &Namespace, key: &Key) -> Result<Exit, Problem> {
    let lines = opened.store.list_attachments(namespace, key).await?;
    if opened.format != Format::Table {
        output::json(opened.format, &lines, &lines).map_err(|error| Problem::failed(error.to_string()))?;
        return Ok(Exit::Done);
    }
    let mut rows = table(&["name", "size", "type", "attached", "sha-256"]);
    for line in lines {
        let kind = line.content_type.unwrap_or_else(|| "–".to_owned());
        rows.add_row([line.name, size(line.bytes), kind, format!("{:.3}", line.created_at), line.sha256]);
    }
    output::data(rows.to_string());
    Ok(Exit::Done)
}

pub(super) async fn detach(
    open: impl AsyncFnOnce() -> Result<Opened, Problem>,
    lease: &LeaseFile,
    name: &str,
) -> Result<Exit, Problem> {
    let lease = store::lease(lease, None)?;
    let opened = open().await?;
    if !opened.store.delete_attachment(&lease, name).await? {
        return Err(absent(&lease.key, name));
    }
    let Lease { namespace, key, .. } = lease;
    opened.answer("", &Detached { namespace, key, name: name.to_owned(), detached: true })
}

pub(super) async fn fetch(opened: &Opened, namespace: &Namespace, flags: &Fetch) -> Result<Exit, Problem> {
    let place = match flags.file.as_deref().filter(|file| *file != Path::new(store::STDIN)) {
        Some(file) => Some(place(file)?),
        None if opened.format == Format::Table => None,
        None => {
            return Err(Problem::usage(
                "standard output cannot be both the attachment and what is told of it",
                "name a file to write, or leave `--json` and `--format` out",
            ));
        }
    };
    let found = opened.store.get_attachment(namespace, &flags.key, &flags.name).await;
    let found = found?;
    let mut reader = found.ok_or_else(|| absent(&flags.key, &flags.name))?;
    let Some(place) = place else { return to_stdout(&mut *reader).await };
    let exit = to_file(&mut *reader, &place).await?;
    if exit == Exit::Done {
        opened.answer("", reader.about())?;
    }
    Ok(exit)
}

/// Where a file is to be: what stands there is replaced as a whole, so it must be a file.
fn place(file: &Path) -> Result<PathBuf, Problem> {
    let Ok(found) = fs::metadata(file) else { return Ok(file.to_owned()) };
    if !found.is_file() {
        let what = format!("{} is there, and not a file that could be replaced", file.display());
        return Err(Problem::usage(what, "name another, or write to standard output: `> FILE`"));
    }
    // A link stays, and what it leads to is replaced.
    fs::canonicalize(file).map_err(|error| unwritable(file, &error))
}

/// Writes a file beside its place, which takes that when all of it is there. Whatever ends us before, nothing else is left.
async fn to_file(reader: &mut dyn Pieces, place: &Path) -> Result<Exit, Problem> {
    let refused = |error: &io::Error| unwritable(place, error);
    let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut signals =
        Relayed::listen().map_err(|error| Problem::failed(format!("cannot listen to signals: {error}")))?;
    // As readable as any other new file.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bygone-fetch-").permissions(Permissions::from_mode(0o666));
    let mut part: NamedTempFile<File> = builder.tempfile_in(directory).map_err(|error| refused(&error))?;
    tokio::select! {
        biased;
        signal = signals.next() => return Ok(Exit::Command(128 + u8::try_from(signal.as_raw()).unwrap_or(0))),
        written = copy(reader, &mut part) => written?.map_err(|error| refused(&error))?,
    }
    part.as_file().sync_all().map_err(|error| refused(&error))?;
    part.persist(place).map_err(|error| refused(&error.error))?;
    Ok(Exit::Done)
}

/// A reader that went away (`bygone lease fetch … | head`) is no error.
async fn to_stdout(reader: &mut dyn Pieces) -> Result<Exit, Problem> {
    match copy(reader, &mut io::stdout()).await? {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(Exit::Done),
    }
}

/// Piece by piece. The first error is the store's, the second that of whoever writes.
async fn copy(reader: &mut dyn Pieces, to: &mut (impl Write + Send)) -> Result<io::Result<()>, Problem> {
    while let Some(piece) = reader.next().await? {
        if let Err(error) = to.write_all(&piece) {
            return Ok(Err(error));
        }
    }
    Ok(to.flush())
}

fn absent(key: &Key, name: &str) -> Problem {
    Problem::failed(format!("the key `{key}` has no attachment `{name}`"))
}

fn unwritable(file: &Path, error: &io::Error) -> Problem {
    Problem::failed(format!("cannot write {}: {error}", file.display()))
}
