//! The console: pages for people, and what their buttons do.

use std::time::Duration;

use bygone_server::http::{Scope, Settings, Tokens};
use bygone_server::{
    Amount, Coverage, EndingHour, Explanation, Finding, Inspection, LeaseInspection, Ledger, NamespaceLeases,
    SourceKind, StageInspection, StagedFile, UncoveredTable, Wanted,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Method};

use crate::http::api::{Answer, Api};
use crate::http::tokens::{guarded, token};
use crate::shelves::{Shelves, shelf};

const CSP: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                   form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Asks as a browser does, and follows no redirection.
async fn browse(api: &Api, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let request = client.request(method.clone(), api.url(path)).header("accept", "text/html,*/*;q=0.8");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = if method == Method::POST {
        request.header("content-type", "application/x-www-form-urlencoded").body(body.to_owned())
    } else {
        request
    };
    let answer = request.send().await.unwrap();
    let (status, headers) = (answer.status(), answer.headers().clone());
    Answer { status, headers, text: answer.text().await.unwrap() }
}

async fn get(api: &Api, path: &str) -> Answer {
    browse(api, Method::GET, path, &[], "").await
}

async fn post(api: &Api, path: &str) -> Answer {
    browse(api, Method::POST, path, &[], "").await
}

impl Answer {
    /// A page, whole and under the strict policy.
    fn page(self, status: u16, holds: &[&str]) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(self.header("content-security-policy"), CSP);
        assert_eq!(self.header("referrer-policy"), "same-origin");
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(self.text.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{}", self.text);
        assert_eq!(self.text.matches("<h1").count(), 1);
        assert!(!self.text.contains("style=") && !self.text.contains("<style") && !self.text.contains("onclick"));
        for text in holds {
            assert!(self.text.contains(text), "{text} is missing in {}", self.text);
        }
        self
    }

    fn leads_to(&self, path: &str) {
        assert_eq!((self.status.as_u16(), self.header("location")), (303, path), "{}", self.text);
    }
}

async fn sweeps(ledger: &Ledger) -> usize {
    ledger.list(Wanted { before: None, policy: None, limit: 10 }).await.unwrap().len()
}

/// Sweeps by the button, and waits for the end.
async fn sweep(api: &Api, policy: &str) -> String {
    let answer = post(api, &format!("/policies/{policy}/sweep")).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let path = answer.header("location").to_owned();
    // The stream ends with the sweep.
    api.get(&format!("/api/v1{path}/events")).await.is(200);
    path
}

#[tokio::test]
async fn the_path_from_the_overview_to_a_finished_sweep() {
    let p = shelf(10);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    get(&api, "/").await.page(200, &["<title>Policies · bygone", "href=\"/policies/a-p\"", "never ran", "<svg"]);
    get(&api, "/sweeps").await.page(200, &["There was none yet"]);
    get(&api, "/policies/a-p")
        .await
        .page(200, &["action=\"/policies/a-p/pause\"", "/policies/a-p/plan", "never by itself"]);
    let plan = ["<strong>10</strong> items would go", "action=\"/policies/a-p/sweep\""];
    get(&api, "/policies/a-p/plan").await.page(200, &plan);
    assert_eq!(p.keys().len(), 11, "looking changes nothing");
    let path = sweep(&api, "a-p").await;
    assert_eq!(p.keys().len(), 1);
    let page =
        get(&api, &path).await.page(200, &["<strong id=\"removed\">10</strong>", "complete", "Kept: referenced"]);
    assert!(!page.text.contains("data-events"), "nothing more happens");
    get(&api, "/").await.page(200, &["complete", &format!("href=\"{path}\""), "10 in the last 30 days"]);
    get(&api, "/sweeps").await.page(200, &[&format!("href=\"{path}\""), "request"]);
    get(&api, "/policies/a-p/plan").await.page(200, &["There is nothing to do"]);
}

