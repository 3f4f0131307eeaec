//! pg-boss: ended jobs in a partitioned table of a schema of its own.

use super::{AROUND, Case, around};
use crate::support::Engine;

const JOBS: &str = "
    INSERT INTO pgboss.job (name, singleton_key, state, completed_on) VALUES
        ('mail', 'completed before', 'completed', @7d-), ('mail', 'completed at', 'completed', @7d),
        ('mail', 'completed after', 'completed', @7d+), ('mail', 'completed never', 'completed', NULL),
        ('apart', 'apart before', 'completed', @7d-), ('apart', 'apart at', 'completed', @7d),
        ('mail', 'cancelled before', 'cancelled', @30d-), ('mail', 'cancelled at', 'cancelled', @30d),
        ('apart', 'cancelled after', 'cancelled', @30d+), ('mail', 'cancelled never', 'cancelled', NULL),
        ('mail', 'failed before', 'failed', @30d-), ('mail', 'failed at', 'failed', @30d),
        ('apart', 'failed after', 'failed', @30d+), ('mail', 'failed never', 'failed', NULL),
        ('mail', 'created', 'created', @400d), ('mail', 'retry', 'retry', @400d), ('mail', 'active', 'active', @400d);
    INSERT INTO pgboss.job (name, singleton_key, state, completed_on, blocking) VALUES
        ('mail', 'completed, blocking', 'completed', @400d, true),
        ('mail', 'cancelled, blocking', 'cancelled', @400d, true),
        ('mail', 'failed, blocking', 'failed', @400d, true);
    INSERT INTO pgboss.job (name, singleton_key, state, completed_on, policy) VALUES
        ('mail', 'failed in order', 'failed', @400d, 'key_strict_fifo'),
        ('mail', 'failed by policy', 'failed', @400d, 'short'),
        ('mail', 'completed in order', 'completed', @400d, 'key_strict_fifo');
    INSERT INTO pgboss.job (name, singleton_key, state, completed_on, deletion_seconds) VALUES
        ('mail', 'completed, kept longer', 'completed', @400d, 2000000000),
        ('mail', 'cancelled, kept longer', 'cancelled', @400d, 2000000000),
        ('mail', 'failed, kept longer', 'failed', @400d, 2000000000),
        ('mail', 'never deleted by pg-boss', 'completed', @400d, 0);
";

#[tokio::test]
async fn ended_jobs_go_from_every_partition() {
    let rows = around("pgboss.warning", "message", "created_on", "@90d") + JOBS;
    let jobs = [
        "completed at",
        "completed after",
        "completed never",
        "apart at",
        "cancelled at",
        "cancelled after",
        "cancelled never",
        "failed at",
        "failed after",
        "failed never",
        "created",
        "retry",
        "active",
        "completed, blocking",
        "cancelled, blocking",
        "failed, blocking",
        "failed in order",
        "completed, kept longer",
        "cancelled, kept longer",
        "failed, kept longer",
    ];
    let case = Case { source: "schema = \"pgboss\"", ..Case::of("pg-boss", include_str!("pg_boss.sql"), &rows) };
    case.leaves(
        Engine::Postgres,
        &[
            ("pgboss.job.singleton_key", &jobs),
            ("pgboss.warning.message", AROUND),
            ("pgboss.queue.name", &["mail", "apart"]),
        ],
    )
    .await;
}
