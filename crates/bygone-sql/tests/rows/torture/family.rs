//! The same fire over rows with children and guards: every row has two parts, made by a trigger, and every seventh is
//! pinned. A writer's own delete takes the parts along by a trigger; a sweeper's must do so itself, or the foreign key
//! refuses it.

use bygone_core::Tally;
use bygone_sql::{ColumnRef, Engine, RowPolicy};
use bygone_testkit::Client;
use jiff::Timestamp;

use crate::world::World;

const TABLES: &str = "CREATE TABLE parts (id BIGINT PRIMARY KEY, item BIGINT NOT NULL, \
                      FOREIGN KEY (item) REFERENCES items (id)); CREATE INDEX by_item ON parts (item); \
                      CREATE TABLE pins (item BIGINT PRIMARY KEY, FOREIGN KEY (item) REFERENCES items (id))";

pub(super) fn policy(policy: RowPolicy) -> RowPolicy {
    RowPolicy {
        with: vec![vec![ColumnRef::new("parts", "item")]],
        unless_referenced_by: vec![ColumnRef::new("pins", "item")],
        ..policy
    }
}

/// A condition that rows meet which no pin keeps.
pub(super) fn unpinned(family: bool) -> &'static str {
    if family { "id % 7 <> 0" } else { "1 = 1" }
}

pub(super) async fn make(client: &mut Client, engine: Engine) {
    client.run(TABLES).await;
    let triggers: &[&str] = match engine {
        Engine::Sqlite => &[
            "CREATE TRIGGER bears AFTER INSERT ON items BEGIN \
             INSERT INTO parts VALUES (NEW.id * 2, NEW.id), (NEW.id * 2 + 1, NEW.id); \
             INSERT INTO pins SELECT NEW.id WHERE NEW.id % 7 = 0; END",
            "CREATE TRIGGER buries BEFORE DELETE ON items WHEN OLD.remover <> 'sweeper' BEGIN \
             DELETE FROM parts WHERE item = OLD.id; DELETE FROM pins WHERE item = OLD.id; END",
        ],
        Engine::Postgres => &[
            "CREATE FUNCTION bears() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO parts VALUES (NEW.id * 2, NEW.id), (NEW.id * 2 + 1, NEW.id); \
             IF NEW.id % 7 = 0 THEN INSERT INTO pins VALUES (NEW.id); END IF; RETURN NULL; END $$; \
             CREATE TRIGGER bears AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION bears()",
            "CREATE FUNCTION buries() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF OLD.remover <> 'sweeper' THEN DELETE FROM parts WHERE item = OLD.id; \
             DELETE FROM pins WHERE item = OLD.id; END IF; RETURN OLD; END $$; \
             CREATE TRIGGER buries BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION buries()",
        ],
        Engine::MySql => &[
            "CREATE TRIGGER bears AFTER INSERT ON items FOR EACH ROW BEGIN \
             INSERT INTO parts VALUES (NEW.id * 2, NEW.id), (NEW.id * 2 + 1, NEW.id); \
             IF NEW.id % 7 = 0 THEN INSERT INTO pins VALUES (NEW.id); END IF; END",
            "CREATE TRIGGER buries BEFORE DELETE ON items FOR EACH ROW BEGIN \
             IF OLD.remover <> 'sweeper' THEN DELETE FROM parts WHERE item = OLD.id; \
             DELETE FROM pins WHERE item = OLD.id; END IF; END",
        ],
    };
    for trigger in triggers {
        client.run(trigger).await;
    }
}

/// No pinned row went, every row that is left has its two parts, and the reports counted those that are gone.
pub(super) async fn check(world: &World, gone: &[(u64, Option<Timestamp>)], swept: &Tally) {
    assert!(gone.iter().all(|(id, _)| id % 7 != 0), "a pinned row went");
    let mut client = world.client().await;
    let (items, parts) =
        (client.number("SELECT count(*) FROM items").await, client.number("SELECT count(*) FROM parts").await);
    assert_eq!(parts, 2 * items, "parts go and stay with their items");
    assert_eq!(swept.children["parts"], 2 * swept.removed);
    assert!(swept.kept_back.referenced > 0, "{swept:?}");
}
