//! From the file as written to the configuration that was meant: what names
//! refer to, what values may be, what is left out.
//!
//! Each part is judged for itself and all are judged, even when one before was
//! refused; only then is the whole put together.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use miette::SourceSpan;

use super::error::{Code, ConfigError, Findings, Problem};
use super::history::HISTORY;
use super::kind::Kind;
use super::limits::{self, BrakeLayer, BudgetLayer};
use super::model::{Config, Place, Policy, PolicySpans, Rows, Source, Subject};
use super::policy::{RawKey, RawPolicy};
use super::raw::{RawFile, RawSource};
use super::suggest::nearest;
use super::values::{Located, Text};
use super::via::RawConditions;
use super::{
    action, condition, deadline, files, gates, leases, newest, order, references, serve, times, url, uses, via,
};

/// How far clocks may differ where the file does not say.
const SKEW_MAX: SignedDuration = SignedDuration::from_secs(60);

/// The longest name of a policy or source, in characters.
const NAME_CHARS_MAX: usize = 100;

/// Judges the file; `findings` are those of reading it.
pub(super) fn resolve(raw: RawFile, mut findings: Findings) -> Result<Config, ConfigError> {
    let raw_sources = raw.source.map(|sources| sources.0).unwrap_or_default();
    let mut raw_policies = raw.policy.map(|policies| policies.0).unwrap_or_default();
    let graces = idle_graces(&raw_sources);
    let file = FileLevel {
        // The names of refused sources too: what refers to them is right.
        sources: raw_sources.iter().map(|(name, _, raw)| (name.clone(), place(raw))).collect(),
        budget: BudgetLayer::check(raw.budget, &mut findings),
        brake: BrakeLayer::check(raw.brake, &mut findings),
    };
    let skew_max =
        raw.clock.and_then(|clock| limits::positive("skew_max", clock.skew_max, &mut findings)).unwrap_or(SKEW_MAX);
    let serve = serve::resolve(raw.serve, &mut findings);
    let packs = uses::resolve(raw.use_.map(|uses| uses.0).unwrap_or_default(), &file, &mut findings);
    let all_known = packs.iter().all(Option::is_some);
    raw_policies.extend(packs.into_iter().flatten().flatten());
    unique_names(&raw_policies, &mut findings);
    order::check(&raw_policies, all_known, &mut findings);
    let sources: BTreeMap<String, Source> = raw_sources
        .into_iter()
        .filter_map(|(name, span, raw)| source(&name, span, raw, &mut findings))
        .map(|source| (source.name.clone(), source))
        .collect();
    let (mut policies, mut disabled) = (Vec::new(), Vec::new());
    let mut lease_stores = BTreeSet::new();
    for raw in raw_policies {
        let enabled = raw.enabled.is_none_or(|enabled| enabled.value);
        let Some(policy) = policy(raw, &file, &mut findings) else { continue };
        if matches!(policy.subject, Subject::Leases(_)) {
            lease_stores.insert(policy.source.clone());
        }
        if enabled {
            policies.push(policy);
        } else {
            disabled.push(policy.name);
        }
    }
    // A policy that was refused may have said that its source is one.
    if findings.is_empty() {
        gates::refuse_idle_grace(graces, &lease_stores, &mut findings);
    }
    // A file with other errors may have its policies behind one of them.
    if policies.is_empty() && findings.is_empty() {
        let name = findings.text().name();
        let problem = if disabled.is_empty() { no_policies(name) } else { all_disabled(name) };
        findings.add_placeless(problem);
    }
    if !findings.is_empty() {
        return Err(findings.into_error());
    }
    Ok(Config { source_text: findings.text().clone(), sources, policies, disabled, skew_max, serve })
}

/// The sources that are to be idle, with the places where that is said.
fn idle_graces(sources: &[(String, SourceSpan, RawSource)]) -> Vec<(String, Place, SourceSpan)> {
    let grace = |(name, _, raw): &(String, SourceSpan, RawSource)| {
        Some((name.clone(), place(raw)?, raw.gates.as_ref()?.idle_grace.as_ref()?.span))
    };
    sources.iter().filter_map(grace).collect()
}

/// What policies take from the rest of the file.
pub(super) struct FileLevel {
    /// What each source is, as far as its URL says so.
    sources: BTreeMap<String, Option<Place>>,
    budget: BudgetLayer,
    brake: BrakeLayer,
}

