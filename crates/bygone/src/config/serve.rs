//! `[serve]`: how the daemon is reached, and by whom.

use std::path::PathBuf;

use bygone_server::http::{Address, Scope, Token, Tokens, permit};
use jiff::Timestamp;
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::alarms::{self, RawAlarms};
use super::error::{Code, Findings, Problem};
use super::fields::{Fields, Read, ReadTable, Reader, read_elements, wrong_type};
use super::history::{self, RawHistory};
use super::model::{Certificate, Serve};
use super::names::{distinct, filled};
use super::rights::{self, RawRights};
use super::values::{Located, Text};

/// Where the daemon listens where the file does not say.
const LISTEN: &str = "127.0.0.1:8085";

/// How the daemon is reached, and by whom. It is read when the daemon starts.
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "Serve",
    deny_unknown_fields,
    extend("dependentRequired" = { "certificate": ["key"], "key": ["certificate"] }),
)]
pub(super) struct RawServe {
    /// Where it listens: "127.0.0.1:8085" (the default), another address with
    /// its port, or "unix:/run/bygone/api.sock". What other machines can reach
    /// needs tokens and a certificate. With an empty list it listens nowhere.
    #[schemars(extend("uniqueItems" = true))]
    listen: Option<Located<Vec<Text>>>,
    /// The names by which it is called, besides "localhost" and its addresses.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    hosts: Option<Located<Vec<Text>>>,
    /// The file with its certificate and those above it, as PEM.
    #[schemars(length(min = 1))]
    certificate: Option<Text>,
    /// The file with the key of the certificate, as PEM.
    #[schemars(length(min = 1))]
    key: Option<Text>,
    /// Who may do what: `[[serve.token]]`. With none, whoever reaches the
    /// daemon may do everything.
    #[schemars(with = "Option<Vec<RawToken>>")]
    token: Option<RawTokens>,
    /// What a person is told of, and when.
    alarms: Option<RawAlarms>,
    /// How long the history is kept.
    history: Option<RawHistory>,
}

impl ReadTable for RawServe {
    const WHAT: &'static str = "`serve`";
    const EXAMPLE: &'static str = "write `[serve]` with the keys below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self {
            listen: fields.optional("listen"),
            hosts: fields.optional("hosts"),
            certificate: fields.optional("certificate"),
            key: fields.optional("key"),
            token: fields.optional("token"),
            alarms: fields.optional("alarms"),
            history: fields.optional("history"),
        }
    }
}

/// The tokens.
#[derive(Debug)]
struct RawTokens(Vec<RawToken>);

impl Read for RawTokens {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        let DeValue::Array(elements) = value.get_ref() else {
            let help = "write the header with two brackets: `[[serve.token]]`";
            reader.report(value.span(), wrong_type(key, "an array of tables", value.get_ref(), help));
            return None;
        };
        read_elements(reader, key, elements).map(Self)
    }
}

/// Somebody who may use the API.
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "Token",
    deny_unknown_fields,
    extend("anyOf" = [{ "required": ["scope"] }, { "required": ["leases"] }, { "required": ["stages"] }]),
)]
struct RawToken {
    /// Whose it is, for the log.
    #[schemars(required, length(min = 1))]
    name: Option<Text>,
    /// The SHA-256 of the token, in hexadecimal: `printf %s "$TOKEN" |
    /// sha256sum`. The token itself is not kept.
    #[schemars(required)]
    sha256: Option<Text>,
    /// What it is good for: to "read", to "operate" (pause, plan and sweep
    /// too), or as "admin". May be left out where `leases` or `stages` is
    /// there: then it is good for nothing else.
    #[schemars(extend("enum" = ["read", "operate", "admin"]))]
    scope: Option<Text>,
    /// What it may do with leases: by namespace to "read" or to "write"; "*"
    /// is every one without an entry of its own. Without it, an "admin" may do
    /// everything, and nobody else anything.
    #[schemars(extend("minProperties" = 1))]
    leases: Option<Located<RawRights>>,
    /// What it may do in staging areas: by source to "read" or to "write"; "*"
    /// is every one without an entry of its own. Without it, an "admin" may do
    /// everything, and nobody else anything.
    #[schemars(extend("minProperties" = 1))]
    stages: Option<Located<RawRights>>,
    /// Until when: "2027-01-01T00:00:00Z". Default: for ever.
    expires: Option<Text>,
}

impl ReadTable for RawToken {
    const WHAT: &'static str = "a token";
    const EXAMPLE: &'static str = "write `[[serve.token]]` with the keys below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        let help = "say what it is good for: `scope = \"read\"`, \"operate\" or \"admin\"; or `leases = { … }`, `stages = { … }`";
        fields.lacks_all(&["scope", "leases", "stages"], help);
        Self {
            name: fields.required("name", "say whose it is, for the log: `name = \"…\"`"),
            sha256: fields.required("sha256", "write its hash: `printf %s \"$TOKEN\" | sha256sum`"),
            scope: fields.optional("scope"),
            leases: fields.optional("leases"),
            stages: fields.optional("stages"),
            expires: fields.optional("expires"),
        }
    }
}

