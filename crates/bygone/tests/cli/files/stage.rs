//! `bygone stage` and `kind = "stage"`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::yard::{Yard, policy};
use crate::support::Run;

/// A directory with an area in it that does not exist yet, and a policy over it.
struct Area {
    yard: Yard,
}

impl Area {
    fn new() -> Self {
        let yard = Yard::with_policy("kind = \"stage\"");
        fs::remove_dir(yard.root()).unwrap();
        Self { yard }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let store = format!("file:{}", self.yard.root().display());
        Run::of(self.yard.bygone(&[&["stage", "--format", "json"], arguments].concat()).env("BYGONE_STORE", store))
    }

    /// Stages a text under a name, and gives the attachment.
    fn put(&self, name: &str, text: &str, flags: &[&str]) -> Value {
        let file = self.yard.path(name);
        fs::write(&file, text).unwrap();
        let run = self.run(&[&["put", file.to_str().unwrap()], flags].concat()).ends(0);
        fs::remove_file(file).unwrap();
        run.json()[0].clone()
    }

    fn ids(&self) -> Vec<String> {
        let listed = self.run(&["list"]).ends(0).json();
        let mut ids: Vec<String> =
            listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }
}

fn path(attachment: &Value) -> PathBuf {
    PathBuf::from(attachment["path"].as_str().unwrap())
}

#[test]
fn a_staged_file_has_its_contents_and_its_place() {
    let area = Area::new();
    let staged = area.put("hello.txt", "hello", &["--ttl", "1h"]);
    let id = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!([&staged["id"], &staged["name"]], [id, "hello.txt"]);
    assert_eq!(path(&staged), area.yard.root().join(id).join("hello.txt"));
    assert_eq!([&staged["size"], &staged["ttl_ms"]], [5, 3_600_000]);
    assert_eq!([&staged["persist"], &staged["cached"]], [false, false]);
    assert_eq!(fs::read_to_string(path(&staged)).unwrap(), "hello");
    assert_eq!(fs::metadata(area.yard.root()).unwrap().permissions().mode() & 0o777, 0o700);

    let got = area.run(&["get", id]).ends(0).json()[0].clone();
    assert_eq!([&got["path"], &got["deadline"]], [&staged["path"], &staged["deadline"]]);
    assert_eq!(area.ids(), [id]);
    let again = area.put("other.txt", "hello", &["--ttl", "1m"]);
    assert_eq!(
        [&again["cached"], &again["ttl_ms"], &again["path"]],
        [&json!(true), &json!(3_600_000), &staged["path"]]
    );
    let metrics = area.run(&["metrics"]).ends(0).json();
    assert_eq!([&metrics["total_count"], &metrics["total_bytes"], &metrics["expirable_bytes"]], [1, 5, 5]);
    area.run(&["remove", id]).ends(0);
    assert!(!path(&staged).exists() && area.ids().is_empty());
    area.run(&["get", id]).ends(1).says(&["nothing that lives is staged"]);
}

#[test]
fn what_has_expired_is_absent_and_then_gone() {
    let area = Area::new();
    let living = area.put("living", "living", &[]);
    let kept = area.put("kept", "kept", &["--persist", "--ttl", "0s"]);
    let gone = area.put("gone", "gone", &["--ttl", "0s"]);
    let mut left: Vec<&str> = [&living, &kept].iter().map(|one| one["id"].as_str().unwrap()).collect();
    left.sort_unstable();
    assert_eq!(area.ids(), left);
    area.run(&["get", gone["id"].as_str().unwrap()]).ends(1);
    assert!(path(&gone).exists(), "nobody has swept yet");

    let plan = area.yard.run(&["plan", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&plan["would_remove"], &plan["bytes"]], [1, 4], "{plan:#}");
    assert!(path(&gone).exists());
    let report = area.yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&report["removed"], &report["bytes"], &report["examined"]], [1, 4, 1], "{report:#}");
    assert!(!path(&gone).exists() && !path(&gone).parent().unwrap().exists());
    assert_eq!(area.ids(), left);
    assert!(path(&living).exists() && path(&kept).exists());

    let gone = area.put("gone", "gone", &["--ttl", "0s"]);
    area.run(&["cleanup"]).ends(0);
    assert!(!path(&gone).exists());
    let reset = area.run(&["reset"]).ends(0).json();
    assert_eq!(reset["removed"], 1);
    assert_eq!(area.ids(), [kept["id"].as_str().unwrap()]);
}

