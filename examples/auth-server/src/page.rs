//! The pages that a person sees: no script, no style, and every text escaped.

use std::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::error::OAuthError;

/// Nothing is loaded, and no other site shows the page inside of its own.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'");

/// What a person is asked.
pub(crate) struct Question<'a> {
    pub(crate) subject: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) client_name: &'a str,
    pub(crate) scope: &'a str,
    pub(crate) request_uri: &'a str,
    pub(crate) consent: &'a str,
}

/// The page that asks for consent.
pub(crate) fn question(question: &Question<'_>) -> Response {
    let Question { subject, client_id, client_name, scope, request_uri, consent } = question;
    let hidden =
        |name: &str, value: &str| format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(value));
    let body = format!(
        "<p>You are {subject}: in this demo everybody is.</p>\n\
         <p>{client_name} asks for: {scope}.</p>\n\
         <form method=\"post\" action=\"/authorize\">\n{client}\n{request}\n{consent}\n\
         <button name=\"decision\" value=\"allow\">Allow</button>\n\
         <button name=\"decision\" value=\"deny\">Deny</button>\n</form>",
        subject = escaped(subject),
        client_name = escaped(client_name),
        scope = escaped(scope),
        client = hidden("client_id", client_id),
        request = hidden("request_uri", request_uri),
        consent = hidden("consent", consent),
    );
    page(StatusCode::OK, "Allow access?", &body)
}

/// A refusal that a person sees, because there is no client that it could be sent to.
#[derive(Debug)]
pub(crate) struct Refusal(OAuthError);

impl<E: Into<OAuthError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let OAuthError { status, description, .. } = self.0;
        page(status, "This did not work", &format!("<p>Sorry: {}.</p>", escaped(description)))
    }
}

fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n{body}\n",
        title = escaped(title),
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, Html(text)).into_response()
}

/// A text as it must stand in HTML, between tags and in quoted attributes.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escaped("älice & co"), "älice &amp; co");
        assert_eq!(escaped("\"><script>'"), "&quot;&gt;&lt;script&gt;&#39;");
        assert_eq!(escaped("&lt;"), "&amp;lt;");
    }
}
