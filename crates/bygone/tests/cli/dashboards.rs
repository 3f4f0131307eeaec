//! The dashboard and the alert rules name what a daemon tells: each metric and label of theirs is in a real scrape, each number
//! that a daemon tells is looked at by one of them, and each alarm has a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::api::{ask, serve};
use crate::support::{Engine, Run, World, everyone, until_told};

/// What is written into expressions besides metrics and labels.
const WORDS: [&str; 14] = [
    "absent",
    "and",
    "by",
    "histogram_quantile",
    "increase",
    "max",
    "min",
    "min_over_time",
    "on",
    "or",
    "rate",
    "sum",
    "time",
    "vector",
];

fn docs(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(file)
}

fn read(file: &str) -> String {
    std::fs::read_to_string(docs(file)).unwrap()
}

/// Metrics, as Prometheus names them, with the labels that they carry.
type Metrics = BTreeMap<String, BTreeSet<String>>;

/// What a daemon tells that has swept rows and a lease store, and was asked for leases and to stage a file.
async fn scrape() -> Metrics {
    let world = World::with_tokens(Engine::Sqlite).await;
    let policy = |name: &str, kind: &str| {
        let url = format!("file:{}", world.path(kind).display());
        format!(
            "[source.{kind}]\nurl = \"{url}\"\n[[policy]]\nname = \"{name}\"\nsource = \"{kind}\"\nkind = \"{kind}\"\n"
        )
    };
    world.add_lines(&format!("every = \"1h\"\n{}{}", policy("ended", "leases"), policy("staged", "stage")));
    world
        .run(&["lease", "acquire", "--store", &format!("file:{}", world.path("leases").display()), "--key", "k"])
        .ends(0);
    let (running, port) = serve(&world);
    for policy in ["tokens", "ended"] {
        let json = "Content-Type: application/json\r\n";
        let begun = ask(port, "POST /api/v1/sweeps", json, &format!("{{\"policies\":[\"{policy}\"]}}"));
        assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
    }
    until_told(&world, "state", "complete", 2).await;
    let known = ask(port, "POST /lease/v1/leases/describe", "Content-Type: application/json\r\n", "{\"key\":\"k\"}");
    assert!(known.starts_with("HTTP/1.1 200"), "{known}");
    let staged = ask(port, "PUT /stage/v1/stage/files/a", "", "some bytes");
    assert!(staged.starts_with("HTTP/1.1 201"), "{staged}");
    // The daemon looks back at a run just behind its end.
    let told = loop {
        let told = ask(port, "GET /metrics", "", "");
        if told.matches("bygone_last_success_timestamp_seconds{").count() == 2 {
            break told;
        }
        tokio::task::yield_now().await;
    };
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert!(world.survivors().await.len() < everyone().len());
    parse(&told)
}

fn parse(told: &str) -> Metrics {
    let mut metrics = Metrics::new();
    for line in told.lines().filter(|line| line.starts_with("bygone_")) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let rest = rest.strip_prefix('{').unwrap_or_default();
        let labels = rest.split_once('}').map_or("", |(labels, _)| labels);
        let names = labels.split(',').filter_map(|label| label.split_once('=')).map(|(name, _)| name.to_owned());
        metrics.entry(name.to_owned()).or_default().extend(names);
    }
    metrics
}

/// The expressions of the rules: each stands in a line of its own.
fn rules() -> Vec<String> {
    let text = read("prometheus/bygone.rules.yml");
    text.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect()
}

/// The expressions of the dashboard, and what its variables ask for.
fn dashboard() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read("grafana/bygone.json")).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let targets = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let asked = variables.filter_map(|variable| variable["query"]["query"].as_str());
    // `label_values(metric, label)` is the metric, by the label.
    let asked = asked.map(|query| query.replace("label_values(", "sum(").replace(", ", ") by ("));
    targets.chain(asked).collect()
}

