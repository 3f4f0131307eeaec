//! The style, the script and the icon. They are part of the program.

use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;

type Asset = ([(HeaderName, &'static str); 1], &'static str);

pub(super) async fn style() -> Asset {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("assets/console.css"))
}

pub(super) async fn script() -> Asset {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("assets/console.js"))
}

pub(super) async fn icon() -> Asset {
    ([(CONTENT_TYPE, "image/svg+xml")], include_str!("assets/icon.svg"))
}
