//! Authorization codes (RFC 6749, sections 4.1.2 and 10.5): short-lived, good for one redemption, and remembered for as
//! long as something that was issued for them lives, so that a second presentation can revoke it.

use std::sync::Arc;

use bygone_sql::Value;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::refresh::{FamilyData, FamilyId};
use crate::schema::{AUTHORIZATION_CODES, REFRESH_FAMILIES};
use crate::secret::{Digest, Secret};
use crate::store::{Store, instant, stored};
use crate::table::{Alive, Change, DATA, Only, Set};
use crate::tokens::Shared;

/// The store of authorization codes.
#[derive(Clone)]
pub struct AuthorizationCodes {
    codes: Store,
    families: Store,
}

/// What a code stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeGrant {
    /// The client it was issued to.
    pub client_id: String,
    /// Who allowed it.
    pub subject: String,
    /// What was allowed.
    pub scope: Vec<String>,
    /// For which resources (RFC 8707).
    pub resource: Vec<String>,
    /// Where it was sent.
    pub redirect_uri: String,
    /// The PKCE challenge.
    pub code_challenge: Option<String>,
    /// Its method.
    pub code_challenge_method: Option<String>,
    /// The key that it is bound to (RFC 7800).
    pub cnf: Option<Json>,
    /// The nonce of the ID token.
    pub nonce: Option<String>,
    /// Anything else.
    pub claims: Map<String, Json>,
}

/// What is stored of a code.
#[derive(Serialize, Deserialize)]
struct Data {
    family: FamilyId,
    #[serde(flatten)]
    grant: CodeGrant,
}

/// A code that was just made.
#[derive(Clone, Debug)]
pub struct IssuedCode {
    /// The code.
    pub code: Secret,
    /// What everything that comes of it will be known by.
    pub family: FamilyId,
    /// Until when it can be redeemed.
    pub expires_at: Timestamp,
}

/// What became of a code that was presented.
#[derive(Clone, Debug, PartialEq)]
pub enum CodeTake {
    /// It is yours alone. Say [`redeemed`](AuthorizationCodes::redeemed) once tokens are issued.
    Granted {
        /// What it stands for.
        grant: Box<CodeGrant>,
        /// What everything that comes of it is known by.
        family: FamilyId,
    },
    /// Somebody else has taken it and no tokens have been issued yet: refuse.
    Taken,
    /// It was redeemed before: refuse, and revoke what was issued for it.
    Reused(Reuse),
    /// It never was, or has expired.
    Unknown,
}

/// Something that is good for one time was presented again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// What came of it is known by this.
    pub family: FamilyId,
    /// Whose it was.
    pub subject: String,
    /// Which client's.
    pub client_id: String,
}

/// The access token that was issued for a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedAccessToken<'a> {
    /// Its identifier.
    pub jti: &'a str,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

