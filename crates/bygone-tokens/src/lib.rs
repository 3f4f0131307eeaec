//! Single-use and expiring credentials for auth servers, over PostgreSQL, MySQL/MariaDB or SQLite.
//!
//! Every short-lived store that OAuth 2.1, DPoP, PAR, the device flow, CIBA and OpenID logout need:
//!
//! | store | what is special |
//! |---|---|
//! | [`AuthorizationCodes`] | taken once; a second presentation is told as reuse for as long as anything issued for it lives |
//! | [`RefreshTokens`] | rotated in one step that holds the family; reuse revokes the family; a lost answer can be asked for again |
//! | [`Nonces`], [`Replays`] | accepted once; remembered while it matters, free again afterwards |
//! | [`PushedRequests`] | bound to the client, taken once |
//! | [`ClientMetadata`] | cached as RFC 9111 says, errors never |
//! | [`ConsentGrants`] | bound to subject, client, redirect, scopes and challenge |
//! | [`LogoutSessions`] | each target is told by one |
//! | [`DeviceCodes`], [`CibaRequests`] | decided once, polled at intervals, consumed once |
//!
//! Three things hold for all of them.
//!
//! - **What has expired is refused, swept or not.** The deadline is part of every statement's condition, against one `now`
//!   from the injected [`Clock`](bygone_core::Clock): good while `expires_at > now`, strictly.
//! - **Sweeping changes no decision.** A row's `horizon` is the latest of all deadlines that it carries, and a little more
//!   for clocks that disagree. From then on stores take it as absent; only past it a sweep removes it.
//! - **Secrets are not stored.** They are 256 random bits, and the database has their SHA-256. `Debug` shows none of them.
//!
//! ```
//! use bygone_tokens::{CodeGrant, CodeTake, Tokens, TokensOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}", directory.path().join("auth.db").display());
//! let tokens = Tokens::open(TokensOptions::new(&url)?).await?;
//! tokens.migrate().await?;
//!
//! let codes = tokens.authorization_codes();
//! let grant = CodeGrant { client_id: "app".into(), subject: "alice".into(), ..CodeGrant::default() };
//! let issued = codes.issue(&grant).await?;
//!
//! assert!(matches!(codes.take(issued.code.expose()).await?, CodeTake::Granted { .. }));
//! codes.redeemed(issued.code.expose(), None).await?;
//! let CodeTake::Reused(reuse) = codes.take(issued.code.expose()).await? else { panic!("a code is good for one time") };
//! tokens.revoke_grant(&reuse.family).await?;
//! # Ok(())
//! # }
//! ```

mod ciba;
mod client_metadata;
mod codes;
mod consent;
mod ddl;
mod decision;
mod device;
mod entropy;
mod error;
mod freshness;
mod lifetimes;
mod logout;
mod migrate;
mod naming;
mod nonces;
mod pushed;
mod refresh;
mod replays;
mod schema;
mod secret;
mod store;
mod sweeper;
mod table;
mod tokens;

pub use ciba::{CibaRequest, CibaRequests, DeliveryMode, IssuedCibaRequest};
pub use client_metadata::{Cached, ClientMetadata, Fetched};
pub use codes::{AuthorizationCodes, CodeGrant, CodeTake, IssuedAccessToken, IssuedCode, Reuse};
pub use consent::{ConsentBinding, ConsentGrants, ConsentUse, IssuedConsent};
pub use ddl::ddl;
pub use decision::{Approval, Consumed, Decided, Polled};
pub use device::{DeviceCodes, DeviceRequest, IssuedDeviceCode};
pub use entropy::{Entropy, SystemEntropy};
pub use error::{Remedy, TokenError};
pub use lifetimes::Lifetimes;
pub use logout::{LogoutOf, LogoutSessions, LogoutTarget};
pub use naming::Naming;
pub use nonces::{IssuedNonce, NonceUse, Nonces};
pub use pushed::{PushedRequest, PushedRequests};
pub use refresh::{FamilyId, FamilyStart, Holder, IssuedRefreshToken, RefreshGrant, RefreshTokens, Rotation};
pub use replays::{Replay, Replays};
pub use secret::Secret;
pub use sweeper::{Sweeper, SweeperConfig, SweeperError, Swept};
pub use tokens::{Tokens, TokensOptions};
