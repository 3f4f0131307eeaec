//! The bare statements through the same client that the stores use: beside it, what the stores themselves add is seen.

use async_trait::async_trait;
use bygone_sql::{Client, ClientOptions, Engine, Query, SourceUrl, Value};

use super::case::{Case, Work};
use super::credentials::{Times, digest, document};
use super::series::{Each, Operation, Worker, Workers};
use crate::failure::Failure;

/// A client with a connection for each worker.
pub(crate) async fn workers(url: &str, case: &Case) -> Result<Workers, Failure> {
    let options = ClientOptions { connections_max: case.workers, ..ClientOptions::new(SourceUrl::parse(url)?) };
    let client = Client::open(options).await?;
    let document = document()?;
    let worker = |_| -> Box<dyn Worker> {
        match case.work {
            Work::IssueAndTake => Box::new(Each(Codes { client: client.clone(), document: document.clone() })),
            Work::Remember | Work::RememberAmong(_) => Box::new(Each(Jtis { client: client.clone() })),
        }
    };
    Ok((0..case.workers).map(worker).collect())
}

fn blob(bytes: [u8; 32]) -> Value {
    Value::Blob(bytes.to_vec())
}

/// One row went in.
async fn insert(client: &Client, into: &str, values: Vec<Value>) -> Result<(), Failure> {
    let mut query = Query::new(client.engine(), into).sql(" VALUES (");
    for (at, value) in values.into_iter().enumerate() {
        query = query.sql(if at == 0 { "" } else { ", " }).bind(value, None);
    }
    match client.execute(&query.sql(")")).await? {
        1 => Ok(()),
        rows => Err(format!("{rows} rows were inserted").into()),
    }
}

struct Codes {
    client: Client,
    document: String,
}

impl Codes {
    async fn issue(&self, code: [u8; 32]) -> Result<(), Failure> {
        let Times { now, expires_at, horizon } = Times::of_code();
        let into =
            "INSERT INTO client_authorization_codes (code, family, subject, inserted_at, expires_at, horizon, data)";
        let times = [now, expires_at, horizon].map(Value::Int);
        let values = [blob(code), blob(digest()), blob(digest())]
            .into_iter()
            .chain(times)
            .chain([Value::Text(self.document.clone())]);
        insert(&self.client, into, values.collect()).await
    }

    async fn take(&self, code: [u8; 32]) -> Result<(), Failure> {
        let (engine, now) = (self.client.engine(), Value::Int(Times::of_code().now));
        let query = Query::new(engine, "UPDATE client_authorization_codes SET taken_at = ").bind(now.clone(), None);
        let query = query.sql(" WHERE code = ").bind(blob(code), None);
        let query = query.sql(" AND taken_at IS NULL AND expires_at > ").bind(now, None);
        let rows = if engine == Engine::MySql {
            self.client.execute(&query).await?;
            let select = Query::new(engine, "SELECT data FROM client_authorization_codes WHERE code = ");
            self.client.read(&select.bind(blob(code), None)).await?
        } else {
            self.client.write(&query.sql(" RETURNING data")).await?
        };
        let data = rows.first().and_then(|row| row.first()?.text());
        data.map(drop).ok_or_else(|| "a new code was not taken".into())
    }
}

#[async_trait]
impl Operation for Codes {
    async fn once(&mut self) -> Result<(), Failure> {
        let code = digest();
        self.issue(code).await?;
        self.take(code).await
    }
}

struct Jtis {
    client: Client,
}

#[async_trait]
impl Operation for Jtis {
    async fn once(&mut self) -> Result<(), Failure> {
        let Times { now, expires_at, horizon } = Times::of_jti();
        let values = [blob(digest())].into_iter().chain([now, expires_at, horizon].map(Value::Int));
        let into = "INSERT INTO client_dpop_replays (jti, inserted_at, expires_at, horizon)";
        insert(&self.client, into, values.collect()).await
    }
}
