//! The end: the weather clears up, everything becomes due, and is swept. What is left is right.

use std::sync::Arc;

use bygone_lease::Error;
use serde_json::Value;

use crate::names::{self, ACCOUNTS, REGISTERS};
use crate::process::{Life, PAUSE_MOST};
use crate::weather::LATE_MAX;
use crate::witness::Fate;
use crate::world::World;

/// What every account begins with.
const BALANCE: i64 = 100;
const HALF_AN_HOUR: u64 = 30 * 60_000;
/// Longer than anything is kept, and long enough for hours to leave their lists.
const ROUNDS: usize = 16;

pub(crate) async fn open_accounts(world: &Arc<World>) -> Result<(), Error> {
    let life = Life::begin(world).await?;
    for number in 0..ACCOUNTS {
        life.open(names::account(number), BALANCE).await;
    }
    Ok(())
}

pub(crate) async fn settle(world: &Arc<World>) -> Result<(), Error> {
    world.set_calm(true);
    // Whoever is paused goes on, and whatever is on its way arrives.
    world.sleep_millis(PAUSE_MOST + 2 * LATE_MAX).await;
    let life = Life::begin(world).await?;
    for _ in 0..ROUNDS {
        world.sleep_millis(HALF_AN_HOUR).await;
        life.drain().await?;
        if !life.sweep().await {
            world.broken("a sweep in good weather was not complete");
        }
    }
    let left = left_over(world);
    if !left.is_empty() {
        world.broken(format!("left over, and nobody will ever look at it again: {}", left.join("; ")));
    }
    let mut total = 0;
    for number in 0..ACCOUNTS {
        total += life.value(names::account(number)).await.unwrap_or_default();
    }
    if total != BALANCE * i64::try_from(ACCOUNTS).unwrap_or(0) {
        world.broken(format!("a transaction was torn: there are {total} in all accounts"));
    }
    for number in 0..REGISTERS {
        // Held against everything that was answered before.
        life.value(names::register(number)).await;
        life.list_attached(names::register(number)).await;
    }
    let witness = world.witness();
    let is_lost = |id: &uuid::Uuid| matches!(witness.fate_of(*id), (Fate::Queued | Fate::Undone, false));
    let mut lost: Vec<_> = world.ledger().accepted.iter().copied().filter(is_lost).collect();
    lost.sort_unstable();
    drop(witness);
    if !lost.is_empty() {
        world.broken(format!(
            "the messages {lost:?} were accepted, and neither acknowledged nor put aside, nor past their time"
        ));
    }
    Ok(())
}

/// What nobody will ever look at again: entries, transactions and decisions, leases, records with nothing in them, messages, pieces of
/// what is in no record.
fn left_over(world: &World) -> Vec<String> {
    let stock = world.shelf();
    let mut left = Vec::new();
    for (key, stored) in stock.iter() {
        let content: Value = serde_json::from_slice(&stored.body).unwrap_or_default();
        let parts: Vec<&str> = key.split('/').collect();
        let is_kept = match parts[..] {
            [_, "meta", _] => {
                let is_idle = content["lease"].is_null() && content["staged"].is_null();
                is_idle && !(content["state"].is_null() && content["attachments"].is_null())
            }
            [_, "state", ..] => {
                let prefix = key.rsplit_once('/').map_or(key, |(prefix, _)| prefix);
                world.witness().is_named(prefix)
            }
            // Hours that are not long over stay on their lists.
            [.., "buckets.json"] => {
                ["buckets", "pending"].iter().all(|list| content[list].as_array().is_none_or(|list| list.len() <= 3))
            }
            [first, ..] => first == ".bygone",
            [] => false,
        };
        if !is_kept && !world.witness().is_stray(key) && left.len() < 5 {
            left.push(format!("{key} {content}"));
        }
    }
    left
}
