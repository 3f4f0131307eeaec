//! Keycloak: deadlines that are numbers, in two units.

use super::{AROUND, Case, around, around_or_never};
use crate::support::Engine;

#[tokio::test]
async fn events_and_tokens_go_by_their_numbers() {
    let rows = [
        around_or_never("event_entity", "id", "event_time", "@epoch_ms:90d"),
        around_or_never("admin_event_entity", "id", "admin_event_time", "@epoch_ms:365d"),
        around("revoked_token", "id", "expire", "@epoch_s:1d"),
        around_or_never("org_invitation", "id", "expires_at", "@epoch_s:90d"),
        "INSERT INTO event_entity VALUES ('zero', 'realm', 0);
         INSERT INTO admin_event_entity VALUES ('zero', 'realm', 0);
         INSERT INTO revoked_token VALUES ('zero', 0);
         INSERT INTO org_invitation VALUES ('zero', 'org', 0);"
            .to_owned(),
    ];
    let some = ["at", "after", "never", "zero"].as_slice();
    Case::of("keycloak", include_str!("keycloak.sql"), &rows.concat())
        .leaves(
            Engine::Postgres,
            &[
                ("event_entity.id", some),
                ("admin_event_entity.id", some),
                ("revoked_token.id", &[AROUND, &["zero"]].concat()),
                ("org_invitation.id", some),
                ("org.id", &["org"]),
            ],
        )
        .await;
}
