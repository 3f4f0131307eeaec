//! Some tests, built and run in the ground.

use std::process::{Output, Stdio};

use bygone_core::CancellationToken;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::ground::Ground;
use super::table::{Place, Target, TestName};
use crate::failure::Failure;

/// What the test runner ends with, besides 0.
const NO_TESTS_RUN: i32 = 4;
const TESTS_FAILED: i32 = 100;
const BUILD_FAILED: i32 = 101;

/// How a test went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// It failed, and this is what was said.
    Failed(String),
    NotBuilt(String),
    /// There is no test of that name.
    NotThere,
    /// Somebody ended the run.
    Stopped,
}

/// Builds tests of one place and runs them, and nothing else. When told to stop it ends with all that it has started. The
/// verdicts are in the order of the tests.
pub(super) async fn run(
    ground: &Ground,
    place: &Place,
    tests: &[&TestName],
    stop: &CancellationToken,
) -> Result<Vec<Verdict>, Failure> {
    if stop.is_cancelled() {
        return Ok(vec![Verdict::Stopped; tests.len()]);
    }
    let child = command(ground, place, tests).spawn()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let mut ending = std::pin::pin!(child.wait_with_output());
    let output = tokio::select! {
        output = &mut ending => output?,
        () = stop.cancelled() => {
            if let Some(group) = group {
                kill_process_group(group, Signal::INT)?;
            }
            ending.await?;
            return Ok(vec![Verdict::Stopped; tests.len()]);
        }
    };
    verdicts(&output, tests)
}

fn command(ground: &Ground, place: &Place, tests: &[&TestName]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["nextest", "run", "--profile", "planted", "--locked", "-p", &place.package]);
    match &place.target {
        Target::Lib => command.arg("--lib"),
        Target::Bin(program) => command.args(["--bin", program]),
        Target::Test(target) => command.args(["--test", target]),
    };
    let these: Vec<String> = tests.iter().map(|test| format!("test(={})", test.path)).collect();
    command.args(["-E", &these.join(" | ")]);
    command.current_dir(ground.tree()).env("CARGO_TARGET_DIR", ground.build());
    // What a snapshot does not like is told, and written nowhere.
    command.env("INSTA_UPDATE", "no").env("CARGO_TERM_COLOR", "never").env("RUST_BACKTRACE", "0");
    // A group of its own, so that it hears of an interrupt from us alone, and as a whole.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn verdicts(output: &Output, tests: &[&TestName]) -> Result<Vec<Verdict>, Failure> {
    let said = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).join("\n");
    match output.status.code() {
        Some(0 | TESTS_FAILED) => Ok(tests.iter().map(|test| verdict(&said, test)).collect()),
        Some(BUILD_FAILED) => Ok(vec![Verdict::NotBuilt(first_error(&said)); tests.len()]),
        Some(NO_TESTS_RUN) => Ok(vec![Verdict::NotThere; tests.len()]),
        _ => Err(format!("the test runner ended with {}: {}", output.status, said.trim()).into()),
    }
}

/// Each test has a line that begins with what became of it and ends with its name.
fn verdict(said: &str, test: &TestName) -> Verdict {
    let mut lines = said.lines().map(str::split_whitespace);
    let ended = lines.find_map(|mut words| {
        let status = words.next().filter(|status| status.chars().all(|letter| letter.is_ascii_uppercase()))?;
        (words.last() == Some(&test.path)).then_some(status)
    });
    match ended {
        None => Verdict::NotThere,
        Some("PASS") => Verdict::Passed,
        Some("TIMEOUT") => Verdict::Failed("it did not end".to_owned()),
        Some(_) => Verdict::Failed(reason(said, test)),
    }
}

/// What a test said when it failed: the line behind that of the place.
fn reason(said: &str, test: &TestName) -> String {
    let panicked = format!("thread '{}' ", test.path);
    let by_name = |line: &&str| line.contains("panicked at ") && line.contains(&panicked);
    // A thread of its own has another name.
    let at =
        said.lines().position(|line| by_name(&line)).or_else(|| said.lines().position(|l| l.contains("panicked at ")));
    let behind = at.and_then(|at| said.lines().skip(at + 1).map(str::trim).find(|line| !line.is_empty()));
    behind.unwrap_or("it failed").to_owned()
}

fn first_error(said: &str) -> String {
    said.lines().find(|line| line.starts_with("error")).unwrap_or("it does not compile").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "    Starting 3 tests across 1 binary (20 tests skipped)
        PASS [   0.011s] (1/3) bygone-core a::good
        FAIL [   0.012s] (2/3) bygone-core a::bad
  stderr ───

    thread 'a::bad' (7) panicked at crates/a.rs:1:2:
    left is not right
      left: 1
  TERMINATING [ 60.0s] bygone-core a::slow
     TIMEOUT [ 60.0s] (3/3) bygone-core a::slow
     Summary [  60.1s] 3 tests run: 1 passed, 1 failed, 1 timed out, 20 skipped
";

    #[test]
    fn each_test_has_its_own_verdict() {
        let verdict = |name: &str| verdict(SAID, &TestName::try_from(format!("bygone-core a::{name}")).unwrap());
        assert_eq!(verdict("good"), Verdict::Passed);
        assert_eq!(verdict("bad"), Verdict::Failed("left is not right".to_owned()));
        assert!(matches!(verdict("slow"), Verdict::Failed(_)));
        assert_eq!(verdict("other"), Verdict::NotThere, "a run without it says nothing of it");
    }
}
