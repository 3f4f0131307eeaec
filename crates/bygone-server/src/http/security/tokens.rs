//! Who may do what.
//!
//! A token is known by its SHA-256 alone: whoever reads the configuration cannot use it. That is enough for tokens made by
//! chance, which cannot be guessed.
//!
//! Browsers keep a token as a cookie. It shows everything, and changes things by the forms of the console alone: nothing of
//! the API or of staging areas that changes something listens to it, and nothing of leases at all.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use axum::RequestExt;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use bygone_core::Clock;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::rights::{Right, Rights};
use crate::http::problem::{Kind, Problem};

/// The cookie that holds a token.
pub(in crate::http) const COOKIE: &str = "bygone-token";

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
    /// The word is no right.
    #[error("`{0}` is no right: there are `read` and `write`")]
    Right(String),
}

impl FromStr for Scope {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let scopes = [Self::Read, Self::Operate, Self::Admin];
        let scope = scopes.into_iter().find(|scope| scope.as_str() == text);
        scope.ok_or_else(|| TokenError::Scope(text.to_owned()))
    }
}

/// A token, by its hash. Whether two are the same is for configurations; who sends one is found out by [`Tokens::find`].
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    name: Arc<str>,
    hash: [u8; 32],
    /// None where it is for leases and staging areas alone.
    scope: Option<Scope>,
    leases: Arc<Rights>,
    stages: Arc<Rights>,
    expires: Option<Timestamp>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, scope, leases, stages, expires, .. } = self;
        let mut told = f.debug_struct("Token");
        told.field("name", name).field("scope", scope).field("leases", leases).field("stages", stages);
        told.field("expires", expires).finish()
    }
}

impl Token {
    /// A token with a name for the log, the SHA-256 of its text in hexadecimal, and what it is good for, until when.
    ///
    /// One with the scope `admin` has all rights over leases and in staging areas, and others have none, unless that is said
    /// otherwise: [of leases](Self::with_leases), [of staging areas](Self::with_stages).
    pub fn new(
        name: &str,
        sha256: &str,
        scope: impl Into<Option<Scope>>,
        expires: Option<Timestamp>,
    ) -> Result<Self, TokenError> {
        let hash = unhex(sha256).ok_or(TokenError::Hash)?;
        let scope = scope.into();
        let rights = Arc::new(if scope == Some(Scope::Admin) { Rights::all() } else { Rights::default() });
        Ok(Self { name: name.into(), hash, scope, leases: Arc::clone(&rights), stages: rights, expires })
    }

    /// With these rights over leases, and no others.
    #[must_use]
    pub fn with_leases(self, rights: Rights) -> Self {
        Self { leases: Arc::new(rights), ..self }
    }

    /// With these rights in staging areas, and no others.
    #[must_use]
    pub fn with_stages(self, rights: Rights) -> Self {
        Self { stages: Arc::new(rights), ..self }
    }

