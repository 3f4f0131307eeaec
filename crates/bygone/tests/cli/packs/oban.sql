CREATE TYPE oban_job_state AS ENUM
    ('available', 'suspended', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled');

CREATE TABLE oban_jobs (
    id bigserial PRIMARY KEY,
    state oban_job_state NOT NULL DEFAULT 'available',
    queue text NOT NULL DEFAULT 'default',
    worker text NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    scheduled_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
    completed_at timestamp,
    cancelled_at timestamp,
    discarded_at timestamp
);
CREATE INDEX oban_jobs_state_queue_index ON oban_jobs (state, queue, priority, scheduled_at, id);
CREATE INDEX oban_jobs_state_cancelled_at_index ON oban_jobs (state, cancelled_at);
CREATE INDEX oban_jobs_state_discarded_at_index ON oban_jobs (state, discarded_at);
