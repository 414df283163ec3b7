//! Receivers behind TLS. Their certificate, for `localhost`, was made for these tests; a client
//! trusts it only if it is configured to.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub(crate) const CERTIFICATE: &str = include_str!("certificate.pem");
const KEY: &str = include_str!("key.pem");

/// Answers every request with a redirect to this location, and returns the port.
pub(crate) fn redirecting_to(location: &str) -> u16 {
    let answer = format!(
        "HTTP/1.1 307 Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    );
    start(answer, End::Proper).0
}

/// Answers every request with 200 and `ok`, and closes the connection without TLS's `close_notify`,
/// so that the client cannot know whether the body is complete. Returns the port and a counter of
/// requests.
pub(crate) fn closing_without_notice() -> (u16, Arc<AtomicUsize>) {
    start("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok".into(), End::WithoutNotice)
}

/// How the receiver closes a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Proper,
    WithoutNotice,
}

fn start(answer: String, end: End) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(serve(listener, answer, end, &counted));
    });
    (port, requests)
}

async fn serve(listener: TcpListener, answer: String, end: End, requests: &AtomicUsize) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    while let Ok((stream, _)) = listener.accept().await {
        // A client that does not trust the certificate disconnects here.
        let Ok(mut stream) = acceptor.accept(stream).await else { continue };
        let _ = stream.read(&mut [0; 4096]).await;
        requests.fetch_add(1, Ordering::SeqCst);
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = match end {
            End::Proper => stream.shutdown().await,
            End::WithoutNotice => stream.get_mut().0.shutdown().await,
        };
    }
}