#[test]
fn a_keep_delays_removal_but_not_absence() {
    let area = Area::new();
    let gone = area.put("gone", "gone", &["--ttl", "0s"]);
    area.yard.configure(&policy("old", "kind = \"stage\"\nkeep = \"1h\""));
    let report = area.yard.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!(report["removed"], 0);
    assert!(path(&gone).exists() && area.ids().is_empty());
}

#[test]
fn a_command_holds_what_it_uses() {
    let area = Area::new();
    let staged = area.put("a", "held", &["--ttl", "1h"]);
    let id = staged["id"].as_str().unwrap();
    let program = crate::support::PROGRAM;
    let script = format!(
        "cat \"$BYGONE_PATH\" && ! {program} stage remove {id} && {program} stage reset >/dev/null && test -e \
         \"$BYGONE_PATH\" && exit 7"
    );
    let run = area.run(&["exec", id, "--", "sh", "-c", &script]).ends(7);
    assert_eq!(run.stdout, "held");
    run.says(&["is held"]);
    area.run(&["remove", id]).ends(0);
    area.run(&["exec", id, "--", "true"]).ends(1).says(&["nothing that lives"]);
}

#[test]
fn standard_input_names_and_quotas() {
    let area = Area::new();
    let store = format!("file:{}", area.yard.root().display());
    let mut command = area.yard.bygone(&["stage", "put", "-", "--name", "../../etc/passwd", "--store", &store]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
    let run = Run::from(child.wait_with_output().unwrap()).ends(0);
    let path = PathBuf::from(run.stdout.trim());
    assert_eq!(fs::read_to_string(&path).unwrap(), "from a pipe");
    assert_eq!(path.parent().unwrap().parent().unwrap(), area.yard.root());

    fs::write(area.yard.path("large"), vec![0; 5_000]).unwrap();
    let large = area.yard.path("large");
    let run = area.run(&["put", large.to_str().unwrap(), "--max-bytes", "4KiB"]).ends(1);
    assert_eq!(run.json(), json!([]));
    area.run(&["put", large.to_str().unwrap(), "--max-count", "1"]).ends(1);
    area.run(&["put", large.to_str().unwrap(), "--max-count", "1", "--evict"]).ends(0);
    assert!(!path.exists(), "what expires soonest made room");
    // One that is missing does not keep the others from being staged.
    fs::write(area.yard.path("small"), "small").unwrap();
    let run = area.run(&["put", "nowhere", area.yard.path("small").to_str().unwrap()]).ends(1);
    assert_eq!(run.json().as_array().unwrap().len(), 1);
    run.says(&["nowhere: there is no file"]);
}

#[test]
fn bad_calls_are_refused() {
    let area = Area::new();
    let at = |arguments: &[&str]| Run::of(&mut area.yard.bygone(&[&["stage"], arguments].concat()));
    at(&["list"]).ends(64).says(&["which staging area?"]);
    at(&["list", "--store", "s3://bucket"]).ends(64).says(&["a staging area is a directory"]);
    area.run(&["metrics", "--now", "2020-01-01T00:00:00Z"]).ends(64).says(&["goes by the clock"]);
    area.run(&["get", "xyz"]).ends(64).says(&["64 hexadecimal digits"]);
    area.run(&["put", "a", "--ttl", "soon"]).ends(64);
    area.run(&["put", "a", "b", "--name", "c"]).ends(64);
    // A directory that is somebody else's is no staging area, and stays as it is.
    let foreign = area.yard.path("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("file"), "precious").unwrap();
    let store = format!("file:{}", foreign.display());
    at(&["list", "--store", &store]).ends(65).says(&["no staging area"]);
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
    // A policy over what is no area removes nothing either.
    fs::create_dir(area.yard.root()).unwrap();
    fs::write(area.yard.root().join("file"), "precious").unwrap();
    area.yard.run(&["sweep"]).ends(65).says(&["no staging area"]);
    assert!(area.yard.root().join("file").exists());
}
