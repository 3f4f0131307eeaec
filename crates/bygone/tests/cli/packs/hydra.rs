//! Ory Hydra: tokens by their own deadline, and consents only once no token hangs on them.

use std::fmt::Write as _;

use super::{AROUND, AROUND_OR_NEVER, Case, around, around_or_never};
use crate::support::{Engine, on_each_server};

on_each_server!(tokens_and_consents_go_and_a_live_token_keeps_its_consent);

const SESSIONS: &str = "
    INSERT INTO hydra_oauth2_authentication_session (id, remember, expires_at) VALUES
        ('remembered', TRUE, @400d), ('remembered, alone', TRUE, @400d), ('held', FALSE, @400d), ('freed', FALSE, @400d);
";

/// A consent remembered for a day ends a day after it was asked for.
const FLOWS: &str = "
    INSERT INTO hydra_oauth2_flow
        (login_challenge, consent_challenge_id, requested_at, consent_skip, consent_remember, consent_remember_for,
         login_session_id)
    VALUES
        ('expired before', 'expired before', @31d-, FALSE, TRUE, 86400, 'freed'),
        ('expired at', 'expired at', @31d, FALSE, TRUE, 86400, NULL),
        ('expired after', 'expired after', @31d+, FALSE, TRUE, 86400, 'held'),
        ('for ever', 'for ever', @400d, FALSE, TRUE, 0, NULL),
        ('of a remembered login', 'of a remembered login', @400d, FALSE, TRUE, 86400, 'remembered'),
        ('of dead tokens', 'of dead tokens', @400d, FALSE, TRUE, 86400, NULL),
        ('unremembered before', 'unremembered before', @90d-, FALSE, FALSE, NULL, NULL),
        ('unremembered at', 'unremembered at', @90d, FALSE, FALSE, NULL, NULL),
        ('unremembered after', 'unremembered after', @90d+, FALSE, FALSE, NULL, NULL),
        ('repeated before', 'repeated before', @90d-, TRUE, TRUE, 0, NULL),
        ('repeated at', 'repeated at', @90d, TRUE, TRUE, 0, NULL),
        ('unremembered of a remembered login', NULL, @400d, FALSE, FALSE, NULL, 'remembered');
    INSERT INTO hydra_oauth2_flow
        (login_challenge, consent_challenge_id, requested_at, state, consent_skip, consent_remember)
    VALUES
        ('unfinished before', NULL, @7d-, 1, NULL, NULL), ('unfinished at', NULL, @7d, 1, NULL, NULL),
        ('unfinished after', NULL, @7d+, 1, NULL, NULL), ('failed before', NULL, @7d-, 128, NULL, NULL),
        ('used', 'used', @400d, 6, FALSE, TRUE), ('stateless', 'stateless', @400d, NULL, FALSE, TRUE);
    INSERT INTO hydra_oauth2_access (signature, challenge_id, expires_at) VALUES ('dead', 'of dead tokens', @400d);
    INSERT INTO hydra_oauth2_refresh (signature, challenge_id, expires_at) VALUES ('dead', 'of dead tokens', @400d);
";

const FLOWS_LEFT: &[&str] = &[
    "expired at",
    "expired after",
    "for ever",
    "of a remembered login",
    "unremembered at",
    "unremembered after",
    "repeated at",
    "unremembered of a remembered login",
    "unfinished at",
    "unfinished after",
    "used",
    "stateless",
];

/// What hangs on a flow: table and key.
const TOKENS: [(&str, &str); 6] = [
    ("hydra_oauth2_access", "signature"),
    ("hydra_oauth2_refresh", "signature"),
    ("hydra_oauth2_code", "signature"),
    ("hydra_oauth2_oidc", "signature"),
    ("hydra_oauth2_pkce", "signature"),
    ("hydra_oauth2_device_auth_codes", "device_code_signature"),
];

