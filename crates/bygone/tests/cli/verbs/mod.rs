//! What each verb prints and does when nothing is wrong.

mod check;
mod demo;
mod grants;
mod guard;
mod guard_row_security;
mod index;
mod init;
mod packs;
mod plan;
mod saved_plan;
mod schema;
mod secrets;
mod status;
mod surroundings;
mod sweep;
mod texts;
mod tokens;
