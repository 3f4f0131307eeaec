//! `bygone packs`: which packs there are, and what is in one.

use serde::Serialize;

use super::{Contents, PACKS};
use crate::cli::{Format, Packs, PacksVerb};
use crate::config::nearest;
use crate::output;
use crate::problem::Problem;

/// What the list says of a pack.
#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    about: String,
    schema: String,
    policies: usize,
}

/// Runs the verb.
pub(crate) fn run(format: Format, flags: &Packs) -> Result<(), Problem> {
    match &flags.verb {
        Some(PacksVerb::Show { name }) => show(name),
        None => list(format),
    }
}

fn list(format: Format) -> Result<(), Problem> {
    let lines: Vec<Line> = PACKS
        .iter()
        .map(|pack| {
            let Contents { about, schema, policies } = pack.contents();
            Line { name: pack.name, about, schema, policies: policies.len() }
        })
        .collect();
    if format != Format::Table {
        return output::json(format, &lines, &lines).map_err(|error| Problem::failed(error.to_string()));
    }
    let mut rows = output::table(&["pack", "about", "schema", "policies"]);
    for line in lines {
        rows.add_row([line.name.to_owned(), line.about, line.schema, line.policies.to_string()]);
    }
    output::data(rows.to_string());
    Ok(())
}

fn show(name: &str) -> Result<(), Problem> {
    let Some(pack) = PACKS.iter().find(|pack| pack.name == name) else {
        let help = match nearest(name, PACKS.iter().map(|pack| pack.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`bygone packs` lists them".to_owned(),
        };
        return Err(Problem::usage(format!("there is no pack `{name}`"), help));
    };
    output::data(pack.text);
    Ok(())
}
