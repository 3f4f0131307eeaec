//! `bygone init` for directories and staging areas.

use std::fs;

use super::yard::{DAY, Yard};

/// The proposals as they would be with the `# ` taken away.
fn taken(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with("[[") || rest.contains(" = ") => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_directory_gets_a_policy_by_age() {
    let yard = Yard::with_policy("");
    fs::remove_file(yard.path("bygone.toml")).unwrap();
    yard.file("a", 5_000, 40 * DAY);
    yard.file("deep/b", 10, 31 * DAY);
    yard.file("c", 10, 29 * DAY);
    let url = format!("file:{}", yard.root().display());
    let before = yard.listing();
    let run = yard.run(&["init", &url]).ends(0).says(&["a directory: 2 bygone", "proposals are in bygone.toml"]);
    assert_eq!(run.stdout, "");
    // Nothing is swept by what was written, until somebody takes it up.
    yard.run(&["sweep"]).ends(65).says(&["has no policies"]);
    yard.run(&["check"]).ends(0);
    assert_eq!(yard.listing(), before);
    let text = fs::read_to_string(yard.path("bygone.toml")).unwrap();
    fs::write(yard.path("bygone.toml"), taken(&text)).unwrap();
    let plan = yard.run(&["plan", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&plan["policy"], &plan["source"]], ["old-files", "main"]);
    assert_eq!(plan["would_remove"], 2);
    // A file that is there is never written over.
    let written = fs::read_to_string(yard.path("bygone.toml")).unwrap();
    assert!(yard.run(&["init", &url]).ends(0).stdout.contains("[source.main]"));
    assert_eq!(fs::read_to_string(yard.path("bygone.toml")).unwrap(), written);
    yard.run(&["init", "--print", &format!("{url}/nowhere")]).ends(69).says(&["does not exist"]);
}

#[test]
fn a_staging_area_is_known_for_what_it_is() {
    let yard = Yard::with_policy("");
    fs::remove_file(yard.path("bygone.toml")).unwrap();
    fs::remove_dir(yard.root()).unwrap();
    fs::write(yard.path("file"), "staged").unwrap();
    let store = format!("file:{}", yard.root().display());
    let file = yard.path("file");
    yard.run(&["stage", "put", file.to_str().unwrap(), "--ttl", "0s", "--store", &store]).ends(0);
    let before = yard.listing();
    let run = yard.run(&["init", "--print", &store]).ends(0).says(&["a staging area: 1 bygone, 6 B"]);
    assert_eq!(yard.listing(), before, "looking leaves no trace");
    fs::write(yard.path("bygone.toml"), taken(&run.stdout)).unwrap();
    let report = yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&report["removed"], &report["bytes"]], [1, 6]);
}
