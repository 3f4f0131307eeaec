//! A case in a real database, swept by bygone twice.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bygone_core::{Boundary, Budget, Consent, Job, Report, Sweep, SystemClock, TargetError};
use bygone_sql::{
    Action, Assignment, ColumnRef, Deadline, DeadlineColumn, Format, NewValue, NullMeaning, RowCondition, RowPolicy,
    RowTarget, SharedSource, Source, SourceOptions, SourceUrl, arrange,
};
use bygone_testkit::{AnyDatabase, Client, Kind, MariaDb, Options, Sqlite};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::case::{Becomes, Case, Cell, Change, Guard, Holds, Misfit, PointedAt, Policy, TimeForm};
use crate::sql;

/// The rows of each table by their number, every value as text.
pub(crate) type Dump = Vec<BTreeMap<i64, Vec<Option<String>>>>;

/// What came of a case.
pub(crate) struct Played {
    pub(crate) before: Dump,
    pub(crate) after: Dump,
    pub(crate) again: Dump,
    pub(crate) first: Report,
    pub(crate) second: Report,
}

/// Where cases are played, one after another.
pub(crate) struct Ground {
    kind: Kind,
    place: Option<Place>,
    cases: u64,
}

/// A database on a server, with the server where it is our own.
struct Place {
    database: AnyDatabase,
    client: Client,
    _server: Option<MariaDb>,
}

impl Ground {
    /// A place whose sessions have a time zone of their own, unless they are told another one.
    pub(crate) async fn new(kind: Kind) -> Self {
        let place = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => {
                let database = AnyDatabase::fresh(kind).await;
                let AnyDatabase::Postgres(inner) = &database else { unreachable!("it was asked for") };
                let zone = format!("ALTER DATABASE {} SET timezone = 'Asia/Kathmandu'", inner.name());
                database.client().await.run(&zone).await;
                let mut client = database.client().await;
                client
                    .run("SET TIME ZONE 'UTC'; SET synchronous_commit = off; SET client_min_messages = warning")
                    .await;
                Some(Place { database, client, _server: None })
            }
            Kind::MariaDb => {
                // Its zone is the server's. Nothing here outlives a crash, so nothing waits for a disk.
                let options = Options::default()
                    .set("default-time-zone", "+05:45")
                    .set("innodb-flush-log-at-trx-commit", "0")
                    .set("innodb-flush-method", "nosync")
                    .set("innodb-doublewrite", "0");
                let server = MariaDb::start(options).await.unwrap_or_else(|error| panic!("{error}"));
                let database = AnyDatabase::MariaDb(server.fresh_database().await);
                let mut client = database.client().await;
                client.run("SET SESSION time_zone = '+00:00', sql_mode = ''").await;
                Some(Place { database, client, _server: Some(server) })
            }
        };
        Self { kind, place, cases: 0 }
    }

    /// Plays a case in tables of its own.
    pub(crate) async fn play(&mut self, case: &Case) -> Played {
        self.cases += 1;
        let schema = format!("oracle_{}", self.cases);
        let Some(Place { database, client, .. }) = &mut self.place else {
            let file = AnyDatabase::Sqlite(Sqlite::fresh_in_memory());
            let mut client = file.client().await;
            client.rows(if case.logged { "PRAGMA journal_mode = wal" } else { "PRAGMA journal_mode = memory" }).await;
            client.run("PRAGMA foreign_keys = off").await;
            return run(case, &file.url(), None, &mut client).await;
        };
        let enter = match self.kind {
            Kind::Postgres => format!("CREATE SCHEMA {schema}; SET search_path = {schema}"),
            _ => format!("CREATE DATABASE {schema}; USE {schema}"),
        };
        client.run(&enter).await;
        let url = database.url();
        let played = run(case, &url, Some(schema.clone()), client).await;
        let leave = match self.kind {
            Kind::Postgres => format!("DROP SCHEMA {schema} CASCADE"),
            _ => format!("DROP DATABASE {schema}"),
        };
        client.run(&leave).await;
        played
    }
}

