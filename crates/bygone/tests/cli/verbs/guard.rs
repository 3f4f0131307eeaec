//! `bygone guard`: what is bygone is not seen, swept or not, and everything else is.

use serde_json::json;

use crate::support::{Engine, TOKENS, World, everyone, living, on_each_engine, policy_over};

on_each_engine!(
    what_is_printed_can_be_piped,
    apply_and_drop_may_be_repeated,
    the_clock_is_the_databases_own,
    what_a_sweep_would_keep_is_seen,
    policies_of_one_table_share_a_view,
);

/// The views of a database.
async fn views(world: &World) -> Vec<String> {
    let sql = match world.database.engine() {
        Engine::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'view'",
        Engine::Postgres => "SELECT viewname::text FROM pg_views WHERE schemaname = 'public'",
        Engine::MariaDb => {
            "SELECT CAST(table_name AS CHAR) FROM information_schema.views WHERE table_schema = DATABASE()"
        }
    };
    world.client().await.texts(sql).await
}

async fn what_is_printed_can_be_piped(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.run_sql("INSERT INTO tokens (id, expires_at) VALUES (101, NULL)").await;
    let printed = world.refuses(0, &["guard"]).await.stdout;
    assert_eq!(views(&world).await, [""; 0], "printing makes nothing");
    world.run_sql(&printed).await;
    assert_eq!(world.ids("tokens_living").await, [living(), vec![101]].concat());
    assert_eq!(world.survivors().await.len(), 101, "nothing is removed");
    let printed = world.refuses(0, &["guard", "--drop"]).await.stdout;
    assert_eq!(views(&world).await, ["tokens_living"], "printing drops nothing");
    world.run_sql(&printed).await;
    assert_eq!(views(&world).await, [""; 0]);
}

async fn apply_and_drop_may_be_repeated(engine: Engine) {
    let world = World::with_tokens(engine).await;
    for _ in 0..2 {
        let run = world.refuses(0, &["guard", "--apply"]).await.says(&["db: made", "tokens_living"]);
        assert_eq!(run.stdout, "");
        assert_eq!(world.ids("tokens_living").await, living());
    }
    world.run(&["sweep"]).ends(0);
    assert_eq!((world.survivors().await, world.ids("tokens_living").await), (living(), living()));
    for _ in 0..2 {
        world.run(&["guard", "--apply", "--drop"]).ends(0).says(&["db: dropped", "tokens_living"]);
        assert_eq!(views(&world).await, [""; 0]);
    }
}

/// A margin of a minute around the end of a row, and a session that is in another time zone.
async fn the_clock_is_the_databases_own(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("keep = \"0s\"", "keep = \"1h\"");
    let (at, zone) = match engine {
        Engine::Sqlite => ("strftime('%Y-%m-%d %H:%M:%S', 'now', '-MINUTES minutes')", ""),
        Engine::Postgres => ("now() - interval 'MINUTES minutes'", "SET TIME ZONE '+11'; "),
        Engine::MariaDb => ("UTC_TIMESTAMP(6) - INTERVAL MINUTES MINUTE", "SET time_zone = '+11:00'; "),
    };
    for (id, minutes) in [(101, "59"), (102, "61"), (103, "1")] {
        let at = at.replace("MINUTES", minutes);
        world.run_sql(&format!("INSERT INTO tokens (id, expires_at) VALUES ({id}, {at})")).await;
    }
    world.run(&["guard", "--apply"]).ends(0);
    let mut client = world.client().await;
    client.run(&format!("{zone}SELECT 1")).await;
    let seen = client.texts("SELECT id FROM tokens_living WHERE id > 100 ORDER BY id").await;
    assert_eq!(seen, ["101", "103"]);
}

