//! Who may do what.
//!
//! A token is known by its SHA-256 alone: whoever reads the configuration cannot use it. That is enough for tokens made by
//! chance, which cannot be guessed.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use bygone_core::Clock;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::http::problem::{Kind, Problem};

/// How much somebody may do: each more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// See.
    Read,
    /// Sweep, pause, resume.
    Operate,
    /// Everything: release a brake, too.
    Admin,
}

impl Scope {
    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

/// A token that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The hash is none.
    #[error("a SHA-256 has 64 hexadecimal digits: `printf %s \"$TOKEN\" | sha256sum` shows it")]
    Hash,
    /// The word is no scope.
    #[error("`{0}` is no scope: there are `read`, `operate` and `admin`")]
    Scope(String),
}

impl FromStr for Scope {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let scopes = [Self::Read, Self::Operate, Self::Admin];
        let scope = scopes.into_iter().find(|scope| scope.as_str() == text);
        scope.ok_or_else(|| TokenError::Scope(text.to_owned()))
    }
}

/// A token, by its hash.
#[derive(Clone)]
pub struct Token {
    name: Arc<str>,
    hash: [u8; 32],
    scope: Scope,
    expires: Option<Timestamp>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, scope, expires, .. } = self;
        f.debug_struct("Token").field("name", name).field("scope", scope).field("expires", expires).finish()
    }
}

impl Token {
    /// A token with a name for the log, the SHA-256 of its text in hexadecimal, and what it is good for, until when.
    pub fn new(name: &str, sha256: &str, scope: Scope, expires: Option<Timestamp>) -> Result<Self, TokenError> {
        let hash = unhex(sha256).ok_or(TokenError::Hash)?;
        Ok(Self { name: name.into(), hash, scope, expires })
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

/// All tokens.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// These.
    pub fn new(tokens: impl IntoIterator<Item = Token>) -> Self {
        Self(tokens.into_iter().collect())
    }

    /// Whether there are none: then whoever reaches the daemon may do everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every token is compared, in a time that tells nothing of the hash.
    fn find(&self, text: &[u8]) -> Option<&Token> {
        let hash = Sha256::digest(text);
        self.0
            .iter()
            .fold(None, |found, token| if hash.as_slice().ct_eq(&token.hash).into() { Some(token) } else { found })
    }

    fn identify(&self, headers: &HeaderMap, now: Timestamp) -> Identity {
        if self.is_empty() {
            return Identity::Known(Caller { name: "local".into(), scope: Scope::Admin });
        }
        let mut said = headers.get_all(header::AUTHORIZATION).iter();
        let bearer = match (said.next(), said.next()) {
            (Some(said), None) => bearer(said),
            _ => None,
        };
        let Some(text) = bearer else { return Identity::Unknown };
        match self.find(text) {
            Some(token) if token.expires.is_none_or(|expires| now < expires) => {
                Identity::Known(Caller { name: Arc::clone(&token.name), scope: token.scope })
            }
            Some(token) => {
                tracing::warn!(token = &*token.name, "a token was used that has expired");
                Identity::Wrong
            }
            None => Identity::Wrong,
        }
    }
}

fn bearer(said: &HeaderValue) -> Option<&[u8]> {
    let said = said.as_bytes();
    let (scheme, token) = said.split_at_checked(7)?;
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

/// Who a request is from.
#[derive(Clone, Debug)]
pub(in crate::http) enum Identity {
    /// Somebody we know.
    Known(Caller),
    /// Somebody without a token.
    Unknown,
    /// Somebody with a token that is not good, or no longer.
    Wrong,
}

/// Somebody we know.
#[derive(Clone, Debug)]
pub(in crate::http) struct Caller {
    name: Arc<str>,
    scope: Scope,
}

impl Caller {
    /// The name of his token.
    pub(in crate::http) fn name(&self) -> &str {
        &self.name
    }

    /// Refuses what the caller may not do.
    pub(in crate::http) fn must_have(&self, scope: Scope) -> Result<(), Problem> {
        if self.scope >= scope {
            return Ok(());
        }
        let (own, needed) = (self.scope.as_str(), scope.as_str());
        let detail = format!("that needs the scope `{needed}`: the token `{}` has `{own}`", self.name);
        let problem = Problem::new(Kind::Scope, detail);
        Err(challenge(problem, &format!("Bearer realm=\"bygone\", error=\"insufficient_scope\", scope=\"{needed}\"")))
    }
}

fn challenge(problem: Problem, says: &str) -> Problem {
    let says = HeaderValue::from_str(says).unwrap_or(HeaderValue::from_static("Bearer"));
    problem.with_header(header::WWW_AUTHENTICATE, says)
}

/// Finds out who a request is from. Whether that matters is the route's business.
pub(in crate::http) async fn identify(
    State((tokens, clock)): State<(Arc<Tokens>, Arc<dyn Clock>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let identity = tokens.identify(request.headers(), clock.now());
    request.extensions_mut().insert(identity);
    next.run(request).await
}

/// Lets in those with a scope.
pub(in crate::http) async fn admit(
    State(scope): State<Scope>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = match request.extensions_mut().remove::<Identity>() {
        Some(Identity::Known(caller)) => caller,
        Some(Identity::Wrong) => {
            let problem = Problem::new(Kind::Unauthorized, "the token is not known, or has expired");
            return Err(challenge(problem, "Bearer realm=\"bygone\", error=\"invalid_token\""));
        }
        Some(Identity::Unknown) | None => {
            let problem = Problem::new(Kind::Unauthorized, "send a token: `Authorization: Bearer ...`");
            return Err(challenge(problem, "Bearer realm=\"bygone\""));
        }
    };
    caller.must_have(scope)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}
