//! Consent on its way from the page where it was given to the code that it allows: bound to exactly what was consented to.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::CONSENT_GRANTS;
use crate::secret::{Digest, Secret};
use crate::store::{Store, instant};
use crate::table::{Change, DATA, Only};
use crate::tokens::Shared;

/// The store of consent grants.
#[derive(Clone)]
pub struct ConsentGrants(Store);

/// What was consented to. All of it must be the same again when the grant is used; the order of scopes does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentBinding<'a> {
    /// Who consented.
    pub subject: &'a str,
    /// For which client.
    pub client_id: &'a str,
    /// Where the answer goes.
    pub redirect_uri: &'a str,
    /// To what.
    pub scope: &'a [&'a str],
    /// The PKCE challenge of the request, if it has one.
    pub code_challenge: Option<&'a str>,
}

impl ConsentBinding<'_> {
    fn digest(&self) -> Digest {
        let scopes: BTreeSet<&str> = self.scope.iter().copied().collect();
        // Absent and empty are not the same.
        let challenge: Vec<&str> = self.code_challenge.into_iter().collect();
        let counts = [scopes.len().to_string(), challenge.len().to_string()];
        let fixed = [self.subject, self.client_id, self.redirect_uri];
        Digest::of_all(fixed.into_iter().chain(counts.iter().map(String::as_str)).chain(scopes).chain(challenge))
    }
}

/// A grant that was just made.
#[derive(Clone, Debug)]
pub struct IssuedConsent {
    /// What stands for it.
    pub token: Secret,
    /// Until when.
    pub expires_at: Timestamp,
}

/// What became of a grant that was presented; the first that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentUse {
    /// It was good, and is used now.
    Consumed {
        /// Who had consented.
        subject: String,
    },
    /// There is none, or it was so long ago that nobody remembers.
    NotFound,
    /// It was given for something else.
    BindingMismatch,
    /// It was used before.
    AlreadyConsumed,
    /// It came too late.
    Expired,
}

#[derive(Serialize, Deserialize)]
struct Data {
    subject: String,
}

impl ConsentGrants {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &CONSENT_GRANTS))
    }

    /// Makes a grant.
    pub async fn mint(&self, binding: &ConsentBinding<'_>) -> Result<IssuedConsent, TokenError> {
        let (now, token, table) = (self.0.now(), self.0.secret()?, self.0.table());
        let expires_at = now + micros(self.0.lifetimes().consent);
        let row = self.0.shared.row(now, expires_at).with("grant_token", Digest::of(token.expose()));
        let data = table.written(&Data { subject: binding.subject.to_owned() })?;
        table.put_new(&row.with("binding", binding.digest()).with(DATA, data), now).await?;
        Ok(IssuedConsent { token, expires_at: instant(expires_at) })
    }

    /// Uses a grant, once, for what it was given for.
    pub async fn consume(&self, token: &str, binding: &ConsentBinding<'_>) -> Result<ConsentUse, TokenError> {
        let (now, table, bound) = (self.0.now(), self.0.table(), binding.digest());
        let key = [("grant_token", Digest::of(token))];
        let take = Change::take("consumed_at", now).only(Only::Is("binding", bound.into()));
        if let Some(row) = table.change(&key, &take, now).await? {
            return Ok(ConsentUse::Consumed { subject: row.document::<Data>(DATA)?.subject });
        }
        Ok(match table.recall(&key, now).await? {
            None => ConsentUse::NotFound,
            Some(row) if !row.bytes("binding").is_some_and(|bytes| bound.is(bytes)) => ConsentUse::BindingMismatch,
            Some(row) if row.has("consumed_at") => ConsentUse::AlreadyConsumed,
            Some(_) => ConsentUse::Expired,
        })
    }
}
