//! Requests that nobody would send, to every route there is: each is answered, none by a fault of the daemon's own, and it goes
//! on to answer others.
//!
//! `./fuzz` goes on for longer with the same.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bolero::TypeGenerator;
use bygone_server::http::{self, Limits};
use bygone_testkit::Damage;
use serde_json::Value;

use super::api::{Api, limited};
use super::grounds::Grounds;
use crate::shelves::shelf;

/// What requests are made of.
const WORDS: &[&str] = &[
    "%00",
    "%ff",
    "%2e%2e%2f",
    "%0d%0aX: y",
    "%",
    "..",
    "/",
    "//",
    "?",
    "&",
    "=",
    "#",
    " ",
    "\t",
    "\r\n",
    "\n\n",
    "\0",
    "\u{1b}[31m",
    "é",
    "<script>",
    "\"",
    "'",
    "\\",
    "\\ud800",
    "\\u0000",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[[[[[[[[[",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "18446744073709551615",
    "9223372036854775808",
    "limit=0",
    "limit=99999999999",
    "before=",
    "ttl_ms=-1",
    "if_version=x",
    "persist=",
    "a-p",
    "jobs",
    "up",
    "n",
    "k",
    "\"wait_ms\":1,",
    "\"ttl_ms\":18446744073709551615,",
    "\"delay_ms\":9007199254740993,",
    "\"limit\":32,",
    "\"namespace\":\"\",",
    "\"key\":\"\\u0000\",",
    "\"state_base64\":\"=\",",
    "\"attempts_max\":4294967296,",
    "\"request\":\"\",",
    "\r\nExpect: 100-continue",
    "\r\nRange: bytes=-1",
    "\r\nAccept-Encoding: gzip, \u{7f}",
    "\r\nBygone-Lease: {",
    "\r\nCookie: ;;=;=",
    "\r\nX-Method-Override: DELETE",
    "\r\nTransfer-Encoding: chunked",
    "\r\nContent-Type: application/x-www-form-urlencoded",
];

/// Bodies that operations take.
const BODIES: &[&str] = &[
    "{}",
    r#"{"policies":["a-p"],"release_brake":["a-p"]}"#,
    r#"{"key":"k","owner":"ada","namespace":"n","ttl_ms":60000,"request":"r","if_not_exists":false}"#,
    r#"{"lease":{"id":"01a1eed0-96b2-7a6d-8648-e8bc69a56990","namespace":"n","key":"k","owner":"ada","fencing_token":1,"expires_at":"2026-11-18T12:00:00.000Z","expires_at_ms":1795003200000}}"#,
    r#"{"queue":"q","payload":"hello","namespace":"n","attributes":{"a":"b"},"delay_ms":1,"ttl_ms":1000,"attempts_max":3}"#,
    r#"{"queue":"q","owner":"ada","namespace":"n","limit":2}"#,
    r#"{"delivery":{"queue":"q","namespace":"n","id":"01a1eed0-96b2-7a6d-8648-e8bc69a56990","name":"0000000000001-01a1eed0-96b2-7a6d-8648-e8bc69a56990","attributes":{},"attempts":1,"lease":"01a1eed0-96b2-7a6d-8648-e8bc69a56990","fencing_token":1,"expires_at":"2026-11-18T12:00:00.000Z"}}"#,
    r#"{"txn":"01a1eed0-96b2-7a6d-8648-e8bc69a56990","key":"k","owner":"ada","state":"x"}"#,
    r#"{"key":"k","namespace":"n"}"#,
    "token=secret",
];

const PAGES: [(&str, &str); 12] = [
    ("GET", "/"),
    ("GET", "/policies/a-p"),
    ("GET", "/policies/a-p/plan"),
    ("POST", "/policies/a-p/pause"),
    ("POST", "/policies/a-p/resume"),
    ("POST", "/policies/a-p/sweep"),
    ("GET", "/sweeps?policy=a-p"),
    ("GET", "/sweeps/01a1eed0-96b2-7a6d-8648-e8bc69a56990"),
    ("GET", "/sources/a"),
    ("POST", "/sign-in"),
    ("POST", "/sign-out"),
    ("GET", "/console/console.js"),
];

/// Every route of the API and of the console, with names in it that are there.
fn routes() -> Vec<(String, String)> {
    let document = serde_json::to_value(http::document()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let of_api = paths.iter().flat_map(|(template, item)| {
        let source = if template.starts_with("/lease/") { "jobs" } else { "up" };
        let id = "01a1eed0-96b2-7a6d-8648-e8bc69a56990";
        let named = [
            ("{source}", source),
            ("{namespace}", "n"),
            ("{key}", "k"),
            ("{file}", "f"),
            ("{name}", "a-p"),
            ("{id}", id),
        ];
        let path = named.iter().fold(template.clone(), |path, (part, name)| path.replace(part, name));
        let methods: Vec<String> =
            item.as_object().map(|item: &serde_json::Map<String, Value>| item.keys().cloned().collect()).unwrap();
        methods.into_iter().map(move |method| (method.to_uppercase(), path.clone()))
    });
    of_api.chain(PAGES.map(|(method, path)| (method.to_owned(), path.to_owned()))).collect()
}

#[derive(Clone, Debug, TypeGenerator)]
struct Sent {
    route: u16,
    path: Option<Damage>,
    headers: Option<Damage>,
    body: Damage,
    is_of_another_method: bool,
    /// Nothing of it is as it should be.
    noise: Option<Damage>,
}

impl Sent {
    fn bytes(&self, routes: &[(String, String)]) -> Vec<u8> {
        let (method, path) = &routes[usize::from(self.route) % routes.len()];
        let method =
            if self.is_of_another_method { &routes[usize::from(self.route / 7) % routes.len()].0 } else { method };
        let words: Vec<&[u8]> = WORDS.iter().map(|word| word.as_bytes()).collect();
        let bodies: Vec<&[u8]> = BODIES.iter().map(|body| body.as_bytes()).collect();
        let damaged = |damage: &Option<Damage>, text: &str| match damage {
            Some(damage) => damage.of(&[text.as_bytes()], &words),
            None => text.as_bytes().to_vec(),
        };
        let body = self.body.of(&bodies, &words);
        let path = damaged(&self.path, path);
        let kind = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close";
        let headers = damaged(&self.headers, kind);
        let length = format!("\r\nContent-Length: {}\r\n\r\n", body.len());
        let whole = [method.as_bytes(), b" ", &path, b" HTTP/1.1\r\n", &headers, length.as_bytes(), &body].concat();
        match &self.noise {
            Some(noise) => noise.of(&[&whole], &words),
            None => whole,
        }
    }
}

#[test]
fn whatever_is_asked_is_answered_and_never_by_a_fault() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // Who says less than he announced is not waited for.
    let short = Duration::from_millis(200);
    let limits =
        Limits { head_within: short, stall_within: short, wait_max: Duration::from_millis(5), ..Limits::default() };
    let api = runtime.block_on(Api::with(Grounds::with(&shelf(3)), limited(limits)));
    let routes = routes();
    let parts = AssertUnwindSafe((&runtime, &api, &routes));
    bolero::check!().with_iterations(1_200).with_test_time(Duration::from_secs(12)).with_type::<Sent>().for_each(
        |sent| {
            let (runtime, api, routes) = *parts;
            let bytes = sent.bytes(routes);
            let answer = runtime.block_on(api.send_bytes(&bytes, sent.noise.is_some() || sent.headers.is_some()));
            let head = String::from_utf8_lossy(&answer);
            let status = head.split(' ').nth(1).unwrap_or_default();
            assert!(!status.starts_with('5'), "{}\nwas answered by\n{head}", String::from_utf8_lossy(&bytes));
            // What is no request at all may be hung up on.
            assert!(status.len() == 3 || status.is_empty(), "{head}");
        },
    );
    let alive = runtime.block_on(api.get("/readyz"));
    assert_eq!(alive.status, 200, "{}", alive.text);
}
