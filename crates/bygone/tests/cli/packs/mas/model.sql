-- What one sweep must come to, said once more without any of bygone: the jobs one after another, each as the plainest
-- statement there is, until nothing changes. A row that something else must not lose is left alone.
CREATE FUNCTION made(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT to_timestamp(0) + ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint * interval '1 millisecond'
$$;

CREATE PROCEDURE sweep_by_the_book(boundary timestamptz) LANGUAGE plpgsql AS $$
DECLARE
    an_hour timestamptz := boundary - interval '1 hour';
    a_week timestamptz := boundary - 7 * interval '24 hours';
    a_month timestamptz := boundary - 30 * interval '24 hours';
    gone bigint;
    total bigint;
BEGIN
    LOOP
        total := 0;

        DELETE FROM oauth2_access_tokens WHERE revoked_at < an_hour OR expires_at < a_month;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM oauth2_refresh_tokens WHERE revoked_at < an_hour;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM oauth2_refresh_tokens t WHERE t.consumed_at < an_hour AND (t.next_oauth2_refresh_token_id IS NULL OR
            (SELECT n.consumed_at IS NOT NULL FROM oauth2_refresh_tokens n
             WHERE n.oauth2_refresh_token_id = t.next_oauth2_refresh_token_id));
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        DROP TABLE IF EXISTS doomed;
        CREATE TEMPORARY TABLE doomed AS SELECT compat_session_id AS id FROM compat_sessions WHERE finished_at < a_month;
        DELETE FROM compat_refresh_tokens WHERE compat_session_id IN (SELECT id FROM doomed);
        DELETE FROM compat_access_tokens WHERE compat_session_id IN (SELECT id FROM doomed);
        DELETE FROM compat_sso_logins WHERE compat_session_id IN (SELECT id FROM doomed);
        DELETE FROM compat_sessions WHERE compat_session_id IN (SELECT id FROM doomed);
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        DROP TABLE doomed;
        CREATE TEMPORARY TABLE doomed AS SELECT oauth2_session_id AS id FROM oauth2_sessions s WHERE finished_at < a_month
            AND NOT EXISTS (SELECT FROM oauth2_authorization_grants g WHERE g.oauth2_session_id = s.oauth2_session_id);
        DELETE FROM oauth2_refresh_tokens WHERE oauth2_session_id IN (SELECT id FROM doomed);
        DELETE FROM oauth2_access_tokens WHERE oauth2_session_id IN (SELECT id FROM doomed);
        DELETE FROM oauth2_sessions WHERE oauth2_session_id IN (SELECT id FROM doomed);
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        DROP TABLE doomed;
        CREATE TEMPORARY TABLE doomed AS SELECT user_session_id AS id FROM user_sessions s WHERE finished_at < a_month
            AND NOT EXISTS (SELECT FROM oauth2_sessions o WHERE o.user_session_id = s.user_session_id)
            AND NOT EXISTS (SELECT FROM compat_sessions c WHERE c.user_session_id = s.user_session_id)
            AND NOT EXISTS (SELECT FROM oauth2_device_code_grant d WHERE d.user_session_id = s.user_session_id);
        DELETE FROM user_session_authentications WHERE user_session_id IN (SELECT id FROM doomed);
        DELETE FROM user_sessions WHERE user_session_id IN (SELECT id FROM doomed);
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        UPDATE oauth2_sessions SET last_active_ip = NULL WHERE last_active_at < a_month;
        UPDATE compat_sessions SET last_active_ip = NULL WHERE last_active_at < a_month;
        UPDATE user_sessions SET last_active_ip = NULL WHERE last_active_at < a_month;

        DELETE FROM oauth2_authorization_grants WHERE made(oauth2_authorization_grant_id) < a_week;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM oauth2_device_code_grant WHERE made(oauth2_device_code_grant_id) < a_week;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM upstream_oauth_authorization_sessions
            WHERE made(upstream_oauth_authorization_session_id) < a_week AND user_session_id IS NULL;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        DROP TABLE doomed;
        CREATE TEMPORARY TABLE doomed AS SELECT upstream_oauth_link_id AS id FROM upstream_oauth_links
            WHERE made(upstream_oauth_link_id) < a_week AND user_id IS NULL;
        DELETE FROM upstream_oauth_authorization_sessions WHERE upstream_oauth_link_id IN (SELECT id FROM doomed);
        DELETE FROM upstream_oauth_links WHERE upstream_oauth_link_id IN (SELECT id FROM doomed);
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        DELETE FROM user_registrations WHERE made(user_registration_id) < a_month;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM user_recovery_sessions WHERE made(user_recovery_session_id) < a_week;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM user_email_authentications WHERE made(user_email_authentication_id) < a_week;
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM queue_jobs WHERE made(queue_job_id) < a_month AND status IN ('completed', 'failed');
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;
        DELETE FROM policy_data WHERE policy_data_id NOT IN (SELECT policy_data_id FROM policy_data
            ORDER BY policy_data_id DESC LIMIT 10);
        GET DIAGNOSTICS gone = ROW_COUNT; total := total + gone;

        EXIT WHEN total = 0;
    END LOOP;
END $$;
