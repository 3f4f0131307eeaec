//! Buckets that keep versions: said before the first delete, and no bytes are claimed.

use bygone_testkit::{Moto, SeaweedFs};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_versioned_bucket_is_named_and_frees_nothing() {
    for bucket in [SeaweedFs::shared().await.fresh_bucket().await, Moto::shared().await.fresh_bucket().await] {
        bucket.keep_versions().await;
        let (due, young) = dated(10, 5);
        bucket.put_all(due.into_iter().chain(young.clone())).await;
        let opened = open(&bucket);
        let survey = target(&opened, by_key(BY_DAY)).survey(noon()).await.unwrap();
        assert_eq!((survey.bygone, survey.bytes), (Some(10), None));
        assert!(survey.warnings.iter().any(|w| w.contains("keeps versions") && w.contains("lifecycle")), "{survey:?}");
        let report = run(&opened, by_key(BY_DAY), noon(), unhurried()).await;
        assert_eq!((report.tally.removed, report.tally.bytes), (10, None), "{report:?}");
        let said = report.warnings.iter().filter(|warning| warning.contains("keeps versions")).count();
        assert_eq!(said, 1, "{report:?}");
        let mut young = young;
        young.sort();
        assert_eq!(bucket.keys().await, young);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_without_versions_is_not_suspected() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    bucket.put("2020", "x").await;
    let survey = target(&open(&bucket), by_key("%Y")).survey(noon()).await.unwrap();
    assert_eq!((survey.warnings, survey.bytes), (vec![], Some(1)));
}
