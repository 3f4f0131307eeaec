//! The client of stores: connections that are shared, thrown away when nobody knows their state, and found again.

use std::time::Duration;

use bygone_core::{Clock, ErrorKind, SystemClock};
use bygone_sql::{Client, ClientOptions, Engine, Query, SourceUrl, Value};
use bygone_testkit::{MariaDb, Options, Postgres};

use crate::world::{World, on_each_engine};

on_each_engine!(
    what_was_not_committed_never_was,
    what_was_committed_is_there_for_all,
    more_callers_than_connections_wait_for_their_turn,
    a_caller_that_gives_up_leaves_no_connection_half_way,
    transactions_that_stand_in_each_others_way_all_come_through,
);

async fn open(world: &World, connections_max: usize) -> Client {
    let url = SourceUrl::parse(&world.url()).unwrap();
    Client::open(ClientOptions { connections_max, ..ClientOptions::new(url) }).await.unwrap()
}

async fn accounts(engine: Engine) -> World {
    World::with(
        engine,
        "CREATE TABLE accounts (id INT PRIMARY KEY, amount BIGINT NOT NULL); \
         INSERT INTO accounts VALUES (1, 0), (2, 0)",
    )
    .await
}

fn add(engine: Engine, id: i64) -> Query {
    Query::new(engine, "UPDATE accounts SET amount = amount + 1 WHERE id = ").bind(Value::Int(id), None)
}

async fn total(client: &Client) -> i64 {
    let query = Query::new(client.engine(), "SELECT CAST(amount AS CHAR(20)) FROM accounts");
    let rows = client.read(&query).await.unwrap();
    rows.iter().map(|row| row[0].text().unwrap().trim().parse::<i64>().unwrap()).sum()
}

async fn what_was_not_committed_never_was(engine: Engine) {
    let world = accounts(engine).await;
    let client = open(&world, 1).await;
    let mut transaction = client.begin().await.unwrap();
    assert_eq!(transaction.execute(&add(engine, 1)).await.unwrap(), 1);
    drop(transaction);
    assert_eq!(total(&client).await, 0);
    assert_eq!(client.execute(&add(engine, 1)).await.unwrap(), 1, "nothing is locked");
}

async fn what_was_committed_is_there_for_all(engine: Engine) {
    let world = accounts(engine).await;
    let (one, two) = (open(&world, 2).await, open(&world, 2).await);
    let mut transaction = one.begin().await.unwrap();
    transaction.execute(&add(engine, 1)).await.unwrap();
    transaction.execute(&add(engine, 2)).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!((total(&one).await, total(&two).await), (2, 2));
}

async fn more_callers_than_connections_wait_for_their_turn(engine: Engine) {
    let world = accounts(engine).await;
    let client = open(&world, 2).await;
    let work = (0..50).map(|_| {
        let client = client.clone();
        tokio::spawn(async move {
            client.execute(&add(engine, 1)).await.unwrap();
            total(&client).await
        })
    });
    for task in work.collect::<Vec<_>>() {
        assert!(task.await.unwrap() > 0);
    }
    assert_eq!(total(&client).await, 50);
}

/// Dropped at every point of its way in turn: the next caller finds a connection that answers what it was asked.
async fn a_caller_that_gives_up_leaves_no_connection_half_way(engine: Engine) {
    let world = accounts(engine).await;
    let client = open(&world, 1).await;
    for polls in 1..40 {
        let work = async {
            let mut transaction = client.begin().await.unwrap();
            transaction.execute(&add(engine, 1)).await.unwrap();
            transaction.commit().await.unwrap();
            client.execute(&add(engine, 2)).await.unwrap();
        };
        let mut work = Box::pin(work);
        for _ in 0..polls {
            let step = std::future::poll_fn(|context| std::task::Poll::Ready(work.as_mut().poll(context)));
            if step.await.is_ready() {
                break;
            }
            tokio::time::timeout(Duration::from_micros(300), std::future::pending::<()>()).await.unwrap_err();
        }
        drop(work);
        // Whatever became of it, half of an answer is not taken for the whole of another.
        let seven = Query::new(engine, "SELECT 7");
        assert_eq!(client.read(&seven).await.unwrap(), [[Value::Int(7)]]);
    }
}

