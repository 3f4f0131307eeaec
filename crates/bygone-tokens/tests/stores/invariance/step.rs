//! One step of a history: a call of a store, and all that a caller could see of its outcome.

use bygone_tokens::{
    Approval, Cached, CibaRequest, CodeGrant, ConsentBinding, DeviceRequest, FamilyId, FamilyStart, Fetched,
    IssuedAccessToken, LogoutOf, LogoutTarget, RefreshGrant, Rotation, Tokens,
};
use jiff::Timestamp;
use serde_json::json;

/// What must come about at least once, or the test shows less than it seems to.
pub(super) const OUTCOMES: &[&str] = &[
    "TakeCode Granted",
    "TakeCode Taken",
    "TakeCode Reused",
    "TakeCode Unknown",
    "Redeem true",
    "IsTokenRevoked true",
    "IsTokenRevoked false",
    "Start Issued",
    "Start Revoked",
    "Start Exists",
    "Rotate Rotated",
    "Rotate Retried",
    "Rotate Reused",
    "Rotate Revoked",
    "Rotate Unknown",
    "RevokeFamily true",
    "RevokeFamily false",
    "IsRevoked true",
    "IsRevoked false",
    "AcceptNonce Accepted",
    "AcceptNonce Used",
    "AcceptNonce Expired",
    "AcceptNonce Unknown",
    "Remember Fresh",
    "Remember Seen",
    "TakePushed Some",
    "TakePushed None",
    "GetMetadata Some",
    "GetMetadata None",
    "DeleteMetadata true",
    "DeleteMetadata false",
    "Consume Consumed",
    "Consume NotFound",
    "Consume BindingMismatch",
    "Consume AlreadyConsumed",
    "Consume Expired",
    "TakeTargets some",
    "TakeTargets none",
    "DecideDevice Done",
    "DecideDevice AlreadyDecided",
    "DecideDevice Expired",
    "DecideDevice NotFound",
    "PollDevice Pending",
    "PollDevice SlowDown",
    "PollDevice Approved",
    "PollDevice Denied",
    "PollDevice Expired",
    "PollDevice NotFound",
    "ConsumeDevice Granted",
    "ConsumeDevice AlreadyConsumed",
    "ConsumeDevice Denied",
    "ConsumeDevice Expired",
    "ConsumeDevice NotFound",
    "ConsumeCiba Granted",
    "PollCiba Pending",
    "PollCiba Expired",
    "DecideCiba Done",
    "DecideCiba AlreadyDecided",
];

