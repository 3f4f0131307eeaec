//! Names are looked up in the catalogue and quoted, whatever they look like; a name that is not there is refused with
//! the nearest that is.

use bygone_core::{Budget, ErrorKind, Outcome, TargetError};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget, SourceOptions};
use bygone_testkit::AnyDatabase;

use crate::world::{World, on_each_engine, open, policy, sweep};

const CREATE: &str = "CREATE TABLE sessions (id INT PRIMARY KEY, expires_at TIMESTAMP NULL)";
const FILL: &str = "INSERT INTO sessions VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')";

async fn sessions(engine: Engine) -> World {
    World::with(engine, &format!("{CREATE}; {FILL}")).await
}

fn by_expiry(table: &str) -> RowPolicy {
    policy(table, Deadline::column("expires_at"))
}

/// The error of a policy that must not bind.
async fn refused(world: &World, policy: &RowPolicy) -> TargetError {
    let Err(error) = world.bind(policy).await else { panic!("{policy:?} was taken") };
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error:?}");
    error
}

on_each_engine!(
    a_misspelt_table_names_the_nearest,
    a_misspelt_column_names_the_nearest,
    a_view_is_refused,
    a_prefix_stands_before_every_table,
    names_that_look_like_sql_are_only_names,
);

async fn a_misspelt_table_names_the_nearest(engine: Engine) {
    let world = sessions(engine).await;
    let error = refused(&world, &by_expiry("sesions")).await;
    assert!(error.to_string().starts_with("there is no table `sesions` in "), "{error}");
    assert_eq!(error.help(), Some("did you mean `sessions`?"));
    let error = refused(&world, &by_expiry("invoices_of_2020")).await;
    assert_eq!(error.help(), Some("the tables there are: sessions"));
}

async fn a_misspelt_column_names_the_nearest(engine: Engine) {
    let world = sessions(engine).await;
    let error = refused(&world, &policy("sessions", Deadline::column("expire_at"))).await;
    assert_eq!(error.to_string(), "table `sessions` has no column `expire_at`");
    assert_eq!(error.help(), Some("did you mean `expires_at`?"));
    let error = refused(&world, &RowPolicy { key: Some(vec!["ids".to_owned()]), ..by_expiry("sessions") }).await;
    assert_eq!(error.help(), Some("did you mean `id`?"));
}

async fn a_view_is_refused(engine: Engine) {
    let world = sessions(engine).await;
    world.client().await.run("CREATE VIEW old_sessions AS SELECT * FROM sessions").await;
    let error = refused(&world, &by_expiry("old_sessions")).await;
    assert_eq!(error.to_string(), "`old_sessions` is a view, not a table");
}

async fn a_prefix_stands_before_every_table(engine: Engine) {
    let world = sessions(engine).await;
    world.client().await.run(&format!("{CREATE}; {FILL}").replace("sessions", "app_sessions")).await;
    let options = SourceOptions { table_prefix: Some("app_".to_owned()), ..world.options() };
    let target = RowTarget::bind(&open(options.clone()).await, &by_expiry("sessions")).await.unwrap();
    assert_eq!(sweep(target, Budget::default()).await.tally.removed, 1);
    let mut client = world.client().await;
    assert_eq!(client.texts("SELECT id FROM app_sessions").await, ["2"]);
    assert_eq!(client.texts("SELECT id FROM sessions ORDER BY id").await, ["1", "2"]);
    let error = RowTarget::bind(&open(options).await, &by_expiry("app_sessions")).await.err().unwrap();
    assert!(error.to_string().contains("no table `app_app_sessions`"), "{error}");
}

const ODD: [&str; 12] = [
    "two words",
    "qu\"ote",
    "back`tick",
    "apo'strophe",
    "x\"; DROP TABLE victim; --",
    "x`; DROP TABLE victim; --",
    "semi;colon -- /*",
    "per%cent \\ {} $1 ? :a @b",
    "schöne Grüße",
    "期限",
    "select",
    "CamelCase",
];

