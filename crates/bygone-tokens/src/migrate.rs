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
