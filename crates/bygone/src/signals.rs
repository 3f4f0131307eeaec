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

/// Signals that are for somebody else: they are taken one by one, and passed on.
#[derive(Debug)]
pub(crate) struct Relayed {
    listeners: Vec<(rustix::process::Signal, tokio::signal::unix::Signal)>,
}

impl Relayed {
    /// Listens to what a terminal, a shell or an init sends. What we were told to ignore stays ignored, as `nohup` wants it.
    pub(crate) fn listen() -> std::io::Result<Self> {
        use rustix::process::Signal;
        let ignored = ignored();
        let mut listeners = Vec::new();
        for relayed in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
            let number = relayed.as_raw();
            if ignored & (1 << (number - 1)) == 0 {
                listeners.push((relayed, signal(SignalKind::from_raw(number))?));
            }
        }
        Ok(Self { listeners })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> rustix::process::Signal {
        std::future::poll_fn(|context| {
            for (signal, listener) in &mut self.listeners {
                if listener.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*signal);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// The signals that whoever started us has us ignore, bit by bit. Where nobody can tell, none.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