#[tokio::test]
async fn a_sweep_that_runs_is_listened_to() {
    let p = shelf(10);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).slowly().resting(Duration::from_secs(600))).await;
    let path = post(&api, "/policies/a-p/sweep").await.header("location").to_owned();
    let events = format!("data-events=\"/api/v1{path}/events\"");
    get(&api, &path).await.page(200, &[&events, "aria-live=\"polite\"", "running", "<noscript>"]);
    get(&api, "/").await.page(200, &["running"]);
}

#[tokio::test]
async fn a_policy_is_paused_and_resumed() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    post(&api, "/policies/a-p/pause").await.leads_to("/policies/a-p");
    assert!(api.daemon.held("a-p").is_some());
    get(&api, "/policies/a-p").await.page(200, &["the policy is paused", "action=\"/policies/a-p/resume\""]);
    get(&api, "/").await.page(200, &["paused"]);
    let plan = get(&api, "/policies/a-p/plan").await.page(200, &["held back"]);
    assert!(!plan.text.contains("/sweep\""), "no button that does nothing");
    post(&api, "/policies/a-p/resume").await.leads_to("/policies/a-p");
    assert!(api.daemon.held("a-p").is_none());
    api.daemon.pause(None).await.unwrap();
    get(&api, "/").await.page(200, &["Everything is paused"]);
}

/// Whatever stands in the form.
#[tokio::test]
async fn no_form_releases_a_brake() {
    let p = shelf(2_000);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).braked()).await;
    let body = "release_brake=a-p&policies=a-p";
    let answer = browse(&api, Method::POST, "/policies/a-p/sweep", &[], body).await;
    let path = answer.header("location").to_owned();
    api.get(&format!("/api/v1{path}/events")).await.is(200);
    assert_eq!(p.keys().len(), 2_001);
    get(&api, &path).await.page(200, &["refused", "brake"]);
    get(&api, "/").await.page(200, &["aria-label=\"Alarms\"", "<strong>brake</strong>"]);
}

#[tokio::test]
async fn hostile_names_are_text() {
    let (p, name) = (shelf(3), "<script>alert(1)</script>&\"'/..");
    let api = Api::over(Shelves::new(&[(name, &p, None)])).await;
    let path = "/policies/%3Cscript%3Ealert%281%29%3C%2Fscript%3E%26%22%27%2F..";
    let overview = get(&api, "/").await.page(200, &[&format!("href=\"{path}\"")]);
    let policy = get(&api, path).await.page(200, &["&lt;script&gt;alert(1)"]);
    let plan = get(&api, &format!("{path}/plan")).await.page(200, &[&format!("action=\"{path}/sweep\"")]);
    post(&api, &format!("{path}/pause")).await.leads_to(path);
    post(&api, &format!("{path}/resume")).await.leads_to(path);
    let begun = post(&api, &format!("{path}/sweep")).await.header("location").to_owned();
    api.get(&format!("/api/v1{begun}/events")).await.is(200);
    let swept = get(&api, &begun).await.page(200, &["&lt;script&gt;"]);
    let none = get(&api, "/policies/%3Cscript%3Ex").await.page(404, &["&lt;script&gt;x"]);
    for page in [overview, policy, plan, swept, none] {
        assert!(!page.text.contains("<script>"), "{}", page.text);
        assert!(!page.text.contains("\"'/"), "{}", page.text);
    }
}

