CREATE SCHEMA pgboss;
CREATE TYPE pgboss.job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');

CREATE TABLE pgboss.queue (name text PRIMARY KEY);
INSERT INTO pgboss.queue VALUES ('mail'), ('apart');

CREATE TABLE pgboss.job (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL,
    state pgboss.job_state NOT NULL DEFAULT 'created',
    deletion_seconds int NOT NULL DEFAULT 604800,
    singleton_key text,
    created_on timestamptz NOT NULL DEFAULT '2020-01-01 00:00:00Z',
    completed_on timestamptz,
    keep_until timestamptz NOT NULL DEFAULT '2020-01-15 00:00:00Z',
    policy text,
    blocking boolean NOT NULL DEFAULT false
) PARTITION BY LIST (name);
ALTER TABLE pgboss.job ADD PRIMARY KEY (name, id);
CREATE TABLE pgboss.job_common PARTITION OF pgboss.job DEFAULT;
CREATE TABLE pgboss.job_apart PARTITION OF pgboss.job FOR VALUES IN ('apart');
ALTER TABLE pgboss.job_common ADD FOREIGN KEY (name) REFERENCES pgboss.queue (name)
    ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE pgboss.job_apart ADD FOREIGN KEY (name) REFERENCES pgboss.queue (name)
    ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE pgboss.warning (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), message text, created_on timestamptz NOT NULL
);
CREATE INDEX warning_i1 ON pgboss.warning (created_on);
