//! A model's server behind TLS, whose certificate no client trusts.

use std::sync::Arc;

use hookwright_agent::model::ModelErrorKind;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::support::{KEY, client, failure, server};

/// For `localhost`, signed by itself, made for tests.
const CERTIFICATE: &str = include_str!("../../../cli/tests/suite/receiver/certificate.pem");
const PRIVATE_KEY: &str = include_str!("../../../cli/tests/suite/receiver/key.pem");

#[tokio::test]
async fn a_certificate_that_is_not_trusted_ends_the_attempt_before_the_key_is_sent() {
    let certificate =
        CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(PRIVATE_KEY.as_bytes()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let accepting = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        TlsAcceptor::from(Arc::new(config)).accept(stream).await.is_ok()
    });
    let error = failure(&client(&format!("https://localhost:{port}"))).await;
    assert_eq!((error.kind, error.retry, error.status), (ModelErrorKind::Tls, None, None));
    let start = format!("cannot secure the connection to https://localhost:{port}: ");
    assert!(error.reason.starts_with(&start), "{error}");
    assert!(!error.reason.contains(KEY), "{error}");
    assert!(!accepting.await.expect("no panic"), "no connection was made");
}

#[tokio::test]
async fn https_to_a_server_without_tls_says_so() {
    let server = server("  - content: []");
    let error = failure(&client(&server.url().replace("http://", "https://"))).await;
    assert_eq!(error.kind, ModelErrorKind::Tls);
    assert_eq!(server.requests(), []);
}