async fn run(case: &Case, url: &str, schema: Option<String>, client: &mut Client) -> Played {
    for statement in sql::script(case) {
        if statement.starts_with("ANALYZE") {
            client.rows(&statement).await;
        } else {
            client.run(&statement).await;
        }
    }
    let before = dump(case, client).await;
    let prefix = Some(case.prefix).filter(|prefix| !prefix.is_empty()).map(str::to_owned);
    let options =
        SourceOptions { schema, table_prefix: prefix, ..SourceOptions::new("oracle", SourceUrl::parse(url).unwrap()) };
    let source = Source::open(options).await.unwrap_or_else(|error| panic!("{error}")).shared();
    let first = sweep(case, &source).await;
    let after = dump(case, client).await;
    let second = sweep(case, &source).await;
    let again = dump(case, client).await;
    Played { before, after, again, first, second }
}

/// Reads all there is, by the database's own word.
async fn dump(case: &Case, client: &mut Client) -> Dump {
    let mut dump = Dump::new();
    for table in &case.tables {
        let mut rows = BTreeMap::new();
        for row in client.rows(&sql::read(case, table)).await {
            let number = row[0].as_ref().and_then(|text| text.parse().ok()).unwrap();
            assert!(rows.insert(number, row).is_none(), "a row stands there twice");
        }
        dump.push(rows);
    }
    dump
}

/// One sweep of all policies, as the program makes it of a file.
async fn sweep(case: &Case, source: &SharedSource) -> Report {
    let mut bound: Vec<(&Policy, RowTarget)> = Vec::new();
    let mut refused: Vec<(&Policy, TargetError)> = Vec::new();
    for policy in &case.policies {
        match RowTarget::bind(source, &row_policy(case, policy)).await {
            Ok(target) => bound.push((policy, target)),
            Err(error) => refused.push((policy, error)),
        }
    }
    let order = arrange(bound.len(), |_, _| false, |a, b| bound[a].1.goes_before(&bound[b].1));
    let those = |at: usize, is: fn(&RowTarget, &RowTarget) -> bool| -> Vec<String> {
        let others = bound.iter().filter(|(_, other)| is(&bound[at].1, other));
        others.map(|(policy, _)| policy.name.clone()).collect()
    };
    let all = |is| -> Vec<Vec<String>> { (0..bound.len()).map(|at| those(at, is)).collect() };
    let (frees, unblocks) = (all(RowTarget::may_free), all(RowTarget::may_unblock));
    let mut bound: Vec<Option<(&Policy, RowTarget)>> = bound.into_iter().map(Some).collect();
    let mut jobs: Vec<Job> =
        refused.into_iter().map(|(policy, error)| Job::unbound(&policy.name, "oracle", error)).collect();
    jobs.extend(order.into_iter().map(|at| {
        let (policy, target) = bound[at].take().unwrap();
        let workers = NonZeroUsize::new(policy.workers).unwrap();
        let budget = Budget { page_items_max: policy.page, workers, ..Budget::default() };
        let job = Job::new(Box::new(target), budget).with_consent(Consent::Released);
        job.that_frees(frees[at].clone()).that_unblocks(unblocks[at].clone())
    }));
    let boundary = Boundary::at(Timestamp::from_microsecond(case.boundary_us).unwrap());
    Sweep::new(Arc::new(SystemClock::new()), boundary).run(jobs).await
}

