//! What leases guard: a server that remembers the highest token of each key and refuses lower ones.
//!
//! Each key has a number. Whoever holds its lease reads it and writes the next one, so any two who were at it at once are
//! found out: a number would be written twice, or left out. The server looks on as well: a token belongs to one owner,
//! nobody is let in while another's lease lasts, and nobody is refused while his own does.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use bygone_core::{Clock, SystemClock};
use bygone_lease::{Key, Moment};
use serde::{Deserialize, Serialize};

/// The keys of guarded numbers.
pub(crate) const GUARDED: u64 = 2;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) key: Key,
    pub(crate) token: u64,
    pub(crate) owner: String,
    /// When the lease ends, as far as the owner knows. Only for looking on: what is refused depends on the token alone.
    pub(crate) expires_at: Moment,
    pub(crate) deed: Deed,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Deed {
    Read,
    Write(u64),
    /// Nothing more will come under this token.
    Leave,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It is done; the number is this now.
    Done(u64),
    /// Somebody came with this token, which is higher.
    Stale(u64),
}

/// A key: its number, and who was here last.
#[derive(Debug, Default)]
struct Guarded {
    value: u64,
    token: u64,
    owner: String,
    expires_at: Moment,
    has_left: bool,
}

/// What the server has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    guarded: HashMap<Key, Guarded>,
    pub(crate) writes: u64,
    /// Writes that came under a token that is not the highest.
    pub(crate) stale_writes: u64,
    /// Whatever should not have happened.
    pub(crate) wrongs: Vec<String>,
}

impl Seen {
    fn answer(&mut self, request: &Request, now: Moment) -> Answer {
        let Request { key, token, owner, expires_at, deed } = request;
        let guarded = self.guarded.entry(key.clone()).or_default();
        if *token < guarded.token {
            self.stale_writes += u64::from(matches!(deed, Deed::Write(_)));
            if !expires_at.has_passed(now) {
                self.wrongs.push(format!("refused in good time: {request:?}, {guarded:?}, {now}"));
            }
            return Answer::Stale(guarded.token);
        }
        if *token > guarded.token {
            if !guarded.has_left && !guarded.expires_at.has_passed(now) {
                self.wrongs.push(format!("two at once: {request:?}, {guarded:?}, {now}"));
            }
            let (token, owner) = (*token, owner.clone());
            *guarded = Guarded { token, owner, has_left: false, ..*guarded };
        }
        if *owner != guarded.owner {
            self.wrongs.push(format!("two of one token: {request:?}, {guarded:?}"));
        }
        guarded.expires_at = *expires_at;
        match deed {
            Deed::Read => {}
            Deed::Leave => guarded.has_left = true,
            Deed::Write(value) => {
                if *value != guarded.value + 1 {
                    self.wrongs.push(format!("a number twice, or left out: {request:?}, {guarded:?}"));
                }
                guarded.value = *value;
                self.writes += 1;
            }
        }
        Answer::Done(guarded.value)
    }

    /// Who wrote last, and so perhaps still holds a lease.
    pub(crate) fn last_owners(&self) -> Vec<String> {
        let mut owners: Vec<_> = self.guarded.iter().map(|(key, guarded)| (key, guarded.owner.clone())).collect();
        owners.sort();
        owners.into_iter().map(|(_, owner)| owner).collect()
    }
}

/// The server, for as long as the test lasts.
pub(crate) struct Resource {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Resource {
    pub(crate) fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Seen::default())));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, seen) = (stream.unwrap(), Arc::clone(&shared));
                std::thread::spawn(move || serve_one(&stream, &seen));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

fn serve_one(mut stream: &TcpStream, seen: &Mutex<Seen>) {
    let clock = SystemClock::new();
    // Whoever is killed leaves his line unfinished, or his answer unread.
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Ok(request) = serde_json::from_str::<Request>(&line) else { return };
        let answer = seen.lock().unwrap().answer(&request, Moment::from(clock.now()));
        if stream.write_all(format!("{}\n", serde_json::to_string(&answer).unwrap()).as_bytes()).is_err() {
            return;
        }
    }
}
