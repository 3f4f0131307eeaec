//! The last runs of a policy, for those who watch over it.

use bygone_core::ErrorKind;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use uuid::Uuid;

use super::file::{id, instant};

/// A policy's run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its sweep.
    pub sweep: Uuid,
    /// When it ended.
    pub ended: Timestamp,
    /// How.
    pub outcome: String,
    /// What it removed.
    pub removed: u64,
    /// What it kept back.
    pub kept_back: u64,
    /// How far behind it left the policy.
    pub lag_seconds: Option<u64>,
    /// What it left that was bygone, where that was counted.
    pub backlog: Option<u64>,
    /// What went wrong.
    pub error: Option<String>,
    /// What kind of thing that was, where only a person can mend it.
    pub trouble: Option<Trouble>,
}

/// What goes wrong until a person does something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The survey stands against the brake.
    Brake,
    /// Two clocks are too far apart.
    ClockSkew,
}

impl Trouble {
    pub(super) fn of(kind: ErrorKind) -> Option<Self> {
        match kind {
            ErrorKind::Brake => Some(Self::Brake),
            ErrorKind::Skewed => Some(Self::ClockSkew),
            _ => None,
        }
    }

    /// The word in the ledger.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Brake => "brake",
            Self::ClockSkew => "clock_skew",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Brake, Self::ClockSkew].into_iter().find(|trouble| trouble.as_str() == word)
    }
}

/// The last runs of a policy that ended, the newest first; and when one was last complete.
pub(super) fn lately(conn: &Connection, policy: &str, limit: u32) -> rusqlite::Result<(Vec<Run>, Option<Timestamp>)> {
    let mut runs = conn.prepare_cached(
        "SELECT sweep, ended_ms, outcome, removed, kept_back, lag_seconds, backlog, error, trouble FROM run
         WHERE policy = ?1 AND ended_ms IS NOT NULL ORDER BY sweep DESC LIMIT ?2",
    )?;
    let runs = runs.query_map((policy, limit), run)?.collect::<Result<_, _>>()?;
    let mut completed = conn.prepare_cached(
        "SELECT ended_ms FROM run WHERE policy = ?1 AND outcome = 'complete' ORDER BY sweep DESC LIMIT 1",
    )?;
    let completed = completed.query_row([policy], |row| row.get(0)).optional()?;
    Ok((runs, completed.map(instant)))
}

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let number = |at| row.get::<_, Option<i64>>(at).map(|number| number.and_then(|number| u64::try_from(number).ok()));
    Ok(Run {
        sweep: id(row, 0)?,
        ended: instant(row.get(1)?),
        outcome: row.get(2)?,
        removed: number(3)?.unwrap_or(0),
        kept_back: number(4)?.unwrap_or(0),
        lag_seconds: number(5)?,
        backlog: number(6)?,
        error: row.get(7)?,
        trouble: row.get::<_, Option<String>>(8)?.as_deref().and_then(Trouble::parse),
    })
}
