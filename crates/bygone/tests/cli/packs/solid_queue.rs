//! Solid Queue: finished jobs take their recurring execution along, and stay with any other.

use super::Case;
use crate::support::{Engine, on_each_engine};

on_each_engine!(finished_jobs_go_and_what_makes_a_job_run_keeps_it);

const ROWS: &str = "
    INSERT INTO solid_queue_jobs (id, class_name, finished_at) VALUES
        (1, 'before', @7d-), (2, 'at', @7d), (3, 'after', @7d+), (4, 'never', NULL),
        (5, 'recurring before', @7d-), (6, 'recurring at', @7d), (7, 'ready', @400d), (8, 'claimed', @400d),
        (9, 'scheduled', @400d), (10, 'blocked', @400d), (11, 'failed', @400d), (12, 'failed, unfinished', NULL);
    INSERT INTO solid_queue_recurring_executions (job_id, task_key, run_at) VALUES
        (5, 'before', @400d), (6, 'at', @400d);
    INSERT INTO solid_queue_ready_executions (job_id) VALUES (7);
    INSERT INTO solid_queue_claimed_executions (job_id) VALUES (8);
    INSERT INTO solid_queue_scheduled_executions (job_id) VALUES (9);
    INSERT INTO solid_queue_blocked_executions (job_id) VALUES (10);
    INSERT INTO solid_queue_failed_executions (job_id) VALUES (11), (12);
";

async fn finished_jobs_go_and_what_makes_a_job_run_keeps_it(engine: Engine) {
    let (id, time) = match engine {
        Engine::Postgres => ("bigserial PRIMARY KEY", "timestamp(6)"),
        Engine::MariaDb => ("bigint AUTO_INCREMENT PRIMARY KEY", "datetime(6)"),
        Engine::Sqlite => ("integer PRIMARY KEY AUTOINCREMENT", "datetime(6)"),
    };
    let schema = include_str!("solid_queue.sql").replace("{id}", id).replace("{time}", time);
    let jobs = [
        "at",
        "after",
        "never",
        "recurring at",
        "ready",
        "claimed",
        "scheduled",
        "blocked",
        "failed",
        "failed, unfinished",
    ];
    Case::of("solid-queue", &schema, ROWS)
        .leaves(
            engine,
            &[
                ("solid_queue_jobs.class_name", &jobs),
                ("solid_queue_recurring_executions.task_key", &["at"]),
                ("solid_queue_ready_executions.job_id", &["7"]),
                ("solid_queue_claimed_executions.job_id", &["8"]),
                ("solid_queue_scheduled_executions.job_id", &["9"]),
                ("solid_queue_blocked_executions.job_id", &["10"]),
                ("solid_queue_failed_executions.job_id", &["11", "12"]),
            ],
        )
        .await;
}
