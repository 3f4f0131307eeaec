//! Policies over files and objects: what is taken, what is refused.

use jiff::SignedDuration;

use super::super::error::Code;
use super::super::{FileDeadline, KeyDate, ObjectDeadline, Place, Subject};
use super::{codes, config, refusal};

const SOURCES: &str = "[source.files]\nurl = \"file:/srv/uploads\"\n[source.bucket]\nurl = \"s3://b/logs\"\n\
                       [source.db]\nurl = \"sqlite:a.db\"\n";

fn file(source: &str, lines: &str) -> String {
    format!("{SOURCES}[[policy]]\nname = \"p\"\nsource = \"{source}\"\n{lines}\n")
}

fn subject(source: &str, lines: &str) -> Subject {
    let text = file(source, lines);
    config(&text).expect(&text).policies.remove(0).subject
}

#[test]
fn a_tree_with_nothing_but_its_keep() {
    let config = config(&file("files", "kind = \"tree\"\nkeep = \"5d\"")).unwrap();
    assert_eq!(config.sources["files"].place, Place::Directory);
    let Subject::Tree(tree) = &config.policies[0].subject else { panic!("{:?}", config.policies[0]) };
    assert_eq!((tree.keep, &tree.deadline), (Some(SignedDuration::from_hours(120)), &FileDeadline::Modified));
    assert_eq!((tree.min_depth, tree.empty_dirs, &tree.path), (1, false, &None));
    assert_eq!((tree.max_bytes, tree.max_count, tree.min_free), (None, None, None));
    assert!(tree.include.is_empty() && tree.exclude.is_empty());
    assert_eq!(config.policies[0].keep(), tree.keep);
}

#[test]
fn a_tree_with_everything() {
    let lines = "kind = \"tree\"\npath = \"a/b/\"\ndeadline = \"atime\"\ninclude = [\"**/*.tmp\"]\n\
                 exclude = [\"keep/**\"]\nmin_depth = 2\nempty_dirs = true\nmax_bytes = \"10 GiB\"\n\
                 max_count = 500\nmin_free = 4096";
    let Subject::Tree(tree) = subject("files", lines) else { panic!() };
    assert_eq!((tree.path.as_deref(), tree.keep, tree.deadline), (Some("a/b"), None, FileDeadline::Accessed));
    assert_eq!((tree.include, tree.exclude), (vec!["**/*.tmp".to_owned()], vec!["keep/**".to_owned()]));
    assert_eq!((tree.min_depth, tree.empty_dirs), (2, true));
    assert_eq!((tree.max_bytes, tree.max_count, tree.min_free), (Some(10 << 30), Some(500), Some(4_096)));
}

#[test]
fn dates_in_keys() {
    let lines = "kind = \"prefix\"\nkeep = \"30d\"\ndeadline = { key = \"%Y/%m/%d/**\" }\nzone = \"europe/berlin\"";
    let date = KeyDate { pattern: "%Y/%m/%d/**".to_owned(), zone: Some("Europe/Berlin".to_owned()) };
    let Subject::Prefix(prefix) = subject("bucket", lines) else { panic!() };
    assert_eq!(prefix.deadline, ObjectDeadline::Key(date.clone()));
    let Subject::Tree(tree) = subject("files", &lines.replace("prefix", "tree")) else { panic!() };
    assert_eq!(tree.deadline, FileDeadline::Key(date));
    let Subject::Prefix(prefix) = subject("files", "kind = \"prefix\"\nkeep = \"1d\"") else { panic!() };
    assert_eq!((prefix.deadline, prefix.keep), (ObjectDeadline::Modified, SignedDuration::from_hours(24)));
}

#[test]
fn a_staging_area_needs_no_more_than_its_source() {
    let Subject::Stage(stage) = subject("files", "kind = \"stage\"") else { panic!() };
    assert_eq!(stage.keep, SignedDuration::ZERO);
}

#[test]
fn a_lease_store_needs_no_more_than_its_source() {
    for source in ["files", "bucket"] {
        let Subject::Leases(leases) = subject(source, "kind = \"leases\"") else { panic!() };
        assert_eq!(leases.keep, SignedDuration::from_hours(24));
    }
    let config = config(&file("files", "kind = \"leases\"\nkeep = \"1h\"")).unwrap();
    let Subject::Leases(leases) = &config.policies[0].subject else { panic!() };
    assert_eq!(leases.keep, SignedDuration::from_hours(1));
    assert_eq!(config.policies[0].keep(), Some(SignedDuration::ZERO), "it is part of the deadline");
}

