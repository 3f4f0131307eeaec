//! Attachments, as they are listed. Their content is streamed.

use bygone_lease::{Attachment, Key, Namespace};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::moment::{instant, millis};

/// An attachment.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttachmentDocument {
    /// The namespace of its key.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// Its key.
    #[schema(value_type = String)]
    pub key: Key,
    /// Its name.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// Of its content, in hexadecimal digits.
    pub sha256: String,
    /// What it is, as its writer said; null where he did not.
    pub content_type: Option<String>,
    /// When it was put there.
    #[serde(serialize_with = "millis")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl AttachmentDocument {
    /// An attachment of a key.
    pub fn of(namespace: &Namespace, key: &Key, attachment: &Attachment) -> Self {
        Self {
            namespace: namespace.clone(),
            key: key.clone(),
            name: attachment.name.clone(),
            bytes: attachment.bytes,
            sha256: attachment.sha256.clone(),
            content_type: attachment.content_type.clone(),
            created_at: instant(attachment.created_at),
        }
    }
}

/// The attachments of a key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttachmentList {
    /// By name.
    pub attachments: Vec<AttachmentDocument>,
}

/// An attachment that is gone.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Detached {
    /// The namespace of its key.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// Its key.
    #[schema(value_type = String)]
    pub key: Key,
    /// Its name.
    pub name: String,
    /// That it is.
    pub detached: bool,
}
