//! `kind = "tree"`: directories that exist already.

use std::fs;

use serde_json::json;

use super::yard::{DAY, Yard, policy, set_age};

const KEEP_5D: &str = "kind = \"tree\"\nkeep = \"5d\"";

/// A yard with three old files and two young ones.
fn yard(lines: &str) -> Yard {
    let yard = Yard::with_policy(lines);
    yard.file("a.log", 10, 6 * DAY);
    yard.file("b.log", 10, 4 * DAY);
    yard.file("deep/er/c.log", 5_000, 30 * DAY);
    yard.file("deep/d.tmp", 0, 6 * DAY);
    yard.file("deep/e.tmp", 0, 10);
    yard
}

#[test]
fn old_files_go_and_young_ones_stay() {
    let yard = yard(KEEP_5D);
    let outside = yard.path("outside");
    fs::write(&outside, "not in the yard").unwrap();
    set_age(&outside, 100 * DAY);
    std::os::unix::fs::symlink(&outside, yard.root().join("link")).unwrap();

    let report = yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!(report["outcome"], "complete");
    assert_eq!([&report["examined"], &report["removed"], &report["cleared"]], [3, 3, 0]);
    assert_eq!(report["kept_back"], json!({ "referenced": 0, "locked": 0, "unreadable": 0, "conflict": 0 }));
    assert!(report["bytes"].as_u64().unwrap() >= 5_000, "{report:#}");
    assert_eq!(report["lag_seconds"], 0);
    assert_eq!(yard.names(), ["b.log", "deep", "deep/e.tmp", "deep/er", "link"]);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "not in the yard");

    let again = yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&again["examined"], &again["removed"]], [0, 0]);
}

#[test]
fn a_plan_counts_and_removes_nothing() {
    let yard = yard(KEEP_5D);
    let before = yard.listing();
    let run = yard.run(&["plan", "--format", "json", "--detailed-exitcode"]).ends(2);
    assert_eq!(run.stderr, "");
    let plan = run.only_policy();
    assert_eq!([&plan["would_remove"], &plan["unreadable"]], [3, 0]);
    assert_eq!(plan["path"], yard.root().to_str().unwrap());
    assert_eq!([&plan["table"], &plan["index"], &plan["error"]], [&json!(null); 3]);
    let lag = plan["lag_seconds"].as_u64().unwrap();
    assert!((25 * DAY..26 * DAY).contains(&lag), "the oldest file is 30 days old, and 5 are kept: {lag}");
    let swept_bytes = yard.run(&["plan", "--format", "json"]).ends(0).only_policy()["bytes"].clone();
    assert_eq!(yard.listing(), before);
    yard.run(&["sweep", "--dry-run"]).ends(0);
    assert_eq!(yard.listing(), before);
    let report = yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!(report["bytes"], swept_bytes, "a sweep frees what the plan said");
}

#[test]
fn globs_paths_and_empty_dirs() {
    let yard = yard("kind = \"tree\"\nkeep = \"5d\"\npath = \"deep\"\nexclude = [\"**/*.tmp\"]\nempty_dirs = true");
    set_age(&yard.root().join("deep/er"), 6 * DAY);
    yard.run(&["sweep"]).ends(0);
    assert_eq!(yard.names(), ["a.log", "b.log", "deep", "deep/d.tmp", "deep/e.tmp"]);
    yard.configure(&policy("old", "kind = \"tree\"\nkeep = \"0s\"\ninclude = [\"*.log\"]\nmin_depth = 1"));
    yard.run(&["sweep"]).ends(0);
    assert_eq!(yard.names(), ["deep", "deep/d.tmp", "deep/e.tmp"]);
}

#[test]
fn limits_take_the_oldest_first() {
    let yard = yard("kind = \"tree\"\nmax_count = 2");
    yard.run(&["sweep"]).ends(0);
    assert_eq!(yard.names(), ["b.log", "deep", "deep/e.tmp", "deep/er"]);
    let removed = |lines: &str| {
        yard.configure(&policy("old", lines));
        yard.run(&["sweep", "--format", "json"]).ends(0).only_policy()["removed"].clone()
    };
    assert_eq!(removed("kind = \"tree\"\nmax_bytes = \"1GiB\""), 0);
    assert_eq!(removed("kind = \"tree\"\nmin_free = \"1KiB\""), 0);
    assert_eq!(removed("kind = \"tree\"\nmax_bytes = 0"), 1, "the other file takes no bytes");
    assert_eq!(yard.names(), ["deep", "deep/e.tmp", "deep/er"]);
}

#[test]
fn dates_in_paths() {
    for kind in ["tree", "prefix"] {
        let lines = format!("kind = \"{kind}\"\nkeep = \"1d\"\ndeadline = {{ key = \"%Y/%m/%d/**\" }}");
        let yard = Yard::with_policy(&lines);
        yard.file("2020/02/29/a", 1, 0);
        yard.file("2020/02/30/b", 1, 400 * DAY);
        yard.file("2199/01/01/c", 1, 400 * DAY);
        yard.file("README", 1, 400 * DAY);
        let report = yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
        assert_eq!([&report["removed"], &report["kept_back"]["unreadable"]], [1, 2], "{kind}: {report:#}");
        let files: Vec<String> = yard.names().into_iter().filter(|name| yard.root().join(name).is_file()).collect();
        assert_eq!(files, ["2020/02/30/b", "2199/01/01/c", "README"], "{kind}");
    }
}

