//! Progress on a terminal: one bar a policy, with items per second and what is left.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

use bygone_core::{Event, Observer};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

const TEMPLATE: &str = "{prefix:<28!} {bar:24} {human_pos:>12} of {human_len} {rate:>12} items/s {eta:>5} left";

/// Draws bars while a sweep runs.
struct Progress {
    bars: MultiProgress,
    current: Mutex<Option<ProgressBar>>,
}

/// An observer that draws on a terminal, and does nothing anywhere else.
pub(crate) fn observer() -> Arc<dyn Observer> {
    if std::io::stderr().is_terminal() {
        Arc::new(Progress { bars: MultiProgress::new(), current: Mutex::new(None) })
    } else {
        Arc::new(())
    }
}

fn write_rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let _ = write!(out, "{:.0}", state.per_sec());
}

impl Observer for Progress {
    fn on(&self, event: &Event<'_>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::PolicyStarted { policy, survey } => {
                let bar = self.bars.add(ProgressBar::new(survey.bygone.unwrap_or(0)));
                if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                    bar.set_style(style.with_key("rate", write_rate));
                }
                bar.set_prefix((*policy).to_owned());
                *current = Some(bar);
            }
            Event::PageSwept { page, .. } => {
                if let Some(bar) = current.as_ref() {
                    bar.inc(page.examined);
                }
            }
            Event::PolicyEnded { .. } => {
                if let Some(bar) = current.take() {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }
}
