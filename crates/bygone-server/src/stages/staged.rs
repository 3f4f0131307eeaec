//! Staged files.

use bygone_core::format_instant;
use bygone_files::stage::{Attachment, AttachmentId, Ttl};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A staged file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StagedDocument {
    /// The SHA-256 of its content.
    pub id: String,
    /// Its name, made safe: that of the first stage.
    pub name: String,
    /// Where it lies on the machine of the area, until its deadline.
    pub path: String,
    /// How long it is, in bytes.
    pub size: u64,
    /// When it was last staged or touched.
    #[schema(format = DateTime)]
    pub inserted_at: String,
    /// How long it lives from then on, in milliseconds; null for one that does not expire.
    pub ttl_ms: Option<u64>,
    /// Whether it stays until somebody removes it by its id.
    pub persist: bool,
    /// Whether it was there already.
    pub cached: bool,
    /// When it ends; null for one that does not.
    #[schema(format = DateTime)]
    pub deadline: Option<String>,
}

impl From<&Attachment> for StagedDocument {
    fn from(attachment: &Attachment) -> Self {
        Self {
            id: attachment.id.to_string(),
            name: attachment.name.to_string(),
            path: attachment.path.display().to_string(),
            size: attachment.size,
            inserted_at: format!("{:.3}", attachment.inserted_at),
            ttl_ms: match attachment.ttl {
                Ttl::For(time) => u64::try_from(time.as_millis()).ok(),
                Ttl::Forever => None,
            },
            persist: attachment.persist,
            cached: attachment.cached,
            deadline: attachment.deadline.map(format_instant),
        }
    }
}

/// Staged files that live, in the order of their ids.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StagedList {
    /// They.
    pub files: Vec<StagedDocument>,
    /// Where the next page begins: give it as `after`. Null on the last page.
    pub next_after: Option<String>,
}

impl StagedList {
    /// A page of at most so many; one more was asked for, and tells whether there is more.
    pub(crate) fn page(mut files: Vec<Attachment>, limit: usize) -> Self {
        let is_more = files.len() > limit;
        files.truncate(limit);
        let next_after = files.last().filter(|_| is_more).map(|last| AttachmentId::to_string(&last.id));
        Self { files: files.iter().map(Into::into).collect(), next_after }
    }
}
