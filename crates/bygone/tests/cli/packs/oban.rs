//! Oban: each ended state by its own column, and no other state at all.

use super::Case;
use crate::support::Engine;

const ROWS: &str = "
    INSERT INTO oban_jobs (worker, state, completed_at) VALUES
        ('completed before', 'completed', @7d-), ('completed at', 'completed', @7d),
        ('completed after', 'completed', @7d+), ('completed never', 'completed', NULL);
    INSERT INTO oban_jobs (worker, state, cancelled_at) VALUES
        ('cancelled before', 'cancelled', @30d-), ('cancelled at', 'cancelled', @30d),
        ('cancelled after', 'cancelled', @30d+), ('cancelled never', 'cancelled', NULL);
    INSERT INTO oban_jobs (worker, state, discarded_at) VALUES
        ('discarded before', 'discarded', @30d-), ('discarded at', 'discarded', @30d),
        ('discarded after', 'discarded', @30d+), ('discarded never', 'discarded', NULL);
    INSERT INTO oban_jobs (worker, state, scheduled_at, completed_at, cancelled_at, discarded_at) VALUES
        ('available', 'available', @400d, @400d, @400d, @400d), ('suspended', 'suspended', @400d, @400d, @400d, @400d),
        ('scheduled', 'scheduled', @400d, @400d, @400d, @400d), ('executing', 'executing', @400d, @400d, @400d, @400d),
        ('retryable', 'retryable', @400d, @400d, @400d, @400d),
        ('completed since', 'completed', @400d, @1d, @400d, @400d),
        ('cancelled since', 'cancelled', @400d, @400d, @1d, @400d),
        ('discarded since', 'discarded', @400d, @400d, @400d, @1d);
";

#[tokio::test]
async fn ended_jobs_go_by_their_state() {
    let survivors = [
        ["completed at", "completed after", "completed never", "completed since"],
        ["cancelled at", "cancelled after", "cancelled never", "cancelled since"],
        ["discarded at", "discarded after", "discarded never", "discarded since"],
    ];
    let running = ["available", "suspended", "scheduled", "executing", "retryable"];
    Case::of("oban", include_str!("oban.sql"), ROWS)
        .leaves(Engine::Postgres, &[("oban_jobs.worker", &[&survivors.concat()[..], &running].concat())])
        .await;
}
