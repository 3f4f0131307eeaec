//! What is promised on paper, held against the tree: the bugs of the table can be planted, and every test that the table or
//! the documentation names is there. A test that was renamed must not leave a promise with nothing behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use super::table::{Place, Table, Target, TestName, top};

/// The pages that name tests.
const NAME_TESTS: [&str; 2] = ["docs/reliability.md", "docs/threat-model.md"];

/// Every file of an ending below a directory, in no order.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        // What is not there holds no files: a crate without a directory of tests.
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found
}

/// The words behind `fn` and `mod`, what macros make tests of for an engine (`name: Sqlite, ...`), and the names of files and
/// of directories of modules.
fn names(sources: impl IntoIterator<Item = PathBuf>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in sources {
        let parts = path.components().map(|part| part.as_os_str().to_string_lossy());
        names.extend(parts.map(|part| part.trim_end_matches(".rs").to_owned()));
        let text = fs::read_to_string(&path).unwrap();
        let made = text.lines().filter_map(|line| line.trim_start().split_once(": "));
        let of_engine =
            |of: &str| ["Sqlite,", "Postgres,", "MySql,", "MariaDb,"].iter().any(|engine| of.starts_with(engine));
        names.extend(made.filter(|(_, of)| of_engine(of)).map(|(name, _)| name.to_owned()));
        let mut before = "";
        for word in text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')) {
            if matches!(before, "fn" | "mod") {
                names.insert(word.to_owned());
            }
            before = word;
        }
    }
    names
}

/// What stands in single backticks, line by line outside of blocks of code: fenced ones show what is typed and printed.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    let prose = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    });
    prose.flat_map(|line| line.split('`').skip(1).step_by(2))
}

fn page(name: &str) -> Option<String> {
    fs::read_to_string(top().join(name)).ok()
}

/// A name of one word or several, as functions and modules have it; `diagnostics.rs` is one, too.
fn as_name(quoted: &str) -> Option<&str> {
    let name = quoted.strip_suffix(".rs").unwrap_or(quoted);
    let is_name = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    is_name.then_some(name)
}

#[test]
fn every_bug_of_the_table_can_be_planted() {
    let top = top();
    let table = Table::read(&top).unwrap();
    let mut seen = BTreeSet::new();
    for entry in table.entries() {
        assert!(seen.insert(entry.name()), "{}: two bugs of that name", entry.name());
    }
    for bug in &table.bugs {
        let text =
            fs::read_to_string(top.join(&bug.file)).unwrap_or_else(|e| panic!("{}: {}: {e}", bug.name, bug.file));
        let planted = bug.planted(&text).unwrap_or_else(|why| panic!("{why}"));
        assert_ne!(planted, text, "{}: nothing changes", bug.name);
        assert!(!bug.tests.is_empty(), "{}: no test is named", bug.name);
        let is_own = bug.file.starts_with("crates/") && !bug.file.contains("/tests/");
        assert!(is_own, "{}: a bug belongs into what is built for use", bug.name);
    }
}

#[test]
fn every_test_of_the_table_is_there() {
    let table = Table::read(&top()).unwrap();
    let mut known: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let tests = table.bugs.iter().flat_map(|bug| bug.tests.iter().map(|test| (&bug.name, test)));
    for (bug, test) in tests.chain(table.features.iter().map(|feature| (&feature.name, &feature.test))) {
        let TestName { place: Place { package, target }, path } = test;
        let place = top().join("crates").join(package).join(match target {
            Target::Lib | Target::Bin(_) => "src".to_owned(),
            Target::Test(target) => format!("tests/{target}"),
        });
        let names = known.entry(place.clone()).or_insert_with(|| names(files(&place, "rs")));
        let function = path.rsplit("::").next().unwrap();
        assert!(names.contains(function), "{bug}: `{test}` is not there");
    }
}

#[test]
fn every_test_that_the_documentation_names_is_there() {
    let tree = ["crates", "bench", "examples"].map(|part| files(&top().join(part), "rs")).concat();
    let tests = names(tree);
    // Keys of the configuration, and words of one part or two that other pages use; a name of three is a test's.
    let reference = page("docs/bygone.reference.toml").unwrap();
    let keys = reference.lines().filter_map(|line| line.trim_start_matches(['#', ' ']).split([' ', '=']).next());
    let others =
        files(&top().join("docs"), "md").into_iter().filter(|path| !NAME_TESTS.iter().any(|it| path.ends_with(it)));
    let others: Vec<String> = others.map(|path| fs::read_to_string(path).unwrap()).collect();
    let words = others.iter().flat_map(|page| quoted(page)).filter(|word| word.matches('_').count() < 2);
    let words: BTreeSet<&str> = words.chain(keys).filter_map(as_name).collect();
    for name in NAME_TESTS {
        let Some(text) = page(name) else { continue };
        let named: Vec<&str> = quoted(&text).filter_map(as_name).collect();
        let gone: Vec<&&str> = named.iter().filter(|name| !tests.contains(**name) && !words.contains(**name)).collect();
        assert!(gone.is_empty(), "{name} names what is not there: {gone:?}");
        let paths = quoted(&text).filter(|quoted| quoted.starts_with("crates/") && !quoted.contains([' ', '{', '*']));
        let lost: Vec<&str> =
            paths.filter(|path| !top().join(path).exists() && !top().join(format!("{path}.rs")).exists()).collect();
        assert!(lost.is_empty(), "{name} names files that are not there: {lost:?}");
    }
    let reliability = page(NAME_TESTS[0]).unwrap();
    assert!(quoted(&reliability).filter_map(as_name).count() > 50, "the page is not read as it is written any more");
}

#[test]
fn every_bench_that_the_documentation_names_is_there() {
    let program = crate::Cli::command();
    let benches: BTreeSet<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    let mut pages = files(&top().join("docs"), "md");
    pages.extend(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| top().join(name)));
    let mut named = 0;
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        for called in text.split("bench -- ").skip(1) {
            let name = called.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').next().unwrap();
            // `NAME` stands for any of them.
            let is_there = benches.contains(name) || name == "NAME";
            assert!(is_there, "{} names `bench -- {name}`, and there are {benches:?}", path.display());
            named += 1;
        }
    }
    assert!(named > 10, "the pages are not read as they are written any more");
}