#[tokio::test]
async fn forms_of_other_sites_do_nothing() {
    let p = shelf(5);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let others: [(&str, &str); 4] = [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    for other in others {
        for form in ["/policies/a-p/sweep", "/policies/a-p/pause", "/policies/a-p/resume", "/sign-in", "/sign-out"] {
            let answer = browse(&api, Method::POST, form, &[other], "token=x").await;
            answer.page(403, &["The request comes from another site"]);
        }
    }
    let plan = "/policies/a-p/plan";
    browse(&api, Method::GET, plan, &[("sec-fetch-site", "cross-site")], "").await.page(403, &["another site"]);
    browse(&api, Method::GET, plan, &[("sec-fetch-site", "same-origin")], "").await.page(200, &["would go"]);
    assert_eq!((p.keys().len(), sweeps(api.daemon.ledger()).await), (6, 0));
    assert!(api.daemon.held("a-p").is_none());
}

#[tokio::test]
async fn what_is_not_there_is_told_in_a_page() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).fallen()).await;
    get(&api, "/nowhere").await.page(404, &["There is nothing here"]);
    get(&api, "/policies/none").await.page(404, &["There is no such policy"]);
    post(&api, "/policies/none/sweep").await.page(404, &["There is no such policy"]);
    get(&api, "/sweeps/00000000-0000-7000-8000-000000000000").await.page(404, &["There is no such sweep"]);
    get(&api, "/sweeps/none").await.page(400, &["names no sweep"]);
    get(&api, "/policies/a-p/plan").await.page(502, &["the shelf has fallen down"]);
    let answer = get(&api, "/policies/a-p/sweep").await.page(405, &["cannot be done"]);
    assert_eq!(answer.header("allow"), "POST");
    // Programs are told as before, and the API speaks to programs alone.
    api.get("/nowhere").await.refused_with(404, "no-such-path", "nothing answers");
    get(&api, "/api/v1/policies/none").await.refused_with(404, "no-such-policy", "none");
}

#[tokio::test]
async fn style_script_and_icon_are_served_as_what_they_are() {
    let api = Api::with(Shelves::new(&[]), guarded()).await;
    for (path, kind) in [("console.css", "text/css"), ("console.js", "text/javascript"), ("icon.svg", "image/svg+xml")]
    {
        let answer = get(&api, &format!("/console/{path}")).await.is(200);
        assert!(answer.header("content-type").starts_with(kind), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
}

/// The cookie that a token is given.
async fn signed_in(api: &Api, token: &str) -> String {
    let answer = browse(api, Method::POST, "/sign-in", &[], &format!("token={token}")).await;
    answer.leads_to("/");
    let cookie = answer.header("set-cookie");
    assert_eq!(cookie, format!("bygone-token={token}; Path=/; HttpOnly; SameSite=Strict"));
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_browser_signs_in_and_out() {
    let p = shelf(5);
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), guarded()).await;
    for path in ["/", "/policies/a-p", "/policies/a-p/plan", "/sweeps", "/sources", "/sources/a"] {
        get(&api, path).await.leads_to("/sign-in");
        browse(&api, Method::GET, path, &[("cookie", "bygone-token=wrong")], "").await.leads_to("/sign-in");
    }
    post(&api, "/policies/a-p/sweep").await.leads_to("/sign-in");
    get(&api, "/sign-in").await.page(200, &["<label for=\"token\">", "type=\"password\""]);
    let wrong = browse(&api, Method::POST, "/sign-in", &[], "token=hunter2").await.page(403, &["not known"]);
    assert!(wrong.headers.get("set-cookie").is_none() && !wrong.text.contains("hunter2"), "{}", wrong.text);
    browse(&api, Method::POST, "/sign-in", &[], "other=1").await.page(400, &["Give a token"]);

    let cookie = signed_in(&api, "operator").await;
    let cookie: [(&str, &str); 1] = [("cookie", &format!("other=1; {cookie}"))];
    let page = browse(&api, Method::GET, "/", &cookie, "").await.page(200, &["action=\"/sign-out\"", "of operator"]);
    assert!(!page.text.contains("bygone-token"));
    let begun = browse(&api, Method::POST, "/policies/a-p/sweep", &cookie, "").await;
    let path = begun.header("location").to_owned();
    let events = browse(&api, Method::GET, &format!("/api/v1{path}/events"), &cookie, "").await.is(200);
    assert!(events.text.contains("event: sweep_ended"), "{}", events.text);
    let out = browse(&api, Method::POST, "/sign-out", &cookie, "").await;
    out.leads_to("/sign-in");
    assert_eq!(out.header("set-cookie"), "bygone-token=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
}

#[tokio::test]
async fn a_cookie_changes_nothing_by_the_api_and_two_are_none() {
    let p = shelf(5);
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), guarded()).await;
    let cookie = [("cookie", "bygone-token=admin")];
    for path in ["/api/v1/pause", "/api/v1/policies/a-p/pause", "/api/v1/sweeps"] {
        let answer = browse(&api, Method::POST, path, &cookie, "").await;
        answer.refused_with(401, "unauthorized", "Bearer");
    }
    assert!(!api.daemon.is_paused() && api.daemon.held("a-p").is_none());
    let two = [("cookie", "bygone-token=admin; bygone-token=reader")];
    browse(&api, Method::GET, "/", &two, "").await.leads_to("/sign-in");
    // The header is what counts where there is one.
    let both = [("cookie", "bygone-token=admin"), ("authorization", "Bearer wrong")];
    browse(&api, Method::GET, "/", &both, "").await.leads_to("/sign-in");
}

