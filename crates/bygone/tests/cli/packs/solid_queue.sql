CREATE TABLE solid_queue_jobs (
    id {id},
    queue_name varchar(255) NOT NULL DEFAULT 'default',
    class_name varchar(255) NOT NULL,
    scheduled_at {time} NULL,
    finished_at {time} NULL
);
CREATE INDEX index_solid_queue_jobs_on_class_name ON solid_queue_jobs (class_name);
CREATE INDEX index_solid_queue_jobs_on_finished_at ON solid_queue_jobs (finished_at);
CREATE INDEX index_solid_queue_jobs_for_filtering ON solid_queue_jobs (queue_name, finished_at);
CREATE INDEX index_solid_queue_jobs_for_alerting ON solid_queue_jobs (scheduled_at, finished_at);

CREATE TABLE solid_queue_ready_executions (
    id {id}, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs (id) ON DELETE CASCADE
);
CREATE TABLE solid_queue_claimed_executions (
    id {id}, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs (id) ON DELETE CASCADE
);
CREATE TABLE solid_queue_scheduled_executions (
    id {id}, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs (id) ON DELETE CASCADE
);
CREATE TABLE solid_queue_blocked_executions (
    id {id}, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs (id) ON DELETE CASCADE
);
CREATE TABLE solid_queue_failed_executions (
    id {id}, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs (id) ON DELETE CASCADE
);
CREATE TABLE solid_queue_recurring_executions (
    id {id}, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs (id) ON DELETE CASCADE,
    task_key varchar(255) NOT NULL, run_at {time} NOT NULL,
    UNIQUE (task_key, run_at)
);
