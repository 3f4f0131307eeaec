//! How much is staged.

use bygone_files::stage::Metrics;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How much is staged, swept or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TotalsDocument {
    /// All files.
    pub total_count: u64,
    /// Their bytes.
    pub total_bytes: u64,
    /// Those that stay until somebody removes them.
    pub persistent_count: u64,
    /// Their bytes.
    pub persistent_bytes: u64,
    /// All others.
    pub expirable_count: u64,
    /// Their bytes.
    pub expirable_bytes: u64,
}

impl From<Metrics> for TotalsDocument {
    fn from(metrics: Metrics) -> Self {
        Self {
            total_count: metrics.total_count,
            total_bytes: metrics.total_bytes,
            persistent_count: metrics.persistent_count,
            persistent_bytes: metrics.persistent_bytes,
            expirable_count: metrics.expirable_count,
            expirable_bytes: metrics.expirable_bytes,
        }
    }
}
