//! Where the configuration comes from, and where the data goes.

use std::fs::File;
use std::process::Stdio;

use crate::support::{Engine, LAST, Run, World, living};

/// The flag goes before the variable, and that before the file in the current directory.
#[tokio::test]
async fn the_configuration_is_looked_for_in_three_places() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let would_remove = |variable: Option<&str>, arguments: &[&str]| {
        let mut command = world.bygone(&[arguments, &["plan", "--format", "json"]].concat());
        if let Some(path) = variable {
            command.env("BYGONE_CONFIG", world.path(path));
        }
        Run::of(&mut command).ends(0).only_policy()["would_remove"].clone()
    };
    for (name, last) in [("bygone.toml", 1), ("variable.toml", 2), ("flag.toml", 3)] {
        let text = crate::support::TOKENS.to_owned() + &format!("where = \"id <= {last}\"\n");
        std::fs::write(world.path(name), text).unwrap();
    }
    assert_eq!(would_remove(None, &[]), 1);
    assert_eq!(would_remove(Some("variable.toml"), &[]), 2);
    assert_eq!(would_remove(Some("variable.toml"), &["--config", "flag.toml"]), 3);
    assert_eq!(world.survivors().await.len(), LAST as usize);
}

/// A report that nobody can read is a failure, although the rows are gone.
#[tokio::test]
async fn a_full_disk_is_a_failure() {
    let world = World::with_tokens(Engine::Sqlite).await;
    for (arguments, left) in [(&["plan"][..], LAST), (&["sweep", "--format", "json"], LAST - 60)] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = world.bygone(arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
        Run::from(output.unwrap()).ends(1).says(&["cannot write to standard output"]);
        assert_eq!(world.survivors().await.len(), left as usize);
    }
}

/// A reader that has seen enough is none.
#[tokio::test]
async fn a_reader_that_went_away_is_no_failure() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = world.bygone(&["sweep"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
    let run = Run::from(output.unwrap()).ends(0);
    assert_eq!(run.stderr, "");
    assert_eq!(world.survivors().await, living());
}
