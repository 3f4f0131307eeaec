//! What went wrong, as a page: for those who came with a browser.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::html;

use super::layout::Page;
use crate::http::problem::Told;
use crate::http::security::is_for_programs;

/// Tells people in a page what programs are told as a problem. The API, leases and staging areas speak to programs alone.
pub(in crate::http) async fn tell_people(request: Request, next: Next) -> Response {
    let is_person = !is_for_programs(&request) && accepts_pages(request.headers());
    let mut response = next.run(request).await;
    let Some(Told { title, detail }) = response.extensions_mut().remove::<Told>().filter(|_| is_person) else {
        return response;
    };
    let body = html! {
        h1 { (title) }
        p { (detail) }
        p { a href="/" { "To the policies" } }
    };
    let mut page = Page::for_strangers(response.status(), title, body).into_response();
    for name in [header::ALLOW, header::RETRY_AFTER] {
        if let Some(value) = response.headers_mut().remove(&name) {
            page.headers_mut().insert(name, value);
        }
    }
    page
}

/// Browsers say so where a page is to be shown.
fn accepts_pages(headers: &HeaderMap) -> bool {
    let mut said = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    said.any(|said| said.contains("text/html"))
}
