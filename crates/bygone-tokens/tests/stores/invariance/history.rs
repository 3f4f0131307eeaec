//! A random history: steps over all stores, mostly with what earlier steps were given.

use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::step::Step;

/// What a history was given so far, by kind. Names of its own keep histories apart.
#[derive(Debug)]
pub(super) struct History {
    number: u64,
    chance: StdRng,
    /// The kind of thing that it mostly is about: a few steps over ten stores would seldom meet.
    theme: u32,
    given: Vec<(Given, String)>,
    log: Vec<(Step, String)>,
}

/// What something that was given is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Code,
    /// A code that was taken.
    Taken,
    /// A code that was redeemed.
    Redeemed,
    Family,
    Token,
    Nonce,
    Pushed,
    Consent,
    UserCode,
    DeviceCode,
    Ciba,
}

const CLIENTS: [&str; 4] = ["app", "app", "app", "other"];

impl History {
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut chance = StdRng::seed_from_u64(seed ^ (number << 20));
        let theme = chance.random_range(0..10);
        Self { number, chance, theme, given: Vec::new(), log: Vec::new() }
    }

    fn name(&mut self, kind: &str) -> String {
        format!("{kind} {} of {}", self.chance.random_range(0..2), self.number)
    }

    /// Something that was given, mostly one of the last; now and then something made up.
    fn known(&mut self, kind: Given) -> String {
        let all: Vec<&String> = self.given.iter().filter(|(given, _)| *given == kind).map(|(_, text)| text).collect();
        if all.is_empty() || self.chance.random_bool(0.03) {
            return format!("made up by {}", self.number);
        }
        let recent = all.len().saturating_sub(2);
        (*all[recent..].choose(&mut self.chance).unwrap()).clone()
    }

    fn client(&mut self) -> &'static str {
        CLIENTS.choose(&mut self.chance).unwrap()
    }

    fn later(&mut self, now: Timestamp) -> Timestamp {
        now + Duration::from_secs(*[0, 10, 60, 120, 200].choose(&mut self.chance).unwrap())
    }

    /// The next step.
    pub(super) fn next(&mut self, now: Timestamp) -> Step {
        let theme = if self.chance.random_bool(0.9) { self.theme } else { self.chance.random_range(0..10) };
        match theme {
            0 => self.next_of_codes(now),
            1 | 2 => self.next_of_families(now),
            3 => self.next_of_nonces(now),
            4 => self.next_of_pushed(),
            5 => self.next_of_metadata(),
            6 => self.next_of_consent(),
            7 => self.next_of_logout(),
            8 => self.next_of_device(),
            _ => self.next_of_ciba(),
        }
    }

    fn next_of_codes(&mut self, now: Timestamp) -> Step {
        // One access token for each history, or those that are revoked would not be those that are asked for.
        let jti = format!("jti of {}", self.number);
        match self.chance.random_range(0..16) {
            0..3 => Step::IssueCode { subject: self.name("subject") },
            3..8 => Step::TakeCode { code: self.known(Given::Code) },
            8..11 => {
                let code = self.known(Given::Taken);
                Step::Redeem { code, jti, expires_at: self.later(now) }
            }
            11..13 => Step::RevokeGrant { code: self.known(Given::Redeemed) },
            13 => Step::Start { family: self.known(Given::Family), subject: self.name("subject") },
            _ => Step::IsTokenRevoked { jti },
        }
    }

    fn next_of_families(&mut self, now: Timestamp) -> Step {
        match self.chance.random_range(0..16) {
            0..3 => Step::Start { family: self.name("family"), subject: self.name("subject") },
            3..10 => Step::Rotate { client: self.client(), token: self.known(Given::Token) },
            10 => Step::RevokeFamily { family: self.name("family") },
            11 => Step::RevokeSubject { subject: self.name("subject") },
            12 => Step::RevokeToken { token: self.known(Given::Token) },
            13 => Step::IsRevoked { family: self.name("family") },
            14 => self.next_of_codes(now),
            _ => Step::Rotate { client: "app", token: self.known(Given::Token) },
        }
    }

    fn next_of_nonces(&mut self, now: Timestamp) -> Step {
        match self.chance.random_range(0..8) {
            0..2 => Step::IssueNonce,
            2..4 => Step::AcceptNonce { nonce: self.known(Given::Nonce) },
            4 => Step::IsNonceValid { nonce: self.known(Given::Nonce) },
            5..7 => Step::Remember { jti: self.name("jti") },
            _ => Step::RememberUntil { jti: self.name("jti"), until: self.later(now) },
        }
    }

    fn next_of_pushed(&mut self) -> Step {
        match self.chance.random_range(0..4) {
            0 => Step::Push { client: self.client() },
            1 => Step::FetchPushed { client: self.client(), uri: self.known(Given::Pushed) },
            _ => Step::TakePushed { client: self.client(), uri: self.known(Given::Pushed) },
        }
    }

    fn next_of_metadata(&mut self) -> Step {
        let url = self.name("https://app.example/client.json?");
        match self.chance.random_range(0..6) {
            0..2 => {
                let headers = ["max-age=60", "max-age=120", "max-age=5", "no-store", "public"];
                Step::PutMetadata { url, cache: headers.choose(&mut self.chance).unwrap() }
            }
            2 => Step::DeleteMetadata { url },
            _ => Step::GetMetadata { url },
        }
    }

    fn next_of_consent(&mut self) -> Step {
        match self.chance.random_range(0..3) {
            0 => Step::Mint { subject: format!("subject 0 of {}", self.number) },
            _ => Step::Consume { token: self.known(Given::Consent), subject: self.name("subject") },
        }
    }

    fn next_of_logout(&mut self) -> Step {
        let (sid, subject) = (self.name("sid"), self.name("subject"));
        match self.chance.random_range(0..6) {
            0..3 => Step::Record { sid, subject, client: self.client() },
            3 => Step::Targets { sid },
            4 => Step::TakeTargets { sid },
            _ => Step::TakeTargetsOf { subject },
        }
    }

    fn next_of_device(&mut self) -> Step {
        match self.chance.random_range(0..10) {
            0..2 => Step::CreateDevice,
            2..5 => {
                Step::DecideDevice { user_code: self.known(Given::UserCode), approve: self.chance.random_bool(0.7) }
            }
            5..8 => Step::PollDevice { device_code: self.known(Given::DeviceCode) },
            _ => Step::ConsumeDevice { device_code: self.known(Given::DeviceCode) },
        }
    }

    fn next_of_ciba(&mut self) -> Step {
        match self.chance.random_range(0..10) {
            0..2 => Step::CreateCiba,
            2..5 => Step::DecideCiba { id: self.known(Given::Ciba), approve: self.chance.random_bool(0.7) },
            5..8 => Step::PollCiba { id: self.known(Given::Ciba) },
            _ => Step::ConsumeCiba { id: self.known(Given::Ciba) },
        }
    }

    /// Remembers what came of a step, and what was given by it: texts behind `|`, by the kind of step.
    pub(super) fn note(&mut self, step: &Step, outcome: &str) {
        self.log.push((step.clone(), outcome.to_owned()));
        match step {
            Step::TakeCode { code } if outcome.starts_with("Granted") => self.given.push((Given::Taken, code.clone())),
            Step::Redeem { code, .. } if outcome == "true" => self.given.push((Given::Redeemed, code.clone())),
            _ => {}
        }
        let kinds: &[Given] = match step {
            Step::IssueCode { .. } => &[Given::Code, Given::Family],
            Step::Start { .. } | Step::Rotate { .. } => &[Given::Token],
            Step::IssueNonce => &[Given::Nonce],
            Step::Push { .. } => &[Given::Pushed],
            Step::Mint { .. } => &[Given::Consent],
            Step::CreateDevice => &[Given::UserCode, Given::DeviceCode],
            Step::CreateCiba => &[Given::Ciba],
            _ => &[],
        };
        for (kind, text) in kinds.iter().zip(outcome.split('|').skip(1)) {
            if !self.given.iter().any(|(_, known)| known == text) {
                self.given.push((*kind, text.to_owned()));
            }
        }
    }
}
