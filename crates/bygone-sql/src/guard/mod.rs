//! What hides a table's bygone rows from readers until they are swept: a view, or PostgreSQL's row-level security.
//!
//! The condition is the sweeper's own, with the database's clock in place of a boundary. What cannot be said exactly
//! is refused: a guard may show a row for longer, and never hides one that a sweep would keep.

mod past;
mod row_security;
mod sqlite_text;

use bygone_core::{ErrorKind, TargetError};
use jiff::SignedDuration;

use crate::bind::Binding;
use crate::engine::Engine;
use crate::query::Query;
use crate::source::Source;
use crate::target::RowTarget;

/// What the name of a view adds to that of its table.
const VIEW_SUFFIX: &str = "_living";

/// A thousand years, as in the configuration.
const KEEP_MAX: SignedDuration = SignedDuration::from_hours(24 * 366 * 1000);

/// How rows are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardForm {
    /// From those who read a view beside the table.
    View,
    /// From those who read the table itself. PostgreSQL only.
    RowSecurity,
}

/// What a policy leaves to be seen.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The policy.
    pub policy: String,
    /// In SQL: holds for every row that the policy would not remove now.
    pub condition: String,
}

/// Statements that make or drop the guard of one table, in their order.
#[derive(Clone, Debug)]
pub struct GuardScript {
    /// What they make or drop, for people.
    pub subject: String,
    /// The statements, without semicolons.
    pub statements: Vec<String>,
}

impl RowTarget {
    /// The condition under which a row is seen. Refused where the database alone cannot judge as the sweeper does.
    pub fn guard(&self, form: GuardForm) -> Result<Guard, TargetError> {
        let binding = &self.binding;
        let keep_us = microseconds(binding)?;
        // Tested here, so that nothing can fail where the text is put together.
        for column in &binding.deadline {
            past::past(column, keep_us)?;
        }
        if form == GuardForm::RowSecurity {
            row_security::fits(binding, self.policy_name())?;
        }
        let bygone = binding.bygone_by(Query::new(binding.table.engine, "("), |query, column| {
            query.sql(past::past(column, keep_us).unwrap_or_else(|_| "1 = 0".to_owned()))
        });
        let condition = bygone.sql(") IS NOT TRUE").text().to_owned();
        Ok(Guard { policy: self.policy_name().to_owned(), condition })
    }

    /// The statements that guard the policy's table by these conditions, all of this table.
    pub async fn guard_script(&self, form: GuardForm, guards: &[Guard]) -> Result<GuardScript, TargetError> {
        match form {
            GuardForm::View => self.binding.view(guards),
            GuardForm::RowSecurity => {
                let mut source = self.shared_source().lock().await;
                row_security::create(&mut source, &self.binding.table, guards).await
            }
        }
    }

    /// The statements that drop the guard of the policy's table.
    pub async fn unguard_script(&self, form: GuardForm, policies: &[&str]) -> Result<GuardScript, TargetError> {
        match form {
            GuardForm::View => {
                let view = self.binding.view_name()?;
                Ok(GuardScript { statements: vec![format!("DROP VIEW IF EXISTS {view}")], subject: view })
            }
            GuardForm::RowSecurity => {
                let mut source = self.shared_source().lock().await;
                row_security::drop(&mut source, &self.binding.table, policies).await
            }
        }
    }

    /// Runs a script, in one transaction where the engine has that for such statements.
    pub async fn run_guard_script(&self, script: &GuardScript) -> Result<(), TargetError> {
        let mut source = self.shared_source().lock().await;
        if source.engine() == Engine::Postgres {
            // What is said to be made is on disk.
            source.run("SET synchronous_commit = on").await?;
        }
        let done = run(&mut source, &script.statements).await;
        if done.is_err() && source.engine() != Engine::MySql {
            // The script failed as a whole and is reported; a rollback that fails adds nothing to that.
            let _ = source.run("ROLLBACK").await;
        }
        done.map_err(|error| error.about("table"))
    }
}

async fn run(source: &mut Source, statements: &[String]) -> Result<(), TargetError> {
    for statement in statements {
        source.run(statement).await.map_err(|error| match error.kind() {
            ErrorKind::Denied => TargetError::new(ErrorKind::Denied, error.to_string())
                .with_help("run it as the owner of the table, or print it and let the owner run it"),
            ErrorKind::Contended => TargetError::new(ErrorKind::Contended, error.to_string())
                .with_help("somebody holds the table: try again, or raise `lock_timeout` on the source"),
            _ => TargetError::new(error.kind(), error.to_string())
                .with_help("where something else has that name, or the table's columns changed, drop it: `bygone guard --drop --apply`"),
        })?;
    }
    Ok(())
}

/// How long rows stay after their deadline; a part of a microsecond counts as one.
fn microseconds(binding: &Binding) -> Result<i128, TargetError> {
    if binding.keep > KEEP_MAX {
        return Err(TargetError::new(ErrorKind::Unfit, "`keep` reaches back before all time that databases know")
            .with_help("nothing of this policy is ever bygone, so there is nothing to hide"));
    }
    let nanos = binding.keep.as_nanos();
    Ok(nanos.div_euclid(1000) + i128::from(nanos.rem_euclid(1000) != 0))
}

impl Binding {
    /// The view, quoted, in the schema of its table.
    fn view_name(&self) -> Result<String, TargetError> {
        let table = &self.table;
        let name = format!("{}{VIEW_SUFFIX}", table.name);
        fits_a_name(table.engine, &name)?;
        Ok(table.engine.quote_in(table.schema.as_deref(), &name))
    }

    fn view(&self, guards: &[Guard]) -> Result<GuardScript, TargetError> {
        let (engine, view) = (self.table.engine, self.view_name()?);
        let conditions: Vec<&str> = guards.iter().map(|guard| guard.condition.as_str()).collect();
        let body = format!("AS SELECT * FROM {} WHERE {}", self.table.quoted, conditions.join("\nAND "));
        let statements = match engine {
            Engine::Postgres => transaction(vec![format!("CREATE OR REPLACE VIEW {view} {body}")]),
            // What quotes and bars mean in a `where` is settled when the view is made.
            Engine::MySql => vec![
                "SET SESSION sql_mode = 'STRICT_ALL_TABLES'".to_owned(),
                format!("CREATE OR REPLACE VIEW {view} {body}"),
            ],
            Engine::Sqlite => vec![
                "BEGIN IMMEDIATE".to_owned(),
                format!("DROP VIEW IF EXISTS {view}"),
                format!("CREATE VIEW {view} {body}"),
                "COMMIT".to_owned(),
            ],
        };
        Ok(GuardScript { subject: view, statements })
    }
}

/// PostgreSQL: one transaction. A time that a `where` writes without a zone is settled when it is read, as UTC.
fn transaction(statements: Vec<String>) -> Vec<String> {
    let begin = ["BEGIN".to_owned(), "SET LOCAL TIME ZONE 'UTC'".to_owned()];
    begin.into_iter().chain(statements).chain(["COMMIT".to_owned()]).collect()
}

/// A longer name would be cut, and might then be another's.
fn fits_a_name(engine: Engine, name: &str) -> Result<(), TargetError> {
    let fits = match engine {
        Engine::Postgres => name.len() <= 63,
        Engine::MySql => name.chars().count() <= 64,
        Engine::Sqlite => true,
    };
    if fits {
        return Ok(());
    }
    Err(TargetError::new(ErrorKind::Unfit, format!("`{name}` is longer than a name may be in {engine}"))
        .with_help("give the policy a shorter name, or write the guard by hand from that of another table"))
}
