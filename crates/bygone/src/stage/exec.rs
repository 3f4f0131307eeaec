//! `bygone stage exec`: a command that runs while a file is held.

use std::ffi::OsString;
use std::time::Duration;

use bygone_core::Clock;
use bygone_files::stage::{AttachmentId, Stage};

use super::absent;
use super::direct::problem;
use crate::exit::Exit;
use crate::problem::Problem;

/// How long a hold lasts while a command runs; it is renewed well before.
const HOLD: Duration = Duration::from_secs(60);

/// Runs a command while the file is held; ends as the command does.
pub(super) async fn run(
    stage: &Stage,
    id: &AttachmentId,
    command: &[OsString],
    clock: &dyn Clock,
) -> Result<Exit, Problem> {
    let attachment = stage.get(id).map_err(|error| problem(&error))?.ok_or_else(|| absent(id))?;
    let mut hold = stage.hold(id, HOLD).map_err(|error| problem(&error))?.ok_or_else(|| absent(id))?;
    let Some((program, arguments)) = command.split_first() else {
        return Err(Problem::usage("there is no command", "write it behind `--`"));
    };
    let mut command = tokio::process::Command::new(program);
    let child = command.args(arguments).env("BYGONE_PATH", &attachment.path).spawn();
    let mut child =
        child.map_err(|error| Problem::failed(format!("cannot run {}: {error}", program.to_string_lossy())))?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            () = clock.sleep(HOLD / 3) => hold.extend(HOLD).map_err(|error| problem(&error))?,
        }
    };
    hold.release().map_err(|error| problem(&error))?;
    let status = status.map_err(|error| Problem::failed(format!("cannot wait for the command: {error}")))?;
    Ok(Exit::of_command(status))
}
