CREATE TABLE event_entity (id varchar(36) PRIMARY KEY, realm_id varchar(255), event_time bigint);
CREATE INDEX idx_event_time ON event_entity (realm_id, event_time);

CREATE TABLE admin_event_entity (id varchar(36) PRIMARY KEY, realm_id varchar(255), admin_event_time bigint);
CREATE INDEX idx_admin_event_time ON admin_event_entity (realm_id, admin_event_time);

CREATE TABLE revoked_token (id varchar(255) PRIMARY KEY, expire bigint NOT NULL);
CREATE INDEX idx_rev_token_on_expire ON revoked_token (expire);

CREATE TABLE org (id varchar(255) PRIMARY KEY);
CREATE TABLE org_invitation (
    id varchar(36) PRIMARY KEY,
    organization_id varchar(255) NOT NULL DEFAULT 'org' REFERENCES org (id) ON DELETE CASCADE,
    expires_at int
);
CREATE INDEX idx_org_invitation_expires ON org_invitation (expires_at);
INSERT INTO org VALUES ('org');
