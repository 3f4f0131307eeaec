//! Where a database is: the `url` of a source.

use std::fmt;
use std::str::FromStr;

use crate::engine::Engine;
use crate::error::SqlError;
use bygone_core::ErrorKind;

/// A database url that never shows its password.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceUrl {
    engine: Engine,
    /// What the driver takes: a url for the servers, a path for SQLite.
    address: String,
}

impl SourceUrl {
    /// Reads `postgres://`, `postgresql://`, `mysql://`, `mariadb://` or `sqlite:` urls.
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(SqlError::new(ErrorKind::Unfit, "the url has no scheme such as `postgres://` or `sqlite:`"));
        };
        match scheme {
            "postgres" | "postgresql" => Self::server(Engine::Postgres, text.to_owned()),
            "mysql" | "mariadb" => Self::server(Engine::MySql, format!("mysql:{rest}")),
            "sqlite" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                if path.is_empty() {
                    return Err(SqlError::new(ErrorKind::Unfit, "the url names no file: say `sqlite:path/to/file.db`"));
                }
                // Read as part of the name they would make another file of it, and say nothing.
                if let Some((_, parameters)) = path.split_once('?') {
                    let message = format!("an sqlite url takes no parameters, and this has `?{parameters}`");
                    return Err(SqlError::new(ErrorKind::Unfit, message));
                }
                Ok(Self { engine: Engine::Sqlite, address: path.to_owned() })
            }
            other => Err(SqlError::new(ErrorKind::Unfit, format!("`{other}:` is no database that bygone knows"))),
        }
    }

    fn server(engine: Engine, address: String) -> Result<Self, SqlError> {
        // The parser's own message may quote the url, and so a password: it is not passed on.
        url::Url::parse(&address).map_err(|_| SqlError::new(ErrorKind::Unfit, "the url cannot be read"))?;
        Ok(Self { engine, address })
    }

    /// Which database it is.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.address
    }

    /// The database that the url names, for MySQL, where it takes the place of a schema. The driver reads it, so that
    /// it is the one that the driver connects to.
    pub(crate) fn database(&self) -> Option<String> {
        sqlx::mysql::MySqlConnectOptions::from_str(&self.address).ok()?.get_database().map(str::to_owned)
    }
}

/// The url without its password.
impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.engine == Engine::Sqlite {
            return write!(f, "sqlite:{}", self.address);
        }
        match url::Url::parse(&self.address) {
            Ok(url) => {
                let host = url.host_str().unwrap_or("localhost");
                let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
                write!(f, "{}://{host}{port}{}", url.scheme(), url.path())
            }
            Err(_) => f.write_str("(unreadable url)"),
        }
    }
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_never_shown() {
        for text in ["postgres://u:hunter2@db:5432/app?sslmode=require", "mariadb://u:hunter2@db/app"] {
            let url = SourceUrl::parse(text).unwrap();
            assert!(!format!("{url} {url:?}").contains("hunter2"), "{url}");
        }
        let error = SourceUrl::parse("postgres://u:hunter2@[/app").unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
    }

    #[test]
    fn sqlite_urls_are_paths() {
        for (text, path) in
            [("sqlite:a/b.db", "a/b.db"), ("sqlite:///var/a.db", "/var/a.db"), ("sqlite:/var/a.db", "/var/a.db")]
        {
            assert_eq!(SourceUrl::parse(text).unwrap().as_str(), path);
        }
        assert!(SourceUrl::parse("sqlite:").is_err());
        let error = SourceUrl::parse("sqlite:a.db?mode=ro").unwrap_err();
        assert_eq!(error.to_string(), "an sqlite url takes no parameters, and this has `?mode=ro`");
        assert!(SourceUrl::parse("oracle://x").is_err());
        assert!(SourceUrl::parse("no url").is_err());
    }
}