async fn names_that_look_like_sql_are_only_names(engine: Engine) {
    let world = World::with(engine, "CREATE TABLE victim (id INT)").await;
    let mut client = world.client().await;
    for name in ODD {
        let quoted = engine.quote(name);
        let (key, index) = (engine.quote(&format!("{name} key")), engine.quote(&format!("{name} index")));
        client
            .run(&format!(
                "CREATE TABLE {quoted} ({key} INT NOT NULL PRIMARY KEY, {quoted} TIMESTAMP NULL); \
                 CREATE INDEX {index} ON {quoted} ({quoted})"
            ))
            .await;
        for (id, year) in [2020, 2020, 2020, 2030, 2020, 2021].into_iter().enumerate() {
            client.run(&format!("INSERT INTO {quoted} VALUES ({id}, '{year}-01-01 00:00:00')")).await;
        }
        // Pages of two go by ranges and, where three are equal, by lists of keys.
        let target = world.bind(&policy(name, Deadline::column(name))).await.unwrap();
        let report = sweep(target, Budget { page_items_max: 2, ..Budget::default() }).await;
        assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 5), "{name}: {report:?}");
        assert_eq!(client.texts(&format!("SELECT {key} FROM {quoted}")).await, ["3"], "{name}");
    }
    assert_eq!(client.number("SELECT count(*) FROM victim").await, 0, "the victim is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_is_where_its_tables_are() {
    let world = sessions(Engine::Postgres).await;
    let mut client = world.client().await;
    client.run(&format!("CREATE SCHEMA \"Ten ant\"; SET search_path = \"Ten ant\"; {CREATE}; {FILL}")).await;
    let options = SourceOptions { schema: Some("Ten ant".to_owned()), ..world.options() };
    let target = RowTarget::bind(&open(options).await, &by_expiry("sessions")).await.unwrap();
    assert_eq!(sweep(target, Budget::default()).await.tally.removed, 1);
    assert_eq!(client.texts("SELECT id FROM \"Ten ant\".sessions").await, ["2"]);
    assert_eq!(client.texts("SELECT id FROM public.sessions ORDER BY id").await, ["1", "2"]);

    let options = SourceOptions { schema: Some("tenant".to_owned()), ..world.options() };
    let error = RowTarget::bind(&open(options).await, &by_expiry("sessions")).await.err().unwrap();
    assert_eq!(error.to_string(), "there is no table `sessions` in schema `tenant`");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_schema_the_search_path_decides() {
    let world = sessions(Engine::Postgres).await;
    let mut client = world.client().await;
    client.run(&format!("CREATE SCHEMA hidden; SET search_path = hidden; {CREATE}; {FILL}")).await;
    assert_eq!(world.sweep(&by_expiry("sessions")).await.tally.removed, 1);
    assert_eq!(client.texts("SELECT id FROM public.sessions").await, ["2"]);
    assert_eq!(client.texts("SELECT id FROM hidden.sessions ORDER BY id").await, ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_databases_take_the_place_of_schemas() {
    let (world, other) = (sessions(Engine::MySql).await, sessions(Engine::MySql).await);
    let AnyDatabase::MariaDb(database) = &other.0 else { unreachable!() };
    let options = SourceOptions { schema: Some(database.name().to_owned()), ..world.options() };
    let target = RowTarget::bind(&open(options).await, &by_expiry("sessions")).await.unwrap();
    assert_eq!(sweep(target, Budget::default()).await.tally.removed, 1);
    assert_eq!(other.client().await.texts("SELECT id FROM sessions").await, ["2"]);
    assert_eq!(world.client().await.texts("SELECT id FROM sessions ORDER BY id").await, ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_of_a_url_may_have_an_odd_name() {
    let world = World::fresh(Engine::MySql).await;
    let AnyDatabase::MariaDb(database) = &world.0 else { unreachable!() };
    let name = format!("{} schöne", database.name());
    world.client().await.run(&format!("CREATE DATABASE `{name}`; USE `{name}`; {CREATE}; {FILL}")).await;
    let url = database.url().replace(database.name(), &format!("{}%20sch%C3%B6ne", database.name()));
    let options = SourceOptions { url: bygone_sql::SourceUrl::parse(&url).unwrap(), ..world.options() };
    let target = RowTarget::bind(&open(options).await, &by_expiry("sessions")).await.unwrap();
    assert_eq!(sweep(target, Budget::default()).await.tally.removed, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_tables_that_differ_by_case_are_two() {
    let world = sessions(Engine::MySql).await;
    let mut client = world.client().await;
    client.run(&format!("{CREATE}; {FILL}").replace("sessions", "Sessions")).await;
    client.run("CREATE TABLE SESSIONS (something INT PRIMARY KEY, altogether INT, other DATETIME)").await;
    assert_eq!(world.sweep(&by_expiry("Sessions")).await.tally.removed, 1);
    assert_eq!(client.texts("SELECT id FROM Sessions").await, ["2"]);
    assert_eq!(client.texts("SELECT id FROM sessions ORDER BY id").await, ["1", "2"]);
    let error = refused(&world, &by_expiry("SESSIONS")).await;
    assert!(error.to_string().contains("has no column `expires_at`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_engine_ignores_case_so_do_names() {
    let world = sessions(Engine::Sqlite).await;
    let report = world.sweep(&policy("SESSIONS", Deadline::column("Expires_At"))).await;
    assert_eq!(report.tally.removed, 1);
    let world = sessions(Engine::MySql).await;
    assert_eq!(world.sweep(&policy("sessions", Deadline::column("Expires_At"))).await.tally.removed, 1);
    let error = refused(&sessions(Engine::Postgres).await, &policy("sessions", Deadline::column("Expires_At"))).await;
    assert_eq!(error.help(), Some("did you mean `expires_at`?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_has_no_schema_to_choose() {
    let world = sessions(Engine::Sqlite).await;
    let options = SourceOptions { schema: Some("archive".to_owned()), ..world.options() };
    let error = RowTarget::bind(&open(options).await, &by_expiry("sessions")).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error:?}");
    assert_eq!(world.client().await.texts("SELECT id FROM sessions ORDER BY id").await, ["1", "2"]);
}
