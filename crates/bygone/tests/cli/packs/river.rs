//! River: one column for three ended states, each with a keep of its own.

use super::Case;
use crate::support::Engine;

const ROWS: &str = "
    INSERT INTO river_job (kind, state, finalized_at) VALUES
        ('completed before', 'completed', @7d-), ('completed at', 'completed', @7d),
        ('completed after', 'completed', @7d+),
        ('cancelled before', 'cancelled', @30d-), ('cancelled at', 'cancelled', @30d),
        ('cancelled after', 'cancelled', @30d+),
        ('discarded before', 'discarded', @30d-), ('discarded at', 'discarded', @30d),
        ('discarded after', 'discarded', @30d+),
        ('available', 'available', NULL), ('pending', 'pending', NULL), ('retryable', 'retryable', NULL),
        ('running', 'running', NULL), ('scheduled', 'scheduled', NULL);
";

#[tokio::test]
async fn ended_jobs_go_by_their_state() {
    let survivors = [
        "completed at",
        "completed after",
        "cancelled at",
        "cancelled after",
        "discarded at",
        "discarded after",
        "available",
        "pending",
        "retryable",
        "running",
        "scheduled",
    ];
    Case::of("river", include_str!("river.sql"), ROWS)
        .leaves(Engine::Postgres, &[("river_job.kind", &survivors)])
        .await;
}
