//! Which cases of a bench are run.

use crate::engine::Engine;
use crate::failure::Failure;

/// A case's name with its database.
pub(crate) fn title(engine: Engine, name: &str) -> String {
    format!("{}/{name}", engine.as_str())
}

/// Those of a database and of a name, where they are given; `of` tells both of a case.
pub(crate) fn chosen<C>(
    all: Vec<C>,
    engine: Option<Engine>,
    name: Option<&str>,
    of: impl Fn(&C) -> (Engine, &'static str),
) -> Result<Vec<C>, Failure> {
    let known: Vec<String> = all.iter().map(&of).map(|(engine, name)| title(engine, name)).collect();
    let wanted = |case: &C| {
        let (its_engine, its_name) = of(case);
        engine.is_none_or(|engine| engine == its_engine)
            && name.is_none_or(|name| name == its_name || name == title(its_engine, its_name))
    };
    let cases: Vec<C> = all.into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err(format!("no case fits; there are {}", known.join(", ")).into());
    }
    Ok(cases)
}
