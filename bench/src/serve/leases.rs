//! Leases by the daemon, for programs in other languages, beside the library in the process that asks, Redis and etcd.
//!
//! A lease is taken and given back by two requests. Everybody answers only when the disk has it.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::connection::Connection;
use super::household::Household;
use crate::crowd::race::Race;
use crate::crowd::{Client, Clients, Contender, Until};
use crate::failure::Failure;
use crate::leases::case::Keys;
use crate::leases::ours::{self, Names};
use crate::leases::{etcd, redis};
use crate::report::thousands;
use crate::{disk, output, server};

/// So many at once.
const CROWDS: [(&str, usize); 3] = [("lease/1", 1), ("lease/8", 8), ("lease/64", 64)];

/// Runs all crowds, and tells with what.
pub(super) async fn measure(household: &Household, quick: bool) -> Result<(Vec<Race>, Vec<String>), Failure> {
    let (turn, turns) = if quick { (Duration::from_millis(150), 5) } else { (Duration::from_secs(1), 9) };
    let (redis, redis_version) = server::redis::start().await?;
    let (etcd, etcd_version) = server::etcd::start().await?;
    let directory = disk::directory()?;
    let library = ours::open(&directory.path().join("leases")).await?;
    let mut races = Vec::new();
    for (case, count) in CROWDS {
        let names = Names::new(Keys::Own);
        let mut all = [
            Contender::new("bygone over HTTP", clients(household, count).await?),
            Contender::new("bygone in process", ours::clients(&library, &names, count)?),
            Contender::new("Redis", redis::clients(&redis, &names, count).await?),
            Contender::new("etcd", etcd::clients(&etcd, &names, count).await?),
        ];
        for contender in &mut all {
            contender.turn(Until::Over(turn / 2)).await?;
            contender.forget();
        }
        for round in 0..turns {
            for at in 0..all.len() {
                let at = (at + round) % all.len();
                all[at].turn(Until::Over(turn)).await?;
            }
        }
        for contender in &all {
            output::talk(&format!("{case}, {}: {} cycles/s", contender.name, thousands(contender.rate())));
        }
        let [ours, library, redis, etcd] = all;
        let peers = vec![(library, None), (redis, None), (etcd, None)];
        races.push(Race { bench: super::BENCH, case, unit: "cycles/s", ours, peers });
    }
    Ok((races, vec![disk::describe(&directory)?, redis_version, etcd_version]))
}

/// So many, each with a connection and a key of his own.
async fn clients(household: &Household, count: usize) -> Result<Clients, Failure> {
    let mut clients = Clients::new();
    for at in 0..count {
        let acquire = json!({ "namespace": "bench", "key": Names::own(at), "owner": "a client" }).to_string();
        clients.push(Box::new(Cycle { connection: household.connect().await?, acquire }));
    }
    Ok(clients)
}

struct Cycle {
    connection: Connection,
    acquire: String,
}

#[async_trait]
impl Client for Cycle {
    async fn once(&mut self) -> Result<bool, Failure> {
        let lease = self.connection.post("/lease/v1/leases/acquire", &self.acquire).await?;
        let release = format!("{{\"lease\":{}}}", std::str::from_utf8(&lease)?);
        let released: Value =
            serde_json::from_slice(&self.connection.post("/lease/v1/leases/release", &release).await?)?;
        if released["released"] == true { Ok(true) } else { Err("a lease was over before it was given back".into()) }
    }
}
