//! A rotation: one step, with the family held.

use std::time::Duration;

use bygone_sql::{Attempts, Engine, Query, SqlError, Transaction, Value};

use super::{FamilyData, FamilyId, Holder, IssuedRefreshToken, RefreshGrant, RefreshTokens, Rotation, token_row};
use crate::codes::Reuse;
use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::{REFRESH_FAMILIES, REFRESH_TOKENS};
use crate::secret::{Digest, Secret, seal, unseal};
use crate::store::instant;
use crate::table::{Alive, Change, DATA, EXPIRES_AT, ExpiringTable, Found, HORIZON, Key, Set, Shape};

/// A token and its family, as they are while both are held.
type Held = (Found, Found);

/// What a successor is, whichever token it gets.
struct Heir {
    family: FamilyId,
    generation: i64,
    grant: Box<RefreshGrant>,
}

impl Heir {
    fn with(self, token: Secret, expires_at: i64) -> IssuedRefreshToken {
        let Self { family, generation, grant } = self;
        IssuedRefreshToken { token, family, generation, expires_at: instant(expires_at), grant }
    }
}

impl RefreshTokens {
    /// Uses a token, and gives its successor. Of any number of callers one rotates; the others get the same successor for
    /// a moment, and later on are reuse.
    pub async fn rotate<'a>(&self, holder: impl Into<Holder<'a>>, token: &str) -> Result<Rotation, TokenError> {
        let (now, holder) = (self.tokens.now(), holder.into());
        let mut attempts = Attempts::default();
        loop {
            match self.rotate_once(holder, token, now).await {
                Err(error) if error.is_passing() && attempts.one_more() => {}
                answer => return answer,
            }
        }
    }

    async fn rotate_once(&self, holder: Holder<'_>, token: &str, now: i64) -> Result<Rotation, TokenError> {
        let mut transaction = self.tokens.shared.client.begin().await.map_err(failed("rotate"))?;
        let rotation = self.rotate_inside(&mut transaction, holder, token, now).await?;
        transaction.commit().await.map_err(failed("rotate"))?;
        Ok(rotation)
    }

    async fn rotate_inside(
        &self,
        transaction: &mut Transaction,
        holder: Holder<'_>,
        presented: &str,
        now: i64,
    ) -> Result<Rotation, TokenError> {
        let rows = transaction.query(&self.both(presented, now, true)).await.map_err(failed("look"))?;
        let Some((token, family)) = held(rows, presented)? else { return Ok(Rotation::Unknown) };
        let data: FamilyData = family.document(DATA)?;
        let Some(grant) = data.grant.filter(|grant| grant.is_of(holder)) else { return Ok(Rotation::Unknown) };
        if family.has("revoked_at") {
            return Ok(Rotation::Revoked);
        }
        let heir = Heir { family: data.family, generation: token.int("generation")? + 1, grant: Box::new(grant) };
        let Some(consumed_at) = token.maybe_int("consumed_at") else {
            if !token.is_live(now)? {
                return Ok(Rotation::Unknown);
            }
            return self.succeed(transaction, presented, &family, heir, now).await.map(Rotation::Rotated);
        };
        if now < consumed_at + micros(self.grace())
            && let Some((token, expires_at)) = self.successor(transaction, presented, &token, now).await?
        {
            return Ok(Rotation::Retried(heir.with(token, expires_at)));
        }
        let key = [("family", heir.family.digest())];
        apply(transaction, &self.families.table(), &key, &Change::take("revoked_at", now), now).await?;
        let (subject, client_id) = (heir.grant.subject, heir.grant.client_id);
        Ok(Rotation::Reused(Reuse { family: heir.family, subject, client_id }))
    }

    fn grace(&self) -> Duration {
        self.tokens.lifetimes().rotation_grace
    }

    /// The token is used now, and its successor is the family's newest.
    async fn succeed(
        &self,
        transaction: &mut Transaction,
        presented: &str,
        family: &Found,
        heir: Heir,
        now: i64,
    ) -> Result<IssuedRefreshToken, TokenError> {
        let token = self.tokens.secret()?;
        let ends_at = family.maybe_int("ends_at").unwrap_or(i64::MAX);
        let expires_at = ends_at.min(now + micros(self.tokens.lifetimes().refresh));
        let used = Change::take("consumed_at", now)
            .and("successor", Set::To(Digest::of(token.expose()).into()))
            .and("handover", Set::Null);
        apply(transaction, &self.tokens.table(), &[("token", Digest::of(presented))], &used, now).await?;
        let handover = seal(presented, token.expose(), &*self.tokens.shared.entropy)?;
        let row = token_row(&heir.family, &token, heir.generation, now, expires_at);
        let row = row.with("handover", Value::Blob(handover));
        transaction.execute(&self.tokens.table().statements.insert(&row)).await.map_err(failed("put"))?;
        // What a shorter lifetime makes end sooner than its ancestor does not shorten the family.
        let longest = expires_at.max(family.int(EXPIRES_AT)?);
        let longer =
            Change::of(EXPIRES_AT, Value::Int(longest)).and(HORIZON, Set::AtLeast(self.tokens.shared.horizon(longest)));
        apply(transaction, &self.families.table(), &[("family", heir.family.digest())], &longer, now).await?;
        Ok(heir.with(token, expires_at))
    }

    /// The successor of a token and its end, once more, while nobody has used it.
    async fn successor(
        &self,
        transaction: &mut Transaction,
        presented: &str,
        token: &Found,
        now: i64,
    ) -> Result<Option<(Secret, i64)>, TokenError> {
        let Some(successor) = token.bytes("successor").and_then(Digest::from_bytes) else { return Ok(None) };
        let statements = self.tokens.table().statements;
        let query = statements.select(&[("token", successor)], &[], Alive::Unexpired, now);
        let rows = transaction.query(&query).await.map_err(failed("look"))?;
        let Some(row) = rows.into_iter().next().map(|row| Found::new(&REFRESH_TOKENS, row)) else { return Ok(None) };
        let Some(handover) = row.bytes("handover").filter(|_| !row.has("consumed_at")) else { return Ok(None) };
        let token = unseal(presented, handover)?;
        if !successor.is(Digest::of(&token).bytes()) {
            return Err(TokenError::Sealed);
        }
        Ok(Some((Secret::from_text(token), row.int(EXPIRES_AT)?)))
    }

    /// A token and its family, if the family lives: not to hold them, only to look.
    pub(super) async fn look(&self, token: &str) -> Result<Option<Held>, TokenError> {
        let query = self.both(token, self.tokens.now(), false);
        held(self.tokens.shared.client.read(&query).await.map_err(failed("look"))?, token)
    }

    /// Both rows at once. Where they are locked, the database reads them as they are once it has the locks. A family that
    /// has begun anew under an old name knows nothing of its namesake's tokens.
    fn both(&self, token: &str, now: i64, lock: bool) -> Query {
        let (tokens, families) = (self.tokens.table().statements, self.families.table().statements);
        let columns = |alias: &str, shape: &'static Shape| {
            shape.all().map(|column| format!("{alias}.{}", column.name)).collect::<Vec<_>>().join(", ")
        };
        let text = format!(
            "SELECT {}, {} FROM {} AS t JOIN {} AS f ON f.family = t.family AND f.inserted_at <= t.inserted_at \
             WHERE t.token = ",
            columns("t", &REFRESH_TOKENS),
            columns("f", &REFRESH_FAMILIES),
            tokens.table,
            families.table,
        );
        let query = Query::new(tokens.engine, text).bind(Digest::of(token).into(), None);
        let query = query.sql(" AND f.expires_at > ").bind(Value::Int(now), None);
        // SQLite has one writer, and this is it.
        if lock && tokens.engine != Engine::Sqlite { query.sql(" FOR UPDATE") } else { query }
    }
}