fn no_policies(name: &str) -> Problem {
    Problem::new(Code::NoPolicies, format!("{name} has no policies"))
        .help("add a `[[policy]]` with `name`, `source`, `table`, `deadline` and `keep`, or a `[[use]]` with `pack` and `source`")
}

fn all_disabled(name: &str) -> Problem {
    Problem::new(Code::NoPolicies, format!("every policy of {name} is switched off"))
        .help("remove `enabled = false` from one of them, or name one of a pack's in `on` of its `[[use]]`")
}

/// Reports every policy whose name an earlier one has.
fn unique_names(policies: &[RawPolicy], findings: &mut Findings) {
    let mut first: BTreeMap<&str, SourceSpan> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    for name in policies.iter().filter_map(|policy| policy.name.as_ref()) {
        let Some(span) = first.get(name.value.as_str()) else {
            first.insert(&name.value, name.span);
            continue;
        };
        // Two packs in each other's way are one finding, not one a policy.
        if !reported.insert((span.offset(), name.span.offset())) {
            continue;
        }
        let help = if findings.is_of_pack(*span) || findings.is_of_pack(name.span) {
            "put something before the names of a pack's policies: `prefix = \"…\"` in its `[[use]]`"
        } else {
            "give each policy a name of its own: reports and commands go by it"
        };
        let problem = Problem::new(Code::DuplicateName, format!("two policies have the name {:?}", name.written))
            .label("and again here")
            .help(help);
        findings.add_pair((*span, "first here"), name.span, problem);
    }
}

/// What is behind a source's URL; a bad one is reported with its source.
fn place(raw: &RawSource) -> Option<Place> {
    let (_, place) = url::check(raw.url.as_ref()?).ok()?;
    Some(place)
}

fn source(name: &str, span: SourceSpan, raw: RawSource, findings: &mut Findings) -> Option<Source> {
    if !is_title(name) {
        findings.add(span, bad_title("the name of a source"));
    }
    if name == HISTORY {
        findings.add(span, reserved("source"));
    }
    if let Some(place) = place(&raw).filter(|place| *place != Place::Database) {
        refuse_database_keys(&raw, place, findings);
    }
    let url_span = raw.url.as_ref().map(|url| url.span);
    let url = raw.url.and_then(|url| url::check(&url).map_err(|problem| findings.add(url.span, problem)).ok());
    let schema = raw.schema.map(|text| plain_name("schema", text, findings));
    let table_prefix = raw.table_prefix.map(|text| plain_name("table_prefix", text, findings));
    let statement_timeout = limits::timeout("statement_timeout", raw.statement_timeout, findings);
    let lock_timeout = limits::timeout("lock_timeout", raw.lock_timeout, findings);
    let gates = gates::resolve(raw.gates, url.as_ref(), findings);
    let (url, place) = url?;
    Some(Source {
        name: name.to_owned(),
        schema: schema.flatten(),
        table_prefix: table_prefix.flatten(),
        statement_timeout,
        lock_timeout,
        gates,
        url,
        place,
        url_span: url_span?,
    })
}

/// Reports what only a database can be told.
fn refuse_database_keys(raw: &RawSource, place: Place, findings: &mut Findings) {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.span);
    let time = |time: &Option<Located<SignedDuration>>| time.map(|time| time.span);
    let keys = [
        ("schema", text(&raw.schema)),
        ("table_prefix", text(&raw.table_prefix)),
        ("statement_timeout", time(&raw.statement_timeout)),
        ("lock_timeout", time(&raw.lock_timeout)),
    ];
    for (key, span) in keys {
        if let Some(span) = span {
            let problem = Problem::new(Code::UnknownKey, format!("`{key}` means nothing to {}", place.what()))
                .label("only a database has that")
                .help("remove it");
            findings.add(span, problem);
        }
    }
}

