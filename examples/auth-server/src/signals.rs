//! Ctrl-C and SIGTERM: the first lets requests under way end, the second does not.

use std::io;

use bygone_core::CancellationToken;
use tokio::signal::unix::{SignalKind, signal};

/// One token for each of the two signals.
pub(crate) struct Signals {
    pub(crate) first: CancellationToken,
    pub(crate) second: CancellationToken,
}

impl Signals {
    /// Starts listening.
    pub(crate) fn listen() -> io::Result<Self> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let (first, second) = (CancellationToken::new(), CancellationToken::new());
        let tokens = [first.clone(), second.clone()];
        tokio::spawn(async move {
            for token in tokens {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                token.cancel();
            }
        });
        Ok(Self { first, second })
    }
}
