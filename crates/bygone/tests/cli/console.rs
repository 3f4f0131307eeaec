//! The console in a real browser: what a person sees, by day and by night, on a desk and on a phone.

use std::process::Command;

use bygone_testkit::Browser;
use rustix::process::Signal;

use crate::sources::furnished;
use crate::support::{BYGONE_LAST, Engine, Running, living};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/console.mjs");

#[tokio::test]
async fn a_person_sweeps_and_watches_by_the_console() {
    let browser = Browser::find().unwrap_or_else(|error| panic!("{error}"));
    let world = furnished(Engine::Sqlite).await;
    // Page by page, so that there is something to watch.
    let config = std::fs::read_to_string(world.path("bygone.toml")).unwrap();
    let slowly = "keep = \"0s\"\nbudget = { page = 10, pause = \"300ms\" }\n";
    world.configure(&config.replacen("keep = \"0s\"\n", slowly, 1));
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", "state"]));
    let said = running.until_it_says("never run by themselves");
    let url = said.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap();
    let mut script = Command::new(&browser.node);
    script.arg(SCRIPT).arg(&browser.modules).args([url, "tokens", &BYGONE_LAST.to_string()]);
    script.arg(world.path("bygone.toml"));
    let told = script.output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(world.survivors().await, living());
    running.signal(Signal::TERM);
    running.end().ends(0);
}
