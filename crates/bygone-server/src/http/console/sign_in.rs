//! Signing in: a browser cannot send a bearer token by itself, so it keeps the token as a cookie.
//!
//! The cookie ends with the browser. No script can read it, and it is sent for no page of another site.

use axum::Extension;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::layout::Page;
use crate::http::App;
use crate::http::security::{COOKIE, Encrypted, Identity};

/// What the form sends. It is a secret, and shown nowhere.
#[derive(Deserialize)]
pub(super) struct SignIn {
    token: String,
}

/// The form.
pub(super) async fn show(Extension(identity): Extension<Identity>) -> Response {
    match identity {
        Identity::Known(_) => Redirect::to("/").into_response(),
        Identity::Unknown => form(StatusCode::OK, None),
        Identity::Wrong => form(StatusCode::OK, Some("Your token is not known any more, or has expired.")),
    }
}

/// Takes a token that is good.
pub(super) async fn sign_in(
    State(app): State<App>,
    Extension(Encrypted(is_encrypted)): Extension<Encrypted>,
    headers: HeaderMap,
    sent: Result<Form<SignIn>, FormRejection>,
) -> Response {
    let Ok(Form(SignIn { token })) = sent else { return form(StatusCode::BAD_REQUEST, Some("Give a token.")) };
    let token = token.trim();
    let is_good = matches!(app.tokens.identify_text(token.as_bytes(), app.daemon.clock().now()), Identity::Known(_));
    if !is_good {
        return form(StatusCode::FORBIDDEN, Some("That token is not known, or has expired."));
    }
    match cookie(token, "", is_encrypted || is_called_securely(&headers)) {
        Some(cookie) => ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response(),
        None => form(StatusCode::FORBIDDEN, Some("That token has characters that no cookie can hold.")),
    }
}

/// Forgets it.
pub(super) async fn sign_out(Extension(Encrypted(is_encrypted)): Extension<Encrypted>, headers: HeaderMap) -> Response {
    let gone = cookie("", "; Max-Age=0", is_encrypted || is_called_securely(&headers));
    let mut response = Redirect::to("/sign-in").into_response();
    response.headers_mut().extend(gone.map(|gone| (header::SET_COOKIE, gone)));
    response
}

/// Whoever stands before us may have spoken TLS with the browser.
fn is_called_securely(headers: &HeaderMap) -> bool {
    headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

fn cookie(token: &str, more: &str, is_secure: bool) -> Option<HeaderValue> {
    let fits = token.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte));
    let secure = if is_secure { "; Secure" } else { "" };
    let text = fits.then(|| format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{more}"))?;
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn form(status: StatusCode, wrong: Option<&str>) -> Response {
    let body = html! {
        h1 { "Sign in" }
        @if let Some(wrong) = wrong { p.notice.bad #wrong role="alert" { (wrong) } }
        form.sign-in method="post" action="/sign-in" {
            label for="token" { "Token" }
            input #token name="token" type="password" required autocomplete="current-password"
                aria-describedby=[wrong.map(|_| "wrong")];
            button.main { "Sign in" }
        }
        p { "A token stands in the configuration of the daemon by its SHA-256 alone. Whoever made it knows it." }
    };
    Page::for_strangers(status, "Sign in", body).into_response()
}
