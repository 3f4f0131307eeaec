//! What every page has around it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use crate::http::security::{Caller, Scope};

/// Only what comes from here, and nothing that stands in the page itself.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// With no referrer at all browsers send forms with `Origin: null`, as those of other sites are.
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

/// A page.
pub(super) struct Page {
    status: StatusCode,
    title: String,
    viewer: Option<Caller>,
    body: Markup,
}

impl Page {
    /// A page for somebody we know.
    pub(super) fn new(title: impl Into<String>, viewer: Caller, body: Markup) -> Self {
        Self { status: StatusCode::OK, title: title.into(), viewer: Some(viewer), body }
    }

    /// A page for whoever comes.
    pub(super) fn for_strangers(status: StatusCode, title: impl Into<String>, body: Markup) -> Self {
        Self { status, title: title.into(), viewer: None, body }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let Self { status, title, viewer, body } = self;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · bygone" }
                    link rel="icon" href="/console/icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="/console/console.css";
                    script src="/console/console.js" defer {}
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    (top(viewer.as_ref()))
                    main #content tabindex="-1" { (body) }
                    footer { "bygone " (env!("CARGO_PKG_VERSION")) " · times are in UTC" }
                }
            }
        };
        (status, [(header::CONTENT_SECURITY_POLICY, POLICY), (header::REFERRER_POLICY, REFERRER)], page).into_response()
    }
}

fn top(viewer: Option<&Caller>) -> Markup {
    html! {
        header.top {
            nav aria-label="Console" {
                a.brand href="/" { "bygone" }
                @if viewer.is_some() {
                    a href="/" { "Policies" }
                    a href="/sweeps" { "Sweeps" }
                    a href="/sources" { "Sources" }
                }
            }
            @if let Some(viewer) = viewer.filter(|viewer| viewer.has_signed_in()) {
                form method="post" action="/sign-out" {
                    span.who { (viewer.name()) }
                    button.quiet { "Sign out" }
                }
            }
        }
    }
}

/// A column: what it is called, and whether numbers stand in it.
pub(super) type Column = (&'static str, bool);

/// A table that falls apart into cards where there is no room. The roles stay what they are then.
pub(super) fn table(caption: &str, columns: &[Column], rows: Vec<Vec<Markup>>) -> Markup {
    html! {
        table role="table" {
            caption { (caption) }
            thead role="rowgroup" {
                tr role="row" {
                    @for (name, is_number) in columns {
                        th.number[*is_number] role="columnheader" scope="col" { (name) }
                    }
                }
            }
            tbody role="rowgroup" {
                @for row in rows { tr role="row" { (cells(columns, row)) } }
            }
        }
    }
}

fn cells(columns: &[Column], row: Vec<Markup>) -> Markup {
    html! {
        @for (at, ((name, is_number), cell)) in columns.iter().zip(row).enumerate() {
            @if at == 0 {
                th role="rowheader" scope="row" { (cell) }
            } @else {
                td.number[*is_number] role="cell" data-label=(name) { span { (cell) } }
            }
        }
    }
}

/// Names and what stands behind them.
pub(super) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, fact) in facts {
                div { dt { (name) } dd { (fact) } }
            }
        }
    }
}

/// How something ended, in a word that stands out.
pub(super) fn outcome(word: Option<&str>) -> Markup {
    let Some(word) = word else { return html! { span.badge.running { "running" } } };
    let tone = match word {
        "complete" => "good",
        "failed" | "refused" | "interrupted" => "bad",
        _ => "fair",
    };
    html! { span.badge.(tone) { (super::words::plain(word)) } }
}

/// A button that does one thing.
pub(super) fn button(action: &str, text: &str, class: &str) -> Markup {
    html! { form method="post" action=(action) { button class=(class) { (text) } } }
}

/// Whether to show what changes something.
pub(super) fn may_operate(viewer: &Caller) -> bool {
    viewer.must_have(Scope::Operate).is_ok()
}
