CREATE TABLE attesto_authorization_codes (
    code_hash varchar(88) NOT NULL,
    family_id varchar(255),
    access_token_expires_at {seconds} NULL,
    expires_at {seconds} NOT NULL
);
CREATE UNIQUE INDEX attesto_authorization_codes_code_hash_index ON attesto_authorization_codes (code_hash);
CREATE INDEX attesto_authorization_codes_expires_at_index ON attesto_authorization_codes (expires_at);

CREATE TABLE attesto_refresh_tokens (
    id {uuid} PRIMARY KEY,
    token_hash varchar(88) NOT NULL,
    family_id varchar(255) NOT NULL,
    consumed boolean NOT NULL,
    family_revoked boolean NOT NULL,
    expires_at {seconds} NOT NULL
);
CREATE UNIQUE INDEX attesto_refresh_tokens_token_hash_index ON attesto_refresh_tokens (token_hash);
CREATE INDEX attesto_refresh_tokens_family_id_index ON attesto_refresh_tokens (family_id);
CREATE INDEX attesto_refresh_tokens_expires_at_index ON attesto_refresh_tokens (expires_at);

CREATE TABLE attesto_device_codes (
    id {id}, device_code_hash varchar(88) NOT NULL UNIQUE, expires_at {seconds} NOT NULL
);
CREATE INDEX attesto_device_codes_expires_at_index ON attesto_device_codes (expires_at);

CREATE TABLE attesto_ciba_requests (
    id {id}, auth_req_id_hash varchar(88) NOT NULL UNIQUE, expires_at {seconds} NOT NULL
);
CREATE INDEX attesto_ciba_requests_expires_at_index ON attesto_ciba_requests (expires_at);

CREATE TABLE attesto_logout_sessions (id {id}, sid varchar(255) NOT NULL, expires_at {seconds} NOT NULL);
CREATE INDEX attesto_logout_sessions_expires_at_index ON attesto_logout_sessions (expires_at);

CREATE TABLE dpop_nonces (id {id}, nonce varchar(255) NOT NULL UNIQUE, expires_at {seconds} NOT NULL);

CREATE TABLE dpop_replays (jti varchar(255) PRIMARY KEY, expires_at {micros} NOT NULL);
CREATE INDEX dpop_replays_expires_at_index ON dpop_replays (expires_at);

CREATE TABLE attesto_pushed_authorization_requests (
    request_uri varchar(255) PRIMARY KEY, expires_at {seconds} NOT NULL
);
CREATE INDEX attesto_pushed_requests_expires_at_index ON attesto_pushed_authorization_requests (expires_at);

CREATE TABLE attesto_client_id_metadata (url varchar(255) PRIMARY KEY, expires_at {seconds} NOT NULL);
CREATE INDEX attesto_client_id_metadata_expires_at_index ON attesto_client_id_metadata (expires_at);

CREATE TABLE attesto_consent_grants (token varchar(255) PRIMARY KEY, expires_at {micros} NOT NULL);
CREATE INDEX attesto_consent_grants_expires_at_index ON attesto_consent_grants (expires_at);
