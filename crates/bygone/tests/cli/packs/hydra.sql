CREATE TABLE hydra_oauth2_authentication_session (
    id varchar(40) PRIMARY KEY,
    remember boolean NOT NULL DEFAULT FALSE,
    expires_at timestamp NULL
);

CREATE TABLE hydra_oauth2_flow (
    login_challenge varchar(40) PRIMARY KEY,
    consent_challenge_id varchar(40) NULL UNIQUE,
    nid {nid} NOT NULL DEFAULT '00000000-0000-0000-0000-000000000001',
    requested_at timestamp NOT NULL,
    login_session_id varchar(40) NULL REFERENCES hydra_oauth2_authentication_session (id) ON DELETE SET NULL,
    state int NULL,
    consent_skip boolean NULL,
    consent_remember boolean NULL,
    consent_remember_for int NULL,
    expires_at timestamp {remembered_until}
);
CREATE INDEX hydra_oauth2_flow_login_session_id_idx ON hydra_oauth2_flow (login_session_id, nid);

CREATE TABLE hydra_oauth2_access (
    signature varchar(255) PRIMARY KEY,
    challenge_id varchar(40) NULL REFERENCES hydra_oauth2_flow (consent_challenge_id) ON DELETE CASCADE,
    expires_at timestamp NULL
);
CREATE INDEX hydra_oauth2_access_challenge_id_idx ON hydra_oauth2_access (challenge_id);

CREATE TABLE hydra_oauth2_refresh (
    signature varchar(255) PRIMARY KEY,
    challenge_id varchar(40) NULL REFERENCES hydra_oauth2_flow (consent_challenge_id) ON DELETE CASCADE,
    expires_at timestamp NULL
);
CREATE INDEX hydra_oauth2_refresh_challenge_id_idx ON hydra_oauth2_refresh (challenge_id);

CREATE TABLE hydra_oauth2_code (
    signature varchar(255) PRIMARY KEY,
    challenge_id varchar(40) NULL REFERENCES hydra_oauth2_flow (consent_challenge_id) ON DELETE CASCADE,
    expires_at timestamp NULL
);
CREATE INDEX hydra_oauth2_code_challenge_id_idx ON hydra_oauth2_code (challenge_id);

CREATE TABLE hydra_oauth2_oidc (
    signature varchar(255) PRIMARY KEY,
    challenge_id varchar(40) NULL REFERENCES hydra_oauth2_flow (consent_challenge_id) ON DELETE CASCADE,
    expires_at timestamp NULL
);
CREATE INDEX hydra_oauth2_oidc_challenge_id_idx ON hydra_oauth2_oidc (challenge_id);

CREATE TABLE hydra_oauth2_pkce (
    signature varchar(255) PRIMARY KEY,
    challenge_id varchar(40) NULL REFERENCES hydra_oauth2_flow (consent_challenge_id) ON DELETE CASCADE,
    expires_at timestamp NULL
);
CREATE INDEX hydra_oauth2_pkce_challenge_id_idx ON hydra_oauth2_pkce (challenge_id);

CREATE TABLE hydra_oauth2_device_auth_codes (
    device_code_signature varchar(255) NOT NULL,
    nid {nid} NOT NULL DEFAULT '00000000-0000-0000-0000-000000000001',
    challenge_id varchar(40) NULL REFERENCES hydra_oauth2_flow (consent_challenge_id) ON DELETE CASCADE,
    expires_at timestamp NULL,
    PRIMARY KEY (device_code_signature, nid)
);
CREATE INDEX hydra_oauth2_device_auth_codes_challenge_id_idx ON hydra_oauth2_device_auth_codes (challenge_id);

CREATE TABLE hydra_oauth2_jti_blacklist (
    signature varchar(64) NOT NULL,
    nid {nid} NOT NULL DEFAULT '00000000-0000-0000-0000-000000000001',
    expires_at timestamp NOT NULL,
    PRIMARY KEY (signature, nid)
);
CREATE INDEX hydra_oauth2_jti_blacklist_expires_at_idx ON hydra_oauth2_jti_blacklist (expires_at, nid);

CREATE TABLE hydra_oauth2_logout_request (challenge varchar(36) PRIMARY KEY, expires_at timestamp NULL);

CREATE TABLE hydra_jwk (
    sid varchar(255) NOT NULL,
    kid varchar(255) NOT NULL,
    nid {nid} NOT NULL DEFAULT '00000000-0000-0000-0000-000000000001',
    UNIQUE (sid, kid, nid)
);
CREATE TABLE hydra_oauth2_trusted_jwt_bearer_issuer (
    id varchar(36) PRIMARY KEY,
    key_set varchar(255) NOT NULL DEFAULT 'issuer',
    key_id varchar(255) NOT NULL DEFAULT 'key',
    nid {nid} NOT NULL DEFAULT '00000000-0000-0000-0000-000000000001',
    expires_at timestamp NOT NULL,
    FOREIGN KEY (key_set, key_id, nid) REFERENCES hydra_jwk (sid, kid, nid) ON DELETE CASCADE
);
CREATE INDEX hydra_oauth2_trusted_jwt_bearer_issuer_expires_at_idx
    ON hydra_oauth2_trusted_jwt_bearer_issuer (expires_at);
INSERT INTO hydra_jwk (sid, kid) VALUES ('issuer', 'key');
