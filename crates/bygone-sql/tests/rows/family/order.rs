//! Children before parents, and once more where something has come free.

use std::sync::Arc;

use bygone_core::{Budget, Consent, Job, Outcome, Report, Sweep, SystemClock};
use bygone_sql::{ColumnRef, Deadline, Engine, RowPolicy, RowTarget, arrange};

use super::{ids, time};
use crate::world::{World, boundary, on_each_engine};

/// Browser sessions that application sessions and login attempts point at; the attempts lose their session when it goes.
async fn logins(engine: Engine) -> World {
    let time = time(engine);
    let over = "'2026-11-01 00:00:00'";
    let script = format!(
        "CREATE TABLE browsers (id INT NOT NULL PRIMARY KEY, ended {time} NULL); \
         CREATE TABLE apps (id INT NOT NULL PRIMARY KEY, browser INT NULL, ended {time} NULL, \
         FOREIGN KEY (browser) REFERENCES browsers (id)); \
         CREATE TABLE attempts (id INT NOT NULL PRIMARY KEY, browser INT NULL, made {time} NULL, \
         FOREIGN KEY (browser) REFERENCES browsers (id) ON DELETE SET NULL); \
         INSERT INTO browsers VALUES (1, {over}), (2, {over}), (3, NULL); \
         INSERT INTO apps VALUES (1, 1, {over}), (2, 2, NULL), (3, 3, {over}); \
         INSERT INTO attempts VALUES (1, 1, {over}), (2, 2, {over}), (3, 3, {over}), (4, NULL, {over}), (5, NULL, NULL)"
    );
    World::with(engine, &script).await
}

/// The policies, in an order that is wrong for them.
fn policies() -> Vec<RowPolicy> {
    let browsers = RowPolicy {
        unless_referenced_by: vec![ColumnRef::new("apps", "browser")],
        ..RowPolicy::new("browsers", "browsers", Deadline::column("ended"))
    };
    let attempts = RowPolicy {
        filter: Some("browser IS NULL".to_owned()),
        ..RowPolicy::new("attempts", "attempts", Deadline::column("made"))
    };
    vec![browsers, RowPolicy::new("apps", "apps", Deadline::column("ended")), attempts]
}

async fn sweep_all(world: &World, policies: &[RowPolicy]) -> Report {
    let source = world.source().await;
    let mut targets = Vec::new();
    for policy in policies {
        targets.push(RowTarget::bind(&source, policy).await.unwrap());
    }
    let order = arrange(targets.len(), |_, _| false, |a, b| targets[a].goes_before(&targets[b]));
    let frees = |at: usize| -> Vec<String> {
        let freed = (0..targets.len()).filter(|&other| targets[at].may_free(&targets[other]));
        freed.map(|other| policies[other].name.clone()).collect()
    };
    let frees: Vec<Vec<String>> = (0..targets.len()).map(frees).collect();
    let mut targets: Vec<Option<RowTarget>> = targets.into_iter().map(Some).collect();
    let jobs = order.into_iter().map(|at| {
        let target = targets[at].take().unwrap();
        let job = Job::new(Box::new(target), Budget::default()).with_consent(Consent::Released);
        job.that_frees(frees[at].clone())
    });
    Sweep::new(Arc::new(SystemClock::new()), boundary()).run(jobs.collect()).await
}

on_each_engine!(one_sweep_reaches_the_end_of_the_chain, a_circle_of_references_is_swept_in_the_given_order);

async fn one_sweep_reaches_the_end_of_the_chain(engine: Engine) {
    let world = logins(engine).await;
    let report = sweep_all(&world, &policies()).await;
    let removed: Vec<_> = report.policies.iter().map(|p| (p.policy.as_str(), p.tally.removed)).collect();
    assert_eq!(removed, [("apps", 2), ("attempts", 2), ("browsers", 1)], "{report:?}");
    assert!(report.policies.iter().all(|policy| policy.outcome == Outcome::Complete), "{report:?}");
    let browsers = &report.policies[2].tally;
    assert_eq!((browsers.examined, browsers.kept_back.referenced), (3, 1), "counted once, however often looked at");
    assert_eq!(browsers.kept_back.unreadable, 1, "{browsers:?}");
    let mut client = world.client().await;
    assert_eq!(ids(&mut client, "browsers").await, [2, 3]);
    assert_eq!(ids(&mut client, "apps").await, [2]);
    assert_eq!(ids(&mut client, "attempts").await, [2, 3, 5], "one lost its session in this very sweep");
}

async fn a_circle_of_references_is_swept_in_the_given_order(engine: Engine) {
    let time = time(engine);
    // Tables that point at each other are made one after the other; SQLite takes a name that is not there yet.
    let script = match engine {
        Engine::Sqlite => format!(
            "CREATE TABLE left_ones (id INT NOT NULL PRIMARY KEY, other INT NULL REFERENCES right_ones (id) ON DELETE SET NULL, ended {time}); \
             CREATE TABLE right_ones (id INT NOT NULL PRIMARY KEY, other INT NULL REFERENCES left_ones (id) ON DELETE CASCADE, ended {time})"
        ),
        _ => format!(
            "CREATE TABLE left_ones (id INT NOT NULL PRIMARY KEY, other INT NULL, ended {time} NULL); \
             CREATE TABLE right_ones (id INT NOT NULL PRIMARY KEY, other INT NULL, ended {time} NULL, \
             FOREIGN KEY (other) REFERENCES left_ones (id) ON DELETE CASCADE); \
             ALTER TABLE left_ones ADD FOREIGN KEY (other) REFERENCES right_ones (id) ON DELETE SET NULL"
        ),
    };
    let world = World::with(engine, &script).await;
    let mut client = world.client().await;
    client
        .run(
            "INSERT INTO left_ones VALUES (1, NULL, '2026-11-01 00:00:00'), (2, NULL, NULL); \
             INSERT INTO right_ones VALUES (1, 1, NULL), (2, 2, '2026-11-01 00:00:00'), (3, NULL, NULL); \
             UPDATE left_ones SET other = 2 WHERE id = 2",
        )
        .await;
    let policy = |table: &str| RowPolicy::new(table, table, Deadline::column("ended"));
    let report = sweep_all(&world, &[policy("left_ones"), policy("right_ones")]).await;
    assert!(report.policies.iter().all(|policy| policy.outcome == Outcome::Complete), "{report:?}");
    assert_eq!(ids(&mut client, "left_ones").await, [2]);
    assert_eq!(ids(&mut client, "right_ones").await, [3]);
}