#[test]
fn a_prefix_over_a_directory_goes_by_the_last_change() {
    let yard = yard("kind = \"prefix\"\nkeep = \"5d\"\npath = \"deep\"");
    yard.run(&["sweep"]).ends(0);
    assert_eq!(yard.names(), ["a.log", "b.log", "deep", "deep/e.tmp", "deep/er"]);
}

#[test]
fn the_brake_guards_files_too() {
    let yard = Yard::with_policy(KEEP_5D);
    for n in 0..1_500 {
        yard.file(&format!("{}/{n}", n % 7), 0, if n < 1_000 { 6 * DAY } else { 0 });
    }
    let before = yard.listing();
    let report = yard.run(&["sweep", "--format", "json"]).ends(3).only_policy();
    assert_eq!((report["outcome"].as_str(), &report["removed"]), (Some("refused"), &json!(0)));
    assert_eq!(yard.listing(), before);

    let plan = yard.path("plan.json");
    yard.run(&["plan", "-o", plan.to_str().unwrap()]).ends(0);
    let swept = yard.run(&["sweep", "--plan", plan.to_str().unwrap(), "--format", "json"]).ends(0).only_policy();
    assert_eq!(swept["removed"], 1_000);
    assert_eq!(yard.names().len(), 500 + 7);
    // The policy that the plan was made for is another one now.
    yard.configure(&policy("old", "kind = \"tree\"\nkeep = \"4d\""));
    yard.run(&["sweep", "--plan", plan.to_str().unwrap()]).ends(64).says(&["has changed since the plan was made"]);
}

#[test]
fn budgets_end_a_run_and_the_next_goes_on() {
    let yard = Yard::with_policy("kind = \"tree\"\nkeep = \"5d\"\nbudget = { items = 30, page = 7 }");
    for n in 0..100 {
        yard.file(&format!("{}/{n}", n % 3), 0, if n % 2 == 0 { 6 * DAY } else { 0 });
    }
    for (outcome, removed, left) in [("budget_items", 30, 70), ("complete", 20, 50)] {
        let report = yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
        assert_eq!([&report["outcome"], &report["removed"]], [&json!(outcome), &json!(removed)]);
        assert_eq!(report["lag_seconds"].as_u64().unwrap() >= DAY, outcome == "budget_items", "{report:#}");
        assert_eq!(yard.names().len(), left + 3);
    }
}

#[test]
fn what_cannot_be_swept_is_refused_and_the_others_go_on() {
    let yard = yard("");
    let good = policy("good", "kind = \"tree\"\nkeep = \"5d\"\ninclude = [\"*.log\"]");
    let other = |url: &str, lines: &str| {
        format!(
            "{good}[source.other]\nurl = \"{url}\"\n[[policy]]\nname = \"bad\"\nsource = \"other\"\nkind = \"tree\"\n\
             keep = \"1d\"\n{lines}\n"
        )
    };
    std::os::unix::fs::symlink(yard.root(), yard.path("link")).unwrap();
    let path = |name: &str| format!("file:{}", yard.path(name).display());
    for (url, lines, code, said) in [
        (path("nowhere"), "", 69, "nowhere"),
        (path("bygone.toml"), "", 65, "not a directory"),
        (path("link"), "", 65, "link"),
        ("file:/".to_owned() + "/host/path", "", 65, "no host"),
        (path("yard"), "path = \"nowhere\"", 69, "nowhere"),
        (path("yard"), "include = [\"[\"]", 65, "include"),
        (path("yard"), "deadline = { key = \"no date\" }", 65, "%Y"),
    ] {
        yard.file("old.log", 1, 9 * DAY);
        yard.configure(&other(&url, lines));
        let before = yard.names();
        yard.run(&["check"]).ends(code).says(&[said]);
        let run = yard.run(&["sweep", "--format", "json"]).ends(code).says(&[said]);
        let report = run.json();
        let outcomes: Vec<&str> =
            report["policies"].as_array().unwrap().iter().filter_map(|policy| policy["outcome"].as_str()).collect();
        assert!(outcomes.contains(&"complete"), "{report:#}");
        assert_eq!(u64::try_from(before.len() - yard.names().len()).ok(), report["policies"][0]["removed"].as_u64());
        assert!(!yard.root().join("old.log").exists(), "the good policy went on");
        assert!(yard.root().join("deep/er/c.log").exists(), "the bad one removed nothing");
    }
}

#[test]
fn verbs_for_tables_leave_files_out() {
    let yard = yard(KEEP_5D);
    let before = yard.listing();
    for verb in [&["index"][..], &["guard"], &["grants", "somebody"]] {
        yard.run(verb).ends(0);
        yard.run(&[verb, &["old"]].concat()).ends(64).says(&["sweeps no rows"]);
    }
    assert_eq!(yard.listing(), before);
}

#[test]
fn tables_for_people() {
    let yard = yard(KEEP_5D);
    let run = yard.run(&["plan"]).ends(0);
    assert!(run.stdout.contains("3 (") && run.stdout.contains("iB"), "{}", run.stdout);
    let run = yard.run(&["sweep"]).ends(0);
    assert!(run.stdout.contains("complete: 3 removed"), "{}", run.stdout);
}
