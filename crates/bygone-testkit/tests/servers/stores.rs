//! The same promises for each object store.

use bygone_testkit::{Azurite, Fault, FaultProxy, Moto, Options, SeaweedFs};

use crate::child::{self, Seen};

/// Keys that are hard to write into a URL or into XML.
const ODD: [&str; 6] = ["a b", "ü/é", "p%20q", "a+b", "q'\"", "a&b<c>"];

macro_rules! promises {
    ($module:ident, $server:ty, $scheme:literal) => {
        mod $module {
            use super::*;

            #[tokio::test]
            async fn two_fresh_buckets_are_apart() {
                let server = <$server>::shared().await;
                let (one, two) = (server.fresh_bucket().await, server.fresh_bucket().await);
                assert!(one.url().starts_with($scheme), "{}", one.url());
                one.put("a/b", "hello").await;
                assert_eq!(one.objects().await, [("a/b".to_owned(), 5)].into());
                assert_eq!(one.get("a/b").await, "hello");
                assert!(two.keys().await.is_empty());
                one.delete("a/b").await;
                assert!(one.keys().await.is_empty());
            }

            #[tokio::test]
            async fn every_key_is_listed_as_it_is() {
                let bucket = <$server>::shared().await.fresh_bucket().await;
                let mut keys: Vec<String> = (0..1_200).map(|n| format!("many/{n:04}")).collect();
                keys.extend(ODD.map(String::from));
                bucket.put_all(keys.clone()).await;
                keys.sort();
                assert_eq!(bucket.keys().await, keys);
            }

            #[tokio::test]
            async fn a_dropped_server_is_gone() {
                let server = <$server>::start(Options::default()).await.unwrap();
                let seen = Seen::of(&server);
                assert!(seen.process.is_alive() && seen.directory.is_dir());
                drop(server);
                assert!(!seen.process.is_alive() && !seen.directory.exists());
            }

            #[test]
            fn a_server_whose_owner_is_killed_is_gone() {
                let mut owner = child::spawn(concat!("private-", stringify!($module)));
                let seen = child::servers(&mut owner, 1).remove(0);
                owner.kill().unwrap();
                seen.assert_goes_away();
                owner.wait().unwrap();
            }
        }
    };
}

promises!(seaweedfs, SeaweedFs, "s3://");
promises!(moto, Moto, "s3://");
promises!(azurite, Azurite, "az://");

#[tokio::test]
async fn a_killed_store_restarts_with_what_was_put() {
    let mut server = SeaweedFs::start(Options::default()).await.unwrap();
    let bucket = server.fresh_bucket().await;
    bucket.put_all((0..50).map(|n| format!("k{n:02}"))).await;
    let before = server.process();
    server.kill();
    assert!(!before.is_alive());
    server.restart().await.unwrap();
    assert_eq!(bucket.keys().await.len(), 50);
}

#[tokio::test]
async fn there_is_room_for_the_buckets_of_a_whole_run() {
    let server = SeaweedFs::shared().await;
    for _ in 0..60 {
        let bucket = server.fresh_bucket().await;
        bucket.put("k", "v").await;
        assert_eq!(bucket.get("k").await, "v");
    }
}

#[tokio::test]
async fn a_proxy_does_what_it_is_told() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    bucket.put("k", "v").await;
    let faults = [Fault::Status(503), Fault::Cut, Fault::LostReply, Fault::TornReply, Fault::None];
    let plan = faults.clone();
    let proxy =
        FaultProxy::before(bucket.port(), move |seen| plan[usize::try_from(seen.number).unwrap()].clone()).await;
    for fault in faults {
        let asked = ask(proxy.port()).await;
        let whole = asked.contains("AccessDenied") && asked.contains("</Error>");
        assert_eq!(whole, fault == Fault::None, "{fault:?}: {asked}");
        assert_eq!(asked.starts_with("HTTP/1.1 503"), fault == Fault::Status(503), "{fault:?}: {asked}");
    }
    let proxy = FaultProxy::before(bucket.port(), |_| Fault::Header("date", "long ago".into())).await;
    assert!(ask(proxy.port()).await.contains("\r\ndate: long ago\r\n"));
}

/// Asks without a signature, which is refused in words.
async fn ask(port: u16) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
