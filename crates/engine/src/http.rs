//! [`Sender`]: sends one HTTP request and returns one bounded response.
//!
//! It allows https, and http to this machine; plain http elsewhere needs `allow_http`. A redirect
//! is followed only within the same scheme, host and port, and only if it keeps method and body, so
//! neither a body nor a header ever reaches another receiver. The response is kept up to a limit,
//! with secrets redacted.
//!
//! Any status means that the request has arrived. A body that ends too early or too late is kept as
//! far as it came and counts as cut. It never makes an answered request fail.
//!
//! Retries and the meaning of a status are decided elsewhere.
//!
//! To read a response while it arrives, use [`Sender::open`].

mod failure;
#[cfg(target_os = "linux")]
mod names;
mod retry_after;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hookwright_process::OutputFilter as _;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::header::{RETRY_AFTER, TRANSFER_ENCODING};
use reqwest::{Client, Method, NoProxy, Proxy, Url, redirect};
use tokio::time::{Instant, timeout_at};

pub use failure::SendError;

use crate::limits::{CONNECT_TIMEOUT, IDLE_CONNECTIONS_MAX, REDIRECTS_MAX, RESPONSE_BYTES_MAX};
use crate::secrets::Redaction;
use crate::variables::Environment;

/// A request to send.
pub struct HttpRequest {
    /// `POST` and its like.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Allows plain http to other machines.
    pub allow_http: bool,
}

impl fmt::Debug for HttpRequest {
    /// Address, headers and body may hold secrets, so none of them is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// A response whose body is still to be read.
#[derive(Debug)]
pub struct OpenResponse {
    inner: reqwest::Response,
}

impl OpenResponse {
    /// Its status.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// The value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// When the receiver wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER.as_str()).and_then(retry_after::read)
    }

    /// The next piece of its body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + Send + use<>>, SendError> {
        self.inner.chunk().await.map_err(|error| SendError::from_error(&error))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The beginning of the body, as text, with secrets redacted.
    pub(crate) body: String,
    /// Bytes of the body that were not kept or not received, as far as known; at least one if any
    /// are missing.
    pub(crate) left_out: u64,
    /// The delay that the receiver requests.
    pub(crate) retry_after: Option<Duration>,
}

/// Sends requests. The client is created for the first request: it reads the machine's
/// certificates, which takes time.
#[derive(Debug, Default)]
pub struct Sender {
    client: OnceLock<Result<Client, String>>,
}

impl Sender {
    /// Sends it, and returns when the response begins. Nothing here limits the time but that of connecting.
    pub async fn open(
        &self,
        request: &HttpRequest,
        environment: &Environment,
    ) -> Result<OpenResponse, SendError> {
        self.answer(request, environment).await.map(|inner| OpenResponse { inner })
    }

    /// Sends a request and waits for the response until the deadline.
    pub(crate) async fn send(
        &self,
        request: &HttpRequest,
        environment: &Environment,
        hidden: &Arc<Redaction>,
        until: Instant,
    ) -> Result<Response, SendError> {
        let answering = self.answer(request, environment);
        let answered = timeout_at(until, answering).await.map_err(|_| SendError::TookTooLong)?;
        Ok(read(answered?, hidden, until).await)
    }

    /// The response, with its body still unread.
    async fn answer(
        &self,
        request: &HttpRequest,
        environment: &Environment,
    ) -> Result<reqwest::Response, SendError> {
        let client = self.client.get_or_init(|| client(environment)).as_ref();
        let client = client.map_err(|cause| SendError::NoClient { cause: cause.clone() })?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| SendError::BadMethod { method: request.method.clone() })?;
        let headers = headers(&request.headers)?;
        let mut url = address(&request.url, request.allow_http)?;
        for _ in 0..=REDIRECTS_MAX {
            let mut sending = client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(body) = &request.body {
                sending = sending.body(body.clone());
            }
            let response = sending.send().await.map_err(|error| SendError::from_error(&error))?;
            match redirect_target(&url, &response)? {
                Some(next) => url = next,
                None => return Ok(response),
            }
        }
        Err(SendError::RedirectedTooOften { times: REDIRECTS_MAX })
    }
}

fn client(environment: &Environment) -> Result<Client, String> {
    // An embedder may have installed a provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .user_agent(concat!("hookwright/", env!("CARGO_PKG_VERSION")));
    // Other systems have no such files, and no statically linked programs.
    #[cfg(target_os = "linux")]
    {
        builder = builder.dns_resolver(names::HostNames::of_system());
    }
    for proxy in proxies(environment)? {
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| SendError::from_error(&error).to_string())
}

/// The proxies from the host's environment. This machine is always reached directly.
fn proxies(environment: &Environment) -> Result<Vec<Proxy>, String> {
    let value = |name: &str| {
        let upper = name.to_uppercase();
        let found = environment.text(name).or_else(|| environment.text(&upper));
        found.filter(|text| !text.is_empty())
    };
    let direct = value("no_proxy").unwrap_or_default();
    let direct = NoProxy::from_string(&format!("{direct},localhost,127.0.0.0/8,::1"));
    let mut proxies = Vec::new();
    for (name, is_https) in [("https_proxy", true), ("http_proxy", false)] {
        let Some(address) = value(name).or_else(|| value("all_proxy")) else { continue };
        let proxy = if is_https { Proxy::https(address) } else { Proxy::http(address) };
        let proxy = proxy.map_err(|_| format!("`{name}` is not a valid address"))?;
        proxies.push(proxy.no_proxy(direct.clone()));
    }
    Ok(proxies)
}

