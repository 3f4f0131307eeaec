//! The console: what the API tells, as pages for people.
//!
//! Pages are made here and need no script; the script lets a sweep that runs move by itself. They show what the handlers of
//! the API answer, so the two cannot differ. `table.rs` has every route with the scope that it needs.

mod assets;
mod chart;
mod configuration;
mod forms;
mod layout;
mod overview;
mod plan;
mod policy;
mod sign_in;
mod sources;
mod sweeps;
mod table;
mod trouble;
mod words;

pub(super) use self::table::{doors, pages};
pub(super) use self::trouble::tell_people;
