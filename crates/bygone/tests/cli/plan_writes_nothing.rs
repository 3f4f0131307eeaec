//! `plan`, `check` and `sweep --dry-run` write nothing: the whole database is the same before and after, and the
//! database itself would refuse a write.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{
    BYGONE_LAST, Client, Database, Engine, FUTURE, LAST, PAST, World, living, on_each_engine, on_each_server,
};

/// The ways to look without touching.
const LOOKS: [&[&str]; 5] = [
    &["plan"],
    &["plan", "--format", "json", "--now", "2201-01-01T00:00:00Z"],
    &["plan", "-o", "plan.json"],
    &["check"],
    &["sweep", "--dry-run"],
];

/// Everything in a database: every row of every table, and for SQLite every byte of its files too.
async fn contents(database: &Database) -> BTreeMap<String, Vec<String>> {
    let mut client = database.client().await;
    let tables = client
        .texts(match database.engine() {
            Engine::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1",
            Engine::Postgres => "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
            Engine::MariaDb => {
                "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
            }
        })
        .await;
    let mut contents = BTreeMap::new();
    for table in tables.iter().filter(|table| !table.contains("_pkey") && !table.ends_with("_expires_at")) {
        let row = match database.engine() {
            Engine::Sqlite => "id || ' ' || ifnull(expires_at, 'NULL')",
            Engine::Postgres => "concat(id::text, ' ', expires_at::text)",
            Engine::MariaDb => "CONCAT(id, ' ', IFNULL(expires_at, 'NULL'))",
        };
        contents.insert(table.clone(), client.texts(&format!("SELECT {row} FROM {table} ORDER BY id")).await);
    }
    contents.insert("tables and indexes".to_owned(), tables);
    drop(client);
    if let Database::Sqlite(sqlite) = database {
        let bytes = files(sqlite.directory()).into_iter().map(|(name, bytes)| (name, vec![format!("{bytes:?}")]));
        contents.extend(bytes);
    }
    contents
}

/// The bytes of a database's files. The shared memory beside a log holds who reads, not what is stored.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let stored = entries.filter(|path| path.extension().is_none_or(|end| end != "db-shm"));
    stored
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

on_each_engine!(the_whole_database_stays_as_it_is);

async fn the_whole_database_stays_as_it_is(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.make_table("bystanders").await;
    world.add("bystanders", 1, 50, PAST).await;
    world.run_sql("INSERT INTO tokens (id, expires_at) VALUES (101, NULL)").await;
    let before = contents(&world.database).await;
    assert_eq!(before["tokens"].len(), 101, "the comparison sees the rows");
    for look in LOOKS {
        world.run(look).ends(0);
        let after = contents(&world.database).await;
        for (part, held) in &before {
            assert!(after.get(part) == Some(held), "{part} is not what it was before {look:?}");
        }
        assert_eq!(before.len(), after.len(), "{look:?} made something: {:?}", after.keys());
    }
}

/// What another connection has written and not yet moved from its log into the file, stays in that log.
#[tokio::test]
async fn a_log_in_use_stays_as_it_is() {
    let world = World::empty(Engine::Sqlite).await;
    let writer = write_to_the_log(&world).await;
    let Database::Sqlite(sqlite) = &world.database else { unreachable!("it is SQLite") };
    assert_looks_change_nothing(&world, sqlite.directory());
    drop(writer);
}

/// The same for a log that nobody holds any more, as a crash leaves it.
#[tokio::test]
async fn a_log_left_by_a_crash_stays_as_it_is() {
    let world = World::empty(Engine::Sqlite).await;
    let _writer = write_to_the_log(&world).await;
    let Database::Sqlite(sqlite) = &world.database else { unreachable!("it is SQLite") };
    let left = tempfile::tempdir().unwrap();
    for (name, bytes) in files(sqlite.directory()) {
        std::fs::write(left.path().join(name), bytes).unwrap();
    }
    world.alter("${DATABASE_URL}", &format!("sqlite:{}/test.db", left.path().display()));
    assert_looks_change_nothing(&world, left.path());
}

/// A database in the mode of a log, which was closed properly: nothing to look at but the file.
#[tokio::test]
async fn a_closed_database_with_a_log_stays_as_it_is() {
    let world = World::empty(Engine::Sqlite).await;
    drop(write_to_the_log(&world).await);
    let Database::Sqlite(sqlite) = &world.database else { unreachable!("it is SQLite") };
    let before = files(sqlite.directory());
    assert_eq!(before.keys().collect::<Vec<_>>(), ["test.db"]);
    for look in LOOKS {
        world.run(look).ends(0);
        let mut after = files(sqlite.directory());
        let log = after.remove("test.db-wal").unwrap_or_default();
        assert!(log.is_empty(), "{look:?} wrote to the log");
        assert!(after == before, "{look:?} wrote to the file");
    }
}

/// A connection that has written the tokens to its log, and none of them to the file.
async fn write_to_the_log(world: &World) -> Client {
    let mut writer = world.client().await;
    writer.run("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0").await;
    writer.run("CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at TEXT)").await;
    for rows in [
        Engine::Sqlite.rows(1, BYGONE_LAST, "1 = 1", PAST),
        Engine::Sqlite.rows(BYGONE_LAST + 1, LAST, "1 = 1", FUTURE),
    ] {
        writer.run(&format!("INSERT INTO tokens (id, expires_at) {rows}")).await;
    }
    writer
}

fn assert_looks_change_nothing(world: &World, directory: &Path) {
    let before = files(directory);
    assert!(before["test.db-wal"].len() > 4096, "the rows are in the log: {:?}", before.keys());
    for look in LOOKS {
        let run = world.run(look).ends(0);
        assert!(
            look[0] == "check" || run.stdout.contains("60") || run.stdout.contains("100"),
            "it sees the rows: {run:#?}"
        );
        assert!(files(directory) == before, "{look:?} wrote something");
    }
}

on_each_server!(a_write_in_the_condition_is_refused);

/// A condition that writes: the policy's own words would change the database while they are only looked at.
async fn a_write_in_the_condition_is_refused(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.make_table("notes").await;
    world
        .run_sql(match engine {
            Engine::MariaDb => {
                "CREATE FUNCTION note(n INT) RETURNS INT MODIFIES SQL DATA \
                 BEGIN INSERT IGNORE INTO notes (id) VALUES (n); RETURN 1; END"
            }
            _ => {
                "CREATE FUNCTION note(n int) RETURNS int LANGUAGE plpgsql AS \
                 $$ BEGIN INSERT INTO notes (id) VALUES (n) ON CONFLICT DO NOTHING; RETURN 1; END $$"
            }
        })
        .await;
    world.add_lines("where = \"note(id) = 1\"");
    for look in LOOKS {
        world.refuses(1, look).await;
        assert_eq!(world.ids("notes").await, [0_u32; 0], "{look:?} wrote");
    }
    // The trap is armed: where writing is allowed, the same condition does write.
    world.run(&["sweep"]).ends(0);
    assert_eq!(world.survivors().await, living());
    assert!(!world.ids("notes").await.is_empty());
}