#[tokio::test]
async fn a_reader_sees_and_does_nothing() {
    let p = shelf(5);
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), guarded()).await;
    let reader = [("cookie", "bygone-token=reader")];
    let page = browse(&api, Method::GET, "/policies/a-p", &reader, "").await.page(200, &["How it stands"]);
    assert!(!page.text.contains("/pause") && !page.text.contains("/plan"), "{}", page.text);
    browse(&api, Method::GET, "/sources/a", &reader, "").await.page(200, &["Turn to sweep"]);
    let refused = ["The token does not allow that", "`operate`"];
    browse(&api, Method::GET, "/policies/a-p/plan", &reader, "").await.page(403, &refused);
    for form in ["sweep", "pause", "resume"] {
        browse(&api, Method::POST, &format!("/policies/a-p/{form}"), &reader, "").await.page(403, &refused);
    }
    assert_eq!((p.keys().len(), sweeps(api.daemon.ledger()).await), (6, 0));
    assert!(api.daemon.held("a-p").is_none());
}

#[tokio::test]
async fn a_token_that_has_expired_leads_back_to_the_door() {
    let past = "2020-01-01T00:00:00Z".parse().unwrap();
    let settings = Settings { tokens: Tokens::new([token("old", Scope::Admin, Some(past))]), ..Settings::default() };
    let api = Api::with(Shelves::new(&[]), settings).await;
    let old = [("cookie", "bygone-token=old")];
    browse(&api, Method::GET, "/", &old, "").await.leads_to("/sign-in");
    browse(&api, Method::GET, "/sign-in", &old, "").await.page(200, &["has expired"]);
    browse(&api, Method::POST, "/sign-in", &[], "token=old").await.page(403, &["has expired"]);
}

#[tokio::test]
async fn whoever_came_by_tls_keeps_the_cookie_there() {
    let api = Api::with(Shelves::new(&[]), Settings { hosts: vec!["b.example".into()], ..guarded() }).await;
    let by_proxy = [("host", "b.example"), ("origin", "https://b.example")];
    let answer = browse(&api, Method::POST, "/sign-in", &by_proxy, "token=reader").await;
    assert!(answer.header("set-cookie").ends_with("; SameSite=Strict; Secure"), "{}", answer.header("set-cookie"));
}

#[tokio::test]
async fn without_tokens_nobody_signs_in() {
    let api = Api::over(Shelves::new(&[])).await;
    get(&api, "/sign-in").await.leads_to("/");
    let page = get(&api, "/").await.page(200, &["There are no policies"]);
    assert!(!page.text.contains("sign-out"));
}

fn stamp(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}

