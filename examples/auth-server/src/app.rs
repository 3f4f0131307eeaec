//! What all routes share, and the routes.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bygone_core::{Clock, SystemClock};
use bygone_tokens::{Entropy, SystemEntropy, TokenError, Tokens};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::backchannel::BackChannel;
use crate::clients::Clients;
use crate::keys::ServerKey;
use crate::{authorize, logout, par, token, userinfo};

/// The most that a request's body may have: forms of a few short parameters.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// What all routes share.
pub(crate) struct App {
    /// The server's name: what its addresses begin with.
    pub(crate) issuer: String,
    pub(crate) tokens: Tokens,
    pub(crate) clients: Clients,
    pub(crate) key: ServerKey,
    pub(crate) back_channel: BackChannel,
    pub(crate) clock: Arc<dyn Clock>,
    /// Work that must end well although whoever asked for it may hang up.
    pub(crate) errands: TaskTracker,
    entropy: Arc<dyn Entropy>,
}

impl App {
    /// A server with a new key.
    pub(crate) fn new(issuer: String, tokens: Tokens, clients: Clients) -> Result<Self, TokenError> {
        let (clock, entropy) = (Arc::new(SystemClock::new()), Arc::new(SystemEntropy));
        let (key, back_channel) = (ServerKey::random(&*entropy)?, BackChannel::new(clock.clone()));
        Ok(Self { issuer, tokens, clients, key, back_channel, clock, errands: TaskTracker::new(), entropy })
    }

    /// A name that nobody has had before: 128 random bits.
    pub(crate) fn new_name(&self) -> Result<String, TokenError> {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes)?;
        Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Every route.
pub(crate) fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/par", post(par::push))
        .route("/authorize", get(authorize::ask).post(authorize::decide))
        .route(token::PATH, post(token::answer))
        .route(userinfo::PATH, get(userinfo::answer))
        .route("/logout", post(logout::answer))
        .route("/jwks", get(jwks))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(app)
}

/// `GET /jwks`: the key that access tokens and logout tokens are signed by.
async fn jwks(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({ "keys": [app.key.public()] }))
}