/// Takes a row of both tables apart, and holds it against the token that was presented.
fn held(rows: Vec<Vec<Value>>, presented: &str) -> Result<Option<Held>, TokenError> {
    let Some(mut row) = rows.into_iter().next() else { return Ok(None) };
    let family = row.split_off(REFRESH_TOKENS.all().count().min(row.len()));
    let token = Found::new(&REFRESH_TOKENS, row);
    if !token.bytes("token").is_some_and(|bytes| Digest::of(presented).is(bytes)) {
        return Err(TokenError::Row { table: REFRESH_TOKENS.name, column: "token" });
    }
    Ok(Some((token, Found::new(&REFRESH_FAMILIES, family))))
}

/// Changes the one row that is held. That it is not there any more cannot be, and must not pass unnoticed.
async fn apply(
    transaction: &mut Transaction,
    table: &ExpiringTable<'_>,
    key: Key<'_>,
    change: &Change,
    now: i64,
) -> Result<(), TokenError> {
    let query = table.statements.change(key, change, now);
    let changed = if table.statements.returns() {
        transaction.query(&query).await.map(|rows| rows.len() as u64)
    } else {
        transaction.execute(&query).await
    };
    let column = key.first().map_or(DATA, |(column, _)| column);
    match changed.map_err(failed("change"))? {
        1 => Ok(()),
        _ => Err(TokenError::Row { table: table.statements.shape.name, column }),
    }
}

fn failed(action: &'static str) -> impl Fn(SqlError) -> TokenError {
    move |source| TokenError::Database { action, table: REFRESH_TOKENS.name, source }
}
