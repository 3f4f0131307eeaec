//! A lock as people keep it in etcd: a key under a lease, put if it is absent; ending the lease deletes it.

use async_trait::async_trait;
use bygone_testkit::Etcd;

use super::ours::Names;
use crate::crowd::{Client, Clients};
use crate::failure::Failure;
use crate::server::etcd::EtcdClient;

const TTL_SECONDS: i64 = 30;

/// So many clients of one server, each with a connection of his own.
pub(crate) async fn clients(server: &Etcd, names: &Names, count: usize) -> Result<Clients, Failure> {
    let mut clients: Clients = Vec::new();
    for at in 0..count {
        let (connection, names, key) = (EtcdClient::connect(server).await?, names.clone(), Names::own(at));
        clients.push(Box::new(Cycle { connection, names, key }));
    }
    Ok(clients)
}

struct Cycle {
    connection: EtcdClient,
    names: Names,
    key: String,
}

#[async_trait]
impl Client for Cycle {
    async fn once(&mut self) -> Result<bool, Failure> {
        if let Some(name) = self.names.next() {
            self.key = name;
        }
        let lease = self.connection.grant(TTL_SECONDS).await?;
        if !self.connection.put_if_absent(&self.key, "a client", lease).await? {
            return Err("a lock that is free was not given".into());
        }
        self.connection.revoke(lease).await?;
        Ok(true)
    }
}
