//! The tables and plots of docs/benchmarks.md, made of the results that are kept in docs/benchmarks.
//!
//! A table that somebody typed is wrong sooner or later. Between markers the page is made by `bench -- docs`, and a test
//! holds it against the results; what stands around them is written by people.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::account::Kept;
use crate::failure::Failure;
use crate::plot::Plot;
use crate::report::{self, Comparison};
use crate::{growth, harm, output};

/// What begins a section, with the name of a result in it, and what ends it.
const BEGIN: (&str, &str) = ("<!-- results: ", " -->");
const END: &str = "<!-- end of results -->";

/// Results by the names of their files.
type Results = BTreeMap<String, Kept>;

/// A file and what it has to say.
type Page = (PathBuf, String);

/// Writes the page and the plots anew.
pub(crate) fn run() -> Result<(), Failure> {
    for (path, text) in pages(&directory())? {
        if fs::read_to_string(&path).is_ok_and(|now| now == text) {
            continue;
        }
        output::talk(&format!("writing {}", path.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
    }
    Ok(())
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Everything that is made of results.
fn pages(docs: &Path) -> Result<Vec<Page>, Failure> {
    let results = results(&docs.join("benchmarks"))?;
    let path = docs.join("benchmarks.md");
    let text = fs::read_to_string(&path)?;
    let mut pages = vec![(path, with_results(&text, &results)?)];
    for (name, plot) in pictures(&results) {
        pages.push((docs.join("plots").join(name), plot.svg()?));
    }
    Ok(pages)
}

fn results(directory: &Path) -> Result<Results, Failure> {
    let mut results = Results::new();
    // Before the first result is kept there is no directory. A section that misses its own is a mistake all the same.
    if !directory.exists() {
        return Ok(results);
    }
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let name = path.file_stem().ok_or("a file without a name")?.to_string_lossy().into_owned();
            results.insert(name, Kept::read(&path)?);
        }
    }
    Ok(results)
}

fn pictures(results: &Results) -> Vec<(String, Plot)> {
    let of = |bench: &str| -> Vec<Comparison> {
        let all = results.values().flat_map(|kept| &kept.comparisons);
        all.filter(|comparison| comparison.bench == bench).cloned().collect()
    };
    growth::pictures(&of("growth")).into_iter().chain(harm::picture(&of("harm"))).collect()
}

/// The page with every section made anew. A result without its section, and a section without its result, are mistakes.
fn with_results(page: &str, results: &Results) -> Result<String, Failure> {
    let (mut made, mut rest, mut used) = (String::new(), page, Vec::new());
    while let Some((before, behind)) = rest.split_once(BEGIN.0) {
        let (name, behind) = behind.split_once(BEGIN.1).ok_or("a section does not say its name")?;
        let (_, behind) = behind.split_once(END).ok_or_else(|| format!("the section {name} has no end"))?;
        let kept = results.get(name).ok_or_else(|| format!("there is no docs/benchmarks/{name}.jsonl"))?;
        made.extend([before, BEGIN.0, name, BEGIN.1, "\n", &section(kept), END]);
        used.push(name);
        rest = behind;
    }
    made.push_str(rest);
    match results.keys().find(|name| !used.contains(&name.as_str())) {
        Some(name) => Err(format!("docs/benchmarks/{name}.jsonl has no section in docs/benchmarks.md").into()),
        None => Ok(made),
    }
}

fn section(kept: &Kept) -> String {
    let origin = &kept.origin;
    let rows: Vec<Vec<String>> = kept.comparisons.iter().map(report::comparison_row).collect();
    let table = report::table(&report::COMPARISON_HEADERS, &rows).join("\n");
    format!("{}, `{}`, {}:\n\n{table}\n", origin.date, origin.command, origin.machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Origin;

    fn kept() -> Kept {
        let text = |text: &str| text.to_owned();
        let origin = Origin { date: text("2026-11-19"), command: text("c --x"), machine: text("2 cores") };
        let line = Comparison::of_rates("rows", "append", "one DELETE", "rows/s", (1e6, 8e5), Some(0.9));
        Kept { origin, comparisons: vec![line] }
    }

    #[test]
    fn the_page_and_the_plots_agree_with_the_results() {
        for (path, text) in pages(&directory()).unwrap() {
            let now = fs::read_to_string(&path).unwrap_or_default();
            assert!(now == text, "{} is not what the results say: run `bench -- docs`", path.display());
        }
    }

    #[test]
    fn a_section_is_made_anew_and_the_words_around_it_stay() {
        let page = "before\n<!-- results: rows -->\nold\n<!-- end of results -->\nbehind\n";
        let results = Results::from([("rows".to_owned(), kept())]);
        let made = with_results(page, &results).unwrap();
        assert!(made.starts_with("before\n<!-- results: rows -->\n2026-11-19, `c --x`, 2 cores:\n\n| case"), "{made}");
        assert!(made.ends_with(" |\n<!-- end of results -->\nbehind\n"), "{made}");
        assert!(!made.contains("old"), "{made}");
        let words = made.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = "| append | one DELETE | 1,000,000 rows/s | 800,000 rows/s | 1.25x | ≥ 0.9x: met |";
        assert!(words.contains(row), "{made}");
        assert_eq!(with_results(&made, &results).unwrap(), made);
    }

    #[test]
    fn results_and_sections_belong_together() {
        let results = Results::from([("rows".to_owned(), kept())]);
        let refused = |page: &str| with_results(page, &results).unwrap_err().to_string();
        assert!(refused("nothing").contains("rows.jsonl has no section"));
        let other = "<!-- results: other -->\n<!-- end of results -->";
        assert!(refused(other).contains("there is no docs/benchmarks/other.jsonl"));
        assert!(refused("<!-- results: rows -->").contains("has no end"));
    }
}
