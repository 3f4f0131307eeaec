//! The same promises for each kind of server.

use std::path::PathBuf;

use bygone_testkit::{KitError, MariaDb, Options, Postgres};
use sqlx::Connection;

use crate::child::{self, Seen};

macro_rules! promises {
    ($module:ident, $server:ty, $connection:ty, $scheme:literal) => {
        mod $module {
            use super::*;

            #[tokio::test]
            async fn two_fresh_databases_are_apart() {
                let server = <$server>::shared().await;
                let (one, two) = (server.fresh_database().await, server.fresh_database().await);
                assert_ne!(one.name(), two.name());
                assert!(one.url().starts_with($scheme), "{}", one.url());

                let mut by_url = <$connection>::connect(&one.url()).await.unwrap();
                sqlx::raw_sql("CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2)")
                    .execute(&mut by_url)
                    .await
                    .unwrap();
                let count = "SELECT count(*) FROM t";
                let rows: i64 = sqlx::query_scalar(count).fetch_one(&one.admin_pool().await).await.unwrap();
                assert_eq!(rows, 2);
                let absent = sqlx::query_scalar::<_, i64>(count).fetch_one(&mut two.connect().await).await;
                assert!(absent.is_err(), "the table is in both databases");
            }

            #[tokio::test]
            async fn a_wrong_password_is_refused() {
                let database = <$server>::shared().await.fresh_database().await;
                let refused = <$connection>::connect(&database.url_as("bygone", "wrong")).await;
                let message = refused.err().expect("let in").to_string();
                assert!(message.to_lowercase().contains("password"), "{message}");
            }

            #[tokio::test]
            async fn a_dropped_server_is_gone() {
                let server = <$server>::start(Options::default()).await.unwrap();
                let seen = Seen::of(&server);
                assert!(seen.process.is_alive());
                assert!(seen.directory.is_dir());
                drop(server);
                assert!(!seen.process.is_alive());
                assert!(!seen.directory.exists());
            }

            #[test]
            fn a_server_whose_owner_is_killed_is_gone() {
                let mut owner = child::spawn(concat!("private-", stringify!($module)));
                let seen = child::servers(&mut owner, 1).remove(0);
                assert!(seen.process.is_alive());
                owner.kill().unwrap();
                // Not waited for yet: a zombie does not count as an owner.
                seen.assert_goes_away();
                owner.wait().unwrap();
            }

            #[test]
            fn the_processes_of_one_runner_share_a_server() {
                let mut runner = child::spawn_two_under_a_runner(concat!("shared-", stringify!($module)));
                let seen = child::servers(&mut runner, 2);
                assert_eq!(seen[0], seen[1]);
                assert!(seen[0].process.is_alive());
                // The end of their input ends both children, and then their runner.
                drop(runner.stdin.take());
                runner.wait().unwrap();
                seen[0].assert_goes_away();
                let root = seen[0].directory.parent().map(PathBuf::from).unwrap();
                let left = Seen { directory: root, process: seen[0].process };
                left.assert_goes_away();
            }

            #[test]
            fn a_shared_server_whose_runner_is_killed_is_gone() {
                let mut runner = child::spawn_two_under_a_runner(concat!("shared-", stringify!($module)));
                let seen = child::servers(&mut runner, 2);
                runner.kill().unwrap();
                runner.wait().unwrap();
                seen[0].assert_goes_away();
            }

            #[tokio::test]
            async fn a_killed_server_restarts_with_what_was_committed() {
                let mut server = <$server>::start(Options::default()).await.unwrap();
                let database = server.fresh_database().await;
                let mut connection = database.connect().await;
                sqlx::raw_sql("CREATE TABLE t (x INT); INSERT INTO t VALUES (1), (2), (3)")
                    .execute(&mut connection)
                    .await
                    .unwrap();
                // What was not committed must not come back.
                sqlx::raw_sql("BEGIN; DELETE FROM t").execute(&mut connection).await.unwrap();

                let (before, port) = (server.process(), server.port());
                server.kill();
                assert!(!before.is_alive());

                server.restart().await.unwrap();
                assert_ne!(server.process(), before);
                assert_eq!(server.port(), port);
                let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM t")
                    .fetch_one(&mut database.connect().await)
                    .await
                    .unwrap();
                assert_eq!(rows, 3);

                let running = server.process();
                server.restart().await.unwrap();
                assert!(!running.is_alive(), "restarted beside the running one");
            }

            #[tokio::test]
            async fn a_server_that_cannot_start_shows_its_log() {
                let options = Options::default().set("no_such_setting", "1");
                let error = <$server>::start(options).await.unwrap_err();
                assert!(matches!(error, KitError::Ended { .. }), "{error:?}");
                let message = error.to_string().replace('-', "_");
                assert!(message.contains("no_such_setting"), "{message}");
            }
        }
    };
}

promises!(postgres, Postgres, sqlx::PgConnection, "postgres://");
promises!(mariadb, MariaDb, sqlx::MySqlConnection, "mysql://");
