//! What differs between the kinds of server.

use std::future::Future;
use std::path::Path;

use rustix::process::Signal;
use sqlx::Connection as _;
use tokio::sync::OnceCell;

use crate::access::Access;
use crate::error::KitError;
use crate::instance::{Instance, Invocation};
use crate::server::Server;

/// sqlx's connection to a kind of server.
pub(crate) type Connection<E> = <<E as Engine>::Sqlx as sqlx::Database>::Connection;
/// sqlx's options for such a connection.
pub(crate) type ConnectOptions<E> = <Connection<E> as sqlx::Connection>::Options;

/// A kind of server that the kit can run: a database or an object store. Only the kit implements it.
pub trait Service: sealed::Sealed + Sized + Send + Sync + 'static {
    /// For directories and messages.
    #[doc(hidden)]
    const NAME: &'static str;
    /// Whom root lends the server to, the preferred account first; nobody, if it may run as root.
    #[doc(hidden)]
    const ACCOUNTS: &'static [&'static str] = &[];
    /// The signal that stops it without waiting for its clients.
    #[doc(hidden)]
    const STOP: Signal;
    /// Settings of the shared server: speed instead of safety from a crash.
    #[doc(hidden)]
    const QUICK: &'static [(&'static str, &'static str)] = &[];
    /// Ports that it needs besides the one it is known by.
    #[doc(hidden)]
    const MORE_PORTS: usize = 0;

    /// What makes the data directory, if anything has to.
    #[doc(hidden)]
    fn initialise(instance: &Instance, access: &Access) -> Result<Option<Invocation>, KitError>;

    /// What runs the server. Later settings win over earlier ones.
    #[doc(hidden)]
    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError>;

    /// Asks it something as a test would; `Err` says why it is not ready, or not the one meant.
    #[doc(hidden)]
    fn look(access: &Access, data: &Path) -> impl Future<Output = Result<(), String>> + Send;

    /// Frees what a killed server leaves outside its directory.
    #[doc(hidden)]
    fn after_kill(_instance: &Instance) {}

    /// The handle of this process to the shared server of this kind.
    #[doc(hidden)]
    fn shared_cell() -> &'static OnceCell<Server<Self>>;
}

/// A kind of database: [`PostgresEngine`](crate::PostgresEngine) or [`MariaDbEngine`](crate::MariaDbEngine).
pub trait Engine: Service {
    /// The kind as sqlx knows it.
    type Sqlx: sqlx::Database;

    /// The scheme of its URLs.
    #[doc(hidden)]
    const SCHEME: &'static str;
    /// A database that is always there, to make others from.
    #[doc(hidden)]
    const MAINTENANCE: &'static str;

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
}

/// Connects to a database as a test would, and asks whose data it is: another server may have taken the port a moment
/// before this one could.
pub(crate) async fn look<E: Engine>(access: &Access, data: &Path) -> Result<(), String> {
    let asked = async {
        let options = E::connect_options(access, E::MAINTENANCE);
        let mut connection = Connection::<E>::connect_with(&options).await?;
        let directory = E::data_directory(&mut connection).await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(directory)
    };
    match asked.await {
        Ok(directory) if Path::new(&directory) == data => Ok(()),
        Ok(directory) => Err(format!("the server of {directory} answered")),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) mod sealed {
    /// Keeps the trait to this crate.
    pub trait Sealed {}
}
