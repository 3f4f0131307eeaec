//! What is told of staging areas: the same documents over HTTP as from the shell.

mod staged;
mod totals;

pub use self::staged::{StagedDocument, StagedList};
pub use self::totals::TotalsDocument;
