//! Rows for bygone: tables of PostgreSQL, MySQL/MariaDB and SQLite as targets of the engine.
//!
//! A [`RowPolicy`] says which rows of which table are bygone. [`RowTarget::bind`] looks every name up in the
//! database's own catalogue, judges the types, chooses how to walk, and refuses what does not fit. From then on the
//! engine of `bygone-core` asks it for pages:
//!
//! - a *swift* page removes one range of the deadline's index, of the heap or of the key, with one statement;
//! - a *careful* page lists rows, skips those that others hold, and removes the rest by key.
//!
//! Both repeat the whole test of the policy in the statement that removes, so that a row whose deadline was extended
//! a moment ago survives.
//!
//! For crates that keep stores of their own in the same three databases there is [`Client`]: several connections, the same
//! statements and values, and commits that are durable.

mod bind;
mod catalog;
mod client;
mod comparison;
mod connection;
mod discover;
mod engine;
mod error;
#[cfg(test)]
mod explain_tests;
mod family;
#[cfg(test)]
mod fuzz;
mod grants;
mod guard;
mod index;
mod load;
mod local_time;
mod newest;
mod order;
mod page;
mod partitions;
mod parts;
mod plan;
mod policy;
mod preflight;
mod query;
mod rights;
mod source;
mod statements;
mod target;
mod text_time;
mod time_id;
mod turn;
mod update;
mod url;
mod value;
mod walk;

pub use catalog::Reference;
pub use client::{Attempts, Client, ClientOptions, Transaction};
pub use discover::{Candidate, Sketch, discover};
pub use engine::Engine;
pub use error::SqlError;
pub use grants::Grants;
pub use guard::{Guard, GuardForm, GuardScript};
pub use index::{MissingIndex, create_index};
pub use load::{DatabaseNeighbours, LoadGate, LoadLimits};
pub use order::arrange;
pub use plan::RowPlan;
pub use policy::{
    Action, Assignment, Chain, ColumnRef, Deadline, DeadlineColumn, Format, NewValue, Newest, NullMeaning,
    RowCondition, RowPolicy,
};
pub use preflight::Finding;
pub use query::Query;
pub use source::{SharedSource, Source, SourceOptions};
pub use target::RowTarget;
pub use turn::SourceTurn;
pub use url::SourceUrl;
pub use value::{Row, Value};
pub use walk::Walk;