/// For each policy over flows and each kind of token a flow past its time, with a token that lives.
fn held_flows() -> (String, Vec<String>) {
    let (mut rows, mut flows) = (String::new(), Vec::new());
    for (number, (table, key)) in TOKENS.iter().enumerate() {
        for (what, values) in [
            ("expired", "NULL, FALSE, TRUE, 86400"),
            ("unfinished", "5, NULL, NULL, NULL"),
            ("unremembered", "NULL, FALSE, FALSE, NULL"),
        ] {
            let flow = format!("{what}, held {number}");
            let _ = writeln!(
                rows,
                "INSERT INTO hydra_oauth2_flow (login_challenge, consent_challenge_id, requested_at, state,
                    consent_skip, consent_remember, consent_remember_for)
                    VALUES ('{flow}', 'consent {flow}', @400d, {values});
                 INSERT INTO {table} ({key}, challenge_id, expires_at)
                    VALUES ('{what}', 'consent {flow}', '2030-01-01 00:00:00');"
            );
            flows.push(flow);
        }
    }
    (rows, flows)
}

async fn tokens_and_consents_go_and_a_live_token_keeps_its_consent(engine: Engine) {
    let (nid, until) = if engine == Engine::Postgres {
        ("uuid", "consent_remember_for * interval '1 second' END) STORED")
    } else {
        ("char(36)", "interval consent_remember_for second END) VIRTUAL")
    };
    let until = format!("GENERATED ALWAYS AS (CASE WHEN consent_remember_for > 0 THEN requested_at + {until}");
    let schema = include_str!("hydra.sql").replace("{nid}", nid).replace("{remembered_until}", &until);
    let (held, flows) = held_flows();
    let rows = [
        around_or_never("hydra_oauth2_access", "signature", "expires_at", "@1d"),
        around_or_never("hydra_oauth2_refresh", "signature", "expires_at", "@30d"),
        around_or_never("hydra_oauth2_code", "signature", "expires_at", "@1d"),
        around_or_never("hydra_oauth2_pkce", "signature", "expires_at", "@1d"),
        around_or_never("hydra_oauth2_oidc", "signature", "expires_at", "@7d"),
        around_or_never("hydra_oauth2_device_auth_codes", "device_code_signature", "expires_at", "@7d"),
        around("hydra_oauth2_jti_blacklist", "signature", "expires_at", "@1d"),
        around_or_never("hydra_oauth2_logout_request", "challenge", "expires_at", "@1d"),
        around("hydra_oauth2_trusted_jwt_bearer_issuer", "id", "expires_at", "@30d"),
        around_or_never("hydra_oauth2_authentication_session", "id", "expires_at", "@30d"),
        SESSIONS.to_owned(),
        FLOWS.to_owned(),
        held,
    ]
    .concat();
    // On MySQL the columns hold whole seconds.
    let rows = if engine == Engine::Postgres { rows } else { rows.replace('@', "@sec:") };
    let live = [AROUND_OR_NEVER, &["expired", "unfinished", "unremembered"]].concat();
    let flows: Vec<&str> = FLOWS_LEFT.iter().copied().chain(flows.iter().map(String::as_str)).collect();
    let case = Case { more: "on = [\"hydra-unremembered-consents\"]", ..Case::of("hydra", &schema, &rows) };
    case.leaves(
        engine,
        &[
            ("hydra_oauth2_access.signature", &live),
            ("hydra_oauth2_refresh.signature", &live),
            ("hydra_oauth2_code.signature", &live),
            ("hydra_oauth2_pkce.signature", &live),
            ("hydra_oauth2_oidc.signature", &live),
            ("hydra_oauth2_device_auth_codes.device_code_signature", &live),
            ("hydra_oauth2_jti_blacklist.signature", AROUND),
            ("hydra_oauth2_logout_request.challenge", AROUND_OR_NEVER),
            ("hydra_oauth2_trusted_jwt_bearer_issuer.id", AROUND),
            ("hydra_jwk.kid", &["key"]),
            ("hydra_oauth2_flow.login_challenge", &flows),
            (
                "hydra_oauth2_authentication_session.id",
                &[AROUND_OR_NEVER, &["remembered", "remembered, alone", "held"]].concat(),
            ),
        ],
    )
    .await;
}
