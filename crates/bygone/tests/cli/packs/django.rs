//! Django and django-oauth-toolkit: tokens that point at each other, by constraints that wait for the commit.

use super::{AROUND, AROUND_OR_NEVER, Case, around, around_or_never};
use crate::support::Engine;

/// What was rotated long ago comes free from its end: the access token that nothing refreshes goes, then the refresh
/// token it was made from, then the access token that one belonged to.
const CHAINS: &str = "
    INSERT INTO oauth2_provider_idtoken (id, jti, expires) VALUES (101, 'held', @400d), (102, 'freed', @400d);
    INSERT INTO oauth2_provider_accesstoken (id, token, expires) VALUES
        (101, 'first, rotated', @400d), (102, 'refreshable', @400d), (103, 'revoked today', @400d);
    INSERT INTO oauth2_provider_refreshtoken (id, token, access_token_id, revoked) VALUES
        (101, 'rotated', 101, @400d), (102, 'usable', 102, NULL), (103, 'revoked today', 103, @1d),
        (104, 'source of a live one', NULL, @400d);
    INSERT INTO oauth2_provider_accesstoken (id, token, expires, source_refresh_token_id, id_token_id) VALUES
        (104, 'last', @400d, 101, 102), (105, 'live', '2200-01-01 00:00:00', 104, 101);
";

const ALL: &str = r#"on = [
    "django-oauth-grants", "django-oauth-access-tokens", "django-oauth-revoked-refresh-tokens",
    "django-oauth-id-tokens", "django-oauth-device-grants",
]"#;

async fn sessions_and_tokens_go_and_what_can_be_refreshed_stays(engine: Engine) {
    let source = "REFERENCES oauth2_provider_refreshtoken (id) DEFERRABLE INITIALLY DEFERRED";
    let schema = include_str!("django.sql");
    let schema = if engine == Engine::Postgres {
        let later =
            format!("ALTER TABLE oauth2_provider_accesstoken ADD FOREIGN KEY (source_refresh_token_id) {source};");
        let schema = schema.replace("{id}", "bigserial PRIMARY KEY").replace("{time}", "timestamptz");
        schema.replace("{source}", "") + &later
    } else {
        let schema = schema.replace("{id}", "integer PRIMARY KEY AUTOINCREMENT").replace("{time}", "datetime");
        schema.replace("{source}", source)
    };
    let rows = [
        around("django_session", "session_key", "expire_date", "@1d"),
        around("oauth2_provider_grant", "code", "expires", "@1d"),
        around("oauth2_provider_accesstoken", "token", "expires", "@1d"),
        around_or_never("oauth2_provider_refreshtoken", "token", "revoked", "@90d"),
        around("oauth2_provider_idtoken", "jti", "expires", "@30d"),
        around("oauth2_provider_devicegrant", "device_code", "expires", "@30d"),
        CHAINS.to_owned(),
    ]
    .concat();
    let refresh = ["usable", "revoked today", "source of a live one"];
    Case { more: ALL, ..Case::of("django", &schema, &rows) }
        .leaves(
            engine,
            &[
                ("django_session.session_key", AROUND),
                ("oauth2_provider_grant.code", AROUND),
                ("oauth2_provider_accesstoken.token", &[AROUND, &["refreshable", "revoked today", "live"]].concat()),
                ("oauth2_provider_refreshtoken.token", &[AROUND_OR_NEVER, &refresh].concat()),
                ("oauth2_provider_idtoken.jti", &[AROUND, &["held"]].concat()),
                ("oauth2_provider_devicegrant.device_code", AROUND),
            ],
        )
        .await;
}

#[tokio::test]
async fn postgres() {
    sessions_and_tokens_go_and_what_can_be_refreshed_stays(Engine::Postgres).await;
}

#[tokio::test]
async fn sqlite() {
    sessions_and_tokens_go_and_what_can_be_refreshed_stays(Engine::Sqlite).await;
}
