//! A stream of Redis with a group of consumers: the one of its queues that knows who has what, and delivers it again.

use async_trait::async_trait;
use bygone_testkit::Redis;

use super::PAYLOAD;
use crate::crowd::{Client, Clients};
use crate::failure::Failure;
use crate::server::redis::{RedisClient, Reply};

const GROUP: &str = "workers";
/// Acknowledges a message and takes it out, in one round trip: what is only acknowledged stays in the stream.
const ACK: &str = "redis.call('xack', KEYS[1], ARGV[1], ARGV[2]) return redis.call('xdel', KEYS[1], ARGV[2])";

/// So many who put messages into a stream, each with a connection of his own.
pub(crate) async fn producers(server: &Redis, stream: &str, count: usize) -> Result<Clients, Failure> {
    RedisClient::connect(server).await?.ask(&["XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM"]).await?;
    let mut clients: Clients = Vec::new();
    for _ in 0..count {
        let connection = RedisClient::connect(server).await?;
        clients.push(Box::new(Producer { connection, stream: stream.to_owned() }));
    }
    Ok(clients)
}

/// So many who take them out.
pub(crate) async fn workers(server: &Redis, stream: &str, count: usize) -> Result<Clients, Failure> {
    let mut clients: Clients = Vec::new();
    for at in 0..count {
        let mut connection = RedisClient::connect(server).await?;
        let ack = connection.ask(&["SCRIPT", "LOAD", ACK]).await?.text().to_owned();
        let name = format!("worker-{at}");
        clients.push(Box::new(Worker { connection, stream: stream.to_owned(), ack, name }));
    }
    Ok(clients)
}

struct Producer {
    connection: RedisClient,
    stream: String,
}

#[async_trait]
impl Client for Producer {
    async fn once(&mut self) -> Result<bool, Failure> {
        self.connection.ask(&["XADD", &self.stream, "*", "payload", PAYLOAD]).await?;
        Ok(true)
    }
}

struct Worker {
    connection: RedisClient,
    stream: String,
    ack: String,
    name: String,
}

#[async_trait]
impl Client for Worker {
    async fn once(&mut self) -> Result<bool, Failure> {
        let words = ["XREADGROUP", "GROUP", GROUP, &self.name, "COUNT", "1", "STREAMS", &self.stream, ">"];
        let read = self.connection.ask(&words).await?;
        // A list of streams, each a pair of its name and its messages, each a pair of an id and its fields.
        let Some(stream) = read.list().first() else { return Ok(false) };
        let message = stream.list().get(1).and_then(|messages| messages.list().first());
        let [id, fields] = message.map(Reply::list).unwrap_or_default() else {
            return Err(format!("Redis has delivered {read:?}").into());
        };
        if fields.list().get(1).map(Reply::text) != Some(PAYLOAD) {
            return Err(format!("a message was not delivered as it was sent: {fields:?}").into());
        }
        match self.connection.ask(&["EVALSHA", &self.ack, "1", &self.stream, GROUP, id.text()]).await? {
            Reply::Number(1) => Ok(true),
            other => Err(format!("a message was not acknowledged: {other:?}").into()),
        }
    }
}