fn policy(mut raw: RawPolicy, file: &FileLevel, findings: &mut Findings) -> Option<Policy> {
    let spans = policy_spans(&raw);
    let kind = raw.kind;
    let name = raw.name.take().and_then(|text| policy_name(text, findings));
    let source = raw.source.take().filter(|text| is_known_source(text, file, findings));
    let after = raw.after.take().and_then(|list| order::names(list, findings));
    let schedule = times::schedule(raw.schedule.take(), raw.every.take(), findings);
    let jitter = times::jitter(raw.jitter.take(), schedule.as_ref(), findings);
    let windows = times::windows(raw.window.take(), findings);
    let lag_max = limits::interval("lag_max", raw.lag_max.take(), findings);
    let budget = BudgetLayer::check(raw.budget.take(), findings).over(&file.budget);
    let brake = BrakeLayer::check(raw.brake.take(), findings).over(&file.brake);
    if let (Some(kind), Some(source)) = (kind, &source)
        && let Some(place) = file.sources.get(&source.value).copied().flatten()
    {
        kind.check_place(place, source, findings);
    }
    let subject = match kind {
        Some(Kind::Rows) => rows(raw, findings).map(|rows| Subject::Rows(Box::new(rows))),
        Some(Kind::Tree) => files::tree(raw, findings).map(Subject::Tree),
        Some(Kind::Prefix) => files::prefix(raw, findings).map(Subject::Prefix),
        Some(Kind::Stage) => Some(Subject::Stage(files::stage(&raw))),
        Some(Kind::Leases) => leases::resolve(&raw, findings).map(Subject::Leases),
        None => None,
    };
    Some(Policy {
        name: name?,
        source: source?.value,
        subject: subject?,
        after: after.unwrap_or_default(),
        budget,
        brake,
        schedule,
        jitter,
        windows,
        lag_max,
        spans: spans?,
    })
}

/// What a policy says of the rows of a table.
fn rows(raw: RawPolicy, findings: &mut Findings) -> Option<Rows> {
    check_with(&raw, findings);
    let table = raw.table.and_then(|text| plain_name("table", text, findings));
    let deadline = raw.deadline.and_then(|raw| deadline::resolve(raw.value, findings));
    let newest = newest::resolve(raw.newest, raw.per, raw.by, findings);
    let where_ = raw.where_.map(|text| condition::checked(text, findings));
    let unless = raw.unless.and_then(|raw| via::resolve("unless", raw, findings));
    let only_if = raw.only_if.and_then(|raw| via::resolve("only_if", raw, findings));
    let unless_referenced_by =
        raw.unless_referenced_by.and_then(|list| references::columns("unless_referenced_by", list, findings));
    let with = raw.with.and_then(|list| references::chains("with", list, findings));
    let action = action::resolve(raw.clear, raw.set, findings);
    let key = raw.key.map(|key| key_columns(key, findings));
    let zone = raw.zone.map(|text| times::iana_zone(&text, findings));
    Some(Rows {
        table: table?,
        deadline,
        keep: raw.keep.map_or(SignedDuration::ZERO, |keep| keep.value),
        newest,
        where_,
        unless: unless.unwrap_or_default(),
        only_if: only_if.unwrap_or_default(),
        unless_referenced_by: unless_referenced_by.unwrap_or_default(),
        with: with.unwrap_or_default(),
        action,
        key: key.flatten(),
        zone: zone.flatten(),
    })
}

/// `None` where something that must be there is not.
fn policy_spans(raw: &RawPolicy) -> Option<PolicySpans> {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.span);
    let list = |list: &Option<Located<Vec<Text>>>| list.as_ref().map(|list| list.span);
    let keys = [
        ("table", text(&raw.table)),
        ("deadline", raw.deadline.as_ref().map(|deadline| deadline.span)),
        ("keep", raw.keep.map(|keep| keep.span)),
        ("newest", raw.newest.map(|newest| newest.span)),
        ("per", list(&raw.per)),
        ("by", text(&raw.by)),
        ("where", text(&raw.where_)),
        ("unless", raw.unless.as_ref().map(RawConditions::span)),
        ("only_if", raw.only_if.as_ref().map(RawConditions::span)),
        ("unless_referenced_by", list(&raw.unless_referenced_by)),
        ("with", list(&raw.with)),
        ("clear", list(&raw.clear)),
        ("set", raw.set.as_ref().map(|set| set.span)),
        ("key", raw.key.as_ref().map(RawKey::span)),
        ("path", text(&raw.path)),
        ("include", list(&raw.include)),
        ("exclude", list(&raw.exclude)),
        ("min_depth", raw.min_depth.map(|depth| depth.span)),
        ("empty_dirs", raw.empty_dirs.map(|truth| truth.span)),
        ("max_bytes", raw.max_bytes.map(|size| size.span)),
        ("max_count", raw.max_count.map(|count| count.span)),
        ("min_free", raw.min_free.map(|size| size.span)),
    ];
    Some(PolicySpans {
        name: raw.name.as_ref()?.span,
        source: raw.source.as_ref()?.span,
        keys: keys.into_iter().filter_map(|(key, span)| Some((key, span?))).collect(),
    })
}

