//! `bygone grants ROLE`: with these rights a role can sweep, without any of them it cannot, and it can do nothing else.

use crate::support::{Client, Engine, Run, World, on_each_server};

const POLICIES: &str = r#"[source.db]
url = "${DATABASE_URL}"
SCHEMA

[[policy]]
name = "ended-sessions"
source = "db"
table = "sessions"
deadline = "ended"
keep = "0s"
with = ["auths.session_id"]
unless_referenced_by = ["grips.session_id"]
unless = { via = "user_id", where = "hold = 1" }

[[policy]]
name = "ips"
source = "db"
table = "logins"
deadline = "seen"
keep = "0s"
clear = ["ip"]

[[policy]]
name = "versions"
source = "db"
table = "versions"
newest = 2
"#;

/// Rows of every kind: sessions 1 and 2 go, 3 is held by its user, 4 by a grip, 5 is not over.
const ROWS: &str = "DELETE FROM auths; DELETE FROM grips; DELETE FROM sessions; DELETE FROM users; DELETE FROM logins; \
    DELETE FROM versions; INSERT INTO users VALUES (1, 0), (2, 1); \
    INSERT INTO sessions VALUES (1, 1, '2020-01-01'), (2, 1, '2020-01-01'), (3, 2, '2020-01-01'), (4, 1, '2020-01-01'), \
    (5, 1, '2200-01-01'); \
    INSERT INTO auths VALUES (1, 1), (2, 2), (3, 3), (5, 5); INSERT INTO grips VALUES (4, 4); \
    INSERT INTO logins VALUES (1, '2020-01-01', 'a'), (2, '2200-01-01', 'b'); \
    INSERT INTO versions VALUES (1, 0), (2, 0), (3, 0), (4, 0)";

/// A world with those tables, in a schema of their own where there are schemas, and a role that has no rights.
struct Office {
    world: World,
    role: String,
    url: String,
}

impl Office {
    async fn new(engine: Engine) -> Self {
        let world = World::empty(engine).await;
        let (schema, time) = match engine {
            Engine::Postgres => ("schema = \"app\"", "timestamptz"),
            _ => ("", "DATETIME(6)"),
        };
        world.configure(&POLICIES.replace("SCHEMA", schema));
        let mut client = world.client().await;
        if engine == Engine::Postgres {
            client.run("CREATE SCHEMA app; SET search_path = app").await;
        }
        let points = "INT NOT NULL, FOREIGN KEY (session_id) REFERENCES sessions (id)";
        client
            .run(&format!(
                "CREATE TABLE users (id INT PRIMARY KEY, hold INT); \
                 CREATE TABLE sessions (id INT PRIMARY KEY, user_id INT, ended {time} NULL, \
                 FOREIGN KEY (user_id) REFERENCES users (id)); \
                 CREATE TABLE auths (id INT PRIMARY KEY, session_id {points}); \
                 CREATE TABLE grips (id INT PRIMARY KEY, session_id {points}); \
                 CREATE TABLE logins (id INT PRIMARY KEY, seen {time} NULL, ip VARCHAR(9)); \
                 CREATE TABLE versions (id INT PRIMARY KEY, body INT); CREATE TABLE others (id INT PRIMARY KEY)"
            ))
            .await;
        let role = world.database.user("sweeper");
        client
            .run(&match engine {
                Engine::Postgres => format!("CREATE ROLE {role} LOGIN PASSWORD 'geheim'"),
                _ => format!("CREATE USER {role}@'%' IDENTIFIED BY 'geheim'"),
            })
            .await;
        let url = world.database.url_as(&role, "geheim");
        Self { world, role, url }
    }

    /// Runs statements with all rights.
    async fn admin(&self, sql: &str) {
        let path = if self.world.database.engine() == Engine::Postgres { "SET search_path = app; " } else { "" };
        self.world.run_sql(&format!("{path}{sql}")).await;
    }

    /// Runs the program as the role.
    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.world.bygone(arguments).env("DATABASE_URL", &self.url))
    }

    async fn count(&self, sql: &str) -> u64 {
        let mut client = self.world.client().await;
        if self.world.database.engine() == Engine::Postgres {
            client.run("SET search_path = app").await;
        }
        client.number(sql).await
    }
}

on_each_server!(with_them_a_sweep_is_complete, nothing_else_is_allowed, without_one_of_them_it_is_not);

async fn with_them_a_sweep_is_complete(engine: Engine) {
    let office = Office::new(engine).await;
    office.admin(ROWS).await;
    let printed = office.world.run(&["grants", &office.role]).ends(0).stdout;
    office.world.run_sql(&printed).await;
    office.run(&["check"]).ends(0);
    let run = office.run(&["sweep", "--format", "json"]).ends(0);
    let json = run.json();
    assert_eq!(json["outcome"], "complete", "{run:#?}");
    assert_eq!(office.count("SELECT sum(id) FROM sessions").await, 3 + 4 + 5, "1 and 2 are gone: {run:#?}");
    assert_eq!(office.count("SELECT sum(id) FROM auths").await, 3 + 5);
    assert_eq!(office.count("SELECT count(*) FROM logins WHERE ip IS NULL").await, 1);
    assert_eq!(office.count("SELECT sum(id) FROM versions").await, 3 + 4);
}

