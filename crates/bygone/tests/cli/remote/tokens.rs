//! Tokens: where they come from, what they let the program do, and where they never go.

use crate::api::ask;

use super::host::Host;

/// `printf %s secret | sha256sum`, and the same of `public`.
const TOKENS: &str = "
[[serve.token]]
name = \"uploader\"
sha256 = \"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"
stages = { up = \"write\" }
leases = { default = \"write\" }

[[serve.token]]
name = \"viewer\"
sha256 = \"efa1f375d76194fa51a3556a97e641e61685f914d446979da50a551a4333ffd7\"
scope = \"read\"
stages = { \"*\" = \"read\" }
";

#[test]
fn a_token_of_the_environment_does_what_it_may() {
    let host = Host::with(TOKENS);
    std::fs::write(host.path("token"), "secret\n").unwrap();
    std::fs::write(host.path("a"), "a").unwrap();
    for store in &host.area() {
        host.run(store, &["stage", "list"]).ends(1).says(&["send a token"]);
        let with = |token: &str, arguments: &[&str]| {
            crate::support::Run::of(host.bygone(store, arguments).env("BYGONE_TOKEN", token))
        };
        with("guessed", &["stage", "list"]).ends(1).says(&["is not known"]);
        with("public", &["stage", "put", "a"]).ends(1).says(&["no right to `write`"]);
        with("secret", &["stage", "put", "a"]).ends(0);
        with("public", &["stage", "list"]).ends(0);
        let mut by_file = host.bygone(store, &["stage", "list"]);
        crate::support::Run::of(by_file.env("BYGONE_TOKEN_FILE", host.path("token"))).ends(0);
        let mut no_file = host.bygone(store, &["stage", "list"]);
        crate::support::Run::of(no_file.env("BYGONE_TOKEN_FILE", host.path("none"))).ends(64).says(&["cannot be read"]);
        let odd = with("sec\nret", &["stage", "list"]).ends(64);
        assert!(!odd.everything().contains("sec\nret"), "{odd:?}");
    }
    for store in &host.store() {
        let mut command = host.bygone(store, &["lease", "acquire", "--key", "k", "--ttl", "1s", "--wait", "1m"]);
        crate::support::Run::of(command.env("BYGONE_TOKEN", "secret")).ends(0);
        let mut command = host.bygone(store, &["lease", "acquire", "--key", "k", "--namespace", "other"]);
        crate::support::Run::of(command.env("BYGONE_TOKEN", "secret")).ends(1).says(&["no right to `write`"]);
        let mut command = host.bygone(store, &["lease", "describe", "--key", "k"]);
        crate::support::Run::of(command.env("BYGONE_TOKEN", "public")).ends(1).says(&["no right"]);
    }
    let numbers = ask(host.port(), "GET /metrics", "Authorization: Bearer public\r\n", "");
    assert!(numbers.contains("bygone_staged_files{source=\"up\",kind=\"expirable\"} 1\n"), "{numbers}");
    let (_directory, run) = host.end();
    assert!(!run.everything().contains("secret"), "{}", run.stderr);
}

/// The authority is the certificate itself, which no system trusts by itself.
#[test]
fn a_certificate_of_an_own_authority_is_trusted_where_that_is_said() {
    let host = Host::prepared(|directory| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (directory.join("tls.pem"), directory.join("tls.key"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        format!("[serve]\ncertificate = \"{}\"\nkey = \"{}\"\n{TOKENS}", certificate.display(), key.display())
    });
    let daemon = format!("https://127.0.0.1:{}", host.port());
    let ask = |certificates: Option<&str>, arguments: &[&str]| {
        let mut command = host.bygone(&format!("{daemon}/stage/v1/up"), arguments);
        let certificates = certificates.map(|file| ("SSL_CERT_FILE", host.path(file)));
        crate::support::Run::of(command.env("BYGONE_TOKEN", "secret").envs(certificates))
    };
    ask(None, &["stage", "put", "bygone.toml"]).ends(69).says(&["no daemon answers"]);
    ask(Some("tls.pem"), &["stage", "put", "bygone.toml"]).ends(0);
    ask(Some("tls.pem"), &["stage", "list"]).ends(0);
    ask(Some("tls.pem"), &["history", "--daemon", &daemon]).ends(1).says(&["needs the scope `read`"]);
    // Over the socket nobody listens in, and no certificate is asked for.
    let [_, socket] = host.area();
    let mut command = host.bygone(&socket, &["stage", "list"]);
    crate::support::Run::of(command.env("BYGONE_TOKEN", "secret")).ends(0);
    host.end();
}

#[test]
fn a_token_is_never_sent_where_others_could_hear_it() {
    let host = Host::new();
    for store in ["http://192.0.2.1/stage/v1/up", "http://bygone.example/stage/v1/up"] {
        let mut command = host.bygone(store, &["stage", "list"]);
        let run = crate::support::Run::of(command.env("BYGONE_TOKEN", "secret")).ends(64);
        assert!(!run.says(&["others could read it", "https://"]).everything().contains("secret"));
    }
    host.end();
}
