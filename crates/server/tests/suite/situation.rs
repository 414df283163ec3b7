//! The setup that most tests share: a state folder with waits, and requests to the router.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use hookwright_events::wait::{Paths, Wait, WaitKey, WaitState};
use hookwright_server::approvals::now_ms;
use hookwright_server::{Approvals, ListenerAddress, router};
use hookwright_store::{AllButOneLive, KeptWaits, Living, SqliteStore, Store, WatchedStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower_service::Service;

/// A state folder with its waits.
pub(crate) struct Situation {
    pub(crate) folder: TempDir,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) waits: KeptWaits,
}

/// A response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("JSON")
    }
}

/// A keeper that has ended.
pub(crate) const DEAD: &str = "dead";

pub(crate) fn living() -> Arc<dyn Living> {
    Arc::new(AllButOneLive { this: "alive".into(), ended: DEAD.into() })
}

impl Situation {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let shared: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.path()).expect("a store"));
        let approvals =
            Approvals::of_folder(folder.path(), shared.clone(), living()).expect("a key");
        let waits = KeptWaits::new(shared, living());
        Self { folder, approvals: Arc::new(approvals), waits }
    }

    /// The same store, opened again as another process would, to count reads.
    pub(crate) fn watched_store(&self) -> Arc<WatchedStore> {
        let store = SqliteStore::open(self.folder.path()).expect("a store");
        Arc::new(WatchedStore::new(Arc::new(store)))
    }

    /// Stores a wait and returns the path of its address.
    pub(crate) fn keep(&self, wait: &Wait) -> String {
        self.waits.open(wait).expect("it is new");
        self.path_of(wait)
    }

    pub(crate) fn path_of(&self, wait: &Wait) -> String {
        self.approvals.url_of(wait).strip_prefix(&wait.base_url).expect("its base").to_owned()
    }

    pub(crate) fn token_of(&self, wait: &Wait) -> String {
        self.path_of(wait).strip_prefix("/callback/").expect("a path").to_owned()
    }

    pub(crate) fn state_of(&self, wait: &Wait) -> WaitState {
        self.approvals.get(&wait.id).expect("readable").expect("it is there").state
    }

    pub(crate) fn router(&self) -> Router {
        router(Arc::clone(&self.approvals), reach())
    }

    /// Passes a request to the router.
    pub(crate) async fn ask(&self, request: Request<Body>) -> Answer {
        answered(self.router().call(request).await.expect("a router always answers")).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(request("GET", path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, media_type: &str, body: &str) -> Answer {
        let request = request("POST", path).header("content-type", media_type);
        self.ask(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn post_json(&self, path: &str, body: Value) -> Answer {
        self.post(path, "application/json", &body.to_string()).await
    }

    pub(crate) async fn post_form(&self, path: &str, body: &str) -> Answer {
        self.post(path, "application/x-www-form-urlencoded", body).await
    }
}

async fn answered(response: Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.expect("it is in memory");
    let text = String::from_utf8(body.to_vec()).expect("text");
    Answer { status: parts.status, headers: parts.headers, text }
}

pub(crate) fn reach() -> ListenerAddress {
    ListenerAddress { bind: [127, 0, 0, 1].into(), port: 8765, public_url: None }
}

pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "127.0.0.1:8765")
}

/// A question that waits for an hour.
pub(crate) fn wait(id: &str) -> Wait {
    let since_ms = now_ms();
    Wait {
        id: id.into(),
        project: "/home/ann/shop".into(),
        root: None,
        session: Some("calm-fox".into()),
        key: Some(WaitKey {
            session: "calm-fox".into(),
            firing: "7".into(),
            hook: "hookwright/stage:complete#0".into(),
            digest: "d".into(),
        }),
        keeper: "alive".into(),
        bell: String::new(),
        hook: "hookwright/stage:complete#0".into(),
        event: "stage:complete".into(),
        subject: Some("plan".into()),
        pipeline: Some("full-workflow".into()),
        stage: Some("plan".into()),
        iteration: Some(3),
        question: "Plan ready. Shall the work begin?".into(),
        offered: Vec::new(),
        changed_files: Paths::default(),
        stage_outputs: Paths::default(),
        since_ms,
        until_ms: since_ms + 3_600_000,
        base_url: "http://127.0.0.1:8765".into(),
        port: 8765,
        request: json!({}),
        sent: true,
        state: WaitState::Waiting,
    }
}
