//! PostgreSQL's row-level security: one restrictive policy for each of ours, and nothing else changes.

use bygone_core::{ErrorKind, TargetError};

use super::{Guard, GuardScript, fits_a_name, transaction};
use crate::bind::Binding;
use crate::catalog::Table;
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::source::Source;
use crate::value::Value;

/// What lets everybody see and do what they could before: without any permissive policy nobody sees anything. It also
/// tells that row-level security is on because of us.
const EVERYONE: &str = "\"bygone_everyone\"";

/// How a table stands before the script.
struct State {
    enabled: bool,
    /// Whether we have enabled it.
    ours: bool,
    /// Whether others have policies.
    others: bool,
}

impl State {
    async fn read(source: &mut Source, table: &Table) -> Result<Self, SqlError> {
        let text = "SELECT c.relrowsecurity, \
             EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'bygone_everyone'), \
             EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid AND left(p.polname, 7) <> 'bygone_') \
             FROM pg_catalog.pg_class c WHERE c.oid = ";
        let query = Query::new(Engine::Postgres, text).bind(Value::from(table.quoted.as_str()), Some("text::regclass"));
        let rows = source.query(&query).await?;
        let truth = |at: usize| rows.first().and_then(|row| row.get(at)).is_some_and(Value::truth);
        Ok(Self { enabled: truth(0), ours: truth(1), others: truth(2) })
    }
}

/// Whether a policy can be one of row-level security: it may look at nothing but the row itself. Other rows would be
/// looked at with the rights of whoever reads, and might be hidden in turn.
pub(super) fn fits(binding: &Binding, policy: &str) -> Result<(), TargetError> {
    fits_a_name(Engine::Postgres, &plain_name(policy))?;
    let asks = binding.filter.as_ref().is_some_and(|filter| filter.to_lowercase().contains("select"));
    let key = match () {
        () if binding.newest.is_some() => "newest",
        () if !binding.family.guards.is_empty() => "unless",
        () if asks => "where",
        () => return Ok(()),
    };
    let message = "row-level security cannot look at other rows, of which it may itself hide some";
    Err(TargetError::new(ErrorKind::Unfit, message).with_help("use the view: leave `--row-security` out").about(key))
}

fn plain_name(policy: &str) -> String {
    format!("bygone_{policy}")
}

fn name(policy: &str) -> String {
    Engine::Postgres.quote(&plain_name(policy))
}

pub(super) async fn create(source: &mut Source, table: &Table, guards: &[Guard]) -> Result<GuardScript, TargetError> {
    let (state, on) = (State::read(source, table).await?, &table.quoted);
    if !state.enabled && state.others {
        return Err(TargetError::new(
            ErrorKind::Unfit,
            format!("`{}` has policies of row-level security that are not enabled, and would be", table.name),
        )
        .with_help("enable or drop them first; or use the view: leave `--row-security` out")
        .about("table"));
    }
    let mut statements = Vec::new();
    if !state.enabled || state.ours {
        statements.push(format!("DROP POLICY IF EXISTS {EVERYONE} ON {on}"));
        statements.push(format!("CREATE POLICY {EVERYONE} ON {on} USING (true) WITH CHECK (true)"));
    }
    for Guard { policy, condition } in guards {
        let name = name(policy);
        statements.push(format!("DROP POLICY IF EXISTS {name} ON {on}"));
        statements.push(format!("CREATE POLICY {name} ON {on} AS RESTRICTIVE FOR SELECT USING ({condition})"));
    }
    statements.push(format!("ALTER TABLE {on} ENABLE ROW LEVEL SECURITY"));
    Ok(GuardScript { subject: subject(table), statements: transaction(statements) })
}

pub(super) async fn drop(source: &mut Source, table: &Table, policies: &[&str]) -> Result<GuardScript, TargetError> {
    let (state, on) = (State::read(source, table).await?, &table.quoted);
    let mut statements: Vec<String> =
        policies.iter().map(|policy| format!("DROP POLICY IF EXISTS {} ON {on}", name(policy))).collect();
    // Where others have come to rely on it, it stays enabled.
    if state.ours && !state.others {
        statements.push(format!("ALTER TABLE {on} DISABLE ROW LEVEL SECURITY"));
        statements.push(format!("DROP POLICY IF EXISTS {EVERYONE} ON {on}"));
    }
    Ok(GuardScript { subject: subject(table), statements: transaction(statements) })
}

fn subject(table: &Table) -> String {
    format!("row-level security of {}", table.quoted)
}
