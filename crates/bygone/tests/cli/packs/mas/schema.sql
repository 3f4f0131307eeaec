-- The tables of Matrix Authentication Service that its cleanup concerns, with every foreign key among them.
CREATE TABLE users (user_id uuid PRIMARY KEY);
CREATE TABLE oauth2_clients (oauth2_client_id uuid PRIMARY KEY, is_static boolean NOT NULL DEFAULT false);

CREATE TABLE user_sessions (
    user_session_id uuid PRIMARY KEY,
    user_id uuid REFERENCES users,
    finished_at timestamptz,
    last_active_at timestamptz,
    last_active_ip inet
);
CREATE TABLE compat_sessions (
    compat_session_id uuid PRIMARY KEY,
    user_id uuid REFERENCES users,
    user_session_id uuid REFERENCES user_sessions,
    finished_at timestamptz,
    last_active_at timestamptz,
    last_active_ip inet
);
CREATE TABLE compat_access_tokens (
    compat_access_token_id uuid PRIMARY KEY,
    compat_session_id uuid NOT NULL REFERENCES compat_sessions
);
CREATE TABLE compat_refresh_tokens (
    compat_refresh_token_id uuid PRIMARY KEY,
    compat_session_id uuid NOT NULL REFERENCES compat_sessions,
    compat_access_token_id uuid NOT NULL REFERENCES compat_access_tokens
);
CREATE TABLE compat_sso_logins (
    compat_sso_login_id uuid PRIMARY KEY,
    compat_session_id uuid REFERENCES compat_sessions ON DELETE SET NULL,
    user_session_id uuid REFERENCES user_sessions ON DELETE CASCADE
);
CREATE TABLE oauth2_sessions (
    oauth2_session_id uuid PRIMARY KEY,
    user_id uuid REFERENCES users ON DELETE CASCADE,
    user_session_id uuid REFERENCES user_sessions,
    oauth2_client_id uuid REFERENCES oauth2_clients,
    finished_at timestamptz,
    last_active_at timestamptz,
    last_active_ip inet
);
CREATE TABLE oauth2_access_tokens (
    oauth2_access_token_id uuid PRIMARY KEY,
    oauth2_session_id uuid NOT NULL REFERENCES oauth2_sessions,
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE TABLE oauth2_refresh_tokens (
    oauth2_refresh_token_id uuid PRIMARY KEY,
    oauth2_session_id uuid NOT NULL REFERENCES oauth2_sessions,
    oauth2_access_token_id uuid REFERENCES oauth2_access_tokens ON DELETE SET NULL,
    next_oauth2_refresh_token_id uuid REFERENCES oauth2_refresh_tokens ON DELETE SET NULL,
    consumed_at timestamptz,
    revoked_at timestamptz
);
CREATE TABLE oauth2_authorization_grants (
    oauth2_authorization_grant_id uuid PRIMARY KEY,
    oauth2_session_id uuid REFERENCES oauth2_sessions,
    user_session_id uuid REFERENCES user_sessions ON DELETE SET NULL
);
CREATE TABLE oauth2_device_code_grant (
    oauth2_device_code_grant_id uuid PRIMARY KEY,
    oauth2_session_id uuid REFERENCES oauth2_sessions ON DELETE CASCADE,
    user_session_id uuid REFERENCES user_sessions
);
CREATE TABLE upstream_oauth_links (upstream_oauth_link_id uuid PRIMARY KEY, user_id uuid REFERENCES users);
CREATE TABLE upstream_oauth_authorization_sessions (
    upstream_oauth_authorization_session_id uuid PRIMARY KEY,
    upstream_oauth_link_id uuid REFERENCES upstream_oauth_links,
    user_session_id uuid REFERENCES user_sessions ON DELETE SET NULL
);
CREATE TABLE user_session_authentications (
    user_session_authentication_id uuid PRIMARY KEY,
    user_session_id uuid NOT NULL REFERENCES user_sessions,
    upstream_oauth_authorization_session_id uuid REFERENCES upstream_oauth_authorization_sessions ON DELETE SET NULL
);
CREATE TABLE user_registrations (
    user_registration_id uuid PRIMARY KEY,
    email_authentication_id uuid,
    upstream_oauth_authorization_session_id uuid REFERENCES upstream_oauth_authorization_sessions ON DELETE SET NULL
);
CREATE TABLE user_email_authentications (
    user_email_authentication_id uuid PRIMARY KEY,
    user_session_id uuid REFERENCES user_sessions ON DELETE SET NULL,
    user_registration_id uuid REFERENCES user_registrations ON DELETE CASCADE
);
ALTER TABLE user_registrations ADD FOREIGN KEY (email_authentication_id)
    REFERENCES user_email_authentications ON DELETE SET NULL;
CREATE TABLE user_email_authentication_codes (
    user_email_authentication_code_id uuid PRIMARY KEY,
    user_email_authentication_id uuid NOT NULL REFERENCES user_email_authentications ON DELETE CASCADE
);
CREATE TABLE user_recovery_sessions (user_recovery_session_id uuid PRIMARY KEY);
CREATE TABLE user_recovery_tickets (
    user_recovery_ticket_id uuid PRIMARY KEY,
    user_recovery_session_id uuid NOT NULL REFERENCES user_recovery_sessions ON DELETE CASCADE
);
CREATE TABLE queue_jobs (
    queue_job_id uuid PRIMARY KEY,
    status text NOT NULL,
    next_attempt_id uuid REFERENCES queue_jobs ON DELETE SET NULL
);
CREATE TABLE queue_schedules (
    schedule_name text PRIMARY KEY,
    last_scheduled_job_id uuid REFERENCES queue_jobs ON DELETE SET NULL
);
CREATE TABLE policy_data (policy_data_id uuid PRIMARY KEY, data jsonb NOT NULL DEFAULT '{}');

-- Most referencing columns have an index; that of compat_sso_logins on its browser session has none.
CREATE INDEX ON compat_access_tokens (compat_session_id);
CREATE INDEX ON compat_refresh_tokens (compat_session_id);
CREATE INDEX ON compat_refresh_tokens (compat_access_token_id);
CREATE INDEX ON compat_sso_logins (compat_session_id);
CREATE INDEX ON compat_sessions (user_session_id);
CREATE INDEX ON oauth2_sessions (user_session_id);
CREATE INDEX ON oauth2_access_tokens (oauth2_session_id);
CREATE INDEX ON oauth2_refresh_tokens (oauth2_session_id);
CREATE INDEX ON oauth2_refresh_tokens (oauth2_access_token_id);
CREATE INDEX ON oauth2_refresh_tokens (next_oauth2_refresh_token_id);
CREATE INDEX ON oauth2_authorization_grants (oauth2_session_id);
CREATE INDEX ON oauth2_device_code_grant (oauth2_session_id);
CREATE INDEX ON oauth2_device_code_grant (user_session_id);
CREATE INDEX ON user_session_authentications (user_session_id);
CREATE INDEX ON upstream_oauth_authorization_sessions (upstream_oauth_link_id);
CREATE INDEX ON compat_sessions (finished_at);
CREATE INDEX ON oauth2_sessions (finished_at);
CREATE INDEX ON user_sessions (finished_at);
