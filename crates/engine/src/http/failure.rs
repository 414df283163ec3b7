//! [`SendError`]: why there is no response.

use std::error::Error;
use std::io;

/// Why a request has no response. No variant holds the address: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    #[error("the address is not a valid URL: {cause}")]
    BadAddress { cause: String },
    #[error("the address begins with `{scheme}:`, expected https or http")]
    OtherScheme { scheme: String },
    #[error("plain http is for this machine only, or with `allow_http: true`")]
    PlainHttp,
    #[error("`{method}` is not an HTTP method")]
    BadMethod { method: String },
    #[error("the header `{name}` cannot be sent")]
    BadHeader { name: String },
    #[error("redirected with status {status} to `{to}`, {why}")]
    Redirected { status: u16, to: String, why: &'static str },
    #[error("redirected more than {times} times")]
    RedirectedTooOften { times: usize },
    #[error("no HTTP client: {cause}")]
    NoClient { cause: String },
    #[error("cannot connect: {cause}")]
    NotConnected { cause: String },
    #[error("TLS failed: {cause}")]
    Tls { cause: String },
    #[error("no response: {cause}")]
    NoResponse { cause: String },
    #[error("no response in time")]
    TookTooLong,
}

impl SendError {
    /// Whether a retry could help.
    pub(crate) fn may_retry(&self) -> bool {
        match self {
            SendError::NotConnected { .. }
            | SendError::NoResponse { .. }
            | SendError::TookTooLong => true,
            SendError::BadAddress { .. }
            | SendError::OtherScheme { .. }
            | SendError::PlainHttp
            | SendError::BadMethod { .. }
            | SendError::BadHeader { .. }
            | SendError::Redirected { .. }
            | SendError::RedirectedTooOften { .. }
            | SendError::NoClient { .. }
            | SendError::Tls { .. } => false,
        }
    }

    pub(super) fn from_error(error: &reqwest::Error) -> Self {
        let mut innermost: &dyn Error = error;
        while let Some(inner) = innermost.source() {
            if let Some(tls) = of_tls(inner) {
                return SendError::Tls { cause: tls.to_string() };
            }
            innermost = inner;
        }
        // The innermost cause: the outer ones name the address.
        let cause = match innermost.downcast_ref::<reqwest::Error>() {
            Some(error) if error.is_timeout() => "it took too long".to_owned(),
            _ => innermost.to_string(),
        };
        if error.is_connect() {
            SendError::NotConnected { cause }
        } else {
            SendError::NoResponse { cause }
        }
    }
}

/// The TLS error, which is wrapped in those of the connection.
fn of_tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref() {
        return Some(tls);
    }
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    inner.downcast_ref().or_else(|| of_tls(inner))
}
