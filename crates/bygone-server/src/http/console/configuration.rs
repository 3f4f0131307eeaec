//! What is wrong with the configuration, for those who changed it.

use jiff::Timestamp;
use maud::{Markup, html};

use super::words::moment;
use crate::daemon::Configuration;

/// Nothing, where the file on disk is in force as it is.
pub(super) fn told(configuration: &Configuration, now: Timestamp) -> Markup {
    html! {
        @if let Some(rejected) = &configuration.rejected {
            section.alarms aria-label="Configuration" {
                h2 { "The configuration on disk cannot be used" }
                p { "What is in force was read " (moment(configuration.read, now)) "; the file was first found wrong "
                    (moment(rejected.since, now)) "." }
                pre tabindex="0" { code { (rejected.diagnostic) } }
            }
        }
        @if let Some(restart) = &configuration.restart_needed {
            p.notice {
                strong { "A restart is needed. " }
                "These keys of " code { "[serve]" } " say something else than when the daemon was started: "
                @for (at, key) in restart.keys.iter().enumerate() { @if at > 0 { ", " } code { (key) } }
                " (since " (moment(restart.since, now)) ")."
            }
        }
    }
}
