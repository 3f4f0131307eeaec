//! Connections: taken while there is room, answered, and brought to an end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bygone_core::{CancellationToken, Clock};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::listen::{Accepted, Listener};
use super::settings::Limits;

/// How long to wait when the system has no connection to give: it may have run out of files.
const TAKE_AGAIN: Duration = Duration::from_millis(100);

/// What a connection may keep of what comes, and of what its reader is slow to take.
const BUFFER_BYTES_MAX: usize = 64 * 1_024;

/// What all connections share.
struct Desk {
    service: TowerToHyperService<Router>,
    limits: Limits,
    room: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
}

/// Takes connections until told to stop, and waits a while for those under way.
pub(super) async fn serve(
    listeners: Vec<Listener>,
    router: Router,
    limits: Limits,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let service = TowerToHyperService::new(router);
    let room = Arc::new(Semaphore::new(limits.connections_max));
    let desk = Arc::new(Desk { service, limits, room, clock, stop });
    let mut takers = JoinSet::new();
    for listener in listeners {
        takers.spawn(take(listener, Arc::clone(&desk)));
    }
    while let Some(ended) = takers.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a listener has ended by a panic");
        }
    }
}

/// Takes the connections of one listener.
async fn take(listener: Listener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = desk.stop.cancelled() => break,
            Some(ended) = connections.join_next() => report(ended),
            accepted = accept(&listener, &desk) => match accepted {
                Ok((accepted, permit)) => {
                    let desk = Arc::clone(&desk);
                    connections.spawn(async move {
                        answer(accepted, &desk).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection could be taken");
                    desk.clock.sleep(TAKE_AGAIN).await;
                }
            },
        }
    }
    // Nobody new comes in from here on.
    drop(listener);
    let drained = async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    };
    tokio::select! {
        () = drained => {}
        () = desk.clock.sleep(desk.limits.end_within) => tracing::warn!("requests were still under way at the end"),
    }
}

async fn accept(listener: &Listener, desk: &Desk) -> io::Result<(Accepted, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(&desk.room).acquire_owned().await.map_err(io::Error::other)?;
    Ok((listener.accept().await?, permit))
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection has ended by a panic");
    }
}

/// Answers the requests of one connection.
async fn answer(accepted: Accepted, desk: &Desk) {
    let Desk { service, limits, stop, .. } = desk;
    let (local, encrypted) = (accepted.local, accepted.encrypted());
    let opened = tokio::select! {
        () = stop.cancelled() => return,
        opened = accepted.open(limits.head_within) => opened,
    };
    let stream = match opened {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a connection was not opened"),
    };
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(local);
        request.extensions_mut().insert(encrypted);
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_within)
        .max_headers(limits.headers_max)
        .max_header_size(limits.head_bytes_max)
        .max_buf_size(BUFFER_BYTES_MAX.max(limits.head_bytes_max))
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection was broken off");
    }
}
