//! The tables: made, made at once by many, made by hand, refused.

use bygone_testkit::{AnyDatabase, Kind, on_each_engine};
use bygone_tokens::{Naming, Remedy, TokenError, Tokens, TokensOptions, ddl};

use crate::promises::use_every_store;
use crate::world::{contend, options};

on_each_engine!(
    migrating_twice_changes_nothing,
    many_hosts_migrate_at_once,
    a_migration_that_broke_off_is_finished,
    what_is_printed_is_what_migrate_makes,
    tables_of_a_later_version_are_refused,
    before_the_migration_stores_say_what_is_missing,
);

async fn migrating_twice_changes_nothing(kind: Kind) {
    let database = AnyDatabase::fresh(kind).await;
    let tokens = Tokens::open(options(&database)).await.unwrap();
    tokens.migrate().await.unwrap();
    use_every_store(&tokens).await;
    tokens.migrate().await.unwrap();
    for table in ["authorization_codes", "refresh_tokens", "ciba_requests"] {
        assert_eq!(database.client().await.number(&format!("SELECT COUNT(*) FROM {table}")).await, 1);
    }
}

async fn many_hosts_migrate_at_once(kind: Kind) {
    let database = AnyDatabase::fresh(kind).await;
    // An SQLite file belongs to one host, whose tasks share its connections.
    let one = Tokens::open(options(&database)).await.unwrap();
    let mut hosts = vec![one; 16];
    if kind != Kind::Sqlite {
        for host in &mut hosts {
            *host = Tokens::open(TokensOptions { connections_max: 1, ..options(&database) }).await.unwrap();
        }
    }
    contend(16, |host| {
        let tokens = hosts[host].clone();
        async move { tokens.migrate().await.unwrap() }
    })
    .await;
    use_every_store(&hosts[0]).await;
}

async fn a_migration_that_broke_off_is_finished(kind: Kind) {
    let database = AnyDatabase::fresh(kind).await;
    let tokens = Tokens::open(options(&database)).await.unwrap();
    tokens.migrate().await.unwrap();
    let mut client = database.client().await;
    client.run("DROP TABLE ciba_requests; DROP TABLE refresh_tokens; UPDATE tokens_state SET version = 0").await;
    tokens.migrate().await.unwrap();
    assert_eq!(client.number("SELECT version FROM tokens_state").await, 1);
    use_every_store(&tokens).await;
}

/// The catalogue of a database that was made by hand is that of one that was migrated.
async fn what_is_printed_is_what_migrate_makes(kind: Kind) {
    let (by_hand, migrated) = (AnyDatabase::fresh(kind).await, AnyDatabase::fresh(kind).await);
    let options_of = |database: &AnyDatabase| TokensOptions { table_prefix: Some("acme_".into()), ..options(database) };
    let host = Tokens::open(options_of(&migrated)).await.unwrap();
    host.migrate().await.unwrap();
    let engine = options(&by_hand).url.engine();
    let naming = Naming::new(engine, None, Some("acme_".into())).unwrap();
    let script: String = ddl(&naming).join(";\n") + ";";
    by_hand.client().await.run(&script).await;
    let catalogue = match kind {
        Kind::Sqlite => "SELECT sql FROM sqlite_schema ORDER BY sql",
        Kind::Postgres => {
            "SELECT table_name || column_name || data_type || is_nullable FROM information_schema.columns \
             WHERE table_schema = 'public' UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        }
        Kind::MariaDb => {
            "SELECT CONCAT(table_name, column_name, column_type, is_nullable, column_key) FROM \
             information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1"
        }
    };
    let catalogues = [by_hand.client().await.texts(catalogue).await, migrated.client().await.texts(catalogue).await];
    assert!(catalogues[0].len() > 25, "{catalogues:?}");
    assert_eq!(catalogues[0], catalogues[1]);
    let host = Tokens::open(options_of(&by_hand)).await.unwrap();
    host.migrate().await.unwrap();
    use_every_store(&host).await;
}

async fn tables_of_a_later_version_are_refused(kind: Kind) {
    let database = AnyDatabase::fresh(kind).await;
    let tokens = Tokens::open(options(&database)).await.unwrap();
    tokens.migrate().await.unwrap();
    database.client().await.run("UPDATE tokens_state SET version = 99").await;
    let error = tokens.migrate().await.unwrap_err();
    assert!(matches!(error, TokenError::Newer { found: 99, known: 1 }), "{error:?}");
    assert_eq!(error.remedy(), Remedy::Configure);
    assert_eq!(database.client().await.number("SELECT version FROM tokens_state").await, 99);
}

async fn before_the_migration_stores_say_what_is_missing(kind: Kind) {
    let database = AnyDatabase::fresh(kind).await;
    let tokens = Tokens::open(options(&database)).await.unwrap();
    let error = tokens.nonces().issue().await.unwrap_err();
    assert_eq!(error.to_string(), "cannot put in `dpop_nonces`");
    assert_eq!(error.remedy(), Remedy::Configure, "{error:?}");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("dpop_nonces"));
}

/// A schema of its own is made and used, and the one beside it is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_is_for_everything() {
    let database = AnyDatabase::fresh(Kind::Postgres).await;
    let options = TokensOptions { schema: Some("au\"th".into()), ..options(&database) };
    let tokens = Tokens::open(options).await.unwrap();
    tokens.migrate().await.unwrap();
    use_every_store(&tokens).await;
    let count = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = ";
    let mut client = database.client().await;
    assert_eq!(client.number(&format!("{count} 'au\"th'")).await, 12);
    assert_eq!(client.number(&format!("{count} 'public'")).await, 0);
    assert_eq!(client.number("SELECT COUNT(*) FROM \"au\"\"th\".refresh_tokens").await, 1);
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused() {
    let database = AnyDatabase::fresh(Kind::Sqlite).await;
    let long = "p".repeat(25);
    for (schema, prefix, message) in [
        (Some("auth"), None, "an SQLite file has no schemas: leave it out, or use a table prefix"),
        (None, Some(""), "the table prefix is empty or has a NUL in it: leave it out, or name it"),
        (None, Some("a\0b"), "the table prefix is empty or has a NUL in it: leave it out, or name it"),
        (
            None,
            Some(long.as_str()),
            "the table prefix `ppppppppppppppppppppppppp` has over 24 bytes: databases would cut names off",
        ),
    ] {
        let (schema, table_prefix) = (schema.map(str::to_owned), prefix.map(str::to_owned));
        let error = Tokens::open(TokensOptions { schema, table_prefix, ..options(&database) }).await.unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(TokensOptions::new("redis://localhost").is_err());
    assert!(TokensOptions::new("no url").is_err());
}
