//! Tables with names that nobody would choose: exactly the table that was meant is swept, by exactly the column that was
//! meant, on the real engines.
//!
//! `./fuzz` goes on for longer with the same.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bolero::TypeGenerator;
use bygone_core::{Budget, Outcome};
use bygone_sql::{Deadline, Engine, RowTarget};
use bygone_testkit::Picks;

use crate::world::{World, policy, sweep};

/// What names are made of that are no names.
const WORDS: &[&str] = &[
    "\"",
    "\"\"",
    "`",
    "``",
    "'",
    "\\",
    "\\\"",
    ".",
    ";",
    "--",
    "/*",
    "*/",
    "#",
    "$1",
    "$$",
    "?",
    ":a",
    "@b",
    "%s",
    "{}",
    "(",
    ")",
    ",",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{1}",
    "\u{9b}",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "ü",
    "u\u{308}",
    "İ",
    "ß",
    "期限",
    "a",
    "A",
    "z",
    "0",
    "_",
    "-",
    "select",
    "SELECT",
    "null",
    "rowid",
    "DROP TABLE victim",
    "; DROP TABLE victim; --",
    "x\" OR 1=1 --",
    "E'\\x41'",
    "U&\"\\0041\"",
    "N'x'",
    "sqlite_",
    "pg_",
    "information_schema",
    "victim",
];

#[derive(Clone, Debug, TypeGenerator)]
struct Called {
    table: Picks,
    deadline: Picks,
    key: Picks,
}

/// What the engine takes as a name, cut to what it can hold; `None` where there is none.
fn name(engine: Engine, picks: &Picks) -> Option<String> {
    let text = picks.of(WORDS);
    let text: String = match engine {
        Engine::Sqlite => text.replace('\0', ""),
        // 63 bytes, or the rest is silently left away.
        Engine::Postgres => {
            let mut end = 0;
            let text = text.replace('\0', "");
            while let Some(next) = text[end..].chars().next().map(|c| end + c.len_utf8()).filter(|next| *next <= 63) {
                end = next;
            }
            text[..end].to_owned()
        }
        // 64 characters of the first plane, and no space at the end, of whatever kind.
        Engine::MySql => {
            let held: String = text.chars().filter(|c| *c != '\0' && *c <= '\u{ffff}').take(64).collect();
            held.trim_end().to_owned()
        }
    };
    let is_reserved = engine == Engine::Sqlite && text.to_ascii_lowercase().starts_with("sqlite_");
    (!text.is_empty() && !is_reserved).then_some(text)
}

/// A table of that name beside one whose name a careless quote would make of it; each with three rows, of which two are
/// bygone. True if the engine took the names.
async fn swept_alone(world: &World, source: &bygone_sql::SharedSource, called: &Called) -> bool {
    let engine = world.engine();
    let names = [&called.table, &called.deadline, &called.key].map(|picks| name(engine, picks));
    let [Some(table), Some(deadline), Some(key)] = names else { return false };
    let mut client = world.client().await;
    let quote = |name: &str| match engine {
        Engine::MySql => format!("`{}`", name.replace('`', "``")),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    let twin = if engine == Engine::MySql { table.replace('`', "") } else { table.replace('"', "") };
    client.run("DROP TABLE IF EXISTS victim; CREATE TABLE victim (id INT)").await;
    // One of a run before that was made smaller.
    if client.try_run(&format!("DROP TABLE IF EXISTS {}", quote(&table))).await.is_err() {
        return false;
    }
    if table.eq_ignore_ascii_case("victim") {
        return false;
    }
    let (at, id) = (quote(&deadline), quote(&key));
    let create = |table: &str| {
        format!(
            "CREATE TABLE {0} ({id} INT NOT NULL PRIMARY KEY, {at} TIMESTAMP NULL); \
                 INSERT INTO {0} VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00'), (3, '2021-01-01 00:00:00')",
            quote(table)
        )
    };
    // Two columns that the engine takes for one, or a name that it has taken already.
    if client.try_run(&create(&table)).await.is_err() {
        return false;
    }
    let has_twin = twin != table && !twin.trim().is_empty() && client.try_run(&create(&twin)).await.is_ok();
    let target = RowTarget::bind(source, &policy(&table, Deadline::column(&deadline))).await;
    let target = target.unwrap_or_else(|error| panic!("{table:?} ({key:?}, {deadline:?}): {}", error.full_message()));
    let report = sweep(target, Budget { page_items_max: 1, ..Budget::default() }).await;
    assert_eq!(
        (report.outcome, report.tally.removed),
        (Outcome::Complete, 2),
        "{table:?} ({key:?}, {deadline:?}): {report:?}"
    );
    assert_eq!(client.texts(&format!("SELECT {id} FROM {}", quote(&table))).await, ["2"], "{table:?}");
    if has_twin {
        assert_eq!(
            client.number(&format!("SELECT count(*) FROM {}", quote(&twin))).await,
            3,
            "{twin:?}, beside {table:?}"
        );
        client.run(&format!("DROP TABLE {}", quote(&twin))).await;
    }
    assert_eq!(client.number("SELECT count(*) FROM victim").await, 0);
    client.run(&format!("DROP TABLE {}", quote(&table))).await;
    true
}

fn try_names(engine: Engine, iterations: usize, time: Duration) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = runtime.block_on(World::with(engine, "CREATE TABLE victim (id INT)"));
    let source = runtime.block_on(world.source());
    let taken = std::sync::atomic::AtomicU64::new(0);
    let parts = AssertUnwindSafe((&runtime, &world, &source));
    let one = |called: &Called| {
        let (runtime, world, source) = *parts;
        // On a thread of the runtime: connections to files block it.
        let is_taken = runtime.block_on(async { swept_alone(world, source, called).await });
        taken.fetch_add(u64::from(is_taken), std::sync::atomic::Ordering::Relaxed);
    };
    bolero::check!(name = format!("{engine}"))
        .with_iterations(iterations)
        .with_test_time(time)
        .with_type::<Called>()
        .for_each(one);
    let taken = taken.into_inner();
    assert!(taken > 0, "none of the names was taken by {engine}");
}

mod sqlite {
    #[test]
    fn whatever_a_table_is_called_it_alone_is_swept() {
        super::try_names(bygone_sql::Engine::Sqlite, 1_000, std::time::Duration::from_secs(6));
    }
}

mod postgres {
    #[test]
    fn whatever_a_table_is_called_it_alone_is_swept() {
        super::try_names(bygone_sql::Engine::Postgres, 40, std::time::Duration::from_secs(60));
    }
}

mod mariadb {
    #[test]
    fn whatever_a_table_is_called_it_alone_is_swept() {
        super::try_names(bygone_sql::Engine::MySql, 40, std::time::Duration::from_secs(60));
    }
}
