//! [`router`]: the routes of a listener. A GET never decides; a POST decides once.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get};
use hookwright_events::Wait;
use hookwright_events::wait::WaitState;
use hookwright_store::WaitError;

use crate::approvals::{AnswerResult, Approvals, Origin, PersonsAnswer};
use crate::listener_address::{ListenerAddress, is_cross_site, is_host_of};
use crate::reply::{NoReply, Reply, pairs_of, said_in, wants_json};
use crate::{limits, page, results};

/// Content type of a page.
pub(crate) const PAGE: &str = "text/html; charset=utf-8";

/// The path at which a listener proves its identity.
pub(crate) const PROOF_PATH: &str = "/.well-known/hookwright";

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The client's address.
    pub client: SocketAddr,
    /// The listener's address, if the system tells.
    pub server: Option<SocketAddr>,
}

impl Peer {
    pub(crate) fn origin(peer: Option<Self>) -> Origin {
        match peer {
            // If both ends have the same address, the client is on this machine.
            Some(Self { client, server: Some(server) })
                if is_loopback(client) || client.ip() == server.ip() =>
            {
                Origin::Connection { client, server }
            }
            _ => Origin::Elsewhere,
        }
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The data that the handlers need.
struct ListenerState {
    approvals: Arc<Approvals>,
    address: ListenerAddress,
}

/// The routes of a listener.
pub fn router(approvals: Arc<Approvals>, address: ListenerAddress) -> Router {
    Router::new()
        .route("/callback", any(callback))
        .route("/callback/{token}", any(callback))
        .route(PROOF_PATH, get(prove))
        .fallback(nothing_here)
        .with_state(Arc::new(ListenerState { approvals, address }))
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestRefusal {
    /// The request is for another host.
    OtherHost,
    /// No wait has this token, whether it was guessed, truncated or made for another store.
    Unknown,
    /// The wait has ended.
    Ended(Box<Wait>),
    /// It comes from a page of another site.
    CrossSite,
    /// It comes from inside the session that asks.
    FromInside,
    /// The method is neither a read nor a POST.
    Method,
    /// Its body is too large.
    TooLarge,
    /// Its body did not arrive in time.
    TooSlow,
    /// The connection broke before the whole body arrived.
    BrokenOff,
    /// It contains no decision.
    NoReply(NoReply),
    /// The word is not one of the offered ones.
    UnknownWord(Box<Wait>),
    /// The store failed. The cause is not shown to clients.
    Broken,
}

async fn callback(State(door): State<Arc<ListenerState>>, request: Request<Body>) -> Response {
    let as_json = *request.method() == Method::POST && wants_json(request.headers());
    let answered = door.answer(request).await;
    let (status, text) = match &answered {
        Ok(Answered::Question(wait, suggested)) => {
            let now_ms = door.approvals.now_ms();
            (StatusCode::OK, page::question(wait, suggested.as_deref(), now_ms).into_string())
        }
        Ok(Answered::Decided { wait, is_attended }) if as_json => {
            (StatusCode::OK, results::decided(wait, *is_attended))
        }
        Ok(Answered::Decided { wait, is_attended }) => {
            (StatusCode::OK, page::decided(wait, *is_attended).into_string())
        }
        Err(refusal) if as_json => (refusal.status(), results::refusal(refusal)),
        Err(refusal) => (refusal.status(), page::refusal(refusal).into_string()),
    };
    let mut response = respond(status, text, as_json);
    if answered == Err(RequestRefusal::Method) {
        let allowed = HeaderValue::from_static("GET, HEAD, POST");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// The result of a request that found its wait.
#[derive(Debug, PartialEq)]
enum Answered {
    /// Shows the question, with the word that the link suggests.
    Question(Box<Wait>, Option<String>),
    /// This request decided.
    Decided { wait: Box<Wait>, is_attended: bool },
}

impl ListenerState {
    async fn answer(&self, request: Request<Body>) -> Result<Answered, RequestRefusal> {
        let (parts, body) = request.into_parts();
        let (token, query) = token_and_query(&parts.uri);
        let approvals = Arc::clone(&self.approvals);
        let wait = in_the_store(move || approvals.of_token(&token)).await?;
        if !self.is_meant(&parts.headers, wait.as_ref()) {
            return Err(RequestRefusal::OtherHost);
        }
        let wait = wait.ok_or(RequestRefusal::Unknown)?;
        match parts.method {
            Method::GET | Method::HEAD => {
                if wait.state != WaitState::Waiting {
                    return Err(RequestRefusal::Ended(Box::new(wait)));
                }
                let suggested = query.into_iter().find(|(name, _)| name == "action");
                Ok(Answered::Question(Box::new(wait), suggested.map(|(_, action)| action)))
            }
            Method::POST => {
                if is_cross_site(&parts.headers, &wait.base_url) {
                    return Err(RequestRefusal::CrossSite);
                }
                let body = whole(&parts.headers, body).await?;
                let reply =
                    said_in(&parts.headers, &query, &body).map_err(RequestRefusal::NoReply)?;
                let peer = parts.extensions.get::<Peer>().copied();
                self.decide(wait, reply, peer, wants_json(&parts.headers)).await
            }
            _ => Err(RequestRefusal::Method),
        }
    }

    /// Whether the request uses one of our names. Another hookwright process may have made the link
    /// with its own public name; a client with the wait's token may use that name.
    fn is_meant(&self, headers: &HeaderMap, wait: Option<&Wait>) -> bool {
        let host =
            headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        self.address.answers_to(host) || wait.is_some_and(|wait| is_host_of(host, &wait.base_url))
    }

    async fn decide(
        &self,
        wait: Wait,
        reply: Reply,
        peer: Option<Peer>,
        is_program: bool,
    ) -> Result<Answered, RequestRefusal> {
        let by = match (is_program, peer) {
            (true, Some(peer)) => format!("a request from {}", peer.client.ip()),
            (true, None) => "a request".to_owned(),
            (false, peer) => answerer_at_the_page(peer),
        };
        let Reply { action, message, whole } = reply;
        let said =
            PersonsAnswer { action, message, by, origin: Peer::origin(peer), whole: Some(whole) };
        let approvals = Arc::clone(&self.approvals);
        let told = in_the_store(move || {
            let told = approvals.answer(&wait.id, said)?;
            let is_attended = approvals.is_attended(&wait);
            Ok((told, is_attended))
        });
        match told.await? {
            (AnswerResult::Counts(wait), is_attended) => {
                Ok(Answered::Decided { wait, is_attended })
            }
            (AnswerResult::TooLate(wait), _) => Err(RequestRefusal::Ended(wait)),
            (AnswerResult::FromInside(_), _) => Err(RequestRefusal::FromInside),
            (AnswerResult::UnknownWord(wait), _) if wait.state == WaitState::Waiting => {
                Err(RequestRefusal::UnknownWord(wait))
            }
            (AnswerResult::UnknownWord(wait), _) => Err(RequestRefusal::Ended(wait)),
            (AnswerResult::Unknown, _) => Err(RequestRefusal::Unknown),
        }
    }
}

impl RequestRefusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            RequestRefusal::OtherHost => StatusCode::MISDIRECTED_REQUEST,
            RequestRefusal::Unknown => StatusCode::NOT_FOUND,
            RequestRefusal::Ended(wait) => match wait.state {
                WaitState::Expired | WaitState::Abandoned => StatusCode::GONE,
                WaitState::Waiting | WaitState::Decided(_) | WaitState::Used(_) => {
                    StatusCode::CONFLICT
                }
            },
            RequestRefusal::CrossSite | RequestRefusal::FromInside => StatusCode::FORBIDDEN,
            RequestRefusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            RequestRefusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RequestRefusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
            RequestRefusal::NoReply(NoReply::UnknownFormat) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            RequestRefusal::BrokenOff
            | RequestRefusal::NoReply(_)
            | RequestRefusal::UnknownWord(_) => StatusCode::BAD_REQUEST,
            RequestRefusal::Broken => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// Describes the person who decides, as far as the page knows.
pub(crate) fn answerer_at_the_page(peer: Option<Peer>) -> String {
    match peer {
        Some(peer) => format!("a person at the page, from {}", peer.client.ip()),
        None => "a person at the page".to_owned(),
    }
}

/// The token and the rest of the query. The token is in the path, else in the query. A second `?`
/// counts as `&`, because hooks build addresses by joining texts.
fn token_and_query(uri: &axum::http::Uri) -> (String, Vec<(String, String)>) {
    let mut query = pairs_of(uri.query().unwrap_or_default().as_bytes());
    if let Some(token) = uri.path().strip_prefix("/callback/") {
        return (token.to_owned(), query);
    }
    let Some(at) = query.iter().position(|(name, _)| name == "token") else {
        return (String::new(), query);
    };
    let (_, value) = query.remove(at);
    match value.split_once('?') {
        Some((token, more)) => {
            query.splice(at..at, pairs_of(more.as_bytes()));
            (token.to_owned(), query)
        }
        None => (value, query),
    }
}

/// The whole body, if it arrives in time and is small enough.
pub(crate) async fn whole(headers: &HeaderMap, body: Body) -> Result<Bytes, RequestRefusal> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits::BODY_BYTES_MAX as u64) {
        return Err(RequestRefusal::TooLarge);
    }
    let reading = axum::body::to_bytes(body, limits::BODY_BYTES_MAX);
    match tokio::time::timeout(limits::BODY_WAIT, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        // With an announced, small enough length only the connection can have failed.
        Ok(Err(_)) if announced.is_some() => Err(RequestRefusal::BrokenOff),
        Ok(Err(_)) => Err(RequestRefusal::TooLarge),
        Err(_) => Err(RequestRefusal::TooSlow),
    }
}

/// Runs a call of the store, which blocks, so that other requests need not wait.
pub(crate) async fn in_the_store<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, WaitError> + Send + 'static,
) -> Result<T, RequestRefusal> {
    match tokio::task::spawn_blocking(ask).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(_) => Err(RequestRefusal::Broken),
    }
}

/// Proves to another process that we have the same store, and reveals nothing else.
async fn prove(State(door): State<Arc<ListenerState>>, request: Request<Body>) -> Response {
    if !door.is_meant(request.headers(), None) {
        return refused(&RequestRefusal::OtherHost);
    }
    let query = pairs_of(request.uri().query().unwrap_or_default().as_bytes());
    match query.iter().find(|(name, _)| name == "challenge") {
        Some((_, challenge)) => {
            let proof = door.approvals.key.proof(door.address.port, challenge);
            let text = "text/plain; charset=utf-8";
            respond_as(StatusCode::OK, proof, text, page::content_policy())
        }
        None => refused(&RequestRefusal::Unknown),
    }
}

async fn nothing_here(State(door): State<Arc<ListenerState>>, request: Request<Body>) -> Response {
    let is_meant = door.is_meant(request.headers(), None);
    refused(if is_meant { &RequestRefusal::Unknown } else { &RequestRefusal::OtherHost })
}

fn refused(refusal: &RequestRefusal) -> Response {
    respond(refusal.status(), page::refusal(refusal).into_string(), false)
}

pub(crate) fn respond(status: StatusCode, text: String, as_json: bool) -> Response {
    let media_type = if as_json { "application/json" } else { PAGE };
    respond_as(status, text, media_type, page::content_policy())
}

/// Headers of every response: no caching, framing, type sniffing or referrer.
pub(crate) fn respond_as(
    status: StatusCode,
    body: impl Into<Body>,
    media_type: &'static str,
    content_policy: &'static str,
) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, content_policy),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-robots-tag", "noindex, nofollow"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
