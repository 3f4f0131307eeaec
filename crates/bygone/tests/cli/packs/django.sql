CREATE TABLE django_session (session_key varchar(40) PRIMARY KEY, expire_date {time} NOT NULL);
CREATE INDEX django_session_expire_date ON django_session (expire_date);

CREATE TABLE oauth2_provider_grant (id {id}, code varchar(255) NOT NULL UNIQUE, expires {time} NOT NULL);

CREATE TABLE oauth2_provider_idtoken (id {id}, jti varchar(36) NOT NULL UNIQUE, expires {time} NOT NULL);

CREATE TABLE oauth2_provider_accesstoken (
    id {id},
    token text NOT NULL,
    expires {time} NOT NULL,
    source_refresh_token_id bigint UNIQUE {source},
    id_token_id bigint UNIQUE REFERENCES oauth2_provider_idtoken (id) DEFERRABLE INITIALLY DEFERRED
);
CREATE TABLE oauth2_provider_refreshtoken (
    id {id},
    token varchar(255) NOT NULL,
    access_token_id bigint UNIQUE REFERENCES oauth2_provider_accesstoken (id) DEFERRABLE INITIALLY DEFERRED,
    revoked {time}
);

CREATE TABLE oauth2_provider_devicegrant (id {id}, device_code varchar(100) NOT NULL UNIQUE, expires {time} NOT NULL);
