//! Which clients are told when a session ends (OpenID Connect Back-Channel and Front-Channel Logout).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::refresh::FamilyId;
use crate::schema::LOGOUT_SESSIONS;
use crate::secret::Digest;
use crate::store::Store;
use crate::table::{Alive, Change, DATA, Only};
use crate::tokens::Shared;

/// The store of logout sessions.
#[derive(Clone)]
pub struct LogoutSessions(Store);

/// A client that takes part in a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogoutTarget {
    /// The session.
    pub sid: String,
    /// Whose it is.
    pub subject: String,
    /// The client.
    pub client_id: String,
    /// What the client was given in this session, to be revoked with it.
    pub family: Option<FamilyId>,
    /// Where it is told, server to server.
    pub backchannel_logout_uri: Option<String>,
    /// Whether it must be told the `sid`.
    pub backchannel_session_required: bool,
    /// Where it is told, in the browser.
    pub frontchannel_logout_uri: Option<String>,
    /// Whether it must be told `iss` and `sid` there.
    pub frontchannel_session_required: bool,
}

/// Whose sessions are meant. An empty name means nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutOf<'a> {
    /// One session.
    Session(&'a str),
    /// All sessions of one user.
    Subject(&'a str),
}

impl LogoutOf<'_> {
    fn key(self) -> Option<[(&'static str, Digest); 1]> {
        let (column, name) = match self {
            Self::Session(sid) => ("sid", sid),
            Self::Subject(subject) => ("subject", subject),
        };
        (!name.is_empty()).then(|| [(column, Digest::of(name))])
    }
}

impl LogoutSessions {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &LOGOUT_SESSIONS))
    }

    /// Records that a client takes part in a session, or does so anew.
    pub async fn record(&self, target: &LogoutTarget) -> Result<(), TokenError> {
        if target.sid.is_empty() || target.subject.is_empty() || target.client_id.is_empty() {
            return Err(TokenError::options(
                "a logout target needs a sid, a subject and a client: one of them is empty",
            ));
        }
        let (now, table) = (self.0.now(), self.0.table());
        let row = self.0.shared.row(now, now + micros(self.0.lifetimes().logout));
        let row = row.with("sid", Digest::of(&target.sid)).with("client", Digest::of(&target.client_id));
        let row = row.with("subject", Digest::of(&target.subject)).with(DATA, table.written(target)?);
        table.replace(&row).await
    }

    /// Who would be told.
    pub async fn targets(&self, of: LogoutOf<'_>) -> Result<Vec<LogoutTarget>, TokenError> {
        let Some(key) = of.key() else { return Ok(Vec::new()) };
        let only = [Only::Null("taken_by")];
        let found = self.0.table().list(&key, &only, Alive::Unexpired, self.0.now()).await?;
        in_order(found.iter().map(|row| row.document(DATA)))
    }

    /// Takes those that are to be told. Of several callers each target goes to one.
    pub async fn take_targets(&self, of: LogoutOf<'_>) -> Result<Vec<LogoutTarget>, TokenError> {
        let Some(key) = of.key() else { return Ok(Vec::new()) };
        let (now, mark) = (self.0.now(), self.0.mark()?);
        let take = Change::of("taken_by", mark).only(Only::Null("taken_by"));
        let found = self.0.table().change_all(&key, &take, now).await?;
        in_order(found.iter().map(|row| row.document(DATA)))
    }
}

fn in_order(targets: impl Iterator<Item = Result<LogoutTarget, TokenError>>) -> Result<Vec<LogoutTarget>, TokenError> {
    let mut targets = targets.collect::<Result<Vec<_>, _>>()?;
    targets.sort();
    Ok(targets)
}
