//! The turn to sweep a store: one sweeper's at a time, for as long as it lives.

use std::time::Duration;

use bygone_core::{Gate, Turn};
use bygone_lease::StoreTurn;

use super::shelf::Shelf;

const LITTLE: Duration = Duration::from_secs(20);
/// Longer than a turn lasts, and what clocks may be apart.
const LONG: Duration = Duration::from_secs(40);

#[tokio::test]
async fn a_turn_is_one_sweepers_until_it_is_given_back() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let turn = StoreTurn::take(&shelf.store).await.unwrap().unwrap();
    assert!(StoreTurn::take(&other).await.unwrap().is_none());
    turn.give_back().await;
    assert!(turn.closed().await.is_some(), "whoever gave it back has it no more");
    assert!(StoreTurn::take(&other).await.unwrap().is_some());
}

#[tokio::test]
async fn who_sweeps_for_long_keeps_the_turn() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let turn = StoreTurn::take(&shelf.store).await.unwrap().unwrap();
    for _ in 0..5 {
        shelf.pass(LITTLE);
        assert_eq!(turn.closed().await, None);
        assert!(StoreTurn::take(&other).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn whoever_dies_keeps_nobody_waiting_and_whoever_slept_is_told() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let turn = StoreTurn::take(&shelf.store).await.unwrap().unwrap();
    shelf.pass(LONG);
    let others = StoreTurn::take(&other).await.unwrap().unwrap();
    let closed = turn.closed().await.unwrap();
    assert_eq!(closed.reason, "the turn to sweep was lost");
    turn.give_back().await;
    assert_eq!(others.closed().await, None, "what is another's is not given back");
    assert!(StoreTurn::take(&shelf.store).await.unwrap().is_none());
}
