//! Whether the role behind a connection may remove rows, asked without removing any.

use bygone_core::TargetError;

use crate::engine::Engine;
use crate::query::Query;
use crate::target::RowTarget;
use crate::value::Value;

impl RowTarget {
    /// Whether the role may delete from the table, as far as the database tells beforehand.
    pub async fn may_delete(&self) -> Result<bool, TargetError> {
        let mut source = self.shared_source().lock().await;
        match source.engine() {
            Engine::Postgres => {
                // To lock a row takes the right to change some column of it.
                let table = || Value::from(self.binding.table.quoted.as_str());
                let query = Query::new(Engine::Postgres, "SELECT pg_catalog.has_table_privilege(")
                    .bind(table(), Some("text"))
                    .sql(", 'DELETE') AND pg_catalog.has_any_column_privilege(")
                    .bind(table(), Some("text"))
                    .sql(", 'UPDATE')");
                let rows = source.query(&query).await?;
                Ok(rows.first().and_then(|row| row.first()).is_some_and(Value::truth))
            }
            Engine::MySql => {
                let rows = source.query(&Query::new(Engine::MySql, "SHOW GRANTS")).await?;
                let grants = rows.iter().filter_map(|row| row.first().and_then(Value::text));
                Ok(grants.into_iter().any(gives_delete))
            }
            // A file has no roles; whether it can be written shows when it is opened for writing.
            Engine::Sqlite => Ok(true),
        }
    }
}

/// A grant of DELETE, of everything, or of a role whose rights are not listed here.
fn gives_delete(grant: &str) -> bool {
    let rights = grant.split(" ON ").next().unwrap_or_default();
    rights.contains("ALL PRIVILEGES") || rights.contains("DELETE") || !grant.contains(" ON ")
}

#[cfg(test)]
mod tests {
    use super::gives_delete;

    #[test]
    fn grants_are_read_as_mysql_writes_them() {
        assert!(gives_delete("GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION"));
        assert!(gives_delete("GRANT SELECT, DELETE ON `app`.* TO `a`@`%`"));
        assert!(gives_delete("GRANT `janitor`@`%` TO `a`@`%`"));
        assert!(!gives_delete("GRANT USAGE ON *.* TO `a`@`%`"));
        assert!(!gives_delete("GRANT SELECT ON `app`.`DELETE ME` TO `a`@`%`"));
    }
}
