//! Connections to the servers can be encrypted, and a certificate that nobody vouches for is refused.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use bygone_core::ErrorKind;
use bygone_sql::{Source, SourceOptions, SourceUrl};
use bygone_testkit::{Client, MariaDb, Options, Postgres};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

/// A certificate for loopback that vouches for itself, with its key.
struct Identity {
    certificate: PathBuf,
    key: PathBuf,
}

impl Identity {
    /// Written into a directory, for the account that owns it.
    fn new(directory: &Path, name: &str) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let identity =
            Self { certificate: directory.join(format!("{name}.crt")), key: directory.join(format!("{name}.key")) };
        let owner = std::fs::metadata(directory).unwrap();
        for (path, text) in [(&identity.certificate, cert.pem()), (&identity.key, signing_key.serialize_pem())] {
            std::fs::write(path, text).unwrap();
            chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        identity
    }
}

async fn open(url: &str) -> Result<Source, bygone_sql::SqlError> {
    Source::open(SourceOptions {
        name: "tls".to_owned(),
        url: SourceUrl::parse(url).unwrap(),
        schema: None,
        table_prefix: None,
        statement_timeout: None,
        lock_timeout: None,
        read_only: false,
    })
    .await
}

#[tokio::test]
async fn postgres_over_tls_with_a_certificate_that_is_checked() {
    let server = Postgres::start(Options::default()).await.unwrap();
    let database = server.fresh_database().await;
    let ours = Identity::new(server.directory(), "ours");
    let other = Identity::new(server.directory(), "other");
    // PostgreSQL insists that nobody else can read its key.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&ours.key, private).unwrap();
    let mut client = Client::Postgres(database.connect().await);
    for (name, path) in [("ssl_cert_file", &ours.certificate), ("ssl_key_file", &ours.key)] {
        client.run(&format!("ALTER SYSTEM SET {name} = '{}'", path.display())).await;
    }
    client.run("ALTER SYSTEM SET ssl = on").await;
    client.run("SELECT pg_reload_conf()").await;
    client.until("SELECT count(*) FROM pg_settings WHERE name = 'ssl' AND setting = 'on'").await;

    let url =
        |root: &Identity| format!("{}?sslmode=verify-full&sslrootcert={}", database.url(), root.certificate.display());
    let source = open(&url(&ours)).await.unwrap_or_else(|e| panic!("{e}"));
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE ssl AND application_name = 'bygone'";
    assert_eq!(client.number(encrypted).await, 1);
    drop(source);
    let refused = open(&url(&other)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unreachable, "{refused}");
}

#[tokio::test]
async fn mariadb_over_tls_with_a_certificate_that_is_checked() {
    let place = TempDir::new().unwrap();
    // The server's account, which is not ours when the tests run as root, must get through.
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open_to_all).unwrap();
    let (ours, other) = (Identity::new(place.path(), "ours"), Identity::new(place.path(), "other"));
    let options = Options::default()
        .set("ssl-cert", ours.certificate.display().to_string())
        .set("ssl-key", ours.key.display().to_string());
    let server = MariaDb::start(options).await.unwrap();
    let database = server.fresh_database().await;
    Client::MariaDb(database.connect().await).run("SET GLOBAL require_secure_transport = ON").await;

    let url = |mode: &str, root: &Identity| {
        format!("{}?ssl-mode={mode}&ssl-ca={}", database.url(), root.certificate.display())
    };
    open(&url("VERIFY_IDENTITY", &ours)).await.unwrap_or_else(|e| panic!("{e}"));
    let refused = open(&url("VERIFY_IDENTITY", &other)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unreachable, "{refused}");
    let plain = open(&url("DISABLED", &ours)).await.map(|_| ()).unwrap_err();
    assert_eq!(plain.kind(), ErrorKind::Unreachable, "the server insists: {plain}");
}
