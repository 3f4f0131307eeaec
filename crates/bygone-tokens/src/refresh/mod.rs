//! Refresh tokens (RFC 6749, section 10.4; RFC 9700, section 4.14.2): each is used once and replaced by the next.
//!
//! Tokens that came of one grant are a family. A rotation holds the family's row, so of all rotations and revocations of a
//! family one happens at a time. A token that is presented again after it was replaced gives a theft away: the family is
//! revoked. Only for a moment, and only while the successor is unused, it is taken for a client that has lost the answer,
//! and gets the same successor once more; which the database cannot tell, since it has it sealed by the old token.

mod rotate;

use std::fmt;
use std::sync::Arc;

use bygone_sql::Value;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::codes::Reuse;
use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::{REFRESH_FAMILIES, REFRESH_TOKENS};
use crate::secret::{Digest, Secret};
use crate::store::{Store, instant};
use crate::table::{Change, DATA, EXPIRES_AT, INSERTED_AT, NewRow};
use crate::tokens::Shared;

/// How often a family is looked at that others make and forget in the meantime.
const ATTEMPTS: usize = 4;

/// The store of refresh tokens.
#[derive(Clone)]
pub struct RefreshTokens {
    tokens: Store,
    families: Store,
}

/// What everything that came of one grant is known by. It is no secret, and may stand in an access token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FamilyId(String);

impl FamilyId {
    /// The family of what is issued for a code. It follows from the code, so that a code which comes again after it was
    /// forgotten still leads to what came of it.
    pub fn of_code(code: &str) -> Self {
        Self(Digest::of_all(["bygone-tokens family", code]).to_text())
    }

    /// The family that was written down as this.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// To write it down.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

impl fmt::Display for FamilyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a family stands for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefreshGrant {
    /// The client that may use it.
    pub client_id: String,
    /// Who allowed it.
    pub subject: String,
    /// What was allowed.
    pub scope: Vec<String>,
    /// For which resources (RFC 8707).
    pub resource: Vec<String>,
    /// How the subject was authenticated.
    pub acr: Option<String>,
    /// When, in seconds since 1970.
    pub auth_time: Option<i64>,
    /// The thumbprint of the key that it is bound to (RFC 9449); with one, nobody rotates it by another.
    pub dpop_jkt: Option<String>,
    /// Anything else.
    pub claims: Map<String, Json>,
}

/// Who presents a token. Whoever is not the one it was issued to learns nothing of it, and uses nothing up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder<'a> {
    /// The client.
    pub client_id: &'a str,
    /// The thumbprint of the key that it has proven to have.
    pub dpop_jkt: Option<&'a str>,
}

/// A client that has proven no key.
impl<'a> From<&'a str> for Holder<'a> {
    fn from(client_id: &'a str) -> Self {
        Self { client_id, dpop_jkt: None }
    }
}

impl RefreshGrant {
    /// Whether it was issued to them.
    fn is_of(&self, holder: Holder<'_>) -> bool {
        let key = |bound: &String| holder.dpop_jkt == Some(bound.as_str());
        self.client_id == holder.client_id && self.dpop_jkt.as_ref().is_none_or(key)
    }
}

/// What is stored of a family; one that was revoked before it began has no grant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FamilyData {
    pub(crate) family: FamilyId,
    pub(crate) grant: Option<RefreshGrant>,
}

/// A token that was just made, or made anew.
#[derive(Clone, Debug)]
pub struct IssuedRefreshToken {
    /// The token.
    pub token: Secret,
    /// Its family.
    pub family: FamilyId,
    /// How often the family was rotated.
    pub generation: i64,
    /// Until when it is good if it is not used.
    pub expires_at: Timestamp,
    /// What it stands for.
    pub grant: Box<RefreshGrant>,
}

/// What became of the beginning of a family.
#[derive(Clone, Debug)]
pub enum FamilyStart {
    /// Its first token.
    Issued(IssuedRefreshToken),
    /// The family was revoked before: issue nothing.
    Revoked,
    /// The family has begun before: issue nothing.
    Exists,
}

/// What became of a token that was presented.
#[derive(Clone, Debug)]
pub enum Rotation {
    /// Its successor.
    Rotated(IssuedRefreshToken),
    /// The successor that was made a moment ago, and has not been used: the answer was lost.
    Retried(IssuedRefreshToken),
    /// It was used before. The family is revoked now.
    Reused(Reuse),
    /// Its family was revoked before.
    Revoked,
    /// It never was, has expired, or is another client's.
    Unknown,
}

