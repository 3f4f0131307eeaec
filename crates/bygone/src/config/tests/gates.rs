//! `gates` of a source.

use std::path::Path;

use jiff::SignedDuration;

use super::super::error::Code;
use super::{POLICY, codes, config, refusal, rendered};

fn with_gates(url: &str, gates: &str) -> String {
    format!("[source.auth]\nurl = \"{url}\"\ngates = {gates}\n{POLICY}")
}

#[test]
fn all_of_them() {
    let gates = "{ replica_lag = \"10s\", replicas = [\"${REPLICA_URL}\", \"postgres://other.example/app\"], \
                 active_sessions = 50, transactions_per_second = 500, hold_file = \"/run/bygone/hold\" }";
    let config = config(&with_gates("${DATABASE_URL}", gates)).unwrap();
    let gates = &config.sources["auth"].gates;
    assert_eq!(gates.hold_file.as_deref(), Some(Path::new("/run/bygone/hold")));
    assert_eq!((gates.active_sessions, gates.transactions_per_second), (Some(50), Some(500)));
    assert_eq!(gates.replica_lag, Some(SignedDuration::from_secs(10)));
    let replicas: Vec<String> = gates.replicas.iter().map(ToString::to_string).collect();
    assert_eq!(replicas, ["postgres://replica.example/app", "postgres://other.example/app"]);
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn each_kind_of_source_has_those_that_it_can_have() {
    let taken = [
        ("postgres://h/d", "{ replica_lag = \"10s\" }"),
        ("mysql://h/d", "{ active_sessions = 0, transactions_per_second = 0 }"),
        ("mariadb://h/d", "{ replica_lag = \"10s\", replicas = [\"mysql://r/d\"] }"),
        ("sqlite:a.db", "{ hold_file = \"/run/hold\" }"),
    ];
    for (url, gates) in taken {
        assert!(config(&with_gates(url, gates)).is_ok(), "{url} {gates}");
    }
    for url in ["file:/srv", "s3://bucket"] {
        let text = with_gates(url, "{ hold_file = \"/run/hold\" }");
        let (source, _) = text.split_once("[[policy]]").unwrap();
        let policy = "[[policy]]\nname = \"p\"\nsource = \"auth\"\nkind = \"prefix\"\nkeep = \"1d\"\n";
        assert!(config(&format!("{source}{policy}")).is_ok(), "{url}");
    }
}

/// Whether a source is a lease store its policies say.
#[test]
fn a_lease_store_may_have_to_be_idle() {
    let file = |url: &str, kind: &str| {
        let source = format!("[source.s]\nurl = \"{url}\"\ngates = {{ idle_grace = \"5m\" }}\n");
        format!("{source}[[policy]]\nname = \"p\"\nsource = \"s\"\n{kind}\n")
    };
    for url in ["file:/srv", "s3://bucket/leases"] {
        let gates = &config(&file(url, "kind = \"leases\"")).unwrap().sources["s"].gates;
        assert_eq!(gates.idle_grace, Some(SignedDuration::from_mins(5)));
    }
    let switched_off = format!("{}enabled = false\n", file("file:/srv", "kind = \"leases\""));
    let other =
        "[source.t]\nurl = \"file:/t\"\n[[policy]]\nname = \"t\"\nsource = \"t\"\nkind = \"tree\"\nkeep = \"1d\"\n";
    assert!(config(&format!("{switched_off}{other}")).is_ok(), "what is switched off says so, too");
    for (text, told) in [
        (
            file("file:/srv", "kind = \"tree\"\nkeep = \"1d\""),
            "`idle_grace` means nothing to a directory without leases",
        ),
        (file("s3://b/p", "kind = \"prefix\"\nkeep = \"1d\""), "`idle_grace` means nothing to a bucket without leases"),
        (with_gates("sqlite:a.db", "{ idle_grace = \"5m\" }"), "`idle_grace` means nothing to a database"),
        (with_gates("postgres://h/d", "{ idle_grace = \"5m\" }"), "`idle_grace` means nothing to a database"),
    ] {
        let shown = refusal(&text);
        assert!(shown.contains(told) && shown.contains("kind = \"leases\""), "{told}: {shown}");
    }
    let short = file("file:/srv", "kind = \"leases\"").replace("5m", "999ms");
    assert!(refusal(&short).contains("`idle_grace` must be at least \"1s\""));
}

#[test]
fn what_is_refused() {
    let postgres = "postgres://h/d";
    for (code, url, gates) in [
        (Code::WrongType, postgres, "50"),
        (Code::WrongType, postgres, "{ active_sessions = \"50\" }"),
        (Code::WrongType, postgres, "{ replica_lag = \"1s\", replicas = \"postgres://r/d\" }"),
        (Code::WrongType, postgres, "{ hold_file = true }"),
        (Code::UnknownKey, postgres, "{ actve_sessions = 50 }"),
        (Code::UnknownKey, "sqlite:a.db", "{ active_sessions = 50 }"),
        (Code::UnknownKey, "sqlite:a.db", "{ transactions_per_second = 50 }"),
        (Code::UnknownKey, "sqlite:a.db", "{ replica_lag = \"1s\" }"),
        (Code::MissingKey, postgres, "{}"),
        (Code::MissingKey, postgres, "{ replicas = [\"postgres://r/d\"] }"),
        (Code::MissingKey, "mysql://h/d", "{ replica_lag = \"1s\" }"),
        (Code::BadValue, postgres, "{ active_sessions = -1 }"),
        (Code::BadValue, postgres, "{ replica_lag = \"0s\" }"),
        (Code::BadValue, postgres, "{ replica_lag = \"1s\", replicas = [] }"),
        (Code::BadValue, postgres, "{ hold_file = \"\" }"),
        (Code::BadValue, postgres, "{ hold_file = \"run/hold\" }"),
        (Code::BadDuration, postgres, "{ replica_lag = 10 }"),
        (Code::BadUrl, postgres, "{ replica_lag = \"1s\", replicas = [\"replica\"] }"),
        (Code::BadUrl, postgres, "{ replica_lag = \"1s\", replicas = [\"mysql://r/d\"] }"),
        (Code::BadUrl, "mysql://h/d", "{ replica_lag = \"1s\", replicas = [\"sqlite:a.db\"] }"),
        (Code::BadUrl, postgres, "{ replica_lag = \"1s\", replicas = [\"postgres://u:hunter2@[/d\"] }"),
        (Code::BadUrl, postgres, "{ replica_lag = \"1s\", replicas = [\"${SECRET}\"] }"),
        (Code::UnsetVariable, postgres, "{ replica_lag = \"1s\", replicas = [\"${NOT_SET}\"] }"),
    ] {
        let text = with_gates(url, gates);
        let error = config(&text).map(|_| ()).expect_err(&text);
        assert_eq!(codes(&error), [code.as_str()], "{text}");
        let shown = format!("{} {error:?}", rendered(&error));
        assert!(shown.contains("help: ") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn how_it_looks() {
    let text = with_gates("sqlite:a.db", "{ active_sessions = 50, hold_file = \"hold\" }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::invalid

      x bygone.toml has 2 errors

    Error: config::unknown_key

      x `active_sessions` means nothing to an SQLite database
       ,-[bygone.toml:3:29]
     2 | url = "sqlite:a.db"
     3 | gates = { active_sessions = 50, hold_file = "hold" }
       :                             ^|
       :                              `-- only a PostgreSQL, MySQL or MariaDB server can be asked
     4 | [[policy]]
       `----
      help: remove it; what a gate of such a source can say: hold_file

    Error: config::bad_value

      x `hold_file` must be a path from the root on
       ,-[bygone.toml:3:45]
     2 | url = "sqlite:a.db"
     3 | gates = { active_sessions = 50, hold_file = "hold" }
       :                                             ^^^|^^
       :                                                `-- not such a path
     4 | [[policy]]
       `----
      help: write all of it: `hold_file = "/run/bygone/hold"`
    "#);
    let text = with_gates("mysql://h/d", "{ replica_lag = \"10s\" }");
    insta::assert_snapshot!(refusal(&text), @r#"
    config::missing_key

      x `replica_lag` needs `replicas` for MySQL and MariaDB
       ,-[bygone.toml:3:25]
     2 | url = "mysql://h/d"
     3 | gates = { replica_lag = "10s" }
       :                         ^^|^^
       :                           `-- `replicas` is missing beside it
     4 | [[policy]]
       `----
      help: the server does not know how far its replicas are behind; name them:
            `replicas = ["${REPLICA_URL}"]`
    "#);
}
