//! Spans reach a collector: those of a sweep, each within the one that it belongs to, and of the request that asked for it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use rustix::process::Signal;

use crate::api::ask;
use crate::support::{Engine, Run, Running, World, living, until_told};

/// A field of a message, as protobuf has them.
enum Field<'a> {
    Number,
    Bytes(&'a [u8]),
}

/// The fields of a message, by their numbers.
fn fields(mut message: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let field = match tag & 7 {
            0 => {
                varint(&mut message);
                Field::Number
            }
            1 => {
                take(&mut message, 8);
                Field::Number
            }
            2 => {
                let length = usize::try_from(varint(&mut message)).unwrap();
                Field::Bytes(take(&mut message, length))
            }
            5 => {
                take(&mut message, 4);
                Field::Number
            }
            wire => panic!("no such wire type: {wire}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn varint(message: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(message, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

fn take<'a>(message: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = message.split_at(length);
    *message = rest;
    taken
}

/// What stands in the fields of this number.
fn all(message: &[u8], number: u64) -> Vec<&[u8]> {
    let bytes = |(at, field)| match field {
        Field::Bytes(bytes) if at == number => Some(bytes),
        Field::Bytes(_) | Field::Number => None,
    };
    fields(message).into_iter().filter_map(bytes).collect()
}

fn one(message: &[u8], number: u64) -> Vec<u8> {
    all(message, number).first().map_or_else(Vec::new, |bytes| bytes.to_vec())
}

#[derive(Clone, Debug)]
struct Span {
    name: String,
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    whole: Vec<u8>,
}

/// The spans of an export, and the names of services that stand beside them.
fn spans(export: &[u8]) -> (Vec<Span>, String) {
    let (mut spans, mut resources) = (Vec::new(), String::new());
    for of_resource in all(export, 1) {
        resources.push_str(&String::from_utf8_lossy(&one(of_resource, 1)));
        for of_scope in all(of_resource, 2) {
            spans.extend(all(of_scope, 2).into_iter().map(|span| Span {
                name: String::from_utf8(one(span, 5)).unwrap(),
                trace: one(span, 1),
                id: one(span, 2),
                parent: one(span, 4),
                whole: span.to_vec(),
            }));
        }
    }
    (spans, resources)
}

/// A collector that takes whatever it is sent, and the place where it listens.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let (sender, taken) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                loop {
                    let (mut head, mut length) = (String::new(), 0);
                    while !head.ends_with("\r\n\r\n") {
                        let from = head.len();
                        if reader.read_line(&mut head).unwrap_or(0) == 0 {
                            return;
                        }
                        let line = head[from..].to_lowercase();
                        length =
                            line.strip_prefix("content-length:").map_or(length, |rest| rest.trim().parse().unwrap());
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    let _ = sender.send((head.lines().next().unwrap().to_owned(), body));
                    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
                    reader.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (place, taken)
}

#[tokio::test]
async fn a_collector_is_sent_the_spans_of_a_sweep() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("budget = { page = 20 }");
    let (place, taken) = collector();
    let mut command = world.bygone(&["serve", "--state", "state"]);
    let mut running =
        Running::start(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &place).env("OTEL_SERVICE_NAME", "sweeper-7"));
    let said = running.until_it_says("never run by themselves");
    let port = said.rsplit("http://127.0.0.1:").next().unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let json = "Content-Type: application/json\r\n";
    assert!(ask(port, "POST /api/v1/sweeps", json, "{\"policies\":[\"tokens\"]}").starts_with("HTTP/1.1 202"));
    until_told(&world, "state", "complete", 1).await;
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert_eq!(world.survivors().await, living());

    let (mut all, mut services) = (BTreeMap::<String, Vec<Span>>::new(), String::new());
    for (request, body) in taken.try_iter() {
        assert_eq!(request, "POST /v1/traces HTTP/1.1");
        let (spans, resources) = spans(&body);
        services.push_str(&resources);
        for span in spans {
            all.entry(span.name.clone()).or_default().push(span);
        }
    }
    assert!(services.contains("sweeper-7"), "{services}");
    let [sweep] = &all["sweep"][..] else { panic!("{all:#?}") };
    let [policy] = &all["policy"][..] else { panic!("{all:#?}") };
    assert_eq!((&policy.trace, &policy.parent), (&sweep.trace, &sweep.id));
    assert!(String::from_utf8_lossy(&policy.whole).contains("tokens"), "it says which");
    let pages = &all["page"];
    assert!(pages.len() >= 3, "{pages:?}");
    assert!(pages.iter().all(|page| page.trace == sweep.trace && page.parent == policy.id), "{all:#?}");
    assert!(all["request"].iter().any(|span| String::from_utf8_lossy(&span.whole).contains("/api/v1/sweeps")));
    assert_eq!(all.len(), 4, "nothing but our own: {:?}", all.keys());
}

/// A sweep by hand is told of, too; and a collector that is gone is no reason not to sweep.
#[tokio::test]
async fn a_sweep_by_hand_is_told_of_and_needs_no_collector() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let (place, taken) = collector();
    Run::of(world.bygone(&["sweep"]).env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{place}/v1/traces"))).ends(0);
    let (spans, resources) = spans(&taken.try_iter().next().expect("an export").1);
    assert!(resources.contains("bygone"), "{resources}");
    assert!(spans.iter().any(|span| span.name == "sweep"), "{spans:?}");
    world.add("tokens", 1_001, 1_010, crate::support::PAST).await;
    Run::of(world.bygone(&["sweep"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")).ends(0);
    assert_eq!(world.survivors().await, living());
}