impl AuthorizationCodes {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { codes: Store::new(shared, &AUTHORIZATION_CODES), families: Store::new(shared, &REFRESH_FAMILIES) }
    }

    /// Makes a code.
    pub async fn issue(&self, grant: &CodeGrant) -> Result<IssuedCode, TokenError> {
        let (now, code, table) = (self.codes.now(), self.codes.secret()?, self.codes.table());
        let expires_at = now + micros(self.codes.lifetimes().code);
        let family = FamilyId::of_code(code.expose());
        let row = self.codes.shared.row(now, expires_at).with("code", Digest::of(code.expose()));
        let row = row.with("family", family.digest()).with("subject", Digest::of(&grant.subject));
        let data = Data { family: family.clone(), grant: grant.clone() };
        let row = row.with(DATA, table.written(&data)?);
        table.put_new(&row, now).await?;
        Ok(IssuedCode { code, family, expires_at: instant(expires_at) })
    }

    /// Takes a code. Of any number of callers one is granted. From then on the code is used up, whatever the caller finds
    /// wrong with the request: a code that somebody else has seen is worth nothing.
    pub async fn take(&self, code: &str) -> Result<CodeTake, TokenError> {
        let (now, table, key) = (self.codes.now(), self.codes.table(), [("code", Digest::of(code))]);
        let family = FamilyId::of_code(code);
        if let Some(row) = table.change(&key, &Change::take("taken_at", now), now).await? {
            let grant = Box::new(row.document::<Data>(DATA)?.grant);
            return Ok(CodeTake::Granted { grant, family });
        }
        match table.recall(&key, now).await? {
            Some(row) if row.has("redeemed_at") => {
                let CodeGrant { subject, client_id, .. } = row.document::<Data>(DATA)?.grant;
                Ok(CodeTake::Reused(Reuse { family, subject, client_id }))
            }
            // Who has taken it may have begun a family, and died before saying that the redemption is finished.
            Some(row) if row.has("taken_at") => self.remembered_by_family(family, now, CodeTake::Taken).await,
            Some(_) => Ok(CodeTake::Unknown),
            None => self.remembered_by_family(family, now, CodeTake::Unknown).await,
        }
    }

    /// A code that is forgotten is still known to the family of refresh tokens that came of it.
    async fn remembered_by_family(
        &self,
        family: FamilyId,
        now: i64,
        otherwise: CodeTake,
    ) -> Result<CodeTake, TokenError> {
        let found = self.families.table().get(&[("family", family.digest())], now).await?;
        let data = found.map(|row| row.document::<FamilyData>(DATA)).transpose()?;
        Ok(match data.and_then(|data| data.grant) {
            Some(grant) => CodeTake::Reused(Reuse { family, subject: grant.subject, client_id: grant.client_id }),
            None => otherwise,
        })
    }

    /// Says that the redemption is finished, and which access token was issued. From now on a second presentation is
    /// reported as reuse, for as long as the code, the access token or the family of refresh tokens lives. `false` where
    /// nobody had taken the code, it was said before, or it is forgotten.
    pub async fn redeemed(&self, code: &str, issued: Option<IssuedAccessToken<'_>>) -> Result<bool, TokenError> {
        let (now, key) = (self.codes.now(), [("code", Digest::of(code))]);
        let mut change = Change::take("redeemed_at", now).only(Only::Some("taken_at")).remembered();
        if let Some(IssuedAccessToken { jti, expires_at }) = issued {
            let expires_at = stored(expires_at);
            change = change
                .and("access_token", Set::To(Digest::of(jti).into()))
                .and("access_token_expires_at", Set::To(Value::Int(expires_at)))
                .and("horizon", Set::AtLeast(self.codes.shared.horizon(expires_at)));
        }
        Ok(self.codes.table().change(&key, &change, now).await?.is_some())
    }

    /// Revokes the access token that was issued for a code.
    pub async fn revoke_access_token(&self, family: &FamilyId) -> Result<bool, TokenError> {
        let now = self.codes.now();
        let revoke =
            Change::take("access_token_revoked_at", now).only(Only::After("access_token_expires_at")).remembered();
        Ok(self.codes.table().change_count(&[("family", family.digest())], &revoke, now).await? > 0)
    }

    /// Ends what waits for a user or was issued for a code of theirs: codes can no longer be taken, their access tokens
    /// are revoked. Returns the families that may yet begin, of codes that somebody is redeeming.
    pub(crate) async fn revoke_subject(&self, subject: &str) -> Result<Vec<FamilyId>, TokenError> {
        let (now, table, key) = (self.codes.now(), self.codes.table(), [("subject", Digest::of(subject))]);
        table.change_count(&key, &Change::take("taken_at", now), now).await?;
        let revoke =
            Change::take("access_token_revoked_at", now).only(Only::After("access_token_expires_at")).remembered();
        table.change_count(&key, &revoke, now).await?;
        let pending = table.list(&key, &[Only::Null("redeemed_at")], Alive::Remembered, now).await?;
        pending.iter().map(|row| row.document::<Data>(DATA).map(|data| data.family)).collect()
    }

    /// Whether an access token was revoked. One that has expired is not: it is simply no longer good.
    pub async fn is_access_token_revoked(&self, jti: &str) -> Result<bool, TokenError> {
        let only = [Only::Some("access_token_revoked_at"), Only::After("access_token_expires_at")];
        let key = [("access_token", Digest::of(jti))];
        Ok(!self.codes.table().list(&key, &only, Alive::Remembered, self.codes.now()).await?.is_empty())
    }
}
