//! What the tests of the program share: the program, the databases, and a small world to run it in.

mod database;
mod history;
mod program;
mod seed;
mod world;

pub(crate) use database::{Client, Database, Engine, on_each_engine, on_each_server};
pub(crate) use history::{runs, until_told};
pub(crate) use program::{PROGRAM, Run, Running, bygone, clean};
pub(crate) use seed::seed;
pub(crate) use world::{BYGONE_LAST, FUTURE, LAST, PAST, TOKENS, World, altered, everyone, living, policy_over};
