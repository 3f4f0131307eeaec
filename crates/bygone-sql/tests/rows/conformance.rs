//! The engine's contract, kept by tables of every shape: each walk, each kind of key, each engine.

use std::collections::{BTreeMap, BTreeSet};

use bygone_core::Target;
use bygone_sql::{ColumnRef, Deadline, Engine, Format, RowPolicy, Walk};
use bygone_testkit::Client;
use bygone_testkit::conformance::{Answer, Hold, KEEP, Stand, conforms};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;

use crate::world::{World, boundary, literal, policy, readable};

/// A table `items` with a column `number`, which is the suite's own key, and a column `deadline`.
struct Shape {
    /// The engine and what makes the table.
    engine: Engine,
    create: &'static str,
    /// The columns of its real key, and their values for a number `{n}`.
    key: (&'static str, &'static str),
    /// How a deadline is written there.
    format: Format,
    /// The walk that suits it.
    walk: Walk,
    /// Whether every item has two parts that go along with it, and a guard is there that keeps none.
    family: bool,
}

const SHAPE: Shape = Shape {
    engine: Engine::Sqlite,
    create: "",
    key: ("note", "'{n}'"),
    format: Format::Native,
    walk: Walk::Slices,
    family: false,
};

/// What belongs to the items of a family.
const FAMILY: &str = "CREATE TABLE parts (id VARCHAR(20) PRIMARY KEY, item INT NOT NULL, \
                      FOREIGN KEY (item) REFERENCES items (number)); CREATE INDEX by_item ON parts (item); \
                      CREATE TABLE pins (id INT PRIMARY KEY, item INT, FOREIGN KEY (item) REFERENCES items (number)); \
                      CREATE INDEX by_pin ON pins (item)";

/// A live table of some shape.
struct Table {
    world: World,
    shape: Shape,
    /// A connection, and the numbers that were put through it.
    client: Mutex<(Client, BTreeSet<u32>)>,
}

impl Table {
    async fn of(shape: Shape) -> Self {
        let world = World::with(shape.engine, shape.create).await;
        let client = world.client().await;
        world.make_sticky("number").await;
        if shape.family {
            world.client().await.run(FAMILY).await;
        }
        Self { client: Mutex::new((client, BTreeSet::new())), world, shape }
    }

    fn policy(&self) -> RowPolicy {
        let deadline = Deadline::in_format("deadline", self.shape.format);
        let mut policy = RowPolicy { keep: KEEP, ..policy("items", deadline) };
        if self.shape.family {
            policy.with.push(vec![ColumnRef::new("parts", "item")]);
            policy.unless_referenced_by.push(ColumnRef::new("pins", "item"));
        }
        policy
    }

    fn literal(&self, deadline: Option<Timestamp>) -> String {
        match (self.shape.format, deadline) {
            (Format::EpochMicros, Some(at)) => at.as_microsecond().to_string(),
            _ => literal(self.shape.engine, deadline),
        }
    }

    fn read(&self, text: &str) -> Timestamp {
        match self.shape.format {
            Format::EpochMicros => Timestamp::from_microsecond(text.parse().unwrap()).unwrap(),
            _ => text.parse().unwrap(),
        }
    }

    /// The walk that a sweep of this table takes.
    async fn walk(&self) -> Walk {
        self.reset().await;
        let long_ago = boundary().instant() - SignedDuration::from_hours(24);
        for number in 0..30 {
            self.put(number, Some(long_ago + SignedDuration::from_secs(i64::from(number)))).await;
        }
        let mut target = self.world.bind(&self.policy()).await.unwrap();
        let survey = target.survey(boundary()).await.unwrap();
        target.plan(boundary(), survey.bygone).unwrap().walk
    }
}

