//! [`SendError`]: why there is no response.

use std::error::Error;
use std::io;

/// Why a request has no response. No variant holds the address: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The address is no URL.
    #[error("the address is not a valid URL: {cause}")]
    BadAddress {
        /// Why.
        cause: String,
    },
    /// The address is neither https nor http.
    #[error("the address begins with `{scheme}:`, expected https or http")]
    OtherScheme {
        /// What it begins with.
        scheme: String,
    },
    /// Plain http to another machine.
    #[error("plain http is for this machine only, or with `allow_http: true`")]
    PlainHttp,
    /// No method of HTTP.
    #[error("`{method}` is not an HTTP method")]
    BadMethod {
        /// What was given.
        method: String,
    },
    /// A header that cannot be sent, or that the client sets itself.
    #[error("the header `{name}` cannot be sent")]
    BadHeader {
        /// Its name.
        name: String,
    },
    /// A redirect that is not followed.
    #[error("redirected with status {status} to `{to}`, {why}")]
    Redirected {
        /// The status.
        status: u16,
        /// The host.
        to: String,
        /// Why not.
        why: &'static str,
    },
    /// A circle of redirects.
    #[error("redirected more than {times} times")]
    RedirectedTooOften {
        /// How many were followed.
        times: usize,
    },
    /// The HTTP client cannot be made.
    #[error("no HTTP client: {cause}")]
    NoClient {
        /// Why.
        cause: String,
    },
    /// The receiver cannot be reached.
    #[error("cannot connect: {cause}")]
    NotConnected {
        /// Why.
        cause: String,
    },
    /// The connection cannot be secured.
    #[error("TLS failed: {cause}")]
    Tls {
        /// Why.
        cause: String,
    },
    /// The connection broke before the response, or within it.
    #[error("no response: {cause}")]
    NoResponse {
        /// Why.
        cause: String,
    },
    /// It took longer than the caller allows.
    #[error("no response in time")]
    TookTooLong,
}

impl SendError {
    /// Whether a retry could help.
    pub fn may_retry(&self) -> bool {
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
