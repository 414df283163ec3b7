//! [`serve`]: accepts connections, bounded in number and time, and passes them to the router.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::reception::Desk;
use crate::routes::Peer;

/// Accepts connections until the reception closes. `lasts` is the time limit of each.
pub(crate) async fn serve(listener: TcpListener, router: Router, desk: Desk, lasts: Duration) {
    let connections = Connections::default();
    for number in 0.. {
        let accepted = tokio::select! {
            () = desk.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, stop) = (router.clone(), desk.stop.clone());
                let place = connections.enter(number);
                desk.run(async move {
                    let talk = talk(stream, peer, router, stop);
                    let talk = tokio::time::timeout(lasts, talk);
                    tokio::select! {
                        () = place.close.cancelled() => {}
                        _ = talk => {}
                    }
                });
            }
            // Usually too many open files: the connection waits in the backlog.
            Err(_) => tokio::time::sleep(limits::ACCEPT_PAUSE).await,
        }
    }
}

/// Serves one request. Connections are not reused, since clients rarely send a second request.
async fn talk(stream: TcpStream, client: SocketAddr, router: Router, stop: CancellationToken) {
    let peer = Peer { client, server: stream.local_addr().ok() };
    let router = TowerToHyperService::new(router.layer(Extension(peer)));
    let has_asked = AtomicBool::new(false);
    let service = service_fn(|request| {
        has_asked.store(true, Ordering::Relaxed);
        router.call(request)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEADERS_WAIT)
        .max_headers(limits::HEADERS_MAX)
        .max_buf_size(limits::HEADER_BYTES_MAX)
        .keep_alive(false);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    // An error on a connection concerns only its client.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            // Browsers open spare connections. Without a request, no client is waiting.
            if has_asked.load(Ordering::Relaxed) {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// The open connections, oldest first.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<BTreeMap<u64, CancellationToken>>>);

/// One open connection; dropping it frees its place.
struct OpenConnection {
    number: u64,
    close: CancellationToken,
    all: Connections,
}

impl Connections {
    /// Adds a connection, and closes the oldest one if the limit is reached.
    fn enter(&self, number: u64) -> OpenConnection {
        let close = CancellationToken::new();
        let mut open = self.open();
        while open.len() >= limits::CONNECTIONS_MAX {
            if let Some((_, oldest)) = open.pop_first() {
                oldest.cancel();
            }
        }
        open.insert(number, close.clone());
        drop(open);
        OpenConnection { number, close, all: self.clone() }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.all.open().remove(&self.number);
    }
}
