//! What systemd is told, where it runs the daemon: that it is ready, reads its file anew, is alive, and ends.

use std::time::Duration;

use bygone_core::Clock;
use bygone_server::Daemon;
use sd_notify::NotifyState;

/// Tells systemd something. Without systemd nobody listens.
fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd cannot be told");
    }
}

/// Policies run from now on.
pub(super) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The file is read anew; [`ready`] ends that.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "systemd cannot be told"),
    }
}

/// No further page begins.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Shows twice in each interval that systemd asks for that the daemon is alive, as long as all its lanes are. Does not end.
pub(super) async fn keep_alive(daemon: &Daemon, clock: &dyn Clock) {
    let Some(interval) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    loop {
        clock.sleep((interval / 2).max(Duration::from_millis(1))).await;
        if daemon.is_running() {
            tell(&[NotifyState::Watchdog]);
        }
    }
}
