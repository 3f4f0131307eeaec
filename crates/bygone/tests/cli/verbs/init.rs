//! `bygone init`: a schema that nobody has written policies for.

use crate::support::{Engine, World, on_each_engine};

/// Tables that expire in several ways, and some that do not.
async fn schema(engine: Engine) -> World {
    let world = World::empty(engine).await;
    std::fs::remove_file(world.path("bygone.toml")).unwrap();
    let time = engine.instant_type();
    let id = if engine == Engine::Postgres { "uuid" } else { "CHAR(36)" };
    world
        .run_sql(&format!(
            "CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at {time}, revoked_at {time}); \
             CREATE TABLE caches (id INTEGER PRIMARY KEY, valid_until BIGINT); \
             CREATE TABLE login_attempts (id {id} NOT NULL PRIMARY KEY); \
             CREATE TABLE password_codes (id {id} NOT NULL PRIMARY KEY); \
             CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(20)); \
             INSERT INTO tokens VALUES (1, '2020-01-01 00:00:00', NULL), (2, '2200-01-01 00:00:00', NULL); \
             INSERT INTO caches VALUES (1, 1577836800000), (2, 7258118400000); \
             INSERT INTO login_attempts VALUES ('0170b3a1-0000-7000-8000-000000000001'); \
             INSERT INTO password_codes VALUES ('f81d4fae-7dec-41d0-a765-00a0c91e6bf6'), ('10000000-7dec-41d0-a765-00a0c91e6bf6')"
        ))
        .await;
    world
}

on_each_engine!(proposals_are_written_and_hold);

async fn proposals_are_written_and_hold(engine: Engine) {
    let world = schema(engine).await;
    let url = world.database.url();
    let run = world.run(&["init", &url]).ends(0).says(&["5 tables", "3 of them", "proposals are in bygone.toml"]);
    assert_eq!(run.stdout, "");
    let text = std::fs::read_to_string(world.path("bygone.toml")).unwrap();
    for line in [
        "# deadline = \"expires_at\"",
        "# deadline = \"revoked_at\"",
        "# deadline = { epoch_ms = \"valid_until\" }",
        "# deadline = { uuid7 = \"id\" }",
        "1 bygone, the oldest since 2020-01-01T00:00:00.000000Z",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    assert!(!text.contains("users") && !text.contains("password_codes"), "{text}");
    assert!(text.lines().all(|line| !line.starts_with("[[")), "nothing is swept yet:\n{text}");
    world.run(&["check"]).ends(0);
    world.run(&["sweep"]).ends(65);
    // With the signs taken away it is a configuration that holds.
    let policies: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(line) if line.starts_with("[[") || line.contains(" = ") => format!("{line}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    world.configure(&policies);
    let checked = world.run(&["check"]).ends(0);
    assert!(checked.stdout.contains("4 policies checked: 0 errors"), "{checked:#?}");
    // What has policies now is not proposed again, and the file stays as it is.
    world.run_sql(&format!("CREATE TABLE extra (id INTEGER PRIMARY KEY, deleted_at {})", engine.instant_type())).await;
    let run = world.run(&["init", &url]).ends(0).says(&["6 tables, 1 of them"]);
    assert!(run.stdout.contains("deleted-extra") && !run.stdout.contains("expired-tokens"), "{run:#?}");
    assert_eq!(std::fs::read_to_string(world.path("bygone.toml")).unwrap(), policies);
}

#[tokio::test]
async fn a_known_schema_is_recognised() {
    let world = World::empty(Engine::Postgres).await;
    world
        .run_sql(
            "CREATE TABLE river_job (id bigint PRIMARY KEY, state text, finalized_at timestamptz); \
             CREATE INDEX ON river_job (finalized_at)",
        )
        .await;
    let run = world.run(&["init", "--print", &world.database.url()]).ends(0);
    assert!(run.stdout.contains("# pack   = \"river\""), "{run:#?}");
    assert!(!run.stdout.contains("mas"), "{run:#?}");
    assert!(run.stdout.contains("url = \"${DATABASE_URL}\""), "a password does not go into a file: {run:#?}");
}

#[tokio::test]
async fn what_cannot_be_read_is_said() {
    let world = World::empty(Engine::Sqlite).await;
    world.run(&["init", "sqlite:/no/such/file.db"]).ends(69);
    world.run(&["init", "oracle://x"]).ends(65);
    world.configure("not a configuration");
    world.run(&["init", &world.database.url()]).ends(64).says(&["is there already", "--print"]);
}