/// A policy in bygone's words.
fn row_policy(case: &Case, policy: &Policy) -> RowPolicy {
    let table = &case.tables[policy.table];
    let name = |at: usize| table.columns[at].name.clone();
    let column = |at: &usize| DeadlineColumn { column: name(*at), format: format(table.columns[*at].holds) };
    let columns: Vec<DeadlineColumn> = policy.deadline.iter().map(column).collect();
    let null = if policy.null_keeps { NullMeaning::Keeps } else { NullMeaning::Ignored };
    let reference = |link: &usize| {
        let link = &case.links[*link];
        let from = &case.tables[link.from];
        ColumnRef::new(&from.name, &from.columns[link.columns[0]].name)
    };
    let guards = |only_if: bool| {
        let wanted = policy.guards.iter().filter(|guard| guard.only_if == only_if);
        wanted.map(|guard| row_condition(case, policy, guard)).collect()
    };
    let change = |change: &Change| Assignment { column: name(change.column), value: new_value(&change.value) };
    let mut out = RowPolicy::new(&policy.name, &table.name, Deadline { columns: columns.clone(), null });
    if columns.is_empty() {
        out.deadline = None;
    }
    out.keep = SignedDuration::from_micros(policy.keep_us);
    out.zone = policy.zone.map(|zone| TimeZone::get(zone.name()).unwrap());
    out.filter = policy.filter.as_ref().map(|filter| sql::condition(case.engine, table, filter));
    out.key = policy.names_key.then(|| table.key.columns().iter().map(|at| name(*at)).collect());
    out.newest = policy.newest.as_ref().map(|newest| bygone_sql::Newest {
        rows: newest.rows,
        per: newest.per.iter().map(|at| name(*at)).collect(),
        by: newest.by.map(name),
    });
    if !policy.changes.is_empty() {
        out.action = Action::Update(policy.changes.iter().map(change).collect());
    }
    out.with = policy.with.iter().map(|chain| chain.iter().map(reference).collect()).collect();
    out.unless_referenced_by = policy.unless_referenced_by.iter().map(reference).collect();
    (out.unless, out.only_if) = (guards(false), guards(true));
    spoil(&mut out, policy.misfit);
    out
}

fn spoil(policy: &mut RowPolicy, misfit: Option<Misfit>) {
    match misfit {
        None | Some(Misfit::ClearsWhatIsNeverNull) => {}
        Some(Misfit::NoSuchDeadline) => policy.deadline = Some(Deadline::column("time_9")),
        Some(Misfit::NumberIsNoTime) => policy.deadline = Some(Deadline::column("place")),
        Some(Misfit::NoSuchColumnInWhere) => policy.filter = Some("no_such_column = 1".to_owned()),
        Some(Misfit::PointsNowhere) => {
            policy.unless = vec![RowCondition { via: "place".to_owned(), ..RowCondition::default() }];
        }
        Some(Misfit::NoSuchTable) => policy.table = "nowhere".to_owned(),
    }
}

fn row_condition(case: &Case, policy: &Policy, guard: &Guard) -> RowCondition {
    let (via, there, named, to) = match guard.at {
        PointedAt::Link(link) => {
            let link = &case.links[link];
            // Nothing in the database says where a link without a foreign key points.
            (link.columns[0], link.to, link.foreign_key.is_none(), None)
        }
        PointedAt::Family(column) => (column, policy.table, false, Some(column)),
    };
    let (own, there) = (&case.tables[policy.table], &case.tables[there]);
    RowCondition {
        via: own.columns[via].name.clone(),
        table: named.then(|| there.name.clone()),
        to: to.map(|to| own.columns[to].name.clone()),
        living: guard.living,
        filter: guard.filter.as_ref().map(|filter| sql::condition(case.engine, there, filter)),
    }
}

fn new_value(value: &Becomes) -> NewValue {
    match value {
        Becomes::Now => NewValue::Now,
        Becomes::This(Cell::Null) => NewValue::Null,
        Becomes::This(Cell::Number(n)) => NewValue::Int(*n),
        Becomes::This(Cell::Text(text)) => NewValue::Text(text.clone()),
        Becomes::This(Cell::Truth(truth)) => NewValue::Bool(*truth),
        Becomes::This(Cell::Real(x)) => NewValue::Real(*x),
        Becomes::This(Cell::Time { .. }) => unreachable!("no policy sets a time but now"),
    }
}

fn format(holds: Holds) -> Format {
    match holds {
        Holds::Time(TimeForm::Epoch(1), _) => Format::EpochMicros,
        Holds::Time(TimeForm::Epoch(1_000), _) => Format::EpochMillis,
        Holds::Time(TimeForm::Epoch(_), _) => Format::EpochSeconds,
        Holds::Time(TimeForm::Ulid(_), _) => Format::Ulid,
        Holds::Time(TimeForm::Uuid7(_), _) => Format::Uuid7,
        _ => Format::Native,
    }
}
