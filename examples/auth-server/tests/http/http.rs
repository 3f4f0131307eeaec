//! Requests and answers.

use axum::body::Bytes;
use axum::http::{HeaderMap, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use url::form_urlencoded;

/// Names and values.
pub(crate) type Form<'a> = &'a [(&'a str, &'a str)];

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header that must be there, once.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let values: Vec<_> = self.headers.get_all(name).iter().collect();
        assert_eq!(values.len(), 1, "{name} in {self:#?}");
        values[0].to_str().unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    /// Holds the answer against a status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:#?}");
        self
    }

    /// Holds the answer against a refusal in JSON.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, error: &str) -> Self {
        assert_eq!((self.status, self.json()["error"].as_str()), (status, Some(error)), "{self:#?}");
        assert!(self.json()["error_description"].is_string(), "{self:#?}");
        self
    }
}

/// Gets a page.
pub(crate) async fn get(url: &str, headers: &[(&str, &str)]) -> Answer {
    send("GET", url, headers, String::new()).await
}

/// Posts a form.
pub(crate) async fn post(url: &str, headers: &[(&str, &str)], form: Form<'_>) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let headers = [headers, &[(header::CONTENT_TYPE.as_str(), "application/x-www-form-urlencoded")]].concat();
    send("POST", url, &headers, body).await
}

/// Sends anything. No redirect is followed.
pub(crate) async fn send(method: &str, url: &str, headers: &[(&str, &str)], body: String) -> Answer {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(request.body(Full::<Bytes>::from(body)).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}
