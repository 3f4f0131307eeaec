//! A wire between a client and a server that is well, and that is cut after so many bytes.
//!
//! Where a connection breaks decides what either side knows: a statement that half arrived, one that was done and not
//! answered, an answer that ends in the middle of a number. So a test counts the bytes of a run that goes well, and cuts
//! the next one anywhere in it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::access::HOST;
use crate::error::{KitError, must};

/// As much as is read at once.
const BUFFER_BYTES: usize = 16_384;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What the client says.
    ToServer,
    /// What the server answers.
    ToClient,
}

/// Where the wire is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of this way are counted.
    pub way: Way,
    /// So many more pass, over whatever connection, and then the one that they pass over is cut both ways.
    pub after_bytes: u64,
}

/// A way to a server by another port. It stops with its value, and cuts what goes over it.
#[derive(Debug)]
pub struct Wire {
    port: u16,
    state: Arc<State>,
    open: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    to_server: u64,
    to_client: u64,
    cuts: Vec<Cut>,
    done: usize,
}

impl Wire {
    /// Makes a way to the server on a loopback port.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn to(server: u16) -> Self {
        let listener = must(TcpListener::bind((HOST, 0)).await.map_err(KitError::Port));
        let port = must(listener.local_addr().map_err(KitError::Port)).port();
        let (state, open) = (Arc::<State>::default(), watch::Sender::new(true));
        let (shared, gate) = (Arc::clone(&state), open.subscribe());
        let accepting = tokio::spawn(async move {
            // Connections end with the task that accepts them.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (state, mut gate) = (Arc::clone(&shared), gate.clone());
                connections.spawn(async move {
                    if gate.wait_for(|open| *open).await.is_ok() {
                        // A connection that breaks is what this is for.
                        let _ = carry(client, server, &state).await;
                    }
                });
            }
        });
        Self { port, state, open, accepting }
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many bytes have passed this way so far.
    pub fn passed(&self, way: Way) -> u64 {
        *self.state.counts().passed(way)
    }

    /// Cuts it there, counted from now. Earlier orders that were not carried out are forgotten.
    pub fn cut(&self, cuts: impl IntoIterator<Item = Cut>) {
        self.state.counts().cuts = cuts.into_iter().collect();
    }

    /// How often it was cut.
    pub fn cuts(&self) -> usize {
        self.state.counts().done
    }

    /// New connections wait from now on, as those of a pooler do while its server is away.
    pub fn hold(&self) {
        self.open.send_replace(false);
    }

    /// Lets those who wait through.
    pub fn release(&self) {
        self.open.send_replace(true);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl State {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn passed(&mut self, way: Way) -> &mut u64 {
        match way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        }
    }

    /// How many of `bytes` pass, and whether the connection is cut behind them.
    fn pass(&mut self, way: Way, bytes: u64) -> (u64, bool) {
        let due = self.cuts.iter().filter(|cut| cut.way == way && cut.after_bytes < bytes);
        let passing = due.map(|cut| cut.after_bytes).min();
        let passed = passing.unwrap_or(bytes);
        *self.passed(way) += passed;
        // What is to come is counted from here; of those on one byte, one is carried out.
        if let Some(at) = self.cuts.iter().position(|cut| cut.way == way && Some(cut.after_bytes) == passing) {
            self.cuts.remove(at);
            self.done += 1;
        }
        for cut in self.cuts.iter_mut().filter(|cut| cut.way == way) {
            cut.after_bytes -= passed;
        }
        (passed, passing.is_some())
    }
}

/// Carries bytes both ways until one side is done or the wire is cut.
async fn carry(client: TcpStream, server: u16, state: &State) -> io::Result<()> {
    let server = TcpStream::connect((HOST, server)).await?;
    // A page is many small messages: none of them waits for another.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        ended = carry_one_way(from_client, to_server, Way::ToServer, state) => ended,
        ended = carry_one_way(from_server, to_client, Way::ToClient, state) => ended,
    }
}

async fn carry_one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    way: Way,
    state: &State,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        let (passing, is_cut) = state.counts().pass(way, read as u64);
        // No more than was read, so it fits.
        to.write_all(&buffer[..usize::try_from(passing).unwrap_or(read)]).await?;
        if is_cut || read == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says everything twice.
    async fn echo() -> u16 {
        let listener = TcpListener::bind((HOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut byte = [0];
                    while client.read_exact(&mut byte).await.is_ok() {
                        client.write_all(&[byte[0]; 2]).await.unwrap();
                    }
                });
            }
        });
        port
    }

    /// What is heard until the end, saying one byte after the other.
    async fn say(wire: &Wire, text: &str) -> String {
        let mut client = TcpStream::connect((HOST, wire.port())).await.unwrap();
        let mut heard = String::new();
        for byte in text.bytes() {
            if client.write_all(&[byte]).await.is_err() {
                break;
            }
            for _ in 0..2 {
                match client.read_u8().await {
                    Ok(byte) => heard.push(byte.into()),
                    Err(_) => return heard,
                }
            }
        }
        heard
    }

    #[tokio::test]
    async fn it_is_cut_at_the_byte_and_once() {
        let wire = Wire::to(echo().await).await;
        assert_eq!(say(&wire, "abc").await, "aabbcc");
        assert_eq!((wire.passed(Way::ToServer), wire.passed(Way::ToClient), wire.cuts()), (3, 6, 0));
        wire.cut([Cut { way: Way::ToServer, after_bytes: 2 }]);
        assert_eq!(say(&wire, "abc").await, "aabb", "the third byte does not arrive");
        assert_eq!((say(&wire, "abc").await, wire.cuts()), ("aabbcc".to_owned(), 1));
        wire.cut([Cut { way: Way::ToClient, after_bytes: 3 }, Cut { way: Way::ToClient, after_bytes: 4 }]);
        assert_eq!(say(&wire, "abc").await, "aab");
        assert_eq!(say(&wire, "abc").await, "a", "the second is counted over all connections");
        assert_eq!((say(&wire, "abc").await, wire.cuts()), ("aabbcc".to_owned(), 3));
    }

    #[tokio::test]
    async fn who_is_held_comes_through_later() {
        let wire = Wire::to(echo().await).await;
        wire.hold();
        let mut client = TcpStream::connect((HOST, wire.port())).await.unwrap();
        client.write_all(b"a").await.unwrap();
        assert_eq!(wire.passed(Way::ToServer), 0);
        wire.release();
        let mut answer = [0; 2];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"aa");
    }
}
