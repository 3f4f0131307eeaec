//! Whether a browser sends what another site made up.

use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;

use super::hosts::called;
use crate::http::problem::{Kind, Problem};

/// Turns away what changes something and was sent by a page of another site. Programs other than browsers say nothing of
/// sites.
pub(in crate::http) async fn refuse_other_sites(request: Request, next: Next) -> Result<Response, Problem> {
    if !request.method().is_safe() {
        look_at_site(&request)?;
        look_at_origin(&request)?;
    }
    Ok(next.run(request).await)
}

/// The same for what changes nothing, and yet is work.
pub(in crate::http) async fn only_from_here(request: Request, next: Next) -> Result<Response, Problem> {
    look_at_site(&request)?;
    Ok(next.run(request).await)
}

fn look_at_site(request: &Request) -> Result<(), Problem> {
    let mut said = request.headers().get_all("sec-fetch-site").iter();
    if said.all(|site| site == "same-origin" || site == "none") {
        return Ok(());
    }
    Err(Problem::new(Kind::OtherSite, "`Sec-Fetch-Site` names another site than this one"))
}

fn look_at_origin(request: &Request) -> Result<(), Problem> {
    let host = called(request)?;
    let is_ours = |origin: &str| {
        let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str()))
    };
    let mut said = request.headers().get_all(header::ORIGIN).iter();
    if said.all(|origin| origin.to_str().is_ok_and(is_ours)) {
        return Ok(());
    }
    Err(Problem::new(Kind::OtherSite, "`Origin` is another one than `Host`"))
}