#[test]
fn what_is_refused() {
    let tree = "kind = \"tree\"\nkeep = \"1d\"\n";
    let prefix = "kind = \"prefix\"\nkeep = \"1d\"\n";
    for (code, source, lines) in [
        // Kinds and sources that do not fit each other.
        (Code::BadValue, "db", tree.to_owned()),
        (Code::BadValue, "bucket", tree.to_owned()),
        (Code::BadValue, "bucket", "kind = \"stage\"".to_owned()),
        (Code::BadValue, "db", prefix.to_owned()),
        (Code::BadValue, "files", "table = \"t\"\ndeadline = \"d\"\nkeep = \"1d\"".to_owned()),
        (Code::BadValue, "files", "kind = \"leaves\"\nkeep = \"1d\"".to_owned()),
        (Code::BadValue, "db", "kind = \"leases\"".to_owned()),
        (Code::BadValue, "files", "kind = \"leases\"\nkeep = \"59m\"".to_owned()),
        (Code::UnknownKey, "files", "kind = \"leases\"\ntable = \"t\"".to_owned()),
        (Code::UnknownKey, "bucket", "kind = \"leases\"\npath = \"a\"".to_owned()),
        (Code::UnknownKey, "bucket", "kind = \"leases\"\ndeadline = \"mtime\"".to_owned()),
        // What is missing.
        (Code::MissingKey, "files", "kind = \"tree\"".to_owned()),
        (Code::MissingKey, "bucket", "kind = \"prefix\"".to_owned()),
        // Keys of another kind.
        (Code::UnknownKey, "files", format!("{tree}table = \"t\"")),
        (Code::UnknownKey, "files", format!("{tree}newest = 3")),
        (Code::UnknownKey, "bucket", format!("{prefix}max_bytes = 1")),
        (Code::UnknownKey, "files", "kind = \"stage\"\ndeadline = \"mtime\"".to_owned()),
        (Code::UnknownKey, "files", "kind = \"stage\"\ninclude = [\"a\"]".to_owned()),
        (Code::UnknownKey, "files", "kind = \"stage\"\nempty_dirs = true".to_owned()),
        (Code::BadValue, "files", "kind = \"stage\"\nmax_bytes = \"ten\"".to_owned()),
        // Deadlines that there are not.
        (Code::BadValue, "files", format!("{tree}deadline = \"modified\"")),
        (Code::BadValue, "files", format!("{tree}deadline = [\"mtime\", \"ctime\"]")),
        (Code::BadValue, "files", format!("{tree}deadline = {{ ulid = \"a\" }}")),
        (Code::BadValue, "bucket", format!("{prefix}deadline = \"mtime\"")),
        (Code::BadValue, "db", "table = \"t\"\nkeep = \"1d\"\ndeadline = { key = \"%Y\" }".to_owned()),
        (Code::ConflictingKeys, "files", format!("{tree}zone = \"UTC\"")),
        // Paths that do not lead down.
        (Code::BadValue, "files", format!("{tree}path = \"/etc\"")),
        (Code::BadValue, "files", format!("{tree}path = \"a/../../b\"")),
        (Code::BadValue, "files", format!("{tree}path = \"a//b\"")),
        (Code::BadValue, "files", format!("{tree}path = \"/\"")),
        (Code::BadValue, "files", format!("{tree}path = \".\"")),
        // Values.
        (Code::BadValue, "files", format!("{tree}include = []")),
        (Code::BadValue, "files", format!("{tree}exclude = [\"\"]")),
        (Code::BadValue, "files", format!("{tree}min_depth = 0")),
        (Code::BadValue, "files", format!("{tree}max_bytes = \"ten\"")),
        (Code::BadValue, "files", format!("{tree}max_bytes = \"-1GiB\"")),
        (Code::BadValue, "files", format!("{tree}min_free = -1")),
        (Code::WrongType, "files", format!("{tree}max_bytes = 1.5")),
        (Code::WrongType, "files", format!("{tree}include = \"a\"")),
        (Code::WrongType, "files", format!("{tree}empty_dirs = \"yes\"")),
    ] {
        let text = file(source, &lines);
        assert_eq!(codes(&config(&text).unwrap_err()), [code.as_str()], "{text}\n{}", refusal(&text));
    }
    let text = file("files", tree).replace("uploads\"", "uploads\"\nschema = \"public\"");
    assert_eq!(codes(&config(&text).unwrap_err()), [Code::UnknownKey.as_str()], "{}", refusal(&text));
}

#[test]
fn a_key_of_another_kind() {
    insta::assert_snapshot!(refusal(&file("files", "kind = \"tree\"\nkeep = \"1d\"\ntable = \"t\"")), @r#"
    config::unknown_key

      x `table` means nothing to a policy of kind "tree"
        ,-[bygone.toml:12:1]
     11 | keep = "1d"
     12 | table = "t"
        : ^^|^^
        :   `-- not with this kind
        `----
      help: remove it; what such a policy can say: deadline, zone, path, include,
            exclude, min_depth, empty_dirs, max_bytes, max_count, min_free
    "#);
}

#[test]
fn no_age_and_no_limit() {
    insta::assert_snapshot!(refusal(&file("files", "kind = \"tree\"")), @r#"
    config::missing_key

      x policy "p" has none of `keep`, `max_bytes`, `max_count`, `min_free`
       ,-[bygone.toml:7:1]
     6 | url = "sqlite:a.db"
     7 | [[policy]]
       : ^^^^^|^^^^
       :      `-- one of them is missing here
     8 | name = "p"
       `----
      help: say how long files stay: `keep = "5d"`; or how much of them:
            `max_bytes = "10GiB"`
    "#);
}