/// Reports `with` beside a key that keeps the row.
fn check_with(raw: &RawPolicy, findings: &mut Findings) {
    let Some(with) = &raw.with else {
        return;
    };
    let clear = raw.clear.as_ref().map(|clear| ("clear", clear.span));
    let set = raw.set.as_ref().map(|set| ("set", set.span));
    if let Some((key, span)) = clear.or(set) {
        let remedy = if findings.is_of_pack(with.span) {
            "switch the pack's policy `off` and write one of your own"
        } else {
            "keep one of them"
        };
        let problem = Problem::new(Code::ConflictingKeys, format!("`with` and `{key}` exclude each other"))
            .label("and here rows stay")
            .help(format!("`{key}` removes nothing, so nothing goes along: {remedy}"));
        findings.add_pair((with.span, "removed along with rows"), span, problem);
    }
}

fn policy_name(text: Text, findings: &mut Findings) -> Option<String> {
    if !is_title(&text.value) {
        findings.add(text.span, bad_title("the name of a policy"));
        return None;
    }
    if text.value == HISTORY {
        findings.add(text.span, reserved("policy"));
        return None;
    }
    Some(text.value)
}

/// Whether it will do as a name that people see and type.
pub(super) fn is_title(name: &str) -> bool {
    !is_blank_or_control(name) && name.chars().count() <= NAME_CHARS_MAX
}

pub(super) fn bad_title(what: &str) -> Problem {
    Problem::new(Code::BadValue, format!("{what} must be 1 to {NAME_CHARS_MAX} characters of text"))
        .label("not a name")
        .help("write a short name without control characters, such as \"expired-tokens\"")
}

/// A name that only the daemon's own policy and source have.
fn reserved(what: &str) -> Problem {
    Problem::new(Code::BadValue, format!("no {what} of a file may be called {HISTORY:?}"))
        .label("the daemon's own")
        .help("take another name; how long the history is kept, `[serve.history]` says")
}

/// Whether there is such a source, which is reported where not.
pub(super) fn is_known_source(text: &Text, file: &FileLevel, findings: &mut Findings) -> bool {
    if file.sources.contains_key(&text.value) {
        return true;
    }
    let names = file.sources.keys().map(String::as_str);
    let label = match nearest(&text.value, names.clone()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not a source of this file".to_owned(),
    };
    let help = if file.sources.is_empty() {
        "add the source: a `[source.NAME]` with its `url`".to_owned()
    } else {
        let names: Vec<&str> = names.collect();
        format!("name one of the sources ({}), or add a `[source.NAME]`", names.join(", "))
    };
    let problem =
        Problem::new(Code::MissingSource, format!("there is no source {:?}", text.written)).label(label).help(help);
    findings.add(text.span, problem);
    false
}

fn key_columns(raw: RawKey, findings: &mut Findings) -> Option<Vec<String>> {
    let list = match raw {
        RawKey::One(text) => return Some(vec![plain_name("key", text, findings)?]),
        RawKey::Several(list) => list,
    };
    let named = list.value.len();
    let columns: Vec<String> = list.value.into_iter().filter_map(|text| plain_name("key", text, findings)).collect();
    if columns.len() < named {
        return None;
    }
    let distinct: BTreeSet<&String> = columns.iter().collect();
    if columns.is_empty() || distinct.len() < columns.len() {
        let problem = Problem::new(Code::BadValue, "`key` must name at least one column, and none twice")
            .label("these columns")
            .help("name the columns that tell rows apart, or leave `key` out to use the primary key");
        findings.add(list.span, problem);
        return None;
    }
    Some(columns)
}

/// Takes a name that a database may know. Whether it does is not known here.
pub(super) fn plain_name(key: &str, text: Text, findings: &mut Findings) -> Option<String> {
    if is_blank_or_control(&text.value) {
        let problem = Problem::new(Code::BadValue, format!("`{key}` holds an empty or unprintable name"))
            .label("not a name")
            .help("write the name as the database knows it, or remove it");
        findings.add(text.span, problem);
        return None;
    }
    Some(text.value)
}

fn is_blank_or_control(name: &str) -> bool {
    name.trim().is_empty() || name.contains(char::is_control)
}