async fn nothing_else_is_allowed(engine: Engine) {
    let office = Office::new(engine).await;
    office.admin(ROWS).await;
    let printed = office.world.run(&["grants", &office.role]).ends(0).stdout;
    office.world.run_sql(&printed).await;
    let mut client = Client::connect(&office.url).await;
    if engine == Engine::Postgres {
        client.run("SET search_path = app").await;
    }
    client.run("SELECT count(*) FROM sessions").await;
    for sql in [
        "INSERT INTO sessions VALUES (9, 1, NULL)",
        "INSERT INTO auths VALUES (9, 3)",
        "UPDATE sessions SET ended = NULL",
        "UPDATE logins SET seen = NULL",
        "UPDATE auths SET session_id = 3",
        "UPDATE versions SET body = 1",
        "DELETE FROM logins",
        "DELETE FROM users",
        "DELETE FROM grips",
        "DELETE FROM others",
        "SELECT * FROM others",
        "TRUNCATE TABLE sessions",
        "TRUNCATE TABLE auths",
        "CREATE TABLE mine (id INT)",
        "DROP TABLE sessions",
        "ALTER TABLE sessions ADD COLUMN more INT",
    ] {
        assert!(client.try_run(sql).await.is_err(), "{engine:?} allows {sql}");
    }
}

async fn without_one_of_them_it_is_not(engine: Engine) {
    let office = Office::new(engine).await;
    let printed = office.world.run(&["grants", &office.role]).ends(0).stdout;
    office.world.run_sql(&printed).await;
    let mut rights = vec![
        "SELECT ON sessions",
        "DELETE ON sessions",
        "SELECT ON auths",
        "DELETE ON auths",
        "SELECT ON grips",
        "SELECT ON users",
        "SELECT ON logins",
        "UPDATE (ip) ON logins",
        "SELECT ON versions",
        "DELETE ON versions",
    ];
    if engine == Engine::Postgres {
        rights.extend(["USAGE ON SCHEMA app", "UPDATE (id) ON sessions", "UPDATE (id) ON versions"]);
    }
    for right in rights {
        office.admin(&format!("{ROWS}; REVOKE {right} FROM {}", office.role)).await;
        let codes = [office.run(&["check"]).code, office.run(&["sweep"]).code];
        assert!(codes.iter().any(|code| *code != Some(0)), "{engine:?}: {right} is not needed");
        office.admin(&format!("GRANT {right} TO {}", office.role)).await;
    }
    office.admin(ROWS).await;
    office.run(&["sweep"]).ends(0);
}

/// Each table once, whatever number of policies need it, and a column that changes anyway serves for locking.
#[tokio::test]
async fn rights_of_several_policies_are_one() {
    let office = Office::new(Engine::Postgres).await;
    let text = POLICIES.replace("SCHEMA", "schema = \"app\"");
    let also =
        "\n[[policy]]\nname = \"logins\"\nsource = \"db\"\ntable = \"logins\"\ndeadline = \"seen\"\nkeep = \"9d\"\n";
    office.world.configure(&format!("{text}{also}"));
    let run = office.world.run(&["grants", "Ada \"A\""]).ends(0);
    assert_eq!(
        run.stdout.lines().collect::<Vec<_>>(),
        [
            "-- db",
            "GRANT USAGE ON SCHEMA \"app\" TO \"Ada \"\"A\"\"\";",
            "GRANT SELECT, DELETE ON \"app\".\"auths\" TO \"Ada \"\"A\"\"\";",
            "GRANT SELECT ON \"app\".\"grips\" TO \"Ada \"\"A\"\"\";",
            "GRANT SELECT, DELETE, UPDATE (\"ip\") ON \"app\".\"logins\" TO \"Ada \"\"A\"\"\";",
            "GRANT SELECT, DELETE, UPDATE (\"id\") ON \"app\".\"sessions\" TO \"Ada \"\"A\"\"\";",
            "GRANT SELECT ON \"app\".\"users\" TO \"Ada \"\"A\"\"\";",
            "GRANT SELECT, DELETE, UPDATE (\"id\") ON \"app\".\"versions\" TO \"Ada \"\"A\"\"\";",
        ]
    );
    let run = office.world.run(&["grants", "ada", "versions", "--format", "json"]).ends(0);
    assert_eq!(run.json()[0]["statements"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_account_of_mariadb_has_a_host() {
    let office = Office::new(Engine::MariaDb).await;
    let run = office.world.run(&["grants", "ada@10.0.0.%", "ips"]).ends(0);
    assert!(run.stdout.contains("GRANT SELECT, UPDATE (`ip`) ON `"), "{run:#?}");
    assert!(run.stdout.ends_with("`.`logins` TO `ada`@`10.0.0.%`;\n"), "{run:#?}");
}

#[tokio::test]
async fn a_where_with_a_query_of_its_own_is_named() {
    let office = Office::new(Engine::Postgres).await;
    let text = POLICIES.replace("SCHEMA", "schema = \"app\"");
    office.world.configure(&text.replace("newest = 2", "newest = 2\nwhere = \"id IN (SELECT id FROM app.others)\""));
    office.world.run(&["grants", "ada"]).ends(0).says(&["versions: its `where` has a query of its own"]);
}