/// Something of every kind, under these names.
fn everything(name: &str) -> [(SourceKind, Inspection); 3] {
    let name = name.to_owned();
    let namespace = NamespaceLeases { namespace: name.clone(), live: 1_200, expired: 3, more: true };
    let hour = |begins: &str, ending| EndingHour { begins: stamp(begins), ending, more: false };
    let hours = vec![hour("2126-11-18T12:00:00Z", 7), hour("2126-11-18T13:00:00Z", 40)];
    let leases = Some(LeaseInspection { namespaces: vec![namespace], more: true, hours });
    let file = StagedFile {
        id: "0123456789abcdef".repeat(4),
        name: name.clone(),
        bytes: 2_048,
        deadline: stamp("2126-11-18T12:00:00Z"),
        held: true,
    };
    let amount = |count, bytes| Amount { count, bytes };
    let (total, persistent, expirable) = (amount(3, 4_096), amount(1, 1_024), amount(2, 3_072));
    let staged = Some(StageInspection { total, persistent, expirable, next: vec![file], more: true });
    let table = |index| UncoveredTable {
        table: name.clone(),
        column: name.clone(),
        index,
        rows: Some(12_345),
        proposal: format!("[[policy]]\ntable = '{name}'"),
    };
    let coverage = Some(Coverage { tables: 9, uncovered: vec![table(None), table(Some(name.clone()))] });
    let nothing = Inspection::default;
    [
        (SourceKind::LeaseStore, Inspection { leases, ..nothing() }),
        (SourceKind::StagingArea, Inspection { staged, ..nothing() }),
        (SourceKind::Database, Inspection { coverage, ..nothing() }),
    ]
}

#[tokio::test]
async fn sources_are_shown_with_what_they_hold() {
    let p = shelf(1);
    let holds: [&[&str]; 3] = [
        &["lease store", "more than 1,200", "more than 3", "47 in the next 2 hours, at most 40", "further namespaces"],
        &["staging area", "4.0 KiB", "2.0 KiB", "0123456789ab<", "There are more.", "held"],
        &["database", "Of 9 tables", "12,345", "<span class=\"badge fair\">none</span>", "table = 'jobs'"],
    ];
    for ((kind, inspection), holds) in everything("jobs").into_iter().zip(holds) {
        let estate = Shelves::new(&[("a-p", &p, None)]).holding(kind, inspection).shut("the replica is behind");
        let api = Api::over(estate).await;
        let list = ["href=\"/sources/a\"", "href=\"/policies/a-p\"", "the replica is behind", holds[0]];
        get(&api, "/sources").await.page(200, &list);
        get(&api, "/sources/a").await.page(200, holds).page(200, &["the replica is behind", "href=\"/policies/a-p\""]);
        get(&api, "/").await.page(200, &["href=\"/sources\"", "href=\"/sources/a\""]);
    }
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    get(&api, "/sources/a").await.page(200, &["a plan of a policy tells"]);
    get(&api, "/sources/none").await.page(404, &["There is no such source"]);
    get(&Api::over(Shelves::new(&[])).await, "/sources").await.page(200, &["There are no sources"]);
    assert_eq!(p.keys().len(), 2);
}

#[tokio::test]
async fn where_a_source_does_not_answer_the_rest_is_readable() {
    let p = shelf(1);
    let api =
        Api::over(Shelves::new(&[("a-p", &p, None)]).fallen().meaning("Everything goes.", Explanation::default()))
            .await;
    let fallen = ["The source could not be asked: ", "the shelf has fallen down", "put it up again"];
    get(&api, "/sources/a").await.page(200, &fallen).page(200, &["href=\"/policies/a-p\"", "directory"]);
    get(&api, "/policies/a-p")
        .await
        .page(200, &fallen)
        .page(200, &["Everything goes.", "How it stands", "It never ran."]);
}