impl Stand for Table {
    fn target(&self) -> Answer<'_, Box<dyn Target>> {
        Box::pin(async {
            let target: Box<dyn Target> = Box::new(self.world.bind(&self.policy()).await.unwrap());
            target
        })
    }

    fn put(&self, key: u32, deadline: Option<Timestamp>) -> Answer<'_, ()> {
        Box::pin(async move {
            let (client, known) = &mut *self.client.lock().await;
            let deadline = self.literal(deadline);
            if !known.insert(key) {
                client.run(&format!("UPDATE items SET deadline = {deadline} WHERE number = {key}")).await;
                return;
            }
            let (columns, values) = self.shape.key;
            let values = values.replace("{n}", &key.to_string());
            let insert =
                format!("INSERT INTO items (number, deadline, {columns}) VALUES ({key}, {deadline}, {values})");
            client.run(&insert).await;
            if self.shape.family {
                client.run(&format!("INSERT INTO parts VALUES ('{key} a', {key}), ('{key} b', {key})")).await;
            }
        })
    }

    fn items(&self) -> Answer<'_, BTreeMap<u32, Option<Timestamp>>> {
        Box::pin(async {
            let deadline = match self.shape.format {
                Format::EpochMicros => "deadline".to_owned(),
                _ => readable(self.shape.engine, "deadline"),
            };
            let client = &mut self.client.lock().await.0;
            let rows = client.rows(&format!("SELECT number, {deadline} FROM items")).await;
            if self.shape.family {
                let parts = client.number("SELECT count(*) FROM parts").await;
                assert_eq!(parts, 2 * i64::try_from(rows.len()).unwrap(), "parts go and stay with their items");
            }
            let item = |row: Vec<Option<String>>| {
                (row[0].as_ref().unwrap().parse().unwrap(), row[1].as_ref().map(|text| self.read(text)))
            };
            rows.into_iter().map(item).collect()
        })
    }

    fn stick(&self, key: u32) -> Answer<'_, ()> {
        Box::pin(async move {
            self.client.lock().await.0.run(&format!("INSERT INTO stuck VALUES ({key})")).await;
        })
    }

    fn hold(&self, key: u32) -> Answer<'_, Option<Box<dyn Hold>>> {
        Box::pin(async move {
            let isolation = match self.shape.engine {
                Engine::Sqlite => return None,
                Engine::Postgres => "BEGIN",
                Engine::MySql => "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN",
            };
            let mut client = self.world.client().await;
            client.run(isolation).await;
            client.rows(&format!("SELECT number FROM items WHERE number = {key} FOR UPDATE")).await;
            let hold: Box<dyn Hold> = Box::new(Held(client));
            Some(hold)
        })
    }

    fn reset(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let (client, known) = &mut *self.client.lock().await;
            client.run("DELETE FROM stuck").await;
            if self.shape.family {
                client.run("DELETE FROM parts").await;
            }
            client.run("DELETE FROM items").await;
            known.clear();
        })
    }
}

/// A transaction that holds a row.
struct Held(Client);

impl Hold for Held {
    fn release(mut self: Box<Self>) -> Answer<'static, ()> {
        Box::pin(async move {
            self.0.run("COMMIT").await;
        })
    }
}

async fn shape_conforms(shape: Shape) {
    let walk = shape.walk;
    let table = Table::of(shape).await;
    assert_eq!(table.walk().await, walk, "the shape is there to be walked in this way");
    conforms(&table).await;
}

