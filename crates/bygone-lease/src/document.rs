//! Small shared lists, such as the hours of an index: read, changed and swapped as a whole.
//!
//! They are never written without a condition, not even the first time: of two who make one at once, the second adds to
//! what the first wrote.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::ids::Ids;
use crate::storage::{Expected, Storage, StorageError, Stored};

/// How often others may come first.
const CONFLICTS_MAX: u32 = 100;

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    attempt: Uuid,
    #[serde(flatten)]
    content: T,
}

/// Reads a document; an absent one is empty.
pub(crate) async fn read<T: DeserializeOwned + Default>(
    storage: &(impl Storage + ?Sized),
    path: &str,
) -> Result<T, Error> {
    parse(path, storage.get(path).await?.as_ref())
}

/// Changes a document until that is what it says: `change` answers whether there is anything to change. Answers with the
/// document as it is then.
pub(crate) async fn amend<T>(
    storage: &(impl Storage + ?Sized),
    ids: &Ids,
    path: &str,
    mut change: impl FnMut(&mut T) -> bool,
) -> Result<T, Error>
where
    T: Serialize + DeserializeOwned + Default,
{
    let mut found = storage.get(path).await?;
    for _ in 0..CONFLICTS_MAX {
        let mut content: T = parse(path, found.as_ref())?;
        if !change(&mut content) {
            return Ok(content);
        }
        match put(storage, ids, path, found.as_ref(), content).await? {
            Put::Done(content) => return Ok(content),
            Put::Conflict(current) => found = current,
        }
    }
    Err(Error::Contended { times: CONFLICTS_MAX })
}

/// Changes a document once, if `change` says so and nobody else has meanwhile: `change` may ask the store first, and what it
/// learns is true of the document as it was read. Answers with the document as it is then; `None` if it was left alone.
pub(crate) async fn amend_once<T>(
    storage: &(impl Storage + ?Sized),
    ids: &Ids,
    path: &str,
    change: impl AsyncFnOnce(&mut T) -> Result<bool, Error>,
) -> Result<Option<T>, Error>
where
    T: Serialize + DeserializeOwned + Default,
{
    let found = storage.get(path).await?;
    let mut content: T = parse(path, found.as_ref())?;
    if !change(&mut content).await? {
        return Ok(None);
    }
    match put(storage, ids, path, found.as_ref(), content).await? {
        Put::Done(content) => Ok(Some(content)),
        Put::Conflict(_) => Ok(None),
    }
}

/// What became of a swap.
enum Put<T> {
    Done(T),
    /// Somebody was faster, and wrote this.
    Conflict(Option<Stored>),
}

async fn put<T: Serialize>(
    storage: &(impl Storage + ?Sized),
    ids: &Ids,
    path: &str,
    found: Option<&Stored>,
    content: T,
) -> Result<Put<T>, Error> {
    let envelope = Envelope { attempt: ids.next(), content };
    let body = serde_json::to_vec(&envelope).map_err(|error| Error::unreadable(path, &error))?;
    let expected = found.map_or(Expected::Absent, |stored| Expected::Version(&stored.version));
    match storage.put(path, Bytes::from(body), expected).await {
        Ok(_) => Ok(Put::Done(envelope.content)),
        Err(StorageError::Conflict { current }) => Ok(Put::Conflict(current.map(|current| *current))),
        Err(error) => Err(error.into()),
    }
}

fn parse<T: DeserializeOwned + Default>(path: &str, found: Option<&Stored>) -> Result<T, Error> {
    let Some(found) = found else { return Ok(T::default()) };
    let envelope: Envelope<T> = serde_json::from_slice(&found.body).map_err(|error| Error::unreadable(path, &error))?;
    Ok(envelope.content)
}
