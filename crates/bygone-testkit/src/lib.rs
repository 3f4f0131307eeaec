//! Real servers for bygone's tests and benchmarks.
//!
//! bygone's promises are about what databases do under locks, crashes and odd types, and a mock
//! keeps every promise. So tests run against real PostgreSQL, MariaDB and SQLite, which this crate
//! starts by itself: as an unprivileged user, on a free loopback port, with all data in the
//! temporary directory. Nothing that already runs on the machine is used or touched.
//!
//! - [`Postgres::shared`](Server::shared) and [`MariaDb::shared`](Server::shared): one server for
//!   the whole test run, and [`Server::fresh_database`] for a database per test.
//! - [`Postgres::start`](Server::start) and [`MariaDb::start`](Server::start): a server of one's
//!   own with other settings, which may be killed and restarted.
//! - [`SeaweedFs`], [`Moto`] and [`Azurite`]: object stores, shared or of one's own in the same way, and a
//!   [`TestBucket`] per test. A [`FaultProxy`] between a test and any of them cuts, delays and refuses.
//! - [`Wire`]: a way to a database that is cut after so many bytes, or on which nobody gets through for a while.
//! - [`Browser`]: what it takes to look at pages as people do.
//! - [`Etcd`] and [`Redis`]: no test needs them; benches run beside them.
//! - [`pgbench`]: where the program is that puts a load on PostgreSQL.
//! - [`schemathesis`]: where the program is that tries an API by its OpenAPI document.
//! - [`Damage`] and [`Picks`]: texts that are almost right, for tests that try what readers do with them.
//! - [`Sqlite::fresh`]: a database file of one's own.
//! - [`AnyDatabase::fresh`] and [`on_each_engine!`]: for tests that say the same of all three.
//!
//! Every server stops with those it serves, however they end: see [`Server`].

mod access;
mod account;
mod any;
mod browser;
mod client;
mod clock;
pub mod conformance;
mod damage;
mod database;
mod engine;
mod error;
mod etcd;
mod fault_proxy;
mod guardian;
mod instance;
mod mariadb;
mod objects;
mod postgres;
mod process;
mod programs;
mod redis;
mod server;
mod shared;
mod sqlite;
pub mod wait;
mod wire;

pub use any::{AnyDatabase, Kind};
pub use browser::Browser;
pub use client::{Client, Refused};
pub use clock::StandingClock;
pub use damage::{Damage, Picks};
pub use database::Database;
pub use engine::{Engine, Service};
pub use error::KitError;
pub use etcd::{Etcd, EtcdService};
pub use fault_proxy::{Fault, FaultProxy, Seen};
pub use mariadb::{MariaDb, MariaDbEngine};
pub use objects::{Azurite, AzuriteService, Moto, MotoService, SeaweedFs, SeaweedFsService, TestBucket};
pub use postgres::{Postgres, PostgresEngine, pgbench};
pub use process::Process;
pub use programs::schemathesis;
pub use redis::{Redis, RedisService};
pub use server::{Options, Server};
pub use sqlite::Sqlite;
pub use wire::{Cut, Way, Wire};
