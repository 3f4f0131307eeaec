//! Who gives way to others, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Budget, Clock as _, Duty, Neighbours, Outcome};

use crate::scripted::{Scripted, Step};

/// Others who go home after some answers.
#[derive(Debug)]
struct AtWorkFor(AtomicU64);

#[async_trait]
impl Neighbours for AtWorkFor {
    async fn are_at_work(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

fn at_work_for(answers: u64) -> Arc<dyn Neighbours> {
    Arc::new(AtWorkFor(AtomicU64::new(answers)))
}

fn five_pages() -> Scripted {
    let steps = (0..4).map(|_| Step::Removes(1)).chain([Step::Ends(1)]);
    Scripted::new(steps)
}

fn fifth() -> Budget {
    Budget { duty: Duty::of(0.2).unwrap(), ..Budget::default() }
}

const PAGE: Duration = Duration::from_millis(25);

#[tokio::test]
async fn pages_take_their_share_of_the_time_while_others_are_at_work() {
    let target = five_pages();
    target.run_beside(fifth(), at_work_for(u64::MAX)).await;
    assert_eq!(target.clock.elapsed(), PAGE * 5 + PAGE * 4 * 4, "four rests, each four times as long as a page");
}

#[tokio::test]
async fn nobody_is_waited_for_once_they_have_gone() {
    let target = five_pages();
    target.run_beside(fifth(), at_work_for(2)).await;
    assert_eq!(target.clock.elapsed(), PAGE * 5 + PAGE * 4 * 2, "two rests");
}

#[tokio::test]
async fn where_nobody_knows_of_others_they_are_at_work() {
    let target = five_pages();
    target.run(fifth()).await;
    assert_eq!(target.clock.elapsed(), PAGE * 5 + PAGE * 4 * 4);
}

#[tokio::test]
async fn a_pause_is_not_added_to_a_longer_rest() {
    let target = five_pages();
    target.run(Budget { pause: Duration::from_millis(99), ..fifth() }).await;
    assert_eq!(target.clock.elapsed(), PAGE * 5 + PAGE * 4 * 4);
    let target = five_pages();
    target.run(Budget { pause: Duration::from_millis(101), ..fifth() }).await;
    assert_eq!(target.clock.elapsed(), PAGE * 5 + Duration::from_millis(101) * 4);
}

#[tokio::test]
async fn a_rest_ends_with_the_time_of_the_run() {
    let target = five_pages();
    let run_time = Some(Duration::from_millis(60));
    let report = target.run(Budget { run_time, ..fifth() }).await;
    assert_eq!((report.outcome, report.pages), (Outcome::BudgetRuntime, 1));
    assert_eq!(target.clock.elapsed(), Duration::from_millis(60));
}

#[tokio::test]
async fn who_may_take_all_of_the_time_asks_nobody() {
    let neighbours = Arc::new(AtWorkFor(AtomicU64::new(7)));
    let target = five_pages();
    target.run_beside(Budget::default(), Arc::clone(&neighbours) as Arc<dyn Neighbours>).await;
    assert_eq!(target.clock.elapsed(), PAGE * 5);
    assert_eq!(neighbours.0.load(Ordering::Relaxed), 7);
}
