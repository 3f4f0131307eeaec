//! The stores of one database.

use std::fmt;
use std::sync::Arc;

use bygone_core::{Clock, SystemClock};
use bygone_sql::{Client, ClientOptions, SourceOptions, SourceUrl};

use crate::ciba::CibaRequests;
use crate::client_metadata::ClientMetadata;
use crate::codes::AuthorizationCodes;
use crate::consent::ConsentGrants;
use crate::ddl::STEPS;
use crate::device::DeviceCodes;
use crate::entropy::{Entropy, SystemEntropy};
use crate::error::TokenError;
use crate::lifetimes::{Lifetimes, micros};
use crate::logout::LogoutSessions;
use crate::migrate::migrate;
use crate::naming::Naming;
use crate::nonces::Nonces;
use crate::pushed::PushedRequests;
use crate::refresh::{FamilyId, RefreshTokens};
use crate::replays::Replays;
use crate::table::NewRow;

/// Where the stores are, and how they behave.
#[derive(Clone, Debug)]
pub struct TokensOptions {
    /// The database.
    pub url: SourceUrl,
    /// The schema of the tables (PostgreSQL), or their database (MySQL, MariaDB).
    pub schema: Option<String>,
    /// What every table's name begins with; 24 bytes at the most.
    pub table_prefix: Option<String>,
    /// The most connections at once.
    pub connections_max: usize,
    /// How long things live.
    pub lifetimes: Lifetimes,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where secrets come from.
    pub entropy: Arc<dyn Entropy>,
}

impl TokensOptions {
    /// Stores at this url: `postgres://…`, `mysql://…`, or `sqlite:FILE`, which is made if it is missing.
    pub fn new(url: &str) -> Result<Self, TokenError> {
        let url = SourceUrl::parse(url).map_err(|source| TokenError::Connect { action: "read the url", source })?;
        Ok(Self {
            connections_max: ClientOptions::new(url.clone()).connections_max,
            url,
            schema: None,
            table_prefix: None,
            lifetimes: Lifetimes::default(),
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(SystemEntropy),
        })
    }
}

/// Every store of an auth server, over one database. Cloning it is cheap, and so is each store.
#[derive(Clone)]
pub struct Tokens {
    shared: Arc<Shared>,
}

/// What all stores have in common.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) naming: Naming,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    url: SourceUrl,
}

impl Tokens {
    /// Connects. The tables are made by [`migrate`](Self::migrate).
    pub async fn open(options: TokensOptions) -> Result<Self, TokenError> {
        let TokensOptions { url, schema, table_prefix, connections_max, lifetimes, clock, entropy } = options;
        lifetimes.check()?;
        let naming = Naming::new(url.engine(), schema, table_prefix)?;
        let client = ClientOptions { connections_max, ..ClientOptions::new(url.clone()) };
        let failed = |source| TokenError::Connect { action: "open the stores", source };
        let client = Client::open(client).await.map_err(failed)?;
        Ok(Self { shared: Arc::new(Shared { client, naming, lifetimes, clock, entropy, url }) })
    }

    /// Makes the tables, or brings those that are there to this version. Harmless when there is nothing to do, and when
    /// several hosts do so at once.
    pub async fn migrate(&self) -> Result<(), TokenError> {
        let (found, known) = migrate(&self.shared.client, &self.shared.naming, STEPS).await?;
        if found < known {
            tracing::info!(from = found, to = known, "tables migrated");
        }
        Ok(())
    }

    /// Authorization codes.
    pub fn authorization_codes(&self) -> AuthorizationCodes {
        AuthorizationCodes::new(&self.shared)
    }

    /// Refresh tokens.
    pub fn refresh_tokens(&self) -> RefreshTokens {
        RefreshTokens::new(&self.shared)
    }

    /// DPoP nonces.
    pub fn nonces(&self) -> Nonces {
        Nonces::new(&self.shared)
    }

    /// DPoP proofs that were seen.
    pub fn replays(&self) -> Replays {
        Replays::new(&self.shared)
    }

    /// Pushed authorization requests.
    pub fn pushed_requests(&self) -> PushedRequests {
        PushedRequests::new(&self.shared)
    }

    /// Cached client metadata documents.
    pub fn client_metadata(&self) -> ClientMetadata {
        ClientMetadata::new(&self.shared)
    }

    /// Consent that was given and not yet used.
    pub fn consent_grants(&self) -> ConsentGrants {
        ConsentGrants::new(&self.shared)
    }

    /// Sessions whose clients are told when they end.
    pub fn logout_sessions(&self) -> LogoutSessions {
        LogoutSessions::new(&self.shared)
    }

    /// Device codes.
    pub fn device_codes(&self) -> DeviceCodes {
        DeviceCodes::new(&self.shared)
    }

    /// CIBA requests.
    pub fn ciba_requests(&self) -> CibaRequests {
        CibaRequests::new(&self.shared)
    }

    /// Ends everything that came of one grant, or may yet: its refresh tokens, and the access token issued for its code.
    /// `false` where the family was revoked before.
    pub async fn revoke_grant(&self, family: &FamilyId) -> Result<bool, TokenError> {
        let revoked = self.refresh_tokens().revoke(family).await?;
        self.authorization_codes().revoke_access_token(family).await?;
        Ok(revoked)
    }

    /// Ends everything that a user has allowed: refresh tokens, codes that wait to be redeemed, and the access tokens
    /// issued for codes. Says how many families of refresh tokens that was.
    pub async fn revoke_subject(&self, subject: &str) -> Result<u64, TokenError> {
        let (codes, refresh) = (self.authorization_codes(), self.refresh_tokens());
        // What is being redeemed at this moment must not begin once this is done.
        for family in codes.revoke_subject(subject).await? {
            refresh.revoke(&family).await?;
        }
        refresh.revoke_subject(subject).await
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// The database, without its password.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("url", &self.shared.url)
            .field("naming", &self.shared.naming)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The one `now` of an operation, in whole microseconds.
    pub(crate) fn now(&self) -> i64 {
        let micros = self.clock.now().as_nanosecond().div_euclid(1_000);
        i64::try_from(micros).unwrap_or(i64::MAX)
    }

    /// Past its last deadline a row is remembered for a little while.
    pub(crate) fn horizon(&self, latest_deadline: i64) -> i64 {
        latest_deadline.saturating_add(micros(self.lifetimes.slack))
    }

    /// A row whose only deadline is this one.
    pub(crate) fn row(&self, now: i64, expires_at: i64) -> NewRow {
        NewRow::expiring(now, expires_at, self.horizon(expires_at))
    }

    /// The same database as a source of the engine.
    pub(crate) fn source_options(&self) -> SourceOptions {
        let mut options = SourceOptions::new("tokens", self.url.clone());
        options.schema = self.naming.schema().map(str::to_owned);
        options.table_prefix = self.naming.table_prefix().map(str::to_owned);
        options
    }
}