    fn caller(&self) -> Caller {
        let (name, leases, stages) = (Arc::clone(&self.name), Arc::clone(&self.leases), Arc::clone(&self.stages));
        Caller { name, scope: self.scope, leases, stages, has_signed_in: false }
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    fn identify(&self, request: &Request, now: Timestamp) -> Identity {
        let mut said = request.headers().get_all(header::AUTHORIZATION).iter();
        match (said.next(), said.next()) {
            // Who says it both ways means the header.
            (None, _) if heeds_cookies(request) => self.identify_cookie(request.headers(), now),
            (Some(said), None) => self.identify_text(bearer(said).unwrap_or_default(), now),
            _ => self.identify_text(b"", now),
        }
    }

    fn identify_cookie(&self, headers: &HeaderMap, now: Timestamp) -> Identity {
        match self.identify_text(cookie(headers).unwrap_or_default(), now) {
            Identity::Known(caller) => Identity::Known(Caller { has_signed_in: !self.is_empty(), ..caller }),
            stranger => stranger,
        }
    }

    /// Whose token a text is. No text is no token.
    pub(in crate::http) fn identify_text(&self, text: &[u8], now: Timestamp) -> Identity {
        if self.is_empty() {
            let (scope, leases) = (Some(Scope::Admin), Arc::new(Rights::all()));
            let stages = Arc::clone(&leases);
            return Identity::Known(Caller { name: "local".into(), scope, leases, stages, has_signed_in: false });
        }
        if text.is_empty() {
            return Identity::Unknown;
        }
        match self.find(text) {
            Some(token) if token.expires.is_none_or(|expires| now < expires) => Identity::Known(token.caller()),
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

/// Whether a cookie counts: what changes something for programs needs a header, which no page can send unnoticed. Leases
/// know no browsers at all.
fn heeds_cookies(request: &Request) -> bool {
    !request.uri().path().starts_with("/lease/") && (request.method().is_safe() || !is_for_programs(request))
}

/// Whether a request is one of those that programs make, and not a page or a form of the console.
pub(in crate::http) fn is_for_programs(request: &Request) -> bool {
    ["/api/", "/lease/", "/stage/"].iter().any(|prefix| request.uri().path().starts_with(prefix))
}

/// The token in the cookies, which must stand there once.
fn cookie(headers: &HeaderMap) -> Option<&[u8]> {
    let said = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = said.flat_map(|said| said.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut ours = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, token)| token.as_bytes());
    let token = ours.next()?;
    ours.next().is_none().then_some(token)
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
    scope: Option<Scope>,
    leases: Arc<Rights>,
    stages: Arc<Rights>,
    has_signed_in: bool,
}

impl Caller {
    /// Whether his browser keeps the token.
    pub(in crate::http) fn has_signed_in(&self) -> bool {
        self.has_signed_in
    }

    /// The name of his token.
    pub(in crate::http) fn name(&self) -> &str {
        &self.name
    }

    /// Refuses what the caller may not do.
    pub(in crate::http) fn must_have(&self, scope: Scope) -> Result<(), Problem> {
        if self.scope.is_some_and(|own| own >= scope) {
            return Ok(());
        }
        let (own, needed) = (self.scope.map_or("none", Scope::as_str), scope.as_str());
        let detail = format!("that needs the scope `{needed}`: the token `{}` has `{own}`", self.name);
        let problem = Problem::new(Kind::Scope, detail);
        Err(challenge(problem, &format!("Bearer realm=\"bygone\", error=\"insufficient_scope\", scope=\"{needed}\"")))
    }

    /// Refuses what the caller may not do with the leases of a namespace.
    pub(in crate::http) fn may(&self, namespace: &str, right: Right) -> Result<(), Problem> {
        if self.leases.allow(namespace, right) {
            return Ok(());
        }
        let (right, token) = (right.as_str(), &self.name);
        Err(insufficient(format!("the token `{token}` has no right to `{right}` in the namespace `{namespace}`")))
    }

    /// Refuses what the caller may not do with the leases of any.
    pub(in crate::http) fn may_somewhere(&self, right: Right) -> Result<(), Problem> {
        if self.leases.allow_somewhere(right) {
            return Ok(());
        }
        let (right, token) = (right.as_str(), &self.name);
        Err(insufficient(format!("the token `{token}` has no right to `{right}` in any namespace")))
    }

    /// Refuses what the caller may not do in the staging area of a source, be it there or not.
    fn may_stage(&self, source: &str, right: Right) -> Result<(), Problem> {
        if self.stages.allow(source, right) {
            return Ok(());
        }
        let (right, token) = (right.as_str(), &self.name);
        Err(insufficient(format!("the token `{token}` has no right to `{right}` in the staging area `{source}`")))
    }
}

fn insufficient(detail: String) -> Problem {
    challenge(Problem::new(Kind::Scope, detail), "Bearer realm=\"bygone\", error=\"insufficient_scope\"")
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
    let identity = tokens.identify(&request, clock.now());
    let caller = match &identity {
        Identity::Known(caller) => Some(caller.clone()),
        Identity::Unknown | Identity::Wrong => None,
    };
    request.extensions_mut().insert(identity);
    let mut answer = next.run(request).await;
    // For whoever tells of it.
    caller.map(|caller| answer.extensions_mut().insert(caller));
    answer
}

/// Lets in those with a scope.
pub(in crate::http) async fn admit(
    State(scope): State<Scope>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = known(&request)?;
    admit_known(caller, scope, request, next).await
}

/// Lets in those who have a right over the leases of some namespace. Which one is meant, the request says later.
pub(in crate::http) async fn admit_to_leases(
    State(right): State<Right>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = known(&request)?;
    caller.may_somewhere(right)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Lets in those who may do so much in the staging area of the source that the path names.
pub(in crate::http) async fn admit_to_stage(
    State(right): State<Right>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = known(&request)?;
    let parameters = request.extract_parts::<RawPathParams>().await;
    let parameters = parameters.map_err(|error| Problem::new(Kind::BadRequest, error.body_text()))?;
    let source = parameters.iter().find_map(|(name, value)| (name == "source").then_some(value));
    caller.may_stage(source.unwrap_or_default(), right)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Who a request is from, who must be somebody we know.
fn known(request: &Request) -> Result<Caller, Problem> {
    match request.extensions().get::<Identity>() {
        Some(Identity::Known(caller)) => Ok(caller.clone()),
        Some(Identity::Wrong) => {
            let problem = Problem::new(Kind::Unauthorized, "the token is not known, or has expired");
            Err(challenge(problem, "Bearer realm=\"bygone\", error=\"invalid_token\""))
        }
        Some(Identity::Unknown) | None => {
            let problem = Problem::new(Kind::Unauthorized, "send a token: `Authorization: Bearer ...`");
            Err(challenge(problem, "Bearer realm=\"bygone\""))
        }
    }
}

/// Lets in somebody we know, with a scope.
pub(in crate::http) async fn admit_known(
    caller: Caller,
    scope: Scope,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    caller.must_have(scope)?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}
