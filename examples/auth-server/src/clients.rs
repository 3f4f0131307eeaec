//! The clients that this server knows: two of them, written down here. A real server would look them up.

use url::Url;

/// The client to try things with.
pub(crate) const DEMO_APP: &str = "demo-app";
/// Where it wants the browser back.
pub(crate) const DEMO_REDIRECT: &str = "http://127.0.0.1:8788/callback";
/// What a client may ask for.
pub(crate) const SCOPES: [&str; 2] = ["openid", "profile"];

/// A public client: it has no secret, and proves by PKCE and DPoP that it is still the same.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) redirect_uri: &'static str,
    /// Where it is told that a session has ended.
    pub(crate) backchannel_logout_uri: Option<String>,
}

/// All clients.
#[derive(Debug)]
pub(crate) struct Clients([Client; 2]);

impl Clients {
    /// The demo client, and another one for telling them apart.
    pub(crate) fn demo(logout_uri: Option<&Url>) -> Self {
        Self([
            Client {
                id: DEMO_APP,
                name: "The demo app",
                redirect_uri: DEMO_REDIRECT,
                backchannel_logout_uri: logout_uri.map(Url::to_string),
            },
            Client {
                id: "other-app",
                name: "The other app",
                redirect_uri: "http://127.0.0.1:8789/callback",
                backchannel_logout_uri: None,
            },
        ])
    }

    /// The client of this name.
    pub(crate) fn find(&self, id: &str) -> Option<&Client> {
        self.0.iter().find(|client| client.id == id)
    }
}