macro_rules! shapes {
    ($($(#[$meta:meta])* $test:ident: $engine:ident, $walk:ident, $create:literal $(, $field:ident = $value:expr)*;)*) => {
        $(
            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let engine = Engine::$engine;
                let walk = Walk::$walk;
                shape_conforms(Shape { engine, walk, create: $create, $($field: $value,)* ..SHAPE }).await;
            }
        )*
    };
}

shapes! {
    sqlite_text_with_an_index: Sqlite, Slices,
        "PRAGMA journal_mode = wal; CREATE TABLE items (id INTEGER PRIMARY KEY, number INTEGER, deadline TEXT, note TEXT); \
         CREATE INDEX by_deadline ON items (deadline)";
    sqlite_text_with_a_partial_index: Sqlite, Slices,
        "PRAGMA journal_mode = wal; CREATE TABLE items (number INTEGER, deadline TEXT, note TEXT); \
         CREATE INDEX \"by \"\"deadline\" ON items (deadline) WHERE deadline IS NOT NULL";
    sqlite_numbers_with_an_index: Sqlite, Slices,
        "PRAGMA journal_mode = wal; CREATE TABLE items (number INTEGER, deadline INTEGER, note TEXT UNIQUE NOT NULL); \
         CREATE INDEX by_deadline ON items (deadline)",
        format = Format::EpochMicros;
    sqlite_without_key_or_index: Sqlite, Key,
        "PRAGMA journal_mode = wal; CREATE TABLE items (number INTEGER, deadline DATETIME, note TEXT)";
    sqlite_with_the_journal_that_is_its_default: Sqlite, Key,
        "CREATE TABLE items (number INTEGER, deadline TEXT, note TEXT PRIMARY KEY)";
    sqlite_without_rowid: Sqlite, Key,
        "PRAGMA journal_mode = wal; CREATE TABLE items (part TEXT, name BLOB, number INTEGER, deadline TEXT, \
         PRIMARY KEY (part, name)) WITHOUT ROWID",
        key = ("part, name", "'part ' || ({n} % 3), CAST('name ' || {n} AS BLOB)");
    sqlite_without_rowid_with_an_index: Sqlite, Slices,
        "PRAGMA journal_mode = wal; CREATE TABLE items (part INTEGER, name TEXT, number INTEGER, deadline TEXT, \
         PRIMARY KEY (part, name)) WITHOUT ROWID; CREATE INDEX by_deadline ON items (deadline)",
        key = ("part, name", "{n} % 3, 'name {n}'");

    sqlite_families: Sqlite, Slices,
        "PRAGMA journal_mode = wal; CREATE TABLE items (id INTEGER PRIMARY KEY, number INTEGER UNIQUE, deadline TEXT, note TEXT); \
         CREATE INDEX by_deadline ON items (deadline)",
        family = true;

    postgres_families: Postgres, Slices,
        "CREATE TABLE items (id bigserial PRIMARY KEY, number int NOT NULL UNIQUE, deadline timestamptz, note text); \
         CREATE INDEX by_deadline ON items (deadline)",
        family = true;
    postgres_families_without_an_index: Postgres, Heap,
        "CREATE TABLE items (number int NOT NULL UNIQUE, deadline timestamptz, note text)",
        family = true;
    postgres_with_an_index: Postgres, Slices,
        "CREATE TABLE items (id bigserial PRIMARY KEY, number int NOT NULL, deadline timestamptz, note text); \
         CREATE INDEX by_deadline ON items (deadline)";
    postgres_with_a_partial_index: Postgres, Slices,
        "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), number int, deadline timestamptz, note text); \
         CREATE INDEX by_deadline ON items (deadline) WHERE deadline IS NOT NULL";
    postgres_without_an_index: Postgres, Heap,
        "CREATE TABLE items (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), number int NOT NULL, deadline timestamptz, note text)";
    postgres_without_key_or_index: Postgres, Heap,
        "CREATE TABLE items (number int NOT NULL, deadline timestamptz, note text)";
    postgres_without_key_but_with_an_index: Postgres, Slices,
        "CREATE TABLE items (number int NOT NULL, deadline timestamptz, note text); \
         CREATE INDEX by_deadline ON items (deadline, number)";
    postgres_with_a_composite_key: Postgres, Heap,
        "CREATE TABLE items (part text, name bytea, number int, deadline timestamptz, PRIMARY KEY (part, name))",
        key = ("part, name", "'part ' || ({n} % 3), 'name {n}'");
    postgres_with_a_composite_key_and_an_index: Postgres, Slices,
        "CREATE TABLE items (part int, name numeric, number int, deadline timestamptz, PRIMARY KEY (part, name)); \
         CREATE INDEX by_deadline ON items (deadline DESC)",
        key = ("part, name", "{n} % 3, {n} / 7.0");
    postgres_in_partitions: Postgres, Key,
        "CREATE TABLE items (part int, name text, number int, deadline timestamptz, PRIMARY KEY (part, name)) \
         PARTITION BY LIST (part); CREATE TABLE items_0 PARTITION OF items FOR VALUES IN (0); \
         CREATE TABLE items_rest PARTITION OF items DEFAULT",
        key = ("part, name", "{n} % 3, 'name {n}'");

    mariadb_families: MySql, Slices,
        "CREATE TABLE items (id BIGINT AUTO_INCREMENT PRIMARY KEY, number INT UNIQUE, deadline DATETIME(6), note TEXT, \
         INDEX by_deadline (deadline))",
        family = true;
    mariadb_families_with_composite_keys: MySql, Key,
        "CREATE TABLE items (part INT, name VARCHAR(20), number INT UNIQUE, deadline DATETIME(6), PRIMARY KEY (part, name))",
        key = ("part, name", "{n} % 3, 'name {n}'"), family = true;
    mariadb_with_an_index: MySql, Slices,
        "CREATE TABLE items (id BIGINT AUTO_INCREMENT PRIMARY KEY, number INT, deadline DATETIME(6), note TEXT, \
         INDEX by_deadline (deadline))";
    mariadb_timestamps_with_an_index: MySql, Slices,
        "CREATE TABLE items (id VARCHAR(36) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY, number INT, \
         deadline TIMESTAMP(6) NULL, INDEX by_deadline (deadline))",
        key = ("id", "CONCAT('clé ', LPAD({n}, 6, '0'))");
    mariadb_keys_beyond_signed_numbers: MySql, Key,
        "CREATE TABLE items (id BIGINT UNSIGNED PRIMARY KEY, number INT, deadline DATETIME(6))",
        key = ("id", "18446744073709551615 - {n}");
    mariadb_binary_keys: MySql, Key,
        "CREATE TABLE items (id BINARY(16) PRIMARY KEY, number INT, deadline DATETIME(6))",
        key = ("id", "UNHEX(MD5({n}))");
    mariadb_composite_keys: MySql, Key,
        "CREATE TABLE items (part VARCHAR(20), at DATETIME(3), name DECIMAL(20, 6), number INT, deadline DATETIME(6), \
         PRIMARY KEY (part, at, name))",
        key = ("part, at, name", "CONCAT('part ', {n} % 3), '2026-01-01 00:00:00.5' + INTERVAL {n} DAY, {n} / 7");
    mariadb_composite_keys_with_an_index: MySql, Slices,
        "CREATE TABLE items (name INT UNSIGNED, part UUID, number INT, deadline DATETIME(6), PRIMARY KEY (name, part), \
         INDEX by_deadline (deadline))",
        key = ("name, part", "4000000000 + {n}, IF({n} % 2, '0193c7a0-0000-7000-8000-000000000001', UUID())");
}