/// One call of one store.
#[derive(Clone, Debug)]
pub(super) enum Step {
    IssueCode { subject: String },
    TakeCode { code: String },
    Redeem { code: String, jti: String, expires_at: Timestamp },
    RevokeGrant { code: String },
    IsTokenRevoked { jti: String },
    Start { family: String, subject: String },
    Rotate { client: &'static str, token: String },
    RevokeFamily { family: String },
    RevokeSubject { subject: String },
    RevokeToken { token: String },
    IsRevoked { family: String },
    IssueNonce,
    AcceptNonce { nonce: String },
    IsNonceValid { nonce: String },
    Remember { jti: String },
    RememberUntil { jti: String, until: Timestamp },
    Push { client: &'static str },
    FetchPushed { client: &'static str, uri: String },
    TakePushed { client: &'static str, uri: String },
    PutMetadata { url: String, cache: &'static str },
    GetMetadata { url: String },
    DeleteMetadata { url: String },
    Mint { subject: String },
    Consume { token: String, subject: String },
    Record { sid: String, subject: String, client: &'static str },
    Targets { sid: String },
    TakeTargets { sid: String },
    TakeTargetsOf { subject: String },
    CreateDevice,
    DecideDevice { user_code: String, approve: bool },
    PollDevice { device_code: String },
    ConsumeDevice { device_code: String },
    CreateCiba,
    DecideCiba { id: String, approve: bool },
    PollCiba { id: String },
    ConsumeCiba { id: String },
}

/// A step and the first word of what came of it.
pub(super) fn name(step: &Step, outcome: &str) -> String {
    let first = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    let outcome = match (step, outcome) {
        (Step::TakeTargets { .. } | Step::TakeTargetsOf { .. }, "[]") => "none".to_owned(),
        (Step::TakeTargets { .. } | Step::TakeTargetsOf { .. }, _) => "some".to_owned(),
        (_, outcome) => first(outcome),
    };
    format!("{} {outcome}", first(&format!("{step:?}")))
}

fn binding(subject: &str) -> ConsentBinding<'_> {
    ConsentBinding { subject, client_id: "app", redirect_uri: "r", scope: &["openid"], code_challenge: None }
}

fn approval() -> Approval {
    Approval { subject: "alice".into(), ..Approval::default() }
}

impl Step {
    /// Takes the step, and writes down all that a caller could see of its outcome.
    pub(super) async fn take(&self, tokens: &Tokens) -> String {
        match self {
            Self::IssueCode { .. }
            | Self::TakeCode { .. }
            | Self::Redeem { .. }
            | Self::RevokeGrant { .. }
            | Self::IsTokenRevoked { .. } => self.take_of_codes(tokens).await,
            Self::Start { .. }
            | Self::Rotate { .. }
            | Self::RevokeFamily { .. }
            | Self::RevokeSubject { .. }
            | Self::RevokeToken { .. }
            | Self::IsRevoked { .. } => self.take_of_families(tokens).await,
            Self::CreateDevice
            | Self::DecideDevice { .. }
            | Self::PollDevice { .. }
            | Self::ConsumeDevice { .. }
            | Self::CreateCiba
            | Self::DecideCiba { .. }
            | Self::PollCiba { .. }
            | Self::ConsumeCiba { .. } => self.take_of_decisions(tokens).await,
            _ => self.take_of_the_rest(tokens).await,
        }
    }

    async fn take_of_codes(&self, tokens: &Tokens) -> String {
        let codes = tokens.authorization_codes();
        match self {
            Self::IssueCode { subject } => {
                let grant = CodeGrant { client_id: "app".into(), subject: subject.clone(), ..CodeGrant::default() };
                let issued = codes.issue(&grant).await.unwrap();
                format!("{issued:?}|{}|{}", issued.code.expose(), issued.family)
            }
            Self::TakeCode { code } => format!("{:?}", codes.take(code).await.unwrap()),
            Self::Redeem { code, jti, expires_at } => {
                let issued = IssuedAccessToken { jti, expires_at: *expires_at };
                codes.redeemed(code, Some(issued)).await.unwrap().to_string()
            }
            Self::RevokeGrant { code } => {
                tokens.revoke_grant(&FamilyId::of_code(code)).await.unwrap();
                String::new()
            }
            Self::IsTokenRevoked { jti } => codes.is_access_token_revoked(jti).await.unwrap().to_string(),
            other => unreachable!("{other:?}"),
        }
    }

    async fn take_of_families(&self, tokens: &Tokens) -> String {
        let refresh = tokens.refresh_tokens();
        match self {
            Self::Start { family, subject } => {
                let grant =
                    RefreshGrant { client_id: "app".into(), subject: subject.clone(), ..RefreshGrant::default() };
                let started = refresh.start(&FamilyId::from_text(family), &grant).await.unwrap();
                match &started {
                    FamilyStart::Issued(issued) => format!("{started:?}|{}", issued.token.expose()),
                    _ => format!("{started:?}"),
                }
            }
            Self::Rotate { client, token } => {
                let rotation = refresh.rotate(*client, token).await.unwrap();
                match &rotation {
                    Rotation::Rotated(issued) | Rotation::Retried(issued) => {
                        format!("{rotation:?}|{}", issued.token.expose())
                    }
                    _ => format!("{rotation:?}"),
                }
            }
            Self::RevokeFamily { family } => refresh.revoke(&FamilyId::from_text(family)).await.unwrap().to_string(),
            Self::RevokeSubject { subject } => tokens.revoke_subject(subject).await.unwrap().to_string(),
            Self::RevokeToken { token } => refresh.revoke_token("app", token).await.unwrap().to_string(),
            Self::IsRevoked { family } => refresh.is_revoked(&FamilyId::from_text(family)).await.unwrap().to_string(),
            other => unreachable!("{other:?}"),
        }
    }

    async fn take_of_decisions(&self, tokens: &Tokens) -> String {
        let (device, ciba) = (tokens.device_codes(), tokens.ciba_requests());
        match self {
            Self::CreateDevice => {
                let request = DeviceRequest { client_id: "app".into(), ..DeviceRequest::default() };
                let issued = device.create(&request).await.unwrap();
                format!("{issued:?}|{}|{}", issued.user_code, issued.device_code.expose())
            }
            Self::DecideDevice { user_code, approve: true } => {
                format!("{:?}", device.approve(user_code, &approval()).await.unwrap())
            }
            Self::DecideDevice { user_code, .. } => format!("{:?}", device.deny(user_code).await.unwrap()),
            Self::PollDevice { device_code } => format!("{:?}", device.poll("app", device_code).await.unwrap()),
            Self::ConsumeDevice { device_code } => format!("{:?}", device.consume("app", device_code).await.unwrap()),
            Self::CreateCiba => {
                let request = CibaRequest { client_id: "app".into(), ..CibaRequest::default() };
                let issued = ciba.create(&request, Some("notify")).await.unwrap();
                format!("{issued:?}|{}", issued.auth_req_id.expose())
            }
            Self::DecideCiba { id, approve: true } => format!("{:?}", ciba.approve(id, &approval()).await.unwrap()),
            Self::DecideCiba { id, .. } => format!("{:?}", ciba.deny(id).await.unwrap()),
            Self::PollCiba { id } => {
                let found = ciba.find(id).await.unwrap().is_some();
                let token = ciba.notification_token(id).await.unwrap().map(|token| token.expose().to_owned());
                format!("{:?} {found} {token:?}", ciba.poll("app", id).await.unwrap())
            }
            Self::ConsumeCiba { id } => format!("{:?}", ciba.consume("app", id).await.unwrap()),
            other => unreachable!("{other:?}"),
        }
    }

    async fn take_of_the_rest(&self, tokens: &Tokens) -> String {
        let (nonces, replays, pushed) = (tokens.nonces(), tokens.replays(), tokens.pushed_requests());
        let (cache, consent) = (tokens.client_metadata(), tokens.consent_grants());
        match self {
            Self::IssueNonce => {
                let issued = nonces.issue().await.unwrap();
                format!("{issued:?}|{}", issued.nonce.expose())
            }
            Self::AcceptNonce { nonce } => format!("{:?}", nonces.accept(nonce).await.unwrap()),
            Self::IsNonceValid { nonce } => nonces.is_valid(nonce).await.unwrap().to_string(),
            Self::Remember { jti } => format!("{:?}", replays.remember(jti).await.unwrap()),
            Self::RememberUntil { jti, until } => format!("{:?}", replays.remember_until(jti, *until).await.unwrap()),
            Self::Push { client } => {
                let put = pushed.put(client, &json!({ "state": 1 })).await.unwrap();
                format!("{put:?}|{}", put.request_uri.expose())
            }
            Self::FetchPushed { client, uri } => format!("{:?}", pushed.fetch(client, uri).await.unwrap()),
            Self::TakePushed { client, uri } => format!("{:?}", pushed.take(client, uri).await.unwrap()),
            Self::PutMetadata { url, cache: header } => {
                let (headers, body) = ([("cache-control", *header)], json!({ "client_id": url }).to_string());
                let cached: Cached =
                    cache.put(url, Fetched { status: 200, headers: &headers, body: &body }).await.unwrap();
                format!("{cached:?}")
            }
            Self::GetMetadata { url } => format!("{:?}", cache.get(url).await.unwrap()),
            Self::DeleteMetadata { url } => cache.delete(url).await.unwrap().to_string(),
            Self::Mint { subject } => {
                let minted = consent.mint(&binding(subject)).await.unwrap();
                format!("{minted:?}|{}", minted.token.expose())
            }
            Self::Consume { token, subject } => {
                format!("{:?}", consent.consume(token, &binding(subject)).await.unwrap())
            }
            other => other.take_of_logout(tokens).await,
        }
    }

    async fn take_of_logout(&self, tokens: &Tokens) -> String {
        let logout = tokens.logout_sessions();
        match self {
            Self::Record { sid, subject, client } => {
                let target = LogoutTarget {
                    sid: sid.clone(),
                    subject: subject.clone(),
                    client_id: (*client).to_owned(),
                    family: None,
                    backchannel_logout_uri: None,
                    backchannel_session_required: false,
                    frontchannel_logout_uri: None,
                    frontchannel_session_required: false,
                };
                logout.record(&target).await.unwrap();
                String::new()
            }
            Self::Targets { sid } => format!("{:?}", logout.targets(LogoutOf::Session(sid)).await.unwrap()),
            Self::TakeTargets { sid } => format!("{:?}", logout.take_targets(LogoutOf::Session(sid)).await.unwrap()),
            Self::TakeTargetsOf { subject } => {
                format!("{:?}", logout.take_targets(LogoutOf::Subject(subject)).await.unwrap())
            }
            other => unreachable!("{other:?}"),
        }
    }
}