/// Checks whether requests may go to this address: https, or http to this machine or with `allow_http`.
pub fn check_address(text: &str, allow_http: bool) -> Result<(), SendError> {
    address(text, allow_http).map(drop)
}

/// Parses the address and checks whether requests may go there.
fn address(text: &str, allow_http: bool) -> Result<Url, SendError> {
    let url =
        Url::parse(text).map_err(|error| SendError::BadAddress { cause: error.to_string() })?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if allow_http || is_this_machine(&url) => Ok(url),
        "http" => Err(SendError::PlainHttp),
        scheme => Err(SendError::OtherScheme { scheme: scheme.to_owned() }),
    }
}

/// How long to wait, from the value of a header `Retry-After`: seconds or a date.
pub fn retry_after(value: &str) -> Option<Duration> {
    retry_after::read(value)
}

/// Whether an address names this machine.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<std::net::IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn headers(written: &[(String, String)]) -> Result<HeaderMap, SendError> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let bad = || SendError::BadHeader { name: name.clone() };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        if key == CONTENT_LENGTH || key == TRANSFER_ENCODING {
            return Err(bad());
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        // Tokens go here, and what logs a request shows them otherwise.
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// The target of a redirect, if the response is one and it may be followed.
fn redirect_target(from: &Url, response: &reqwest::Response) -> Result<Option<Url>, SendError> {
    let status = response.status().as_u16();
    let location = response.headers().get(LOCATION).filter(|_| (300..400).contains(&status));
    let Some(location) = location else { return Ok(None) };
    let next = location.to_str().ok().and_then(|text| from.join(text).ok());
    let refused = |why| {
        // The path may contain anything; the origin is enough.
        let to = next.as_ref().map_or_else(String::new, |url| url.origin().ascii_serialization());
        Err(SendError::Redirected { status, to, why })
    };
    let Some(next) = &next else { return refused("which is not a valid address") };
    if next.origin() != from.origin() {
        return refused("which is another host");
    }
    // Other redirects would drop the body.
    if !matches!(status, 307 | 308) {
        return refused("and such a redirect drops the body");
    }
    Ok(Some(next.clone()))
}

async fn read(
    mut response: reqwest::Response,
    hidden: &Arc<Redaction>,
    until: Instant,
) -> Response {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(retry_after::read);
    let announced = response.content_length();
    let mut filter = Redaction::stream(hidden);
    let (mut body, mut taken) = (Vec::new(), 0_u64);
    let is_whole = loop {
        let chunk = match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break true,
            Ok(Err(_)) | Err(_) => break false,
        };
        let room = RESPONSE_BYTES_MAX - usize::try_from(taken).unwrap_or(RESPONSE_BYTES_MAX);
        let kept = &chunk[..chunk.len().min(room)];
        filter.push(kept, &mut body);
        taken += kept.len() as u64;
        if kept.len() < chunk.len() {
            // The rest is not needed: the connection ends with the response.
            break false;
        }
    };
    let left_out = match is_whole {
        true => {
            filter.finish(&mut body);
            0
        }
        // Text that the filter still holds may be the beginning of a secret.
        false => announced.map_or(1, |bytes| bytes.saturating_sub(taken).max(1)),
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    Response { status, body, left_out, retry_after }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Conformance: agent-pipelines-091
    #[test]
    fn https_may_go_anywhere_and_http_only_to_this_machine_unless_allowed() {
        for fine in [
            "https://example.com/x",
            "http://localhost:9/x",
            "http://127.3.2.1/",
            "http://[::1]:80/",
            "http://[::ffff:127.0.0.1]/",
            "http://a.localhost/",
        ] {
            assert!(address(fine, false).is_ok(), "{fine}");
        }
        for refused in [
            "http://example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://127.0.0.1@example.com/",
            "http://[::2]/",
            "http://0.0.0.0/",
        ] {
            let error = address(refused, false).expect_err(refused);
            assert_eq!(error, SendError::PlainHttp, "{refused}");
            assert!(address(refused, true).is_ok(), "{refused}");
        }
        let error = address("ftp://example.com/", true).expect_err("not ours");
        assert_eq!(error, SendError::OtherScheme { scheme: "ftp".into() });
        assert!(matches!(address("x y", true), Err(SendError::BadAddress { .. })));
    }

    #[test]
    fn headers_that_the_sender_sets_itself_or_that_end_the_line_are_refused() {
        let of = |name: &str, value: &str| headers(&[(name.to_owned(), value.to_owned())]);
        assert_eq!(of("X-Token", "a b").expect("fine")["x-token"], "a b");
        for (name, value) in
            [("content-length", "1"), ("Transfer-Encoding", "x"), ("a b", "c"), ("a", "b\r\nc: d")]
        {
            assert_eq!(of(name, value), Err(SendError::BadHeader { name: name.to_owned() }));
        }
    }

    #[test]
    fn proxies_come_from_the_hosts_environment_and_a_broken_one_is_named() {
        let of = |pairs: &[(&str, &str)]| {
            let environment =
                Environment::new(pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())));
            proxies(&environment).map(|proxies| proxies.len())
        };
        assert_eq!(of(&[]), Ok(0));
        assert_eq!(of(&[("HTTPS_PROXY", "http://proxy:3128"), ("http_proxy", "")]), Ok(1));
        assert_eq!(of(&[("all_proxy", "http://proxy:3128")]), Ok(2));
        assert_eq!(
            of(&[("https_proxy", "http://[")]),
            Err("`https_proxy` is not a valid address".into())
        );
    }
}
