//! Brings the tables to the version that this program knows, whoever else tries to at the same time.

use bygone_sql::{Client, Engine, Query, SqlError, Transaction, Value};

use crate::ddl::{STATE, Step, set_version, state};
use crate::error::TokenError;
use crate::naming::Naming;

/// The name under which one migration waits for another.
const LOCK: &str = "bygone-tokens migrate";
/// How long MySQL lets it wait, in seconds.
const LOCK_SECONDS: u32 = 60;

/// Runs the steps that are missing, and says from which version to which.
pub(crate) async fn migrate(client: &Client, naming: &Naming, steps: &[Step]) -> Result<(i64, i64), TokenError> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    let mut transaction = client.begin().await.map_err(failed)?;
    lock(&mut transaction, naming.engine()).await?;
    for statement in state(naming) {
        transaction.run(&statement).await.map_err(failed)?;
    }
    let found = version(&mut transaction, naming).await?;
    if found > known {
        return Err(TokenError::Newer { found, known });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for (at, step) in steps.iter().enumerate().skip(done) {
        for statement in step(naming) {
            transaction.run(&statement).await.map_err(failed)?;
        }
        transaction.run(&set_version(naming, at + 1)).await.map_err(failed)?;
    }
    if naming.engine() == Engine::MySql {
        let release = Query::new(Engine::MySql, "SELECT RELEASE_LOCK(").bind(Value::from(LOCK), None).sql(")");
        transaction.query(&release).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    Ok((found, known))
}

/// SQLite's transaction is a lock already. MySQL commits at every statement that changes tables, so its lock is another.
async fn lock(transaction: &mut Transaction, engine: Engine) -> Result<(), TokenError> {
    let query = match engine {
        Engine::Sqlite => return Ok(()),
        Engine::Postgres => Query::new(engine, "SELECT pg_advisory_xact_lock(hashtext(")
            .bind(Value::from(LOCK), Some("text"))
            .sql(")::bigint)::text"),
        Engine::MySql => {
            Query::new(engine, "SELECT GET_LOCK(").bind(Value::from(LOCK), None).sql(format!(", {LOCK_SECONDS})"))
        }
    };
    let rows = transaction.query(&query).await.map_err(failed)?;
    let got = rows.first().and_then(|row| row.first()).and_then(Value::int);
    if engine == Engine::MySql && got != Some(1) {
        return Err(TokenError::options(
            "another migration of the same tables is under way: try again when it is done",
        ));
    }
    Ok(())
}

async fn version(transaction: &mut Transaction, naming: &Naming) -> Result<i64, TokenError> {
    let text = format!("SELECT version FROM {} WHERE id = 1", naming.quoted(STATE));
    let rows = transaction.query(&Query::new(naming.engine(), text)).await.map_err(failed)?;
    let version = rows.first().and_then(|row| row.first()).and_then(Value::int);
    version.ok_or(TokenError::Row { table: STATE, column: "version" })
}

fn failed(source: SqlError) -> TokenError {
    TokenError::Connect { action: "migrate the tables", source }
}

#[cfg(test)]
mod tests {
    use bygone_sql::{ClientOptions, SourceUrl};
    use bygone_testkit::{AnyDatabase, Kind, on_each_engine};

    use super::*;
    use crate::ddl::STEPS;
    use crate::{Tokens, TokensOptions};

    on_each_engine!(tables_of_an_earlier_version_are_brought_to_this_one, a_step_that_fails_is_tried_again);

    fn colour(naming: &Naming) -> Vec<String> {
        vec![format!("ALTER TABLE {} ADD COLUMN colour BIGINT", naming.quoted("dpop_nonces"))]
    }

    fn broken(naming: &Naming) -> Vec<String> {
        vec![format!("ALTER TABLE {} ADD COLUMN colour BIGINT", naming.quoted("no_such_table"))]
    }

    async fn earlier(kind: Kind) -> (AnyDatabase, Client, Naming) {
        let database = AnyDatabase::fresh(kind).await;
        let options =
            TokensOptions { table_prefix: Some("acme_".into()), ..TokensOptions::new(&database.url()).unwrap() };
        let tokens = Tokens::open(options).await.unwrap();
        tokens.migrate().await.unwrap();
        tokens.nonces().issue().await.unwrap();
        let client = Client::open(ClientOptions::new(SourceUrl::parse(&database.url()).unwrap())).await.unwrap();
        (database, client, tokens.shared().naming.clone())
    }

    async fn tables_of_an_earlier_version_are_brought_to_this_one(kind: Kind) {
        let (database, client, naming) = earlier(kind).await;
        let steps: Vec<Step> = STEPS.iter().copied().chain([colour as Step]).collect();
        let last = i64::try_from(STEPS.len()).unwrap();
        assert_eq!(migrate(&client, &naming, &steps).await.unwrap(), (last, last + 1));
        assert_eq!(migrate(&client, &naming, &steps).await.unwrap(), (last + 1, last + 1), "not again");
        let count = "SELECT COUNT(*) FROM acme_dpop_nonces WHERE colour IS NULL";
        assert_eq!(database.client().await.number(count).await, 1, "what was there is there");
        let older = migrate(&client, &naming, STEPS).await.unwrap_err();
        assert!(matches!(older, TokenError::Newer { .. }), "{older}");
    }

    async fn a_step_that_fails_is_tried_again(kind: Kind) {
        let (_database, client, naming) = earlier(kind).await;
        let last = i64::try_from(STEPS.len()).unwrap();
        let with = |step: Step| STEPS.iter().copied().chain([step]).collect::<Vec<_>>();
        let error = migrate(&client, &naming, &with(broken)).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot migrate the tables");
        assert_eq!(migrate(&client, &naming, &with(colour)).await.unwrap(), (last, last + 1));
    }
}
