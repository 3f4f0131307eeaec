//! What is built for use has no bugs planted, and no way to plant one.

use std::process::Command;

#[test]
fn what_is_built_for_use_knows_nothing_of_planted_bugs() {
    for package in ["bygone", "bygone-lease", "bench"] {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--package", package, "--edges", "normal,build", "--prefix", "none", "--format", "{p} {f}"])
            .arg("--offline")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8_lossy(&output.stdout);
        assert!(tree.contains(package), "{tree}");
        assert!(!tree.contains("planted"), "{package}: {tree}");
    }
}