#[tokio::test]
async fn a_policy_is_shown_with_its_meaning_its_statements_and_what_somebody_should_know() {
    let p = shelf(1);
    let finding = Finding { code: "rows::no_index".into(), message: "no index".into(), help: "make one".into() };
    let explanation = Explanation {
        place: "`t`".into(),
        walk: Some("slices".into()),
        why: Some("rows lie in time order".into()),
        index: Some("t_ends".into()),
        statements: vec!["DELETE FROM t WHERE a < b".into()],
        findings: vec![finding],
    };
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).meaning("Everything goes.", explanation)).await;
    let holds = [
        "<p class=\"lead\">Everything goes.</p>",
        "DELETE FROM t WHERE a &lt; b",
        "no index (<code>rows::no_index</code>)",
        "slices – rows lie in time order",
        "t_ends",
    ];
    get(&api, "/policies/a-p").await.page(200, &holds);
}

#[tokio::test]
async fn a_policy_that_waits_says_for_what() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).waiting("outside of its window")).await;
    get(&api, "/policies/a-p").await.page(200, &["<strong>Waits: </strong>outside of its window."]);
}

#[tokio::test]
async fn what_is_wrong_with_the_configuration_stands_on_top() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let page = get(&api, "/").await.page(200, &[]);
    assert!(!page.text.contains("cannot be used") && !page.text.contains("restart"), "{}", page.text);
    api.daemon.reject("× `evry` is <no> key\n  help: write `every`".to_owned());
    api.daemon.await_restart(vec!["listen", "token"]);
    let holds = [
        "The configuration on disk cannot be used",
        "× `evry` is &lt;no&gt; key\n  help: write `every`",
        "A restart is needed. ",
        "<code>listen</code>, <code>token</code>",
    ];
    let page = get(&api, "/").await.page(200, &holds);
    assert!(page.text.find("cannot be used") < page.text.find("<table"), "it stands on top");
    api.daemon.replace(std::sync::Arc::new(Shelves::new(&[("a-p", &p, None)])));
    assert!(!get(&api, "/").await.page(200, &["A restart is needed"]).text.contains("cannot be used"));
}

/// Whatever stands in a configuration or a store, it is text.
#[tokio::test]
async fn hostile_names_of_sources_and_what_they_hold_are_text() {
    let long = "x".repeat(10_000);
    let names = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", &long, "\u{202e}gnirts\u{2066}"];
    let paths = [
        "%3Cscript%3Ealert%281%29%3C%2Fscript%3E".to_owned(),
        "%22%27%3E%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E".to_owned(),
        long.clone(),
        "%E2%80%AEgnirts%E2%81%A6".to_owned(),
    ];
    let p = shelf(1);
    for (name, path) in names.into_iter().zip(paths) {
        let explanation = Explanation {
            place: name.to_owned(),
            walk: Some(name.to_owned()),
            why: Some(name.to_owned()),
            index: Some(name.to_owned()),
            statements: vec![name.to_owned()],
            findings: vec![Finding { code: name.to_owned(), message: name.to_owned(), help: name.to_owned() }],
        };
        for (kind, inspection) in everything(name) {
            // A source is called what stands before the dash.
            let estate = Shelves::new(&[(name, &p, None)]).holding(kind, inspection).shut(name);
            let api = Api::over(estate.meaning(name, explanation.clone())).await;
            api.daemon.reject(name.to_owned());
            let mut pages = vec![get(&api, "/").await.page(200, &[&format!("href=\"/sources/{path}\"")])];
            pages.push(get(&api, "/sources").await.page(200, &[&format!("href=\"/sources/{path}\"")]));
            pages.push(get(&api, &format!("/sources/{path}")).await.page(200, &[]));
            pages.push(get(&api, &format!("/policies/{path}")).await.page(200, &[]));
            pages.push(get(&api, &format!("/sources/{path}x")).await.page(404, &[]));
            for page in pages {
                assert!(!page.text.contains("<script>") && !page.text.contains("<img"), "{}", page.text);
                assert!(!page.text.contains("\"'>"), "{}", page.text);
                let is_shown =
                    page.text.contains(&name.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"));
                assert!(is_shown, "{name:.40} is not shown whole");
            }
        }
    }
}
