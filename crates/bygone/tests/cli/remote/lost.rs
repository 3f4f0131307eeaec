//! Answers that are lost: what can be done twice is asked again, of anything else it is told that nobody knows.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::{Run, bygone};

/// Something that hears requests to their end, and goes away without an answer.
struct Silence {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Silence {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, heard) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
        let hearing = Arc::clone(&heard);
        // It goes with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, mut said, mut piece) = (stream.unwrap(), Vec::new(), [0; 4_096]);
                while !is_whole(&said) {
                    match stream.read(&mut piece) {
                        Ok(read) if read > 0 => said.extend_from_slice(&piece[..read]),
                        _ => break,
                    }
                }
                hearing.lock().unwrap().push(String::from_utf8_lossy(&said).into_owned());
            }
        });
        Self { port, heard }
    }

    /// Runs the program over it, which must end in not knowing, and gives what was heard.
    fn over(&self, path: &str, arguments: &[&str], input: &str) -> (Run, Vec<String>) {
        let mut command: Command = bygone(arguments);
        command.env("BYGONE_STORE", format!("http://127.0.0.1:{}{path}", self.port));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let run = Run::from(child.wait_with_output().unwrap()).ends(69);
        (run, std::mem::take(&mut *self.heard.lock().unwrap()))
    }
}

fn is_whole(said: &[u8]) -> bool {
    let said = String::from_utf8_lossy(said).to_lowercase();
    let Some((head, body)) = said.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    if head.contains("transfer-encoding: chunked") {
        body.ends_with("0\r\n\r\n")
    } else {
        body.len() >= length.unwrap_or(0)
    }
}

#[test]
fn a_lease_is_asked_for_again_under_the_same_name() {
    let silence = Silence::new();
    let (run, heard) = silence.over("/lease/v1/jobs", &["lease", "acquire", "--key", "k"], "");
    run.says(&["did not answer"]);
    let names: Vec<&str> = heard.iter().map(|asked| asked.split("\"request\":\"").nth(1).unwrap()).collect();
    assert_eq!(names.len(), 3, "{heard:?}");
    assert!(names[0].len() > 36 && names.iter().all(|name| *name == names[0]), "{names:?}");
}

#[test]
fn what_may_be_done_once_is_asked_once_and_nobody_knows() {
    let silence = Silence::new();
    let send = ["queue", "send", "--queue", "mail", "--text", "hello"];
    let receive = ["queue", "receive", "--queue", "mail"];
    for (path, arguments) in
        [("/lease/v1/jobs", &send[..]), ("/lease/v1/jobs", &receive), ("/stage/v1/up", &["stage", "put", "-"])]
    {
        let (run, heard) = silence.over(path, arguments, "from a pipe");
        run.says(&["nobody knows whether this happened", "before you ask again"]);
        assert_eq!(heard.len(), 1, "{arguments:?}: {heard:?}");
    }
}

#[test]
fn what_only_looks_or_does_the_same_twice_is_asked_again() {
    let silence = Silence::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    for arguments in [&["stage", "list"][..], &["stage", "put", path]] {
        let (_, heard) = silence.over("/stage/v1/up", arguments, "");
        assert_eq!(heard.len(), 3, "{arguments:?}: {heard:?}");
    }
    let (_, heard) = silence.over("/lease/v1/jobs", &["txn", "begin"], "");
    assert_eq!(heard.len(), 3, "{heard:?}");
}
