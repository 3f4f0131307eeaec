//! What decides whether a run may begin, and go on to another page.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Clock, Outcome, Window};

/// Asked before the first page and between any two.
///
/// One that has to ask somebody else should not do so for every page: it may remember an answer for a moment.
#[async_trait]
pub trait Gate: fmt::Debug + Send + Sync {
    /// Why a run may not go on now, if so.
    async fn closed(&self) -> Option<Closed>;
}

/// A gate that lets nobody through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// What kind of gate it is.
    pub by: Hindrance,
    /// Why it is closed, for a person: `outside of its window 22:00-05:00 Europe/Stockholm`.
    pub reason: String,
}

/// What can keep a run from going on, besides its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// The source is in use.
    Activity,
    /// It is not the time of day.
    Window,
    /// Replicas are behind, or too many sessions are at work.
    Lag,
    /// Somebody said so, or another sweeper is at it.
    Held,
}

impl From<Hindrance> for Outcome {
    fn from(hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Activity => Self::Activity,
            Hindrance::Window => Self::Window,
            Hindrance::Lag => Self::Lag,
            Hindrance::Held => Self::Held,
        }
    }
}

/// Open within any of some windows.
#[derive(Debug)]
pub struct WindowGate {
    clock: Arc<dyn Clock>,
    windows: Vec<Window>,
}

impl WindowGate {
    /// Open within these, by this clock.
    pub fn new(clock: Arc<dyn Clock>, windows: Vec<Window>) -> Self {
        Self { clock, windows }
    }
}

#[async_trait]
impl Gate for WindowGate {
    async fn closed(&self) -> Option<Closed> {
        let now = self.clock.now();
        if self.windows.iter().any(|window| window.contains(now)) {
            return None;
        }
        let windows: Vec<String> = self.windows.iter().map(Window::to_string).collect();
        let reason = format!("outside of its window {}", windows.join(" and "));
        Some(Closed { by: Hindrance::Window, reason })
    }
}
