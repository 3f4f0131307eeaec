//! A database of a test's own on a server it may share.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::pool::PoolOptions;
use sqlx::{Connection as _, Pool};

use crate::access::{Access, USER};
use crate::engine::{Connection, Engine};
use crate::error::{KitError, must};
use crate::process::Process;

/// Enough for the writers and sweepers of one test, and few enough for many tests at once.
const POOL_CONNECTIONS_MAX: u32 = 16;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A database that nobody else uses. It is thrown away together with its server.
#[derive(Debug, Clone)]
pub struct Database<E: Engine> {
    access: Access,
    name: String,
    engine: PhantomData<E>,
}

impl<E: Engine> Database<E> {
    /// Makes one with a name that no other process and no other call has had.
    pub(crate) async fn create(access: &Access) -> Result<Self, KitError> {
        let Process { pid, started } = Process::current();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{pid}_{started}_{count}");
        let maintenance = E::connect_options(access, E::MAINTENANCE);
        let mut connection =
            Connection::<E>::connect_with(&maintenance).await.map_err(KitError::sql("connect to make a database"))?;
        E::create_database(&mut connection, &name).await.map_err(KitError::sql("make a database"))?;
        connection.close().await.map_err(KitError::sql("close the connection that made a database"))?;
        Ok(Self { access: access.clone(), name, engine: PhantomData })
    }

    /// The database's name: an identifier that needs no quotes, and unique. What a test makes for
    /// the whole server, such as a user, should be named after it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL for the user with all rights: `postgres://…` or `mysql://…`.
    pub fn url(&self) -> String {
        self.url_as(USER, &self.access.password)
    }

    /// The same by way of another port of this machine: that of a proxy.
    pub fn url_through(&self, port: u16) -> String {
        Access { port, ..self.access.clone() }.url(E::SCHEME, USER, &self.access.password, &self.name)
    }

    /// The URL for another user, or for a wrong password. Both are put in as they are: keep to
    /// letters and digits.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        self.access.url(E::SCHEME, user, password, &self.name)
    }

    /// A connection of the user with all rights.
    ///
    /// # Panics
    /// If the server does not let it in.
    pub async fn connect(&self) -> Connection<E> {
        let options = E::connect_options(&self.access, &self.name);
        let connected = Connection::<E>::connect_with(&options).await;
        must(connected.map_err(KitError::sql("connect to a test's database")))
    }

    /// A pool of such connections, at most 16.
    ///
    /// # Panics
    /// If the server does not let the first one in.
    pub async fn admin_pool(&self) -> Pool<E::Sqlx> {
        let options = E::connect_options(&self.access, &self.name);
        let connected = PoolOptions::new().max_connections(POOL_CONNECTIONS_MAX).connect_with(options).await;
        must(connected.map_err(KitError::sql("connect to a test's database")))
    }
}