impl RefreshTokens {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { tokens: Store::new(shared, &REFRESH_TOKENS), families: Store::new(shared, &REFRESH_FAMILIES) }
    }

    /// A family that comes of no code.
    pub fn new_family(&self) -> Result<FamilyId, TokenError> {
        Ok(FamilyId(self.tokens.secret()?.expose().to_owned()))
    }

    /// Begins a family with its first token.
    pub async fn start(&self, family: &FamilyId, grant: &RefreshGrant) -> Result<FamilyStart, TokenError> {
        let (now, lifetimes) = (self.families.now(), self.families.lifetimes());
        let ends_at = lifetimes.refresh_family.map(|life| now + micros(life));
        let expires_at = ends_at.map_or(i64::MAX, |at| at).min(now + micros(lifetimes.refresh));
        let row = self.family_row(family, Some(grant), now, expires_at)?;
        let row = row.with("subject", Digest::of(&grant.subject));
        let row = match ends_at {
            Some(at) => row.with("ends_at", Value::Int(at)),
            None => row,
        };
        if !self.families.table().put(&row, now).await? {
            let found = self.families.table().get(&[("family", family.digest())], now).await?;
            return Ok(match found {
                Some(row) if !row.has("revoked_at") => FamilyStart::Exists,
                _ => FamilyStart::Revoked,
            });
        }
        // A family that is revoked between these two steps has a token that is good for nothing.
        let token = self.tokens.secret()?;
        let row = token_row(family, &token, 0, now, expires_at);
        self.tokens.table().put_new(&row, now).await?;
        let (family, grant) = (family.clone(), Box::new(grant.clone()));
        Ok(FamilyStart::Issued(IssuedRefreshToken {
            token,
            family,
            generation: 0,
            expires_at: instant(expires_at),
            grant,
        }))
    }

    fn family_row(
        &self,
        family: &FamilyId,
        grant: Option<&RefreshGrant>,
        now: i64,
        expires_at: i64,
    ) -> Result<NewRow, TokenError> {
        let data = FamilyData { family: family.clone(), grant: grant.cloned() };
        let row = self.families.shared.row(now, expires_at).with("family", family.digest());
        Ok(row.with(DATA, self.families.table().written(&data)?))
    }

    /// Revokes a family, also one that has not begun: what was revoked never begins. `false` where it was revoked before.
    pub async fn revoke(&self, family: &FamilyId) -> Result<bool, TokenError> {
        let (now, key) = (self.families.now(), [("family", family.digest())]);
        let expires_at = now + micros(self.families.lifetimes().refresh);
        let stone = self.family_row(family, None, now, expires_at)?.with("revoked_at", Value::Int(now));
        for _ in 0..ATTEMPTS {
            if self.families.table().change(&key, &Change::take("revoked_at", now), now).await?.is_some() {
                return Ok(true);
            }
            if self.families.table().put(&stone, now).await? {
                return Ok(true);
            }
            if self.families.table().get(&key, now).await?.is_some_and(|row| row.has("revoked_at")) {
                return Ok(false);
            }
        }
        Err(TokenError::Row { table: REFRESH_FAMILIES.name, column: "revoked_at" })
    }

    /// Revokes the family of a token that its client no longer needs (RFC 7009). `false` where there is nothing to revoke.
    pub async fn revoke_token(&self, client_id: &str, token: &str) -> Result<bool, TokenError> {
        let Some((_, family)) = self.look(token).await? else { return Ok(false) };
        let data: FamilyData = family.document(DATA)?;
        if data.grant.is_none_or(|grant| grant.client_id != client_id) {
            return Ok(false);
        }
        self.revoke(&data.family).await
    }

    /// Revokes every family of a user that has begun, and says how many. [`Tokens::revoke_subject`](crate::Tokens::revoke_subject)
    /// does so, and ends what has yet to begin.
    pub async fn revoke_subject(&self, subject: &str) -> Result<u64, TokenError> {
        let now = self.families.now();
        let key = [("subject", Digest::of(subject))];
        self.families.table().change_count(&key, &Change::take("revoked_at", now), now).await
    }

    /// Whether a family was revoked: for access tokens that carry their family, as those should that are issued by a
    /// rotation. The one issued for a code is known by its `jti`, too.
    pub async fn is_revoked(&self, family: &FamilyId) -> Result<bool, TokenError> {
        let found = self.families.table().get(&[("family", family.digest())], self.families.now()).await?;
        Ok(found.is_some_and(|row| row.has("revoked_at")))
    }
}

fn token_row(family: &FamilyId, token: &Secret, generation: i64, now: i64, expires_at: i64) -> NewRow {
    NewRow::default()
        .with("token", Digest::of(token.expose()))
        .with("family", family.digest())
        .with("generation", Value::Int(generation))
        .with(INSERTED_AT, Value::Int(now))
        .with(EXPIRES_AT, Value::Int(expires_at))
}
