//! `gates` of a source: what must be quiet for anything of it to be swept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bygone_sql::{Engine, SourceUrl};
use jiff::SignedDuration;
use miette::SourceSpan;
use schemars::JsonSchema;

use super::error::{Code, Findings, Problem};
use super::fields::{Fields, ReadTable};
use super::limits;
use super::model::{Gates, Place};
use super::url::{self, Secret};
use super::values::{Located, Text};

const KEYS: [&str; 6] =
    ["hold_file", "active_sessions", "transactions_per_second", "replica_lag", "replicas", "idle_grace"];

/// What must be quiet for anything of the source to be swept. Any of them
/// stops a run between two pages.
#[derive(Debug, JsonSchema)]
#[schemars(
    rename = "Gates",
    deny_unknown_fields,
    extend("minProperties" = 1),
    extend("dependentRequired" = { "replicas": ["replica_lag"] }),
)]
pub(super) struct RawGates {
    /// While this file exists, nothing of the source is swept: a path from
    /// the root on. For every kind of source; the others are for servers,
    /// and the last one for lease stores.
    #[schemars(length(min = 1))]
    pub(super) hold_file: Option<Text>,
    /// The most sessions that may be at work on the server besides our own.
    pub(super) active_sessions: Option<Located<u64>>,
    /// The most transactions that others may make in a second in the
    /// database; for MySQL and MariaDB, statements on the server.
    pub(super) transactions_per_second: Option<Located<u64>>,
    /// The farthest that replicas may be behind, such as "10s".
    pub(super) replica_lag: Option<Located<SignedDuration>>,
    /// The urls of the replicas to ask. PostgreSQL knows of its own standbys:
    /// without any here, it is asked itself.
    #[schemars(length(min = 1))]
    pub(super) replicas: Option<Located<Vec<Text>>>,
    /// For how long nobody must have used the lease store through the daemon,
    /// such as "5m".
    pub(super) idle_grace: Option<Located<SignedDuration>>,
}

impl ReadTable for RawGates {
    const WHAT: &'static str = "`gates`";
    const EXAMPLE: &'static str = "write `gates = { active_sessions = 50, hold_file = \"/run/bygone/hold\" }`";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        fields.lacks_all(&KEYS, "say what must be quiet: `active_sessions = 50`; or remove `gates`");
        let help = "say how far they may be behind: `replica_lag = \"10s\"`; or remove `replicas`";
        fields.needs_beside("replicas", &["replica_lag"], help);
        Self {
            hold_file: fields.optional("hold_file"),
            active_sessions: fields.optional("active_sessions"),
            transactions_per_second: fields.optional("transactions_per_second"),
            replica_lag: fields.optional("replica_lag"),
            replicas: fields.optional("replicas"),
            idle_grace: fields.optional("idle_grace"),
        }
    }
}

/// The gates of a source at `url`, as far as that is known.
pub(super) fn resolve(raw: Option<RawGates>, url: Option<&(Secret, Place)>, findings: &mut Findings) -> Gates {
    let Some(raw) = raw else {
        return Gates::default();
    };
    let server = url.and_then(|(url, _)| SourceUrl::parse(url.expose()).ok()).map(|url| url.engine());
    let server = server.filter(|engine| *engine != Engine::Sqlite);
    if let (Some((_, place)), None) = (url, server) {
        refuse_server_keys(&raw, *place, findings);
    }
    if let (Some((_, Place::Database)), Some(grace)) = (url, &raw.idle_grace) {
        findings.add(grace.span, no_leases("a database"));
    }
    if let (Some(Engine::MySql), Some(lag), None) = (server, &raw.replica_lag, &raw.replicas) {
        findings.add(lag.span, unnamed_replicas());
    }
    Gates {
        hold_file: raw.hold_file.and_then(|text| hold_file(&text, findings)),
        active_sessions: raw.active_sessions.map(|limit| limit.value),
        transactions_per_second: raw.transactions_per_second.map(|limit| limit.value),
        replica_lag: limits::positive("replica_lag", raw.replica_lag, findings),
        replicas: raw.replicas.map(|list| replicas(&list, server, findings)).unwrap_or_default(),
        idle_grace: limits::interval("idle_grace", raw.idle_grace, findings),
    }
}