/// What the file says of the daemon.
pub(super) fn resolve(raw: Option<RawServe>, findings: &mut Findings) -> Serve {
    let Some(raw) = raw else { return Serve { listen: default_listen(), ..Serve::default() } };
    let certificate = match (raw.certificate, raw.key) {
        (Some(certificate), Some(key)) => Some(Certificate { certificate: path(&certificate), key: path(&key) }),
        (None, None) => None,
        (Some(lonely), None) | (None, Some(lonely)) => {
            let problem = Problem::new(Code::MissingKey, "a certificate needs its key, and a key its certificate")
                .label("alone")
                .help("write both: `certificate = \"…\"` and `key = \"…\"`");
            findings.add(lonely.span, problem);
            None
        }
    };
    let alarms = alarms::resolve(raw.alarms, findings);
    let history = history::resolve(raw.history, findings);
    let tokens = raw.token.map(|tokens| tokens.0).unwrap_or_default();
    let tokens = Tokens::new(tokens.into_iter().filter_map(|raw| token(raw, findings)));
    let hosts = raw.hosts.and_then(|hosts| filled("hosts", hosts, findings)).unwrap_or_default();
    distinct("hosts", hosts.iter().map(|host| (host.value.as_str(), host.span)), findings);
    let listen = match raw.listen {
        None => default_listen(),
        Some(listen) => {
            distinct("listen", listen.value.iter().map(|place| (place.value.as_str(), place.span)), findings);
            let has_tls = certificate.is_some();
            listen.value.iter().filter_map(|place| address(place, has_tls, &tokens, findings)).collect()
        }
    };
    Serve { listen, hosts: hosts.into_iter().map(|host| host.value).collect(), certificate, tokens, alarms, history }
}

fn default_listen() -> Vec<Address> {
    LISTEN.parse().into_iter().collect()
}

fn path(text: &Text) -> PathBuf {
    PathBuf::from(&text.value)
}

fn address(text: &Text, has_tls: bool, tokens: &Tokens, findings: &mut Findings) -> Option<Address> {
    let refused = |message: String, help: &str| Problem::new(Code::BadValue, message).label("here").help(help);
    let Ok(address) = text.value.parse::<Address>() else {
        let help = "write \"127.0.0.1:8085\", \"[::1]:8085\" or \"unix:/run/bygone/api.sock\"";
        findings.add(text.span, refused(format!("{:?} is no address to listen on", text.written), help));
        return None;
    };
    if let Err(error) = permit(&address, has_tls, tokens) {
        let help = "add a `[[serve.token]]`, `certificate` and `key`, or listen on 127.0.0.1 alone";
        findings.add(text.span, refused(error.to_string(), help));
        return None;
    }
    Some(address)
}

/// Each part is judged, whatever is wrong with the others.
fn token(raw: RawToken, findings: &mut Findings) -> Option<Token> {
    let is_good_for_something = raw.scope.is_some() || raw.leases.is_some() || raw.stages.is_some();
    let scope = match raw.scope {
        None => Some(None),
        Some(text) => scope(&text, findings).map(Some),
    };
    let leases = match raw.leases {
        None => Some(None),
        Some(leases) => rights::of_leases(leases, findings).map(Some),
    };
    let stages = match raw.stages {
        None => Some(None),
        Some(stages) => rights::of_stages(stages, findings).map(Some),
    };
    let expires = match raw.expires {
        None => Some(None),
        Some(text) => moment(&text, findings).map(Some),
    };
    let sha256 = raw.sha256.filter(|text| is_hash(text, findings));
    let token = Token::new(&raw.name?.value, &sha256?.value, scope?, expires?).ok()?;
    let token = match leases? {
        Some(rights) => token.with_leases(rights),
        None => token,
    };
    let token = match stages? {
        Some(rights) => token.with_stages(rights),
        None => token,
    };
    is_good_for_something.then_some(token)
}

fn scope(text: &Text, findings: &mut Findings) -> Option<Scope> {
    let scope = text.value.parse().ok();
    if scope.is_none() {
        let problem = Problem::new(Code::BadValue, format!("there is no scope {:?}", text.written))
            .help("write \"read\", \"operate\" or \"admin\"");
        findings.add(text.span, problem);
    }
    scope
}

fn moment(text: &Text, findings: &mut Findings) -> Option<Timestamp> {
    let moment = text.value.parse().ok();
    if moment.is_none() {
        let problem = Problem::new(Code::BadValue, format!("{:?} is no moment", text.written))
            .help("write it with its zone: \"2027-01-01T00:00:00Z\"");
        findings.add(text.span, problem);
    }
    moment
}

fn is_hash(text: &Text, findings: &mut Findings) -> bool {
    let is_hash = Token::new("", &text.value, Scope::Read, None).is_ok();
    if !is_hash {
        // What stands there may be the token itself.
        let problem = Problem::new(Code::BadValue, "`sha256` must be the hash of the token, 64 hexadecimal digits")
            .help("make it with `printf %s \"$TOKEN\" | sha256sum`; the token itself is not kept");
        findings.add(text.span, problem);
    }
    is_hash
}
