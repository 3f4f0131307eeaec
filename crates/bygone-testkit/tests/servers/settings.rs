//! What the servers are set to, and that a caller's settings win.

use bygone_testkit::{MariaDb, Options, Postgres};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

async fn postgres(connection: &mut PgConnection, name: &str) -> String {
    sqlx::query_scalar("SELECT current_setting($1)").bind(name).fetch_one(connection).await.unwrap()
}

async fn mariadb(connection: &mut MySqlConnection, name: &str) -> String {
    let (_, value): (String, String) =
        sqlx::query_as("SHOW GLOBAL VARIABLES WHERE Variable_name = ?").bind(name).fetch_one(connection).await.unwrap();
    value
}

#[tokio::test]
async fn shared_postgres_is_quick_and_local() {
    let database = Postgres::shared().await.fresh_database().await;
    let mut connection = database.connect().await;
    assert_eq!(postgres(&mut connection, "fsync").await, "off");
    assert_eq!(postgres(&mut connection, "listen_addresses").await, "127.0.0.1");
    assert_eq!(postgres(&mut connection, "max_connections").await, "200");
}

#[tokio::test]
async fn shared_mariadb_is_quick_and_local() {
    let database = MariaDb::shared().await.fresh_database().await;
    let mut connection = database.connect().await;
    let flush = "innodb_flush_log_at_trx_commit";
    assert_eq!(mariadb(&mut connection, flush).await, "0");
    assert_eq!(mariadb(&mut connection, "bind_address").await, "127.0.0.1");
    assert_eq!(mariadb(&mut connection, "max_connections").await, "300");
}

#[tokio::test]
async fn private_postgres_is_durable_and_takes_settings() {
    let options = Options::default().set("max_connections", "17").set("lock_timeout", "250ms");
    let server = Postgres::start(options).await.unwrap();
    let mut connection = server.fresh_database().await.connect().await;
    assert_eq!(postgres(&mut connection, "fsync").await, "on");
    assert_eq!(postgres(&mut connection, "synchronous_commit").await, "on");
    assert_eq!(postgres(&mut connection, "max_connections").await, "17");
    assert_eq!(postgres(&mut connection, "lock_timeout").await, "250ms");
}

#[tokio::test]
async fn private_mariadb_is_durable_and_takes_settings() {
    let options = Options::default().set("max_connections", "17");
    let server = MariaDb::start(options).await.unwrap();
    let mut connection = server.fresh_database().await.connect().await;
    let flush = "innodb_flush_log_at_trx_commit";
    assert_eq!(mariadb(&mut connection, flush).await, "1");
    assert_ne!(mariadb(&mut connection, "innodb_flush_method").await, "nosync");
    assert_eq!(mariadb(&mut connection, "max_connections").await, "17");
}

#[tokio::test]
async fn the_user_of_postgres_may_make_others() {
    let database = Postgres::shared().await.fresh_database().await;
    // A user belongs to the whole server, which other runs of this test may share.
    let user = format!("u_{}", database.name());
    let create = AssertSqlSafe(format!("CREATE USER {user} PASSWORD 'sesame'"));
    sqlx::raw_sql(create).execute(&mut database.connect().await).await.unwrap();
    PgConnection::connect(&database.url_as(&user, "sesame")).await.unwrap();
}

#[tokio::test]
async fn the_user_of_mariadb_may_make_others() {
    let database = MariaDb::shared().await.fresh_database().await;
    let (name, user) = (database.name(), format!("u_{}", database.name()));
    let create =
        AssertSqlSafe(format!("CREATE USER {user} IDENTIFIED BY 'sesame'; GRANT SELECT ON {name}.* TO {user}"));
    sqlx::raw_sql(create).execute(&mut database.connect().await).await.unwrap();
    MySqlConnection::connect(&database.url_as(&user, "sesame")).await.unwrap();
}
