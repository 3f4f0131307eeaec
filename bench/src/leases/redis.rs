//! A lock as people keep it in Redis: set if absent with an end, and deleted only by its holder.

use async_trait::async_trait;
use bygone_testkit::Redis;

use super::ours::Names;
use crate::crowd::{Client, Clients};
use crate::failure::Failure;
use crate::server::redis::{RedisClient, Reply};

/// As Redis's own documentation has it.
const DELETE_IF_OURS: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const TTL_MS: &str = "30000";

/// So many clients of one server, each with a connection of his own.
pub(crate) async fn clients(server: &Redis, names: &Names, count: usize) -> Result<Clients, Failure> {
    let mut clients: Clients = Vec::new();
    for at in 0..count {
        let mut connection = RedisClient::connect(server).await?;
        let script = connection.ask(&["SCRIPT", "LOAD", DELETE_IF_OURS]).await?.text().to_owned();
        let (names, key) = (names.clone(), Names::own(at));
        clients.push(Box::new(Cycle { connection, script, names, key, token: at as u64 }));
    }
    Ok(clients)
}

struct Cycle {
    connection: RedisClient,
    script: String,
    names: Names,
    key: String,
    token: u64,
}

#[async_trait]
impl Client for Cycle {
    async fn once(&mut self) -> Result<bool, Failure> {
        if let Some(name) = self.names.next() {
            self.key = name;
        }
        // Nobody else's: whoever deletes a lock that is not his takes it from its holder.
        self.token += 1 << 16;
        let token = format!("{:032x}", self.token);
        let set = self.connection.ask(&["SET", &self.key, &token, "NX", "PX", TTL_MS]).await?;
        if set.text() != "OK" {
            return Err(format!("a lock that is free was not given: {set:?}").into());
        }
        match self.connection.ask(&["EVALSHA", &self.script, "1", &self.key, &token]).await? {
            Reply::Number(1) => Ok(true),
            other => Err(format!("a lock was not deleted: {other:?}").into()),
        }
    }
}
