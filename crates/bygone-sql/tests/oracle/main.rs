//! An oracle for rows: random tables, policies and rows; what a sweep leaves of them must be what a model leaves that was
//! written from the documentation alone, and shares no code with bygone.
//!
//! Each case follows from a seed and a number. `BYGONE_TEST_SEED` is the seed, `BYGONE_ORACLE_CASE` plays the case of one
//! number, and `BYGONE_ORACLE_CASES` says how many there are: a number, or `unbounded`.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod case;
mod chance;
mod generate;
mod judge;
mod model;
mod moment;
mod play;
mod run;
mod shrink;
mod sql;
mod story;

use bygone_testkit::Kind;

use crate::case::Case;
use crate::judge::{About, Wrong};
use crate::play::Ground;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite() {
    run::run(Kind::Sqlite, 2_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    run::run(Kind::Postgres, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb() {
    run::run(Kind::MariaDb, 200).await;
}

/// The test of an engine.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "sqlite",
        Kind::Postgres => "postgres",
        Kind::MariaDb => "mariadb",
    }
}

/// Plays a case and judges it.
async fn try_case(ground: &mut Ground, case: &Case) -> Result<About, Wrong> {
    let may = model::sweep(case);
    let played = Box::pin(ground.play(case)).await;
    judge::judge(case, &played, &may)
}