/// Reports those that wait for a lease store to be idle and belong to another kind of source, by the names of those that are
/// lease stores.
pub(super) fn refuse_idle_grace(
    graces: Vec<(String, Place, SourceSpan)>,
    lease_stores: &BTreeSet<String>,
    findings: &mut Findings,
) {
    for (source, place, span) in graces {
        // Of a database it was said before.
        if place != Place::Database && !lease_stores.contains(&source) {
            findings.add(span, no_leases(&format!("{} without leases", place.what())));
        }
    }
}

fn no_leases(what: &str) -> Problem {
    Problem::new(Code::UnknownKey, format!("`idle_grace` means nothing to {what}"))
        .label("only a lease store knows when it was used")
        .help("remove it; or add a policy of `kind = \"leases\"` over the source")
}

/// Reports what only a server can be asked.
fn refuse_server_keys(raw: &RawGates, place: Place, findings: &mut Findings) {
    let number = |number: &Option<Located<u64>>| number.map(|number| number.span);
    let keys: [(&str, Option<SourceSpan>); 4] = [
        ("active_sessions", number(&raw.active_sessions)),
        ("transactions_per_second", number(&raw.transactions_per_second)),
        ("replica_lag", raw.replica_lag.map(|lag| lag.span)),
        ("replicas", raw.replicas.as_ref().map(|list| list.span)),
    ];
    let what = match place {
        Place::Database => "an SQLite database",
        other => other.what(),
    };
    for (key, span) in keys {
        if let Some(span) = span {
            let problem = Problem::new(Code::UnknownKey, format!("`{key}` means nothing to {what}"))
                .label("only a PostgreSQL, MySQL or MariaDB server can be asked")
                .help("remove it; what a gate of such a source can say: hold_file");
            findings.add(span, problem);
        }
    }
}

fn unnamed_replicas() -> Problem {
    Problem::new(Code::MissingKey, "`replica_lag` needs `replicas` for MySQL and MariaDB")
        .label("`replicas` is missing beside it")
        .help("the server does not know how far its replicas are behind; name them: `replicas = [\"${REPLICA_URL}\"]`")
}

/// A daemon may be started anywhere, and a hold that is looked for elsewhere
/// holds nothing.
fn hold_file(text: &Text, findings: &mut Findings) -> Option<PathBuf> {
    let path = Path::new(&text.value);
    if path.is_absolute() && !text.value.contains(char::is_control) {
        return Some(path.to_owned());
    }
    let problem = Problem::new(Code::BadValue, "`hold_file` must be a path from the root on")
        .label("not such a path")
        .help("write all of it: `hold_file = \"/run/bygone/hold\"`");
    findings.add(text.span, problem);
    None
}

fn replicas(list: &Located<Vec<Text>>, server: Option<Engine>, findings: &mut Findings) -> Vec<SourceUrl> {
    if list.value.is_empty() {
        let problem = Problem::new(Code::BadValue, "`replicas` names no replica")
            .label("empty")
            .help("name at least one: `replicas = [\"${REPLICA_URL}\"]`; or leave it out");
        findings.add(list.span, problem);
    }
    list.value.iter().filter_map(|text| replica(text, server, findings)).collect()
}

fn replica(text: &Text, server: Option<Engine>, findings: &mut Findings) -> Option<SourceUrl> {
    let (secret, _) = url::check(text).map_err(|problem| findings.add(text.span, problem)).ok()?;
    let url = SourceUrl::parse(secret.expose()).ok();
    let fits = url.as_ref().is_some_and(|url| server.is_none_or(|server| server == url.engine()));
    if !fits {
        let problem = Problem::new(Code::BadUrl, "a replica must be a server of the same kind as its source")
            .label("this URL")
            .help("write its url as that of the source: `postgres://user@replica/database`");
        findings.add(text.span, problem);
    }
    url.filter(|_| fits)
}
