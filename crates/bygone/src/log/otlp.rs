//! Spans for a collector, by OTLP over HTTP, where the environment names one: sweeps, their policies and pages, and requests.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, filter::LevelFilter};

use crate::output;

/// The variables that name a collector, as the specification of OpenTelemetry has them.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const NAMES: [&str; 2] = ["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"];

/// Spans on their way to a collector. What is left of them is sent when this ends.
#[derive(Debug)]
pub(super) struct Spans(SdkTracerProvider);

impl Spans {
    /// `None` where nobody wants them, and where they cannot be sent: what is past its time is swept all the same.
    pub(super) fn begin() -> Option<Self> {
        if !ENDPOINTS.into_iter().any(is_said) {
            return None;
        }
        // Whoever speaks TLS first says by which library; nobody has before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Ok(exporter) = SpanExporter::builder().with_http().build() else {
            // The address may hold a password, and is not repeated.
            output::talk("no spans are sent: OTEL_EXPORTER_OTLP_ENDPOINT is no address such as http://localhost:4318");
            return None;
        };
        let mut resource = Resource::builder();
        if !NAMES.into_iter().any(is_said) {
            resource = resource.with_service_name("bygone");
        }
        let provider = SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter);
        Some(Self(provider.build()))
    }

    /// Takes what the program itself does, down to pages, whatever the log is asked for.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    {
        let ours = ["bygone", "bygone_core", "bygone_server"].map(|of| (of, LevelFilter::DEBUG));
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("bygone"))
            .with_location(false)
            .with_threads(false)
            .with_filter(Targets::new().with_targets(ours))
    }
}

impl Drop for Spans {
    fn drop(&mut self) {
        // Where the collector is gone, so are the last spans: nobody waits for them any longer.
        let _ = self.0.shutdown();
    }
}

fn is_said(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
