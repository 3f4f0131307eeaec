CREATE TYPE river_job_state AS ENUM
    ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');

CREATE TABLE river_job (
    id bigserial PRIMARY KEY,
    state river_job_state NOT NULL DEFAULT 'available',
    created_at timestamptz NOT NULL DEFAULT '2020-01-01 00:00:00Z',
    scheduled_at timestamptz NOT NULL DEFAULT '2020-01-01 00:00:00Z',
    finalized_at timestamptz,
    kind text NOT NULL,
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL) = (state NOT IN ('cancelled', 'completed', 'discarded'))
    )
);
CREATE INDEX river_job_kind ON river_job (kind);
CREATE INDEX river_job_state_and_finalized_at_index ON river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;
