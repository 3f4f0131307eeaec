//! What a sweep does to those who work in the database meanwhile.
//!
//! Rows a second say how soon a sweep is over; whether anybody wants it at noon is another question. So a foreground works
//! in a closed loop while each contender removes the same expired rows beside it, and both are counted: what is left of the
//! foreground, and how many rows went for what was lost.

mod contender;
mod foreground;
mod picture;
mod result;
mod series;

use std::time::Duration;

use clap::Args;

use self::contender::{Contender, Pace};
use self::result::Measured;
use self::series::{Ground, Times};
use crate::account::Account;
use crate::failure::Failure;
use crate::rows::case;
use crate::rows::postgres::PostgresBed;
use crate::{Common, server};

pub(crate) use self::picture::picture;

/// Rounds; an odd number, so that the median is one of them.
const ROUNDS: usize = 3;

/// How often, and with how much regard.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rounds, whose medians count [default: 3; with --quick: 1]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// A polite pace to try, `MILLISECONDS/PERCENT`: the time of a page, and the share of the time that pages may take. Several
    /// are compared with each other
    #[arg(long, value_name = "PACE", value_parser = pace, default_value = "4/20")]
    pace: Vec<Pace>,
}

fn pace(text: &str) -> Result<Pace, String> {
    let (millis, percent) = text.split_once('/').ok_or("write it as 10/20")?;
    let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{text}: {error}"));
    let (millis, duty_percent) = (number(millis)?, number(percent)?);
    if millis == 0 || !(1..=100).contains(&duty_percent) {
        return Err("a page takes a millisecond or more, and 1 to 100 percent of the time".to_owned());
    }
    Ok(Pace { page_time: Duration::from_millis(millis.into()), duty_percent })
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let (times, default) = if common.quick {
        (Times { alone: Duration::from_secs(1), beside: Duration::from_secs(2) }, 1)
    } else {
        (Times { alone: Duration::from_secs(8), beside: Duration::from_secs(12) }, ROUNDS)
    };
    let rounds = options.runs.unwrap_or(default).max(1);
    let case = case::beside_others(common.quick);
    // Looked for now, and not when the data is made.
    let pgbench = bygone_testkit::pgbench()?;
    let (server, version) = server::postgres::start().await?;
    let bed = PostgresBed::new(&server, &case).await?;
    let mut contenders = vec![Contender::OneDelete, Contender::PeerLoop, Contender::Bygone];
    contenders.extend(options.pace.iter().copied().map(Contender::Polite));
    let mut ground = Ground { bed, case, pgbench, times };
    let all = ground.measure(&contenders, rounds).await?;
    let all: Vec<Measured> =
        contenders.into_iter().zip(&all).map(|(contender, rounds)| Measured::new(contender, rounds)).collect();
    let mut account = Account::new(common);
    account.add(result::comparisons(&all))?;
    if account.close(&[version])? {
        result::print(&all);
    }
    Ok(())
}
