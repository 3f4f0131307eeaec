//! What the index leads to besides keys.
//!
//! An errand is an entry of an hour, as a key's is, with what there is to do in its body. It is posted before the step
//! that may make it necessary, so that no crash leaves behind what nobody would ever find; one too many is harmless.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::blob::BlobId;
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::{Key, Namespace, QueueName};
use crate::storage::{Expected, StorageError, Version};
use crate::store::Shared;

/// Something to be done once its hour has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Errand {
    /// Blobs of a key that its record may not name.
    Blobs {
        key: Key,
        /// Who may be about to make the record name them; nobody if they were named before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<Uuid>,
        blobs: BTreeSet<BlobId>,
    },
    /// A message that is past its time then, or whose transaction is over.
    Message {
        queue: QueueName,
        name: String,
        /// Whether it stands among those that were put aside.
        #[serde(default)]
        dead: bool,
        due: Moment,
    },
}

/// An errand that stands in the index.
#[derive(Debug)]
pub(crate) struct Posted {
    path: String,
    version: Version,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    attempt: Uuid,
    #[serde(flatten)]
    errand: Errand,
}

impl Errand {
    pub(crate) fn parse(path: &str, body: &[u8]) -> Result<Self, Error> {
        let envelope: Envelope = serde_json::from_slice(body).map_err(|error| Error::unreadable(path, &error))?;
        Ok(envelope.errand)
    }
}

impl Shared {
    /// Puts an errand into the index.
    pub(crate) async fn post(&self, namespace: &Namespace, hour: Hour, errand: &Errand) -> Result<Posted, Error> {
        self.index.list_hour(&*self.storage, &self.ids, namespace, hour).await?;
        let attempt = self.ids.next();
        let path = layout::errand(namespace, hour, attempt);
        let envelope = Envelope { attempt, errand: errand.clone() };
        let body = serde_json::to_vec(&envelope).map_err(|error| Error::unreadable(&path, &error))?;
        match self.storage.put(&path, body.into(), Expected::Absent).await {
            Ok(version) => {
                self.list_again(namespace, hour).await?;
                Ok(Posted { path, version })
            }
            // Nobody else makes up this name.
            Err(StorageError::Conflict { .. }) => Err(Error::Contended { times: 1 }),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes an errand away that is done. If that fails, it is found to be done later.
    pub(crate) async fn tear_up(&self, posted: &Posted) {
        if let Err(error) = self.storage.delete(&posted.path, &posted.version).await {
            tracing::debug!(path = posted.path, %error, "an errand that is done is left to the sweeper");
        }
    }
}
