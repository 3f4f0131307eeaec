//! What differs between the kinds of server.

use std::future::Future;

use rustix::process::Signal;
use tokio::sync::OnceCell;

use crate::access::Access;
use crate::error::KitError;
use crate::instance::{Instance, Invocation};
use crate::server::Server;

/// sqlx's connection to a kind of server.
pub(crate) type Connection<E> = <<E as Engine>::Sqlx as sqlx::Database>::Connection;
/// sqlx's options for such a connection.
pub(crate) type ConnectOptions<E> = <Connection<E> as sqlx::Connection>::Options;

/// A kind of server: [`PostgresEngine`](crate::PostgresEngine) or
/// [`MariaDbEngine`](crate::MariaDbEngine). Only the kit implements it.
pub trait Engine: sealed::Sealed + Sized + Send + Sync + 'static {
    /// The kind as sqlx knows it.
    type Sqlx: sqlx::Database;

    /// For directories and messages.
    #[doc(hidden)]
    const NAME: &'static str;
    /// The scheme of its URLs.
    #[doc(hidden)]
    const SCHEME: &'static str;
    /// Whom root lends the server to, the preferred account first.
    #[doc(hidden)]
    const ACCOUNTS: &'static [&'static str];
    /// The signal that stops it without waiting for its clients.
    #[doc(hidden)]
    const STOP: Signal;
    /// Settings of the shared server: speed instead of safety from a crash.
    #[doc(hidden)]
    const QUICK: &'static [(&'static str, &'static str)];
    /// A database that is always there, to make others from.
    #[doc(hidden)]
    const MAINTENANCE: &'static str;

    /// What makes the data directory.
    #[doc(hidden)]
    fn initialise(instance: &Instance, access: &Access) -> Result<Invocation, KitError>;

    /// What runs the server. Later settings win over earlier ones.
    #[doc(hidden)]
    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError>;

    /// How to connect as the user with all rights.
    #[doc(hidden)]
    fn connect_options(access: &Access, database: &str) -> ConnectOptions<Self>;

    /// The data directory of the server that answers: a proof that it is the one meant.
    #[doc(hidden)]
    fn data_directory(connection: &mut Connection<Self>) -> impl Future<Output = Result<String, sqlx::Error>> + Send;

    /// Makes a database; `name` is an identifier that needs no quotes.
    #[doc(hidden)]
    fn create_database(
        connection: &mut Connection<Self>,
        name: &str,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Frees what a killed server leaves outside its directory.
    #[doc(hidden)]
    fn after_kill(_instance: &Instance) {}

    /// The handle of this process to the shared server of this kind.
    #[doc(hidden)]
    fn shared_cell() -> &'static OnceCell<Server<Self>>;
}

pub(crate) mod sealed {
    /// Keeps the trait to this crate.
    pub trait Sealed {}
}
