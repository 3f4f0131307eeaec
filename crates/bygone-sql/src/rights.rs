//! Whether the role behind a connection may remove or change rows, asked without doing so.

use bygone_core::TargetError;

use crate::engine::Engine;
use crate::query::Query;
use crate::target::RowTarget;
use crate::value::Value;

impl RowTarget {
    /// Whether the role may do to the table what the policy is for, as far as the database tells beforehand.
    pub async fn may_sweep(&self) -> Result<bool, TargetError> {
        let mut source = self.shared_source().lock().await;
        let removes = self.binding.changes.is_empty();
        match source.engine() {
            Engine::Postgres => {
                // To lock a row takes the right to change some column of it.
                let table = || Value::from(self.binding.table.quoted.as_str());
                let mut query = Query::new(Engine::Postgres, "SELECT pg_catalog.has_any_column_privilege(")
                    .bind(table(), Some("text"))
                    .sql(", 'UPDATE')");
                if removes {
                    query = query
                        .sql(" AND pg_catalog.has_table_privilege(")
                        .bind(table(), Some("text"))
                        .sql(", 'DELETE')");
                }
                let rows = source.query(&query).await?;
                Ok(rows.first().and_then(|row| row.first()).is_some_and(Value::truth))
            }
            Engine::MySql => {
                let rows = source.query(&Query::new(Engine::MySql, "SHOW GRANTS")).await?;
                let grants = rows.iter().filter_map(|row| row.first().and_then(Value::text));
                let right = if removes { "DELETE" } else { "UPDATE" };
                Ok(grants.into_iter().any(|grant| gives(right, grant)))
            }
            // A file has no roles; whether it can be written shows when it is opened for writing.
            Engine::Sqlite => Ok(true),
        }
    }
}

/// A grant of this right, of everything, or of a role whose rights are not listed here.
fn gives(right: &str, grant: &str) -> bool {
    let rights = grant.split(" ON ").next().unwrap_or_default();
    rights.contains("ALL PRIVILEGES") || rights.contains(right) || !grant.contains(" ON ")
}

#[cfg(test)]
mod tests {
    use super::gives;

    #[test]
    fn grants_are_read_as_mysql_writes_them() {
        assert!(gives("DELETE", "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION"));
        assert!(gives("DELETE", "GRANT SELECT, DELETE ON `app`.* TO `a`@`%`"));
        assert!(gives("DELETE", "GRANT `janitor`@`%` TO `a`@`%`"));
        assert!(!gives("DELETE", "GRANT USAGE ON *.* TO `a`@`%`"));
        assert!(gives("UPDATE", "GRANT SELECT, UPDATE (`ip`) ON `app`.`sessions` TO `a`@`%`"));
        assert!(!gives("DELETE", "GRANT SELECT ON `app`.`DELETE ME` TO `a`@`%`"));
    }
}
