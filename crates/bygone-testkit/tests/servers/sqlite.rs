//! A file of one's own.

use bygone_testkit::Sqlite;

#[test]
fn each_database_is_a_file_of_its_own_and_goes_away() {
    let (one, two) = (Sqlite::fresh(), Sqlite::fresh());
    assert_ne!(one.path(), two.path());
    assert_eq!(one.url(), format!("sqlite:{}", one.path().display()));

    one.connect().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(one.path().is_file());
    assert!(!two.path().exists());

    let directory = one.directory().to_owned();
    drop(one);
    assert!(!directory.exists());
}
