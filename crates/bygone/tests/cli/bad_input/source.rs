//! A file that is right in itself and wrong for its source: exit 65 where the policy does not fit, 69 where the
//! source cannot be reached, 1 where rights are missing.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;

use crate::support::{Engine, PROGRAM, Run, World, altered, clean, everyone, on_each_engine, on_each_server};

on_each_engine!(misspelt_table, misspelt_column, a_deadline_that_cannot_be_compared, broken_where);

async fn misspelt_table(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("table = \"tokens\"", "table = \"tokns\"");
    for verb in ["check", "plan", "sweep"] {
        let run = world.refuses(65, &[verb]).await;
        run.says(&["there is no table `tokns`", "did you mean `tokens`?", "bygone.toml:7:9", "policy::unfit"]);
    }
}

async fn misspelt_column(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("\"expires_at\"", "\"expire_at\"");
    let run = world.refuses(65, &["sweep"]).await;
    run.says(&["no column `expire_at`", "did you mean `expires_at`?", "bygone.toml:8:12", "policy::unfit"]);
}

async fn a_deadline_that_cannot_be_compared(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("\"expires_at\"", "\"id\"");
    let run = world.refuses(65, &["sweep"]).await;
    run.says(&["which is no time by itself", "deadline = { epoch_s = \"id\" }", "bygone.toml:8:12"]);
}

async fn broken_where(engine: Engine) {
    let world = World::with_tokens(engine).await;
    for condition in ["no_such_column = 1", "id =", "no_such_function(id)"] {
        world.add_lines(&format!("where = \"{condition}\""));
        let run = world.refuses(65, &["sweep", "--format", "json"]).await;
        assert_eq!(run.only_policy()["outcome"], "refused", "{condition}");
        world.refuses(65, &["plan"]).await.says(&["policy::unfit"]);
    }
}

#[tokio::test]
async fn numbers_in_the_wrong_unit() {
    let world = World::empty(Engine::Sqlite).await;
    world.run_sql("CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at INTEGER)").await;
    world.run_sql("WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100) INSERT INTO tokens SELECT n, 4000000000 + n FROM n").await;
    // Milliseconds would put 2096 into 1970, where everything is bygone.
    world.alter("\"expires_at\"", "{ epoch_ms = \"expires_at\" }");
    world.refuses(65, &["sweep"]).await.says(&["lies in 1970", "epoch_s"]);
}

#[tokio::test]
async fn a_view_for_a_table() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run_sql("CREATE VIEW live_tokens AS SELECT * FROM tokens").await;
    world.alter("table = \"tokens\"", "table = \"live_tokens\"");
    world.refuses(65, &["sweep"]).await.says(&["`live_tokens` is a view, not a table"]);
}

on_each_engine!(a_source_that_is_not_there);

/// Nothing listens on port 1, and nothing was ever written to that path.
async fn a_source_that_is_not_there(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let missing = world.path("missing.db");
    let url = match engine {
        Engine::Sqlite => format!("sqlite:{}", missing.display()),
        Engine::Postgres => "postgres://ada:geheim@127.0.0.1:1/app".to_owned(),
        Engine::MariaDb => "mysql://ada:geheim@127.0.0.1:1/app".to_owned(),
    };
    world.alter("${DATABASE_URL}", &url);
    for verb in ["check", "plan", "sweep"] {
        let run = world.refuses(69, &[verb]).await.says(&["source::unreachable", "bygone.toml:2:7"]);
        assert!(!run.everything().contains("geheim"), "the password is shown: {run:#?}");
    }
    assert!(!missing.exists(), "a missing database was made");
}

#[tokio::test]
async fn a_file_that_is_no_database() {
    let world = World::with_tokens(Engine::Sqlite).await;
    std::fs::write(
        world.path("notes.txt"),
        "nothing that SQLite could read, and long enough to be sure of it\n".repeat(100),
    )
    .unwrap();
    world.alter("${DATABASE_URL}", "sqlite:notes.txt");
    world.refuses(69, &["sweep"]).await.says(&["not a database"]);
}

on_each_server!(wrong_password, no_right_to_delete);

async fn wrong_password(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("${DATABASE_URL}", &world.database.url_as("bygone", "wrong"));
    for verb in ["check", "plan", "sweep"] {
        world.refuses(69, &[verb]).await.says(&["source::unreachable", "cannot connect"]);
    }
}

async fn no_right_to_delete(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("${DATABASE_URL}", &world.database.reader_url().await);
    let run = world.refuses(1, &["sweep", "--format", "json"]).await;
    let policy = run.only_policy();
    assert_eq!((&policy["outcome"], &policy["removed"]), (&"refused".into(), &0.into()), "{run:#?}");
    assert!(policy["error"].as_str().unwrap().contains("denied"), "{run:#?}");
    // To look is allowed, and a check says what a sweep would meet.
    let plan = world.refuses(0, &["plan", "--format", "json"]).await;
    assert_eq!(plan.only_policy()["would_remove"], 60);
    world.refuses(1, &["check"]).await.says(&["source::denied", "no right to do this", "bygone grants ROLE"]);
}

/// Root may write any file, so the program runs as somebody else, from a copy that everybody may run.
#[tokio::test]
async fn a_file_that_may_not_be_written() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let shared = tempfile::tempdir().unwrap();
    let open = |path: &std::path::Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let (program, database) = (shared.path().join("bygone"), shared.path().join("read-only.db"));
    std::fs::copy(PROGRAM, &program).unwrap();
    std::fs::copy(world.database.url().trim_start_matches("sqlite:"), &database).unwrap();
    let config = shared.path().join("bygone.toml");
    std::fs::write(&config, altered("${DATABASE_URL}", &format!("sqlite:{}", database.display()))).unwrap();
    for (path, mode) in [(shared.path(), 0o555), (&program, 0o555), (&config, 0o444), (&database, 0o444)] {
        open(path, mode);
    }
    let mut command = clean(&program, &["sweep", "--format", "json"]);
    command.current_dir(shared.path());
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let run = Run::of(&mut command).ends(1);
    assert!(run.only_policy()["error"].as_str().unwrap().contains("readonly"), "{run:#?}");
    open(shared.path(), 0o755);
    let left = rusqlite::Connection::open(&database).unwrap();
    let left: u32 = left.query_row("SELECT count(*) FROM tokens", [], |row| row.get(0)).unwrap();
    assert_eq!(left as usize, everyone().len());
}
