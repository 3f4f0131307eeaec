//! Leases, queues and transactions as JSON: what is asked of the daemon, what it answers, and what the shell prints.
//!
//! Programs in other languages, the shell and the daemon hand the same documents to each other, so each stands here once, to
//! be written and read. Their fields are stable. Whoever reads an answer passes over what he does not know; requests are
//! read strictly.

mod attachment;
mod content;
mod header;
mod lease;
mod moment;
mod queue;
mod state;
mod txn;

pub use self::attachment::{AttachmentDocument, AttachmentList, Detached};
pub use self::content::{ContentError, bytes_of, text_or_base64};
pub use self::header::{ATTACHMENT, LEASE, VERSION, header_text};
pub use self::lease::{AcquireRequest, KeepaliveRequest, LeaseDocument, LeaseRequest, ReleasedDocument};
pub use self::queue::{
    AckedDocument, DeadLetters, DeadRequest, DeliveryDocument, DeliveryList, DeliveryRequest, DequeueRequest,
    EnqueueRequest, EnqueuedDocument, ExtendRequest, NackRequest, NackedDocument, QueueRequest, StatsDocument,
};
pub use self::state::{
    DescriptionDocument, GetRequest, KeyRequest, RemoveRequest, StateDocument, StateParameters, UpdateRequest,
    VersionDocument,
};
pub use self::txn::{
    BeginRequest, BegunDocument, CommittedDocument, ReplayRequest, ReplayedDocument, RolledBackDocument, StageRequest,
    TxnRequest, Verdict,
};
