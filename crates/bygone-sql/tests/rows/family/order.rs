//! Children before parents, and once more where something has come free.

use std::sync::Arc;

use bygone_core::{Budget, Consent, Job, Outcome, Report, Sweep, SystemClock};
use bygone_sql::{Action, Assignment, ColumnRef, Deadline, Engine, NewValue, RowPolicy, RowTarget, arrange};

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
    let those = |at: usize, is: fn(&RowTarget, &RowTarget) -> bool| -> Vec<String> {
        let others = (0..targets.len()).filter(|&other| is(&targets[at], &targets[other]));
        others.map(|other| policies[other].name.clone()).collect()
    };
    let all = |is| -> Vec<Vec<String>> { (0..targets.len()).map(|at| those(at, is)).collect() };
    let (frees, unblocks) = (all(RowTarget::may_free), all(RowTarget::may_unblock));
    let mut targets: Vec<Option<RowTarget>> = targets.into_iter().map(Some).collect();
    let jobs = order.into_iter().map(|at| {
        let target = targets[at].take().unwrap();
        let job = Job::new(Box::new(target), Budget::default()).with_consent(Consent::Released);
        job.that_frees(frees[at].clone()).that_unblocks(unblocks[at].clone())
    });
    Sweep::new(Arc::new(SystemClock::new()), boundary()).run(jobs.collect()).await
}

on_each_engine!(
    one_sweep_reaches_the_end_of_the_chain,
    a_circle_of_references_is_swept_in_the_given_order,
    what_later_rows_of_the_table_stood_in_the_way_of_goes_in_the_same_sweep,
    what_stood_in_the_way_of_what_goes_along_goes_in_the_same_sweep,
    two_that_undo_each_other_come_to_an_end,
);

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

/// A thread of replies, of which the one that was asked first comes last: 4 lives, so 1 stays for it.
async fn what_later_rows_of_the_table_stood_in_the_way_of_goes_in_the_same_sweep(engine: Engine) {
    let time = time(engine);
    let over = |day: u32| format!("'2026-11-{day:02} 00:00:00'");
    let script = format!(
        "CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, answers INT NULL, ended {time} NULL, \
         FOREIGN KEY (answers) REFERENCES posts (id)); \
         INSERT INTO posts VALUES (1, NULL, {}), (2, NULL, {}), (3, 2, {}), (4, 1, NULL), (5, 3, {})",
        over(1),
        over(2),
        over(3),
        over(4)
    );
    let world = World::with(engine, &script).await;
    let report = sweep_all(&world, &[RowPolicy::new("posts", "posts", Deadline::column("ended"))]).await;
    assert_eq!(ids(&mut world.client().await, "posts").await, [1, 4], "{report:?}");
    let tally = &report.policies[0].tally;
    assert_eq!((tally.removed, tally.kept_back.conflict, tally.examined), (3, 1, 5), "{report:?}");
}

/// Notes go along with their topic by themselves, but not while somebody likes them; who likes them is no neighbour of it.
async fn what_stood_in_the_way_of_what_goes_along_goes_in_the_same_sweep(engine: Engine) {
    let time = time(engine);
    let over = "'2026-11-01 00:00:00'";
    let script = format!(
        "CREATE TABLE topics (id INT NOT NULL PRIMARY KEY, ended {time} NULL); \
         CREATE TABLE notes (id INT NOT NULL PRIMARY KEY, topic INT NOT NULL, \
         FOREIGN KEY (topic) REFERENCES topics (id) ON DELETE CASCADE); \
         CREATE TABLE likes (id INT NOT NULL PRIMARY KEY, note INT NOT NULL, ended {time} NULL, \
         FOREIGN KEY (note) REFERENCES notes (id)); \
         INSERT INTO topics VALUES (1, {over}), (2, {over}); INSERT INTO notes VALUES (1, 1), (2, 2), (3, 2); \
         INSERT INTO likes VALUES (1, 1, {over}), (2, 2, {over}), (3, 3, NULL)"
    );
    let world = World::with(engine, &script).await;
    let policy = |table: &str| RowPolicy::new(table, table, Deadline::column("ended"));
    let report = sweep_all(&world, &[policy("topics"), policy("likes")]).await;
    let mut client = world.client().await;
    assert_eq!(ids(&mut client, "topics").await, [2], "{report:?}");
    assert_eq!(ids(&mut client, "notes").await, [2, 3]);
    assert_eq!(ids(&mut client, "likes").await, [3]);
    let tally = &report.policies[0].tally;
    assert_eq!((tally.removed, tally.kept_back.conflict, tally.examined), (1, 1, 2), "{report:?}");
}

/// Each makes work for the other. They have their turn once, and the sweep ends.
async fn two_that_undo_each_other_come_to_an_end(engine: Engine) {
    let time = time(engine);
    let script = format!(
        "CREATE TABLE doors (id INT NOT NULL PRIMARY KEY, state VARCHAR(9) NULL, ended {time} NULL); \
         INSERT INTO doors VALUES (1, 'new', '2026-11-01 00:00:00'), (2, 'new', NULL)"
    );
    let world = World::with(engine, &script).await;
    let becomes = |state: &str| {
        let value = NewValue::Text(state.to_owned());
        let action = Action::Update(vec![Assignment { column: "state".to_owned(), value }]);
        RowPolicy { action, ..RowPolicy::new(state, "doors", Deadline::column("ended")) }
    };
    let report = sweep_all(&world, &[becomes("open"), becomes("shut")]).await;
    assert!(report.policies.iter().all(|policy| policy.tally.cleared == 1), "{report:?}");
    let states = world.client().await.texts("SELECT state FROM doors ORDER BY id").await;
    assert_eq!(states, ["shut", "new"]);
}
