//! What the program says of itself: lines on standard error and, where it was built with `otlp` and told of a collector, spans.

#[cfg(feature = "otlp")]
mod otlp;

use std::io::IsTerminal;

use tracing::Metadata;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use crate::cli::{LogFormat, Verb};

/// What must be ended with the program: spans that are still on their way.
#[derive(Debug)]
pub(crate) struct Log {
    #[cfg(feature = "otlp")]
    _spans: Option<otlp::Spans>,
}

impl Log {
    /// Begins. Logs go to standard error, as `BYGONE_LOG` asks for them.
    pub(crate) fn start(verb: &Verb) -> Self {
        let (unasked, format) = match verb {
            // Nobody sits before a daemon: what it does goes to the log.
            Verb::Serve(flags) => ("info", flags.log_format),
            _ => ("off", LogFormat::Text),
        };
        let filter = EnvFilter::try_from_env("BYGONE_LOG").unwrap_or_else(|_| unasked.into());
        let lines = registry().with(lines(format).with_filter(filter.and(filter_fn(is_discreet))));
        #[cfg(feature = "otlp")]
        {
            let spans = if matches!(verb, Verb::Serve(_) | Verb::Sweep(_)) { otlp::Spans::begin() } else { None };
            lines.with(spans.as_ref().map(otlp::Spans::layer)).init();
            Self { _spans: spans }
        }
        #[cfg(not(feature = "otlp"))]
        {
            lines.init();
            Self {}
        }
    }
}

/// Whether what a line may say is nobody's secret: those who sign requests tell of the keys that they sign with.
fn is_discreet(line: &Metadata<'_>) -> bool {
    !line.target().starts_with("reqsign")
}

fn lines<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    // Like everything else: colours only on a terminal, and only where they are wanted.
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = std::io::stderr().is_terminal() && !plain;
    let lines = fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(colours).boxed(),
        LogFormat::Json => lines.json().with_ansi(false).boxed(),
    }
}