/// The view shows at once what a sweep leaves behind.
async fn what_a_sweep_would_keep_is_seen(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world
        .run_sql(
            "CREATE TABLE uses (id INTEGER PRIMARY KEY, token INTEGER, FOREIGN KEY (token) REFERENCES tokens (id)); \
             INSERT INTO uses VALUES (1, 7), (2, 33), (3, 90)",
        )
        .await;
    for (lines, kept) in [
        ("unless_referenced_by = [\"uses.token\"]", vec![7, 33]),
        ("where = \"id <> 5\"\nunless_referenced_by = [\"uses.token\"]", vec![5, 7, 33]),
        ("newest = 42", vec![59, 60]),
        ("unless = { via = \"id\", table = \"uses\", where = \"token = 33\" }", vec![2]),
        ("only_if = { via = \"id\", table = \"uses\" }", (4..=60).collect()),
    ] {
        let newest = if lines.starts_with("newest") { "by = \"expires_at\"" } else { "" };
        world.add_lines(&format!("{lines}\n{newest}"));
        world.run(&["guard", "--apply"]).ends(0);
        assert_eq!(world.ids("tokens_living").await, [kept, living()].concat(), "{lines}");
    }
    world.run_sql("DELETE FROM uses WHERE id = 3").await;
    world.add_lines("unless_referenced_by = [\"uses.token\"]");
    world.run(&["guard", "--apply"]).ends(0);
    let seen = world.ids("tokens_living").await;
    world.run(&["sweep"]).ends(0);
    assert_eq!(world.survivors().await, seen);
}

/// Also when only one of them is named: the view would otherwise show what the other hides.
async fn policies_of_one_table_share_a_view(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let odd = policy_over("tokens").replace("name = \"tokens\"", "name = \"odd\"\nwhere = \"id % 2 = 1\"");
    let changing = policy_over("tokens").replace("name = \"tokens\"", "name = \"forget\"\nclear = [\"expires_at\"]");
    world.configure(&format!("{}{odd}{changing}", TOKENS.replace("keep =", "where = \"id <= 10\"\nkeep =")));
    let expected: Vec<u32> = everyone().into_iter().filter(|id| *id > 60 || (*id > 10 && id % 2 == 0)).collect();
    for names in [vec![], vec!["odd"]] {
        world.run(&[vec!["guard", "--apply"], names].concat()).ends(0);
        assert_eq!(world.ids("tokens_living").await, expected);
    }
    let run = world.refuses(0, &["guard", "--format", "json"]).await.says(&["forget: skipped: it changes rows"]);
    assert_eq!(run.json()[0]["policies"], json!(["tokens", "odd"]));
    assert_eq!(world.refuses(0, &["guard", "forget"]).await.stdout, "");
}

/// What a view cannot judge as the sweeper does is refused, and its neighbours are not.
#[tokio::test]
async fn what_cannot_be_said_exactly_is_refused() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.make_table("visits").await;
    world.configure(&format!("{TOKENS}zone = \"Europe/Stockholm\"\n{}", policy_over("visits")));
    let run = world.refuses(65, &["guard"]).await.says(&["policy::unfit", "is read in a zone", "leave `zone` out"]);
    assert!(run.stdout.contains("\"visits_living\"") && !run.stdout.contains("\"tokens_living\""), "{run:#?}");
    world
        .run_sql("CREATE TABLE keyed (id TEXT PRIMARY KEY); INSERT INTO keyed VALUES ('01ARYZ6S41TSV4RRFFQ69G5FAV')")
        .await;
    world.configure(&format!("{TOKENS}{}", policy_over("keyed").replace("\"expires_at\"", "{ ulid = \"id\" }")));
    let run = world.refuses(65, &["guard"]).await.says(&["cannot be read without bygone"]);
    assert!(run.stdout.contains("\"tokens_living\"") && !run.stdout.contains("\"keyed_living\""), "{run:#?}");
}

/// Something else of that name is nobody's to replace.
#[tokio::test]
async fn a_table_of_that_name_is_left_alone() {
    for engine in [Engine::Sqlite, Engine::Postgres, Engine::MariaDb] {
        let world = World::with_tokens(engine).await;
        world.make_table("tokens_living").await;
        let run = world.run(&["guard", "--apply"]);
        assert!(run.code.is_some_and(|code| code != 0), "{run:#?}");
        assert_eq!(world.ids("tokens_living").await, [0_u32; 0]);
    }
}
