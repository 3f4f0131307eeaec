//! etcd, a cluster of one, and a client of it.
//!
//! It is asked in its own language, gRPC, with one connection for each client: through its JSON gateway every request would
//! be translated twice by the server itself. The few messages that a lease needs are written out here, since making them
//! from etcd's files would need a compiler for those on every machine that builds the benches.

use bygone_testkit::{Etcd, Options};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use super::packages;
use crate::failure::Failure;

/// Starts a server, and says its version.
pub(crate) async fn start() -> Result<(Etcd, String), Failure> {
    packages::need("etcd", "etcd-server")?;
    let server = Etcd::start(Options::default()).await?;
    let mut client = EtcdClient::connect(&server).await?;
    let status: Status = client.ask("/etcdserverpb.Maintenance/Status", Nothing {}).await?;
    Ok((server, format!("etcd {}", status.version)))
}

/// A connection.
pub(crate) struct EtcdClient {
    grpc: Grpc<Channel>,
}

impl EtcdClient {
    /// Connects.
    pub(crate) async fn connect(server: &Etcd) -> Result<Self, Failure> {
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{}", server.port()))?;
        Ok(Self { grpc: Grpc::new(endpoint.tcp_nodelay(true).connect().await?) })
    }

    async fn ask<Q, A>(&mut self, path: &'static str, question: Q) -> Result<A, Failure>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        self.grpc.ready().await?;
        let codec = ProstCodec::<Q, A>::default();
        let asked = self.grpc.unary(tonic::Request::new(question), PathAndQuery::from_static(path), codec).await?;
        Ok(asked.into_inner())
    }

    /// Begins a lease of so many seconds, of no key as yet.
    pub(crate) async fn grant(&mut self, seconds: i64) -> Result<i64, Failure> {
        let granted: LeaseGranted =
            self.ask("/etcdserverpb.Lease/LeaseGrant", LeaseGrant { seconds, lease: 0 }).await?;
        Ok(granted.lease)
    }

    /// Writes a key under a lease, if it is not there. Answers whether it was not.
    pub(crate) async fn put_if_absent(&mut self, key: &str, value: &str, lease: i64) -> Result<bool, Failure> {
        let key = key.as_bytes().to_vec();
        let absent = Compare { result: EQUAL, target: CREATE_REVISION, key: key.clone(), create_revision: Some(0) };
        let put = RequestOp { put: Some(Put { key, value: value.as_bytes().to_vec(), lease }) };
        let done: TxnDone = self.ask("/etcdserverpb.KV/Txn", Txn { compare: vec![absent], success: vec![put] }).await?;
        Ok(done.succeeded)
    }

    /// Ends a lease: its keys go.
    pub(crate) async fn revoke(&mut self, lease: i64) -> Result<(), Failure> {
        let _: Nothing = self.ask("/etcdserverpb.Lease/LeaseRevoke", LeaseRevoke { lease }).await?;
        Ok(())
    }
}

/// `Compare.CompareResult` and `Compare.CompareTarget`.
const EQUAL: i32 = 0;
const CREATE_REVISION: i32 = 1;

#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LeaseGrant {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int64, tag = "2")]
    lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LeaseGranted {
    #[prost(int64, tag = "2")]
    lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LeaseRevoke {
    #[prost(int64, tag = "1")]
    lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Txn {
    #[prost(message, repeated, tag = "1")]
    compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    success: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Compare {
    #[prost(int32, tag = "1")]
    result: i32,
    #[prost(int32, tag = "2")]
    target: i32,
    #[prost(bytes = "vec", tag = "3")]
    key: Vec<u8>,
    #[prost(int64, optional, tag = "5")]
    create_revision: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RequestOp {
    #[prost(message, optional, tag = "2")]
    put: Option<Put>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Put {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
    #[prost(int64, tag = "3")]
    lease: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TxnDone {
    #[prost(bool, tag = "2")]
    succeeded: bool,
}
