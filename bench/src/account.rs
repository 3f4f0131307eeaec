//! The account of a run: comparisons as they come, the machine in the end, and a file of both for who wants to keep it.
//!
//! A figure without its date, command and machine means nothing a year later. So whatever is kept begins with them, and
//! the pages that show it are made of it (`bench -- docs`).

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::report::Comparison;
use crate::{Common, machine, output};

/// What stands before the arguments in a command that anybody can repeat.
const COMMAND: &str = "cargo run --release -p bench --";

/// When, how and where comparisons were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) date: String,
    pub(crate) command: String,
    pub(crate) machine: String,
}

/// Comparisons with their origin: what a file holds, a line each.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) origin: Origin,
    pub(crate) comparisons: Vec<Comparison>,
}

impl Kept {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| told(&error))?;
        Self::parse(&text).map_err(|error| told(&error).into())
    }

    fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let mut lines = text.lines();
        let origin = serde_json::from_str(lines.next().unwrap_or_default())?;
        Ok(Self { origin, comparisons: lines.map(serde_json::from_str).collect::<Result<_, _>>()? })
    }

    fn text(&self) -> Result<String, Failure> {
        let mut lines = vec![serde_json::to_string(&self.origin)?];
        for comparison in &self.comparisons {
            lines.push(serde_json::to_string(comparison)?);
        }
        Ok(lines.join("\n") + "\n")
    }
}

/// The account of a run that is under way.
pub(crate) struct Account {
    common: Common,
    comparisons: Vec<Comparison>,
}

impl Account {
    /// A new one.
    pub(crate) fn new(common: Common) -> Self {
        Self { common, comparisons: Vec::new() }
    }

    /// Takes comparisons, and tells machines of them at once.
    pub(crate) fn add(&mut self, comparisons: Vec<Comparison>) -> Result<(), Failure> {
        if self.common.json {
            for comparison in &comparisons {
                output::data(&serde_json::to_string(comparison)?);
            }
        }
        self.comparisons.extend(comparisons);
        Ok(())
    }

    /// Says on what machine it was, and keeps what is to be kept. True where people want their table behind it.
    pub(crate) fn close(self, versions: &[String]) -> Result<bool, Failure> {
        let (date, machine) = (machine::date(), machine::describe(versions));
        let line = format!("{date} · {machine}");
        if self.common.json {
            output::talk(&line);
        } else {
            output::data(&format!("{line}\n"));
        }
        if let Some(path) = &self.common.keep {
            let origin = Origin { date, command: command(std::env::args().skip(1)), machine };
            let kept = Kept { origin, comparisons: self.comparisons };
            fs::write(path, kept.text()?).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(!self.common.json)
    }
}

/// The command that was given, without what only says where its result goes.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let (mut words, mut arguments) = (vec![COMMAND.to_owned()], arguments);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--keep" => drop(arguments.next()),
            "--json" => {}
            other if other.starts_with("--keep=") => {}
            _ => words.push(argument),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_reads_as_it_was_written() {
        let origin = Origin { date: "2026-11-19".to_owned(), command: "c".to_owned(), machine: "m".to_owned() };
        let comparisons = vec![
            Comparison::of_rates("rows", "postgres/append", "one DELETE", "rows/s", (9.0, 10.0), Some(0.9)),
            Comparison::within_ms("rows", "postgres/append", "page p99 limit", 25.0, 50.0),
        ];
        let text = Kept { origin: origin.clone(), comparisons }.text().unwrap();
        let read = Kept::parse(&text).unwrap();
        assert_eq!((&read.origin, read.comparisons.len()), (&origin, 2));
        assert_eq!(read.text().unwrap(), text);
        assert!(Kept::parse("{}\n").is_err(), "a file without its origin");
    }

    #[test]
    fn a_command_is_kept_without_what_says_where_it_goes() {
        let of = |line: &str| command(line.split(' ').map(str::to_owned));
        assert_eq!(of("rows --json --keep a.jsonl --quick"), "cargo run --release -p bench -- rows --quick");
        assert_eq!(of("--keep=a.jsonl rows"), "cargo run --release -p bench -- rows");
    }
}
