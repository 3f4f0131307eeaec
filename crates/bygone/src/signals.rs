//! Ctrl-C and SIGTERM: the first ends the sweep after the page, the second ends the program.

use bygone_core::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// The exit code of a program that was stopped by Ctrl-C at once.
const ABORTED: i32 = 130;

/// A token that the first signal cancels.
pub(crate) fn cancellation() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let cancel = token.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if cancel.is_cancelled() {
                output::talk("aborted");
                std::process::exit(ABORTED);
            }
            cancel.cancel();
            output::talk("stopping after this page; once more to abort");
        }
    });
    Ok(token)
}

/// What only looks has no page to wait for: the first signal ends it.
pub(crate) async fn unless_cancelled(
    cancel: &CancellationToken,
    look: impl Future<Output = Result<Exit, Problem>>,
) -> Result<Exit, Problem> {
    tokio::select! {
        exit = look => exit,
        () = cancel.cancelled() => Ok(Exit::Failed),
    }
}
