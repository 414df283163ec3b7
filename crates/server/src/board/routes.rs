//! [`router`]: handles the requests to a board.
//!
//! A visitor who is not signed in gets the same response to every request. A GET never decides;
//! only one of our forms does.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use hookwright_events::wait::WaitState;
use hookwright_pipeline::folder::SessionName;
use hookwright_pipeline::trace::TraceKey;
use hookwright_store::RecordPosition;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::feed::{TopicReader, TopicReading};
use super::feeds::{Feeds, Topic};
use super::gate::Gate;
use super::page::{self, PageContext};
use super::stream;
use super::{Board, StorySelection};
use crate::approvals::{AnswerResult, PersonsAnswer};
use crate::limits;
use crate::listener_address::{ListenerAddress, is_cross_site};
use crate::reception::Desk;
use crate::reply::{NoReply, Reply, pairs_of, said_in};
use crate::routes::{
    PAGE, Peer, RequestRefusal, answerer_at_the_page, in_the_store, respond, respond_as, whole,
};

/// The data that the board's handlers need.
pub(crate) struct BoardState {
    board: Arc<Board>,
    gate: Arc<Gate>,
    feeds: Feeds,
    address: ListenerAddress,
    desk: Desk,
    streams: Arc<Semaphore>,
}

/// The routes of a board.
pub(crate) fn router(door: BoardState) -> Router {
    Router::new().fallback(answer).with_state(Arc::new(door))
}

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BoardRequest<'p> {
    Overview,
    OverviewStream,
    Session(&'p str),
    SessionStream(&'p str),
    Report(&'p str, u64),
    /// Stage number from 1, and iteration; 0 is the delivery of raw output.
    Turn(&'p str, u32, u32),
    Answer(&'p str),
}

/// Why a request is refused.
enum BoardRefusal {
    /// The request is for another host.
    OtherHost,
    /// The page does not exist, or the visitor may not know that it does.
    Nothing,
    /// The method is neither a read nor a POST.
    Method,
    /// The limit of open streams is reached.
    TooMany,
    /// The refusal that an answer on the question's own page would get.
    Answer(RequestRefusal),
}

impl From<RequestRefusal> for BoardRefusal {
    fn from(refusal: RequestRefusal) -> Self {
        BoardRefusal::Answer(refusal)
    }
}

async fn answer(State(door): State<Arc<BoardState>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    match door.answer(parts, body).await {
        Ok(response) => response,
        Err(BoardRefusal::OtherHost) => {
            page_response(StatusCode::MISDIRECTED_REQUEST, page::other_host())
        }
        Err(BoardRefusal::Nothing) => page_response(StatusCode::NOT_FOUND, page::nothing()),
        Err(BoardRefusal::TooMany) => {
            page_response(StatusCode::SERVICE_UNAVAILABLE, page::too_many())
        }
        Err(BoardRefusal::Method) => {
            let mut response = page_response(StatusCode::METHOD_NOT_ALLOWED, page::nothing());
            let allowed = HeaderValue::from_static("GET, HEAD, POST");
            response.headers_mut().insert(header::ALLOW, allowed);
            response
        }
        Err(BoardRefusal::Answer(refusal)) => {
            let text = crate::page::refusal(&refusal).into_string();
            respond(refusal.status(), text, false)
        }
    }
}

impl BoardState {
    pub(crate) fn new(board: Arc<Board>, gate: Gate, address: ListenerAddress, desk: Desk) -> Self {
        let streams = Arc::new(Semaphore::new(limits::STREAMS_MAX));
        let feeds = Feeds::new(Arc::clone(&board), desk.clone());
        Self { board, gate: Arc::new(gate), feeds, address, desk, streams }
    }

    async fn answer(self: &Arc<Self>, parts: Parts, body: Body) -> Result<Response, BoardRefusal> {
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !self.address.answers_to(host.unwrap_or_default()) {
            return Err(BoardRefusal::OtherHost);
        }
        let path = parts.uri.path().to_owned();
        if let Some(cookie) = self.gate.cookie_for(&path).filter(|_| looks(&parts.method)) {
            return Ok(go_to("/", Some(&cookie)));
        }
        if !self.gate.lets_in(&parts.headers) {
            return Err(BoardRefusal::Nothing);
        }
        let asked = parse_path(&path).ok_or(BoardRefusal::Nothing)?;
        match (asked, &parts.method) {
            (BoardRequest::Answer(id), &Method::POST) => self.decide(id, parts, body).await,
            (BoardRequest::Answer(_), _) | (_, &Method::POST) => Err(BoardRefusal::Method),
            (asked, method) if looks(method) => self.show(asked, &parts).await,
            _ => Err(BoardRefusal::Method),
        }
    }

    async fn show(
        self: &Arc<Self>,
        asked: BoardRequest<'_>,
        parts: &Parts,
    ) -> Result<Response, BoardRefusal> {
        let query = pairs_of(parts.uri.query().unwrap_or_default().as_bytes());
        let of = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        let which = |name: &str| StorySelection {
            name: name.to_owned(),
            project: of("project").cloned(),
            before: of("before").and_then(|before| before.parse().ok()),
        };
        let before = of("before").and_then(|before| place(before));
        let door = Arc::clone(self);
        let text = match asked {
            BoardRequest::Overview => {
                let look = move || {
                    let context = door.context();
                    door.board.overview(before).map(|seen| page::overview(&seen, before, &context))
                };
                Some(in_the_store(look).await?)
            }
            BoardRequest::Session(name) => {
                let which = which(name);
                let look = move || {
                    let story = door.board.story(&which)?;
                    Ok(story.map(|story| page::session(&story, &which, &door.context())))
                };
                in_the_store(look).await?
            }
            BoardRequest::Report(name, sequence) => {
                let which = which(name);
                let look = move || {
                    let found = door.board.report(&which, sequence)?;
                    Ok(found
                        .map(|(session, report)| page::report(&session, &report, &door.context())))
                };
                in_the_store(look).await?
            }
            BoardRequest::Turn(name, stage, iteration) => {
                let which = which(name);
                let look = move || {
                    let turn = door.board.turn(&which, stage, iteration)?;
                    Ok(turn.map(|turn| page::turn(&turn, &door.context())))
                };
                in_the_store(look).await?
            }
            BoardRequest::OverviewStream => {
                return self.stream(Topic::Overview, state_of(parts, of("state")));
            }
            BoardRequest::SessionStream(name) => {
                let (name, project) = (name.to_owned(), of("project").cloned());
                return self.stream(Topic::Session { name, project }, state_of(parts, of("state")));
            }
            BoardRequest::Answer(_) => None,
        };
        let text = text.ok_or(BoardRefusal::Nothing)?;
        Ok(page_response(StatusCode::OK, text))
    }

    fn stream(&self, topic: Topic, state: Option<String>) -> Result<Response, BoardRefusal> {
        let place = Arc::clone(&self.streams).try_acquire_owned();
        let place = place.map_err(|_| BoardRefusal::TooMany)?;
        let subscription = self.feeds.follow(topic.clone(), self.look(topic));
        let body = stream::body(subscription, state, place, &self.desk);
        Ok(respond_as(StatusCode::OK, body, "text/event-stream", page::content_policy()))
    }

    /// The reader of a topic's content.
    fn look(&self, topic: Topic) -> TopicReader {
        let (board, gate) = (Arc::clone(&self.board), Arc::clone(&self.gate));
        let is_of_all = board.is_of_all();
        match topic {
            Topic::Overview => Box::new(move |_| {
                let seen = board.overview(None)?;
                let regions =
                    page::overview_regions(&seen, &PageContext { gate: &gate, is_of_all });
                Ok(TopicReading::Changed { facts: None, regions })
            }),
            Topic::Session { name, project } => {
                let which = StorySelection { name, project, before: None };
                Box::new(move |before| {
                    let Some(story) = board.story(&which)? else {
                        return Ok(TopicReading::Nothing);
                    };
                    let facts = Some(story.facts());
                    if facts == before {
                        return Ok(TopicReading::Same);
                    }
                    let context = PageContext { gate: &gate, is_of_all };
                    let regions = page::session_regions(&story, &which, &context);
                    Ok(TopicReading::Changed { facts, regions })
                })
            }
        }
    }

    /// Answers a wait, as the question's own page does.
    async fn decide(&self, id: &str, parts: Parts, body: Body) -> Result<Response, BoardRefusal> {
        if is_cross_site(&parts.headers, "") {
            return Err(RequestRefusal::CrossSite.into());
        }
        let body = whole(&parts.headers, body).await?;
        let Reply { action, message, whole } =
            said_in(&parts.headers, &[], &body).map_err(RequestRefusal::NoReply)?;
        let Value::Object(mut whole) = whole else {
            return Err(RequestRefusal::NoReply(NoReply::NotJson).into());
        };
        // Hooks get the answer without our own fields.
        let token = whole.shift_remove("form");
        let back = whole.shift_remove("back");
        let is_ours = token.as_ref().and_then(Value::as_str);
        if !is_ours.is_some_and(|token| self.gate.is_form_token(token, id)) {
            return Err(RequestRefusal::CrossSite.into());
        }
        let peer = parts.extensions.get::<Peer>().copied();
        let (by, origin) = (answerer_at_the_page(peer), Peer::origin(peer));
        let said = PersonsAnswer { action, message, by, origin, whole: Some(Value::Object(whole)) };
        let (board, id) = (Arc::clone(&self.board), id.to_owned());
        let told = in_the_store(move || match board.wait(&id)? {
            Some(wait) => board.approvals.answer(&wait.id, said),
            None => Ok(AnswerResult::Unknown),
        });
        match told.await? {
            AnswerResult::Counts(wait) => {
                let to_session = wait.session.as_ref().filter(|_| back != Some("overview".into()));
                let path = match to_session {
                    Some(session) => self.context().session_path(session, &wait.project),
                    None => "/".to_owned(),
                };
                Ok(go_to(&path, None))
            }
            AnswerResult::TooLate(wait) => Err(RequestRefusal::Ended(wait).into()),
            AnswerResult::FromInside(_) => Err(RequestRefusal::FromInside.into()),
            AnswerResult::UnknownWord(wait) if wait.state == WaitState::Waiting => {
                Err(RequestRefusal::UnknownWord(wait).into())
            }
            AnswerResult::UnknownWord(wait) => Err(RequestRefusal::Ended(wait).into()),
            AnswerResult::Unknown => Err(BoardRefusal::Nothing),
        }
    }

    fn context(&self) -> PageContext<'_> {
        PageContext { gate: &self.gate, is_of_all: self.board.is_of_all() }
    }
}

/// Whether a request only reads.
fn looks(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// Parses a path. A session's name has no character that needs escaping.
fn parse_path(path: &str) -> Option<BoardRequest<'_>> {
    let is_name =
        |name: &&str| name.parse::<SessionName>().is_ok() || TraceKey::parse(name).is_some();
    let mut parts = path.strip_prefix('/')?.split('/');
    let asked = match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        ("", None, None, None) => BoardRequest::Overview,
        ("stream", None, None, None) => BoardRequest::OverviewStream,
        ("answers", Some(id), None, None) => BoardRequest::Answer(id),
        ("sessions", Some(name), None, None) => BoardRequest::Session(Some(name).filter(is_name)?),
        ("sessions", Some(name), Some("stream"), None) => {
            BoardRequest::SessionStream(Some(name).filter(is_name)?)
        }
        ("sessions", Some(name), Some("reports"), Some(sequence)) => {
            BoardRequest::Report(Some(name).filter(is_name)?, sequence.parse().ok()?)
        }
        ("sessions", Some(name), Some("turns"), Some(turn)) => {
            let (stage, iteration) = turn.split_once('-')?;
            let name = Some(name).filter(is_name)?;
            BoardRequest::Turn(name, stage.parse().ok()?, iteration.parse().ok()?)
        }
        _ => return None,
    };
    parts.next().is_none().then_some(asked)
}

/// Parses `1700000000000-42`: the position at which a list continues.
fn place(text: &str) -> Option<RecordPosition> {
    let (created_at_ms, inserted) = text.split_once('-')?;
    Some(RecordPosition {
        created_at_ms: created_at_ms.parse().ok()?,
        inserted: inserted.parse().ok()?,
    })
}

/// The state that a page shows; browsers that reconnect send it in a header.
fn state_of(parts: &Parts, first: Option<&String>) -> Option<String> {
    let headers: &HeaderMap = &parts.headers;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    last.map(str::to_owned).or_else(|| first.cloned())
}

fn page_response(status: StatusCode, page: maud::Markup) -> Response {
    respond_as(status, page.into_string(), PAGE, page::content_policy())
}

fn go_to(path: &str, cookie: Option<&str>) -> Response {
    let mut response = respond_as(StatusCode::SEE_OTHER, "", PAGE, page::content_policy());
    let headers = response.headers_mut();
    if let Ok(path) = HeaderValue::from_str(path) {
        headers.insert(header::LOCATION, path);
    }
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_asks_for_one_thing_or_for_nothing() {
        for (path, expected) in [
            ("/", Some(BoardRequest::Overview)),
            ("/stream", Some(BoardRequest::OverviewStream)),
            ("/sessions/calm-fox", Some(BoardRequest::Session("calm-fox"))),
            ("/sessions/codex:0f3a5c7e9b1d", Some(BoardRequest::Session("codex:0f3a5c7e9b1d"))),
            ("/sessions/codex:..", None),
            ("/sessions/calm-fox/stream", Some(BoardRequest::SessionStream("calm-fox"))),
            ("/sessions/calm-fox/reports/7", Some(BoardRequest::Report("calm-fox", 7))),
            ("/sessions/calm-fox/turns/2-14", Some(BoardRequest::Turn("calm-fox", 2, 14))),
            ("/sessions/calm-fox/turns/2", None),
            ("/sessions/calm-fox/turns/2--1", None),
            ("/sessions/calm-fox/turns/2-1/x", None),
            ("/answers/k7m2p9qx", Some(BoardRequest::Answer("k7m2p9qx"))),
            ("", None),
            ("//", None),
            ("/sessions", None),
            ("/sessions/", None),
            ("/sessions/..", None),
            ("/sessions/../x", None),
            ("/sessions/%2e%2e", None),
            ("/sessions/calm-fox/", None),
            ("/sessions/calm-fox/reports", None),
            ("/sessions/calm-fox/reports/x", None),
            ("/sessions/calm-fox/reports/7/8", None),
            ("/sessions/a\u{0}b", None),
            ("/answers/a/b", None),
            ("/favicon.ico", None),
        ] {
            assert_eq!(parse_path(path), expected, "{path:?}");
        }
    }
}
