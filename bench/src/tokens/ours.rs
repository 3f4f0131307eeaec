//! The stores, as an auth server calls them.

use async_trait::async_trait;
use bygone_tokens::{AuthorizationCodes, CodeGrant, CodeTake, Lifetimes, Replay, Replays, Tokens, TokensOptions};

use super::case::{Case, Work};
use super::credentials::{REMEMBERED, grant, jti};
use super::series::{Each, Operation, Tables, Worker, Workers};
use crate::failure::Failure;

/// Opens the stores, with a connection for each worker.
pub(crate) async fn workers(url: &str, tables: Tables, case: &Case) -> Result<Workers, Failure> {
    let tokens = Tokens::open(TokensOptions {
        table_prefix: Some(tables.prefix().to_owned()),
        connections_max: case.workers,
        lifetimes: Lifetimes { replay: REMEMBERED, ..Lifetimes::default() },
        ..TokensOptions::new(url)?
    })
    .await?;
    let worker = |_| -> Box<dyn Worker> {
        match case.work {
            Work::IssueAndTake => Box::new(Each(Codes { codes: tokens.authorization_codes(), grant: grant() })),
            Work::Remember | Work::RememberAmong(_) => Box::new(Each(Jtis { replays: tokens.replays() })),
        }
    };
    Ok((0..case.workers).map(worker).collect())
}

struct Codes {
    codes: AuthorizationCodes,
    grant: CodeGrant,
}

#[async_trait]
impl Operation for Codes {
    async fn once(&mut self) -> Result<(), Failure> {
        let issued = self.codes.issue(&self.grant).await?;
        match self.codes.take(issued.code.expose()).await? {
            CodeTake::Granted { .. } => {}
            other => return Err(format!("a new code was not granted: {other:?}").into()),
        }
        Ok(())
    }
}

struct Jtis {
    replays: Replays,
}

#[async_trait]
impl Operation for Jtis {
    async fn once(&mut self) -> Result<(), Failure> {
        if self.replays.remember(&jti()).await? != Replay::Fresh {
            return Err("a new jti was taken as seen".into());
        }
        Ok(())
    }
}
