//! The tables: one for each store, two for refresh tokens.

use crate::table::{Column, End, Index, Shape, Vacated};

/// Every table, parents before children.
pub(crate) const TABLES: [&Shape; 11] = [
    &AUTHORIZATION_CODES,
    &REFRESH_FAMILIES,
    &REFRESH_TOKENS,
    &DPOP_NONCES,
    &DPOP_REPLAYS,
    &PUSHED_AUTHORIZATION_REQUESTS,
    &CLIENT_ID_METADATA,
    &CONSENT_GRANTS,
    &LOGOUT_SESSIONS,
    &DEVICE_CODES,
    &CIBA_REQUESTS,
];

/// A code stays as long as the access token that was issued for it, so that a second presentation can still revoke it.
pub(crate) static AUTHORIZATION_CODES: Shape = Shape {
    name: "authorization_codes",
    key: &["code"],
    columns: &[
        Column::digest("code"),
        Column::digest("family"),
        Column::digest("subject"),
        Column::int("taken_at").or_null(),
        Column::int("redeemed_at").or_null(),
        Column::digest("access_token").or_null(),
        Column::int("access_token_expires_at").or_null(),
        Column::int("access_token_revoked_at").or_null(),
    ],
    indexes: &[Index::on("family"), Index::on("subject"), Index::on("access_token")],
    data: true,
    vacated: Vacated::Forgotten,
    end: End::Horizon,
};

/// A family is what serialises rotations, what is revoked, and what all of its tokens go with: as long as one of them
/// lives, every ancestor stays known.
pub(crate) static REFRESH_FAMILIES: Shape = Shape {
    name: "refresh_families",
    key: &["family"],
    columns: &[
        Column::digest("family"),
        Column::digest("subject").or_null(),
        Column::int("ends_at").or_null(),
        Column::int("revoked_at").or_null(),
    ],
    indexes: &[Index::on("subject")],
    data: true,
    vacated: Vacated::Expired,
    end: End::Horizon,
};

/// `handover` holds the token itself, sealed by its predecessor, until the token is used for the first time.
pub(crate) static REFRESH_TOKENS: Shape = Shape {
    name: "refresh_tokens",
    key: &["token"],
    columns: &[
        Column::digest("token"),
        Column::digest("family"),
        Column::int("generation"),
        Column::int("consumed_at").or_null(),
        Column::digest("successor").or_null(),
        Column::bytes("handover").or_null(),
    ],
    indexes: &[Index::on("family")],
    data: false,
    vacated: Vacated::Expired,
    end: End::With { column: "family", parent: "refresh_families" },
};

pub(crate) static DPOP_NONCES: Shape = Shape {
    name: "dpop_nonces",
    key: &["nonce"],
    columns: &[Column::digest("nonce"), Column::int("used_at").or_null()],
    indexes: &[],
    data: false,
    vacated: Vacated::Forgotten,
    end: End::Horizon,
};

pub(crate) static DPOP_REPLAYS: Shape = Shape {
    name: "dpop_replays",
    key: &["jti"],
    columns: &[Column::digest("jti")],
    indexes: &[],
    data: false,
    vacated: Vacated::Expired,
    end: End::Horizon,
};

pub(crate) static PUSHED_AUTHORIZATION_REQUESTS: Shape = Shape {
    name: "pushed_authorization_requests",
    key: &["request_uri"],
    columns: &[Column::digest("request_uri"), Column::digest("client"), Column::int("taken_at").or_null()],
    indexes: &[],
    data: true,
    vacated: Vacated::Forgotten,
    end: End::Horizon,
};

pub(crate) static CLIENT_ID_METADATA: Shape = Shape {
    name: "client_id_metadata",
    key: &["url"],
    columns: &[Column::digest("url")],
    indexes: &[],
    data: true,
    vacated: Vacated::Expired,
    end: End::Horizon,
};

pub(crate) static CONSENT_GRANTS: Shape = Shape {
    name: "consent_grants",
    key: &["grant_token"],
    columns: &[Column::digest("grant_token"), Column::digest("binding"), Column::int("consumed_at").or_null()],
    indexes: &[],
    data: true,
    vacated: Vacated::Forgotten,
    end: End::Horizon,
};

pub(crate) static LOGOUT_SESSIONS: Shape = Shape {
    name: "logout_sessions",
    key: &["sid", "client"],
    columns: &[
        Column::digest("sid"),
        Column::digest("client"),
        Column::digest("subject"),
        Column::digest("taken_by").or_null(),
    ],
    indexes: &[Index::on("subject")],
    data: true,
    vacated: Vacated::Expired,
    end: End::Horizon,
};

/// The code that people type is short, so it may come again: it is the key, and comes free when its row is forgotten.
pub(crate) static DEVICE_CODES: Shape = Shape {
    name: "device_codes",
    key: &["user_code"],
    columns: &[
        Column::digest("user_code"),
        Column::digest("device_code"),
        Column::digest("client"),
        Column::word("status"),
        Column::int("last_polled_at").or_null(),
        Column::int("poll_interval"),
        Column::document("granted").or_null(),
    ],
    indexes: &[Index::unique("device_code")],
    data: true,
    vacated: Vacated::Forgotten,
    end: End::Horizon,
};

/// `notification` holds the client's notification token, sealed by the request's own secret.
pub(crate) static CIBA_REQUESTS: Shape = Shape {
    name: "ciba_requests",
    key: &["auth_req_id"],
    columns: &[
        Column::digest("auth_req_id"),
        Column::digest("client"),
        Column::word("status"),
        Column::int("last_polled_at").or_null(),
        Column::int("poll_interval"),
        Column::document("granted").or_null(),
        Column::bytes("notification").or_null(),
    ],
    indexes: &[],
    data: true,
    vacated: Vacated::Forgotten,
    end: End::Horizon,
};