/// The metrics that an expression names, and the labels that it asks of them, in selectors or for grouping.
fn names(expression: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut found: Vec<(String, BTreeSet<String>)> = Vec::new();
    let mut grouped = BTreeSet::new();
    // What stands in quotes or brackets names nothing.
    let mut plain = String::new();
    for (at, part) in expression.split('"').enumerate() {
        plain.push_str(if at % 2 == 0 { part } else { "''" });
    }
    let words: Vec<(usize, &str)> = plain
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(|word| (word.as_ptr().addr() - plain.as_ptr().addr(), word))
        .collect();
    for (at, word) in words {
        let within = plain[..at].rfind(['{', '}']).is_some_and(|brace| plain[brace..].starts_with('{'));
        if within {
            found.last_mut().expect("a selector follows its metric").1.insert(word.to_owned());
        } else if word.starts_with("bygone_") {
            found.push((word.to_owned(), BTreeSet::new()));
        } else if matches!(plain[..at].rfind(['(', ')']), Some(open) if is_grouping(&plain[..=open])) {
            grouped.insert(word.to_owned());
        } else {
            assert!(WORDS.contains(&word), "{word:?} in {expression}");
        }
    }
    grouped.remove("le");
    for (_, labels) in &mut found {
        labels.extend(grouped.iter().cloned());
    }
    found
}

/// Whether what ends in a parenthesis says by what to group.
fn is_grouping(text: &str) -> bool {
    text.strip_suffix('(').is_some_and(|text| text.trim_end().ends_with(" by") || text.trim_end().ends_with(" on"))
}

#[tokio::test]
async fn dashboard_and_rules_name_what_a_daemon_tells_and_all_of_it() {
    let told = scrape().await;
    let expressions: Vec<String> = rules().into_iter().chain(dashboard()).collect();
    assert!(expressions.len() > 30, "{expressions:#?}");
    let mut looked_at = BTreeSet::new();
    for expression in &expressions {
        let names = names(expression);
        assert!(!names.is_empty(), "{expression} looks at nothing");
        for (metric, labels) in names {
            let known = told.get(&metric).unwrap_or_else(|| panic!("no daemon tells {metric}: {expression}"));
            assert!(labels.is_subset(known), "{metric} has {known:?}, asked is {labels:?}: {expression}");
            looked_at.insert(metric);
        }
    }
    let series =
        |name: &str| ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    let of_one: BTreeSet<String> = looked_at.iter().map(|name| series(name).unwrap_or_else(|| name.clone())).collect();
    for metric in told.keys() {
        let metric = series(metric).unwrap_or_else(|| metric.clone());
        assert!(of_one.contains(&metric), "nobody looks at {metric}");
    }
}

#[tokio::test]
async fn the_page_of_metrics_has_all_that_a_daemon_tells_with_its_labels() {
    let told = scrape().await;
    let page = read("metrics.md");
    let series =
        |name: &str| ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    let rows: BTreeMap<String, String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `bygone_"))
        .map(|row| row.split_once('`').unwrap())
        .map(|(name, rest)| (format!("bygone_{name}"), rest.split('|').nth(1).unwrap().trim().to_owned()))
        .collect();
    let mut wanted = BTreeMap::new();
    for (name, labels) in told {
        let mut labels = labels;
        labels.remove("le");
        wanted.insert(series(&name).unwrap_or(name), labels);
    }
    assert_eq!(rows.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (name, labels) in wanted {
        let written: BTreeSet<String> = rows[&name]
            .split(", ")
            .filter_map(|label| Some(label.strip_prefix('`')?.trim_matches('`').to_owned()))
            .collect();
        assert_eq!(written, labels, "{name}");
    }
}

/// The table of alarms in the documentation, the alarms that there are, and the rules.
#[test]
fn each_alarm_has_a_rule() {
    let page = read("configuration.md");
    let (_, table) = page.split_once("| alarm | is there while |").unwrap();
    let documented: BTreeSet<&str> =
        table.lines().skip(2).map_while(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let known: BTreeSet<&str> = bygone_server::AlarmKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(documented, known);
    let rules = rules();
    let sounding: BTreeSet<&str> =
        rules.iter().filter_map(|rule| rule.strip_prefix("bygone_alarm{kind=\"")?.strip_suffix("\"} == 1")).collect();
    assert_eq!(sounding, known);
}

/// The tool of Prometheus itself: what it takes, and what it does with some scrapes.
#[test]
fn prometheus_takes_the_rules_and_they_sound() {
    let promtool = |arguments: [&str; 3]| {
        let mut command = Command::new("promtool");
        command.current_dir(docs("prometheus")).args(arguments);
        Run::of(&mut command).ends(0)
    };
    let checked = promtool(["check", "rules", "bygone.rules.yml"]);
    assert!(checked.stdout.contains(&format!("SUCCESS: {} rules found", rules().len())), "{checked:#?}");
    promtool(["test", "rules", "bygone.test.yml"]);
}
