//! What is found before the first page.

use bygone_sql::{Action, Assignment, ColumnRef, Deadline, Engine, NewValue, RowPolicy, RowTarget};
use jiff::SignedDuration;

use super::time;
use crate::world::{World, boundary, on_each_engine};

/// Sessions that tokens, logins and notes point at, each in its own way.
async fn sessions(engine: Engine) -> World {
    let time = time(engine);
    let script = format!(
        "CREATE TABLE sessions (id INT NOT NULL PRIMARY KEY, ended {time} NULL); CREATE INDEX by_end ON sessions (ended); \
         CREATE TABLE tokens (id INT NOT NULL PRIMARY KEY, session INT, FOREIGN KEY (session) REFERENCES sessions (id)); \
         CREATE INDEX by_session ON tokens (session); \
         CREATE TABLE logins (id INT NOT NULL PRIMARY KEY, session INT, \
         FOREIGN KEY (session) REFERENCES sessions (id) ON DELETE CASCADE); CREATE INDEX by_login ON logins (session); \
         CREATE TABLE notes (id INT NOT NULL PRIMARY KEY, session INT, \
         FOREIGN KEY (session) REFERENCES sessions (id) ON DELETE SET NULL); CREATE INDEX by_note ON notes (session); \
         INSERT INTO sessions VALUES (1, '2026-11-01 00:00:00'), (2, '2026-11-15 12:00:00'), (3, NULL); \
         INSERT INTO logins VALUES (1, 1), (2, 1), (3, 2); INSERT INTO notes VALUES (1, 1), (2, 3)"
    );
    World::with(engine, &script).await
}

fn ended() -> RowPolicy {
    RowPolicy::new("sessions", "sessions", Deadline::column("ended"))
}

/// The codes and messages of the first policy's findings.
async fn found(world: &World, policies: &[RowPolicy]) -> Vec<(&'static str, String)> {
    let source = world.source().await;
    let mut targets = Vec::new();
    for policy in policies {
        targets.push(RowTarget::bind(&source, policy).await.unwrap());
    }
    let targets: Vec<&RowTarget> = targets.iter().collect();
    let findings = targets[0].preflight(&targets, Some(boundary())).await.unwrap();
    assert!(findings.iter().all(|finding| !finding.help.is_empty()), "{findings:?}");
    findings.into_iter().map(|finding| (finding.code, finding.message)).collect()
}

async fn codes(world: &World, policies: &[RowPolicy]) -> Vec<&'static str> {
    found(world, policies).await.into_iter().map(|(code, _)| code).collect()
}

on_each_engine!(
    every_reference_that_nobody_named_is_found,
    what_the_policy_names_is_not_found,
    a_missing_index_is_found,
    a_guard_that_nothing_lifts_is_found,
    policies_that_leave_nothing_to_each_other_are_found,
);

async fn every_reference_that_nobody_named_is_found(engine: Engine) {
    let findings = found(&sessions(engine).await, &[ended()]).await;
    let expected = [
        ("rows::unlisted_cascade", "2 rows of `logins` go along with theirs (session, on delete cascade)"),
        ("rows::unlisted_emptying", "1 rows of `notes` lose what they point at (session, on delete set null)"),
        ("rows::uncovered_reference", "rows that `tokens`.session points at cannot go and are kept back as conflict"),
    ];
    assert_eq!(findings.iter().map(|(code, text)| (*code, text.as_str())).collect::<Vec<_>>(), expected);
}

async fn what_the_policy_names_is_not_found(engine: Engine) {
    let world = sessions(engine).await;
    let with = ["tokens", "logins", "notes"].map(|table| vec![ColumnRef::new(table, "session")]).to_vec();
    assert_eq!(codes(&world, &[RowPolicy { with, ..ended() }]).await, [""; 0]);
    let tokens = RowPolicy::new("tokens", "tokens", Deadline::in_format("id", bygone_sql::Format::EpochSeconds));
    let with = ["logins", "notes"].map(|table| vec![ColumnRef::new(table, "session")]).to_vec();
    assert_eq!(codes(&world, &[RowPolicy { with, ..ended() }, tokens]).await, [""; 0], "another policy sees to them");
    let assignment = Assignment { column: "ended".into(), value: NewValue::Null };
    let clears = RowPolicy { action: Action::Update(vec![assignment]), ..ended() };
    assert_eq!(codes(&world, &[clears]).await, [""; 0], "what stays takes nothing along");
}

/// MariaDB makes an index for every foreign key.
async fn a_missing_index_is_found(engine: Engine) {
    let world = sessions(engine).await;
    let mut client = world.client().await;
    let drop = if engine == Engine::MySql { "DROP INDEX by_end ON sessions" } else { "DROP INDEX by_end" };
    client.run(drop).await;
    assert_eq!(codes(&world, &[ended()]).await[0], "rows::no_index");
    if engine == Engine::MySql {
        return;
    }
    let values: Vec<String> = (10..2_000).map(|n| format!("({n}, 3)")).collect();
    client.run(&format!("INSERT INTO logins VALUES {}; DROP INDEX by_login; ANALYZE", values.join(", "))).await;
    let findings = found(&world, &[ended()]).await;
    let (_, message) = findings.iter().find(|(code, _)| *code == "rows::unindexed_reference").unwrap();
    assert!(message.starts_with("`logins`.session points here without an index"), "{message}");
    assert!(message.contains("about 199"), "{message}");
}

async fn a_guard_that_nothing_lifts_is_found(engine: Engine) {
    let world = sessions(engine).await;
    let with = ["logins", "notes"].map(|table| vec![ColumnRef::new(table, "session")]).to_vec();
    let guarded = RowPolicy { unless_referenced_by: vec![ColumnRef::new("tokens", "session")], with, ..ended() };
    assert_eq!(codes(&world, std::slice::from_ref(&guarded)).await, ["rows::guard_never_clears"]);
    let tokens = RowPolicy::new("tokens", "tokens", Deadline::in_format("id", bygone_sql::Format::EpochSeconds));
    assert_eq!(codes(&world, &[guarded.clone(), tokens]).await, [""; 0]);
    let unless_referenced_by = vec![ColumnRef::new("logins", "session"), ColumnRef::new("tokens", "session")];
    let both = codes(&world, &[RowPolicy { unless_referenced_by, ..guarded }]).await;
    assert_eq!(both, ["rows::guard_and_child", "rows::guard_never_clears"]);
}

async fn policies_that_leave_nothing_to_each_other_are_found(engine: Engine) {
    let world = sessions(engine).await;
    world.client().await.run("DROP TABLE tokens; DROP TABLE logins; DROP TABLE notes").await;
    let later = RowPolicy { name: "later".into(), keep: SignedDuration::from_hours(24), ..ended() };
    assert_eq!(codes(&world, &[later.clone(), ended()]).await, ["rows::contradiction"]);
    assert_eq!(codes(&world, &[ended(), later.clone()]).await, [""; 0], "the sooner one finds its rows");
    let some = RowPolicy { filter: Some("id > 1".into()), ..ended() };
    assert_eq!(codes(&world, &[later, some]).await, [""; 0]);
    let assignment = Assignment { column: "ended".into(), value: NewValue::Null };
    let clears = RowPolicy { name: "clears".into(), action: Action::Update(vec![assignment]), ..ended() };
    assert_eq!(codes(&world, &[ended(), clears]).await, ["rows::contradiction"]);
}
