//! Bodies that are streamed, in and out: for as long as they take, but not for as long as nothing moves.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

/// What is in memory is sent in pieces of so many bytes.
const PIECE: usize = 64 << 10;

/// What comes in.
pub(in crate::http) fn incoming(body: Body, stall_within: Duration) -> impl AsyncRead + Unpin + Send {
    let pieces = stream::unfold(Some(body.into_data_stream()), move |rest| async move {
        let mut rest = rest?;
        match tokio::time::timeout(stall_within, rest.next()).await {
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(rest))),
            Ok(Some(Err(error))) => Some((Err(io::Error::other(error)), None)),
            Ok(None) => None,
            Err(_) => {
                let why = format!("nothing came for {} s", stall_within.as_secs_f64());
                Some((Err(io::Error::new(io::ErrorKind::TimedOut, why)), None))
            }
        }
    });
    StreamReader::new(Box::pin(pieces))
}

/// What goes out. Nobody waits for a reader who takes nothing: what was kept for him is dropped, and he finds less than the
/// length that he was told.
pub(in crate::http) fn outgoing<E: Into<axum::BoxError> + Send + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    kept: impl Send + 'static,
    stall_within: Duration,
) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut pieces = Box::pin(pieces);
        while let Some(piece) = pieces.next().await {
            let sent = tokio::time::timeout(stall_within, sender.send(piece)).await;
            if !matches!(sent, Ok(Ok(()))) {
                break;
            }
        }
        drop(kept);
    });
    let taken = |mut receiver: mpsc::Receiver<_>| async { receiver.recv().await.map(|piece| (piece, receiver)) };
    Body::from_stream(stream::unfold(receiver, taken))
}

/// Bytes in pieces.
pub(in crate::http) fn pieces_of(bytes: Bytes) -> impl Stream<Item = Result<Bytes, io::Error>> + Send {
    stream::unfold(bytes, |mut rest| async {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok(piece), rest))
    })
}
