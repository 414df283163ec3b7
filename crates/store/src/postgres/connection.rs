//! Connecting: over TCP, encrypted if necessary, up to a client that can be used.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};
use tokio_rustls::TlsConnector;

use super::access::{Password, PostgresAccess};
use super::failure::{self, CallFailure};
use super::{certificate, schema};
use crate::{StoreError, limits};

/// The message with which a client asks for encryption: its length and a number.
const ENCRYPTION_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A connection in whatever form.
trait Channel: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Channel for T {}

/// Hears what is told on a channel of the database, except while the connection is lost or behind
/// a pooler that shares connections.
#[derive(Clone)]
pub(super) struct Ear {
    /// The channel's name, which needs no quotes.
    pub(super) channel: &'static str,
    /// Called with each message, on the thread of the connection.
    pub(super) hear: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ear({})", self.channel)
    }
}

/// Connects within the time limit. The schema is not checked.
pub(super) async fn connect(
    access: &PostgresAccess,
    ear: Option<&Ear>,
) -> Result<Client, CallFailure> {
    let connected = timeout(limits::CONNECT_MAX, connect_unlimited(access, ear)).await;
    connected.unwrap_or_else(|_| {
        Err(CallFailure::Lost(format!("no answer within {:?}", limits::CONNECT_MAX)))
    })
}

async fn connect_unlimited(
    access: &PostgresAccess,
    ear: Option<&Ear>,
) -> Result<Client, CallFailure> {
    let channel = open_channel(access).await?;
    let mut config = Config::new();
    config
        .user(&access.address.user)
        .dbname(&access.address.database)
        .application_name("hookwright")
        // Encryption is in the channel already.
        .ssl_mode(SslMode::Disable);
    if let Some(password) = &access.password {
        config.password(Password::secret(password));
    }
    let connected = config.connect_raw(channel, NoTls).await;
    let (client, mut connection) =
        connected.map_err(|error| failure::of_connecting(access, &error))?;
    let version = connection.parameter("server_version").map(str::to_owned);
    let heard = ear.cloned();
    // It ends with the client, or when the server closes it; the next call then notices.
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let (AsyncMessage::Notification(told), Some(ear)) = (message, &heard) {
                (ear.hear)(told.payload());
            }
        }
    });
    check_version(version.as_deref())?;
    if let Some(ear) = ear {
        let listening = client.batch_execute(&format!("LISTEN {}", ear.channel)).await;
        listening.map_err(|error| failure::of_statement(access, &error))?;
    }
    Ok(client)
}

async fn open_channel(access: &PostgresAccess) -> Result<Box<dyn Channel>, CallFailure> {
    let lost = |error: std::io::Error| CallFailure::Lost(failure::io_cause(access, &error));
    let place = (access.address.host.as_str(), access.address.port);
    let mut stream = TcpStream::connect(place).await.map_err(lost)?;
    let _ = stream.set_nodelay(true);
    let is_here = stream.peer_addr().map_err(lost)?.ip().is_loopback();
    // Asked in any case: only a Postgres answers it, with one letter.
    stream.write_all(&ENCRYPTION_REQUEST).await.map_err(lost)?;
    let answer = stream.read_u8().await.map_err(lost)?;
    match (answer, access.is_encrypted()) {
        (b'S', true) => encrypt(stream, access).await,
        (b'N', true) => Err(StoreError::NotEncrypted.into()),
        (b'S' | b'N', false) if !is_here && !access.allow_plain => {
            let cause = "the address of this machine leads to another one".to_owned();
            Err(StoreError::Untrusted { cause }.into())
        }
        (b'N', false) => Ok(Box::new(stream)),
        // A server that was told to encrypt expects that next, so it is asked anew without.
        (b'S', false) => {
            let stream = TcpStream::connect(place).await.map_err(lost)?;
            let _ = stream.set_nodelay(true);
            Ok(Box::new(stream))
        }
        // An error of the server before it knows the protocol, for example while it has no memory.
        (b'E', _) => Err(CallFailure::Lost("the server cannot take connections now".to_owned())),
        _ => Err(StoreError::NotPostgres.into()),
    }
}

async fn encrypt(
    stream: TcpStream,
    access: &PostgresAccess,
) -> Result<Box<dyn Channel>, CallFailure> {
    let untrusted = |cause: String| StoreError::Untrusted { cause: access.without_secrets(&cause) };
    let roots = roots(access).map_err(untrusted)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| untrusted(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(access.address.host.clone())
        .map_err(|_| untrusted("the host is not a name that a certificate can have".to_owned()))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let stream = stream.map_err(|error| {
        match error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>()) {
            Some(error) => untrusted(certificate::refusal(access, error)).into(),
            None => CallFailure::Lost(failure::io_cause(access, &error)),
        }
    })?;
    Ok(Box::new(stream))
}

/// The certificates that are trusted.
fn roots(access: &PostgresAccess) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &access.root_certificate {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| error.to_string())?;
                roots.add(certificate).map_err(|error| error.to_string())?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("there is no root certificate to verify the server with".to_owned());
    }
    Ok(roots)
}

fn check_version(version: Option<&str>) -> Result<(), CallFailure> {
    let Some(version) = version else { return Ok(()) };
    let digits = version.split(|found: char| !found.is_ascii_digit()).next().unwrap_or_default();
    match digits.parse::<u32>() {
        Ok(major) if major < schema::SERVER_VERSION_MIN => Err(StoreError::ServerTooOld {
            found: version.to_owned(),
            needed: schema::SERVER_VERSION_MIN,
        }
        .into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_refused_with_its_version() {
        for version in ["15.18 (Debian 15.18-0+deb12u1)", "15beta1", "17.0", "odd"] {
            assert!(check_version(Some(version)).is_ok(), "{version}");
        }
        let error = check_version(Some("14.11")).expect_err("too old");
        let CallFailure::Store(error) = error else { panic!("{error:?}") };
        assert_eq!(error, StoreError::ServerTooOld { found: "14.11".into(), needed: 15 });
    }
}
