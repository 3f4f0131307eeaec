//! What of `[serve]` only a restart takes over: a daemon neither moves to another address nor changes its tokens under way.

use crate::config::Serve;

/// The keys that say something else than when the daemon was started. What the command line said in their place is none.
pub(super) fn keys_awaiting(started: &Serve, read: &Serve, is_listen_named: bool) -> Vec<&'static str> {
    let file = |serve: &Serve| serve.certificate.as_ref().map(|pair| pair.certificate.clone());
    let key = |serve: &Serve| serve.certificate.as_ref().map(|pair| pair.key.clone());
    let changed = [
        ("listen", !is_listen_named && started.listen != read.listen),
        ("hosts", started.hosts != read.hosts),
        ("certificate", file(started) != file(read)),
        ("key", key(started) != key(read)),
        ("token", started.tokens != read.tokens),
        ("alarms", started.alarms != read.alarms),
    ];
    changed.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{ProcessEnv, parse};

    fn serve(lines: &str) -> Serve {
        let policy = "[[policy]]\nname = \"p\"\nsource = \"s\"\ntable = \"t\"\ndeadline = \"d\"\nkeep = \"1d\"\n";
        let text = format!("[source.s]\nurl = \"sqlite:a.db\"\n{policy}[serve]\n{lines}\n");
        parse("bygone.toml", &text, Path::new(""), &ProcessEnv).unwrap().serve
    }

    fn awaiting(lines: &str) -> Vec<&'static str> {
        keys_awaiting(&serve(""), &serve(lines), false)
    }

    #[test]
    fn what_has_changed_is_named_and_nothing_else() {
        let token = |digit: char| {
            let sha256 = String::from(digit).repeat(64);
            format!("[[serve.token]]\nname = \"a\"\nsha256 = \"{sha256}\"\nscope = \"read\"")
        };
        assert_eq!(awaiting(""), [""; 0]);
        assert_eq!(awaiting("listen = [\"127.0.0.1:1\"]"), ["listen"]);
        assert_eq!(awaiting("hosts = [\"a.example\"]\n[serve.alarms]\nruns = 7"), ["hosts", "alarms"]);
        assert_eq!(awaiting("certificate = \"a\"\nkey = \"b\""), ["certificate", "key"]);
        assert_eq!(awaiting(&token('0')), ["token"]);
        assert_eq!(keys_awaiting(&serve(&token('0')), &serve(&token('1')), false), ["token"]);
        assert_eq!(keys_awaiting(&serve(&token('0')), &serve(&token('0')), false), [""; 0]);
        let elsewhere = serve("listen = [\"127.0.0.1:1\"]");
        assert_eq!(keys_awaiting(&serve(""), &elsewhere, true), [""; 0], "the command line says where");
    }
}
