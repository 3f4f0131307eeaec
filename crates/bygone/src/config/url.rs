//! Source URLs: which are understood, and what of them may be shown.

use std::fmt;
use std::ops::Range;

use super::error::{Code, Problem};
use super::model::Place;
use super::values::Text;

/// The schemes of databases that speak over the network.
const SERVERS: [&str; 4] = ["postgres", "postgresql", "mysql", "mariadb"];

/// The schemes of buckets.
const BUCKETS: [&str; 3] = ["s3", "az", "gs"];

/// A URL that may hold a password: `Debug` and `Display` hide it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// That of a file of ours, which holds no password.
    pub(super) fn of_file(path: &str) -> Self {
        Self(format!("sqlite:{path}"))
    }

    /// The URL itself, for connecting only.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut from = 0;
        for range in password_ranges(&self.0) {
            let shown = self.0.get(from..range.start).unwrap_or_default();
            write!(f, "{shown}***")?;
            from = range.end;
        }
        f.write_str(self.0.get(from..).unwrap_or_default())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({self})")
    }
}

/// Whether a URL holds a password.
pub(crate) fn has_password(url: &str) -> bool {
    !password_ranges(url).is_empty()
}

/// Where passwords stand in a URL, in order: between the user and the host,
/// and as a parameter.
pub(super) fn password_ranges(url: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    if let Some(range) = user_password(url) {
        from = range.end;
        ranges.push(range);
    }
    let lower = url.to_ascii_lowercase();
    let parameters = lower.match_indices("password=").map(|(at, key)| at + key.len());
    for start in parameters.filter(|start| *start >= from) {
        let value = url.get(start..).unwrap_or_default();
        let length = value.find(['&', '#']).unwrap_or(value.len());
        ranges.push(start..start + length);
    }
    ranges
}

/// `user:password@`, read generously: a password with an unescaped `/`, `?` or
/// `@` in it is a mistake, and is hidden all the same.
fn user_password(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + "://".len();
    let rest = url.get(start..)?;
    let at = rest.rfind('@')?;
    let colon = rest.get(..at)?.find(':')?;
    Some(start + colon + 1..start + at)
}

/// Takes the URL of a source that this version can sweep.
pub(super) fn check(url: &Text) -> Result<(Secret, Place), Problem> {
    let Some((scheme, rest)) = url.value.split_once(':') else {
        return Err(bad("a source's `url` must begin with a scheme").help(KNOWN));
    };
    // Paths of files may hold spaces; addresses of servers may not.
    let is_file = matches!(scheme, "sqlite" | "file");
    if url.value.contains(|c: char| c.is_control() || (c == ' ' && !is_file)) {
        return Err(bad("a URL has no spaces or control characters")
            .help("write a space as `%20`; a file filled in by `${file:…}` must hold one line"));
    }
    let place = match scheme {
        "sqlite" => Place::Database,
        "file" => Place::Directory,
        server if SERVERS.contains(&server) => Place::Database,
        bucket if BUCKETS.contains(&bucket) => Place::Bucket,
        _ => return Err(unsupported(url, scheme)),
    };
    let complete = if is_file {
        !rest.trim_start_matches('/').is_empty()
    } else {
        rest.strip_prefix("//").is_some_and(|rest| !rest.is_empty())
    };
    if !complete {
        return Err(bad("this URL says no place: nothing follows the scheme").help(KNOWN));
    }
    Ok((Secret(url.value.clone()), place))
}

const KNOWN: &str = "write `postgres://user@host/database`, `mysql://user@host/database`, \
                     `mariadb://user@host/database` or `sqlite:path/to/file.db`; `file:/path/to/directory`; \
                     `s3://bucket`, `az://container` or `gs://bucket`";

fn unsupported(url: &Text, scheme: &str) -> Problem {
    // One that was filled in may be part of a secret.
    let named = if url.written.starts_with(scheme) {
        format!("the scheme `{scheme}:` is not supported")
    } else {
        "the scheme of this URL is not supported".to_owned()
    };
    bad(&named).help(KNOWN)
}

fn bad(message: &str) -> Problem {
    Problem::new(Code::BadUrl, message).label("this URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_everything_but_the_password() {
        for (url, shown) in [
            ("postgres://ada@host/db", "postgres://ada@host/db"),
            ("postgres://ada:pw@host/db", "postgres://ada:***@host/db"),
            ("postgres://ada:p@w/x?y@host/db", "postgres://ada:***@host/db"),
            ("postgres://h:5432/db?a=b", "postgres://h:5432/db?a=b"),
            ("mysql://h/d?Password=x&a=b", "mysql://h/d?Password=***&a=b"),
            ("mysql://u:a@h/d?sslpassword=x", "mysql://u:***@h/d?sslpassword=***"),
            ("mysql://u:${a}@h/d", "mysql://u:***@h/d"),
            ("sqlite:/srv/a.db", "sqlite:/srv/a.db"),
            ("", ""),
        ] {
            let secret = Secret(url.to_owned());
            assert_eq!(secret.to_string(), shown);
            assert_eq!(format!("{secret:?}"), format!("Secret({shown})"));
            assert_eq!(secret.expose(), url);
        }
    }

    #[test]
    fn takes_the_schemes_it_knows() {
        for url in [
            "postgres://localhost/db",
            "postgresql:///db?host=/run/postgresql",
            "mysql://u@h:3306/db",
            "mariadb://u@h/db",
            "sqlite:a.db",
            "sqlite:/srv/a.db",
            "sqlite:///srv/a.db",
            "sqlite://a.db?mode=rw",
            "sqlite::memory:",
            "sqlite:/srv/my files/a.db",
            "file:/srv/uploads",
            "file:///srv/my files",
            "s3://bucket/logs?region=eu-central-1",
            "az://container",
            "gs://bucket",
        ] {
            assert!(check(&Text::plain(url)).is_ok(), "{url}");
        }
        for url in [
            "",
            "x",
            "postgres",
            "postgres:",
            "postgres://",
            "postgres:host",
            "sqlite:",
            "sqlite://",
            "Postgres://h/d",
            "file:",
            "file:///",
            "s3://",
            "s3:bucket",
            "ftp://host",
            "://",
            "mysql://a b",
            "sqlite:a\n",
        ] {
            let problem = check(&Text::plain(url)).expect_err(url);
            assert_eq!(problem.code(), Code::BadUrl, "{url}");
        }
    }
}
