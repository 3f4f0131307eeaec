//! Rows that belong together, rows that only change, and the newest ones.

mod children;
mod guards;
mod newest;
mod order;
mod partitions;
mod preflight;
mod updates;

use bygone_sql::{Deadline, Engine, RowPolicy};
use bygone_testkit::Client;

use crate::world::{World, policy};

/// The type of a point in time that each engine has.
pub(crate) fn time(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "timestamptz",
        Engine::MySql => "DATETIME(6)",
        Engine::Sqlite => "TEXT",
    }
}

/// Sessions 1 to 3 are bygone, 4 stands exactly on the boundary, 5 is not over, 6 never ends.
const SESSIONS: &str = "INSERT INTO sessions VALUES (1, '2026-11-01 00:00:00'), (2, '2026-11-02 00:00:00'), \
                        (3, '2026-11-15 11:59:59.999999'), (4, '2026-11-15 12:00:00'), (5, '2026-12-01 00:00:00'), (6, NULL)";

/// Sessions with tokens, which have uses: two tokens of every session, two uses of every token.
async fn sessions(engine: Engine) -> World {
    let script = format!(
        "CREATE TABLE sessions (id INT NOT NULL PRIMARY KEY, ended {} NULL); \
         CREATE TABLE tokens (id INT NOT NULL PRIMARY KEY, session INT NOT NULL, \
         FOREIGN KEY (session) REFERENCES sessions (id)); \
         CREATE TABLE uses (id INT NOT NULL PRIMARY KEY, token INT NOT NULL, FOREIGN KEY (token) REFERENCES tokens (id)); \
         {SESSIONS}; \
         INSERT INTO tokens SELECT id * 10, id FROM sessions; INSERT INTO tokens SELECT id * 10 + 1, id FROM sessions; \
         INSERT INTO uses SELECT id * 10, id FROM tokens; INSERT INTO uses SELECT id * 10 + 1, id FROM tokens",
        time(engine)
    );
    World::with(engine, &script).await
}

/// Removes sessions that have ended.
fn ended_sessions() -> RowPolicy {
    policy("sessions", Deadline::column("ended"))
}

async fn ids(client: &mut Client, table: &str) -> Vec<i64> {
    let texts = client.texts(&format!("SELECT id FROM {table} ORDER BY id")).await;
    texts.iter().map(|text| text.parse().unwrap()).collect()
}
