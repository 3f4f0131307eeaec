//! No room left. Who removes rows writes, too: what a trigger keeps of them, and what is needed to take a page back. A
//! page for which there is no room is undone and fails its policy; what went before it is gone, and others go on.
//!
//! PostgreSQL may write no file over a limit here, which it is told in the same way as that the disk is full. That its
//! log has no room ends the server itself, as a kill does. MariaDB has a tablespace that may not grow.

use std::sync::Arc;

use bygone_core::Outcome;
use bygone_sql::{Deadline, RowTarget};
use bygone_testkit::{AnyDatabase, MariaDb, Options, Postgres};

use super::{Scene, job_over, sweep_all};
use crate::world::{World, policy};

const DUE: u64 = 3_000;
const PAGE: u64 = 100;

/// Sweeps a table until there is no room, and another one.
async fn sweep_until_full(scene: &Scene) {
    let mut client = scene.world.client().await;
    let values = "(1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')";
    client
        .run(&format!(
            "CREATE TABLE others (id INT PRIMARY KEY, deadline TIMESTAMP NULL); INSERT INTO others VALUES {values}"
        ))
        .await;
    let source = scene.world.source().await;
    let mut jobs = Vec::new();
    for policy in [Scene::policy(), policy("others", Deadline::column("deadline"))] {
        jobs.push(job_over(RowTarget::bind(&source, &policy).await.unwrap(), PAGE));
    }
    let report = sweep_all(jobs, Arc::new(())).await;
    let [items, others] = report.policies.as_slice() else { panic!("{report:?}") };
    assert!(items.outcome == Outcome::Failed && items.pages > 0, "{items:?}");
    assert_eq!(DUE - scene.look().await, items.tally.removed, "{items:?}");
    assert_eq!(items.tally.kept_back.total(), 0, "no row is to blame: {items:?}");
    eprintln!("{} of {DUE} rows, then: {:?}", items.tally.removed, items.error);
    assert_eq!((others.outcome, others.tally.removed), (Outcome::Complete, 1), "{others:?}");
    assert_eq!(client.texts("SELECT id FROM others").await, ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_that_may_write_no_more() {
    // A segment of its log is just as large.
    let options = Options { file_bytes_max: Some(16 << 20), ..Options::default().set("fsync", "off") };
    let server = Postgres::start(options).await.unwrap();
    let scene = Scene::of(World(AnyDatabase::Postgres(server.fresh_database().await)), DUE).await;
    let mut client = scene.world.client().await;
    client
        .run(
            "CREATE TABLE kept (filler text); ALTER TABLE kept ALTER filler SET STORAGE PLAIN; \
             CREATE FUNCTION keeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO kept VALUES (repeat('x', 7000)); RETURN OLD; END $$; \
             CREATE TRIGGER keeps BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION keeps()",
        )
        .await;
    sweep_until_full(&scene).await;
    client.run("TRUNCATE kept").await;
    let left = scene.look().await;
    scene.finish(left).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_whose_tablespace_may_not_grow() {
    let options = Options::default()
        .set("innodb-file-per-table", "0")
        .set("innodb-data-file-path", "ibdata1:12M;ibdata2:8M")
        .set("innodb-undo-tablespaces", "0")
        .set("innodb-flush-method", "nosync");
    let server = MariaDb::start(options).await.unwrap();
    let scene = Scene::of(World(AnyDatabase::MariaDb(server.fresh_database().await)), DUE).await;
    let mut client = scene.world.client().await;
    client
        .run(
            "CREATE TABLE kept (n INT AUTO_INCREMENT PRIMARY KEY, filler VARBINARY(7000)); \
             CREATE TRIGGER keeps BEFORE DELETE ON items FOR EACH ROW INSERT INTO kept (filler) VALUES (REPEAT('x', 7000))",
        )
        .await;
    sweep_until_full(&scene).await;
    client.run("DROP TRIGGER keeps; DROP TABLE kept").await;
    let left = scene.look().await;
    scene.finish(left).await;
}
