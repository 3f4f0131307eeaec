//! The engine does no I/O: nothing that could is among what it is built from.

use std::process::Command;

#[test]
fn the_engine_depends_on_nothing_that_talks_to_the_world() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "bygone-core",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p} {f}",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("bygone-core"), "{tree}");
    for name in [
        "sqlx",
        "rusqlite",
        "libsqlite3-sys",
        "hyper",
        "axum",
        "reqwest",
        "mio",
        "socket2",
        "rustls",
        "opendal",
        "opentelemetry",
        "tracing-subscriber",
        "bygone-sql",
    ] {
        let found = tree.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert_eq!(found, None, "the engine must not depend on {name}");
    }
    for line in tree.lines().filter(|line| line.starts_with("tokio v")) {
        let features = line.rsplit(' ').next().unwrap_or_default();
        for feature in ["net", "fs", "process", "signal", "full"] {
            assert!(!features.split(',').any(|f| f == feature), "the engine must not use tokio's {feature}: {line}");
        }
    }
}
