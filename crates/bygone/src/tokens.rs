//! `bygone tokens`: what belongs to the stores of the bygone-tokens library.

use bygone_sql::Engine;
use bygone_tokens::{Naming, ddl};

use crate::cli::{DatabaseEngine, Format, Tokens, TokensVerb};
use crate::output;
use crate::problem::Problem;

/// Runs the verb.
pub(crate) fn run(format: Format, flags: Tokens) -> Result<(), Problem> {
    let TokensVerb::Ddl { engine, schema, table_prefix } = flags.verb;
    let engine = match engine {
        DatabaseEngine::Postgres => Engine::Postgres,
        DatabaseEngine::Mysql => Engine::MySql,
        DatabaseEngine::Sqlite => Engine::Sqlite,
    };
    let naming = Naming::new(engine, schema, table_prefix)
        .map_err(|error| Problem::usage(error.to_string(), "mend `--schema` or `--table-prefix`, or leave it out"))?;
    let statements = ddl(&naming);
    if format != Format::Table {
        return output::json(format, &statements, &statements).map_err(|error| Problem::failed(error.to_string()));
    }
    for statement in statements {
        output::statement(format!("{statement};"));
    }
    Ok(())
}