/// They lock two rows in opposite order. Where the database undoes one of them, it is done again.
async fn transactions_that_stand_in_each_others_way_all_come_through(engine: Engine) {
    let world = accounts(engine).await;
    let client = open(&world, 8).await;
    let work = (0..24).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            let order = if number % 2 == 0 { [1, 2] } else { [2, 1] };
            let mut undone = 0;
            loop {
                let mut transaction = client.begin().await.unwrap();
                let mut answer = transaction.execute(&add(engine, order[0])).await;
                if answer.is_ok() {
                    answer = transaction.execute(&add(engine, order[1])).await;
                }
                match answer {
                    Ok(_) => {
                        transaction.commit().await.unwrap();
                        return;
                    }
                    // PostgreSQL looks for a circle once a second: behind several of them, some wait for too long.
                    Err(error) => assert!(error.is_passing() || error.kind() == ErrorKind::Contended, "{error}"),
                }
                undone += 1;
                assert!(undone < 1_000);
                // As callers do: who comes back at once stands in the way again.
                SystemClock::new().sleep(Duration::from_millis(7 * number)).await;
            }
        })
    });
    for task in work.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(total(&client).await, 48);
}

/// A server that comes back is found again: the first call may fail, which is said, and none is answered wrongly.
macro_rules! comes_back {
    ($($name:ident $server:ident),*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let mut server = $server::start(Options::default()).await.unwrap();
                let url = SourceUrl::parse(&server.fresh_database().await.url()).unwrap();
                let client = Client::open(ClientOptions::new(url)).await.unwrap();
                server.kill();
                server.restart().await.unwrap();
                found_again(&client).await;
            }
        )*
    };
}
comes_back!(postgres_comes_back Postgres, mariadb_comes_back MariaDb);

async fn found_again(client: &Client) {
    let query = Query::new(client.engine(), "SELECT 7");
    let mut lost = 0;
    loop {
        match client.read(&query).await {
            Ok(rows) => {
                assert_eq!(rows, [[Value::Int(7)]]);
                return;
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Lost | ErrorKind::Unreachable), "{error}"),
        }
        lost += 1;
        assert!(lost < 5, "it is not found again");
    }
}

/// Without a log SQLite cannot commit while somebody reads, and leaves the transaction open: the next caller is not in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_fails_leaves_nothing_open() {
    let world = accounts(Engine::Sqlite).await;
    let url = SourceUrl::parse(&world.url()).unwrap();
    let lock_timeout = Some(Duration::from_millis(50));
    let client = Client::open(ClientOptions { lock_timeout, ..ClientOptions::new(url) }).await.unwrap();
    let mut reader = world.client().await;
    reader.run("BEGIN").await;
    reader.number("SELECT COUNT(*) FROM accounts").await;
    let mut transaction = client.begin().await.unwrap();
    transaction.execute(&add(Engine::Sqlite, 1)).await.unwrap();
    assert_eq!(transaction.commit().await.unwrap_err().kind(), ErrorKind::Busy);
    reader.run("COMMIT").await;
    assert_eq!(client.execute(&add(Engine::Sqlite, 2)).await.unwrap(), 1);
    let amounts = "SELECT amount FROM accounts ORDER BY id";
    assert_eq!(world.client().await.texts(amounts).await, ["0", "1"], "what was answered is there for all");
    client.begin().await.unwrap().commit().await.unwrap();
}

/// A store is as durable as its database is set to be, and a new file has a log.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_store_answers_is_durable() {
    let world = World::fresh(Engine::Sqlite).await;
    let client = open(&world, 1).await;
    let ask = |text: &str| Query::new(Engine::Sqlite, text);
    assert_eq!(client.read(&ask("PRAGMA synchronous")).await.unwrap(), [[Value::Int(2)]]);
    assert_eq!(client.read(&ask("PRAGMA journal_mode")).await.unwrap(), [[Value::from("wal")]]);
    let world = World::fresh(Engine::Postgres).await;
    let client = open(&world, 1).await;
    let query = Query::new(Engine::Postgres, "SELECT current_setting('synchronous_commit')");
    let shared = world.client().await.texts("SHOW synchronous_commit").await;
    assert_eq!(client.read(&query).await.unwrap(), [[Value::from(shared[0].as_str())]]);
}
