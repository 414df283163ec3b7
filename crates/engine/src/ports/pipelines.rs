//! The port by which hooks start pipelines.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use hookwright_events::EventName;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::Promise;
use crate::hook::SpawnDir;

/// Starts pipelines.
///
/// Asked by every attempt of a hook that starts one. The attempt waits for the end, also where nothing
/// waits for the hook.
///
/// It must promise to run the child to its end and to say what came of it, or why it did not run. When
/// the child is asked to end ([`Child::end`]) it has to come to an end soon, and when the promise is
/// dropped at once, with all that it has started. Everything that it starts carries
/// [`StartedBy::run_id`] in its marker. A child that an earlier process began for the same hook in the
/// same firing is taken up, not begun anew.
///
/// ```
/// use hookwright_engine::ports::memory::child_of_nobody;
/// use hookwright_engine::ports::{Child, ChildEnd, NotRun, Pipelines, Promise};
/// use hookwright_engine::serde_json::json;
///
/// /// Knows one pipeline.
/// struct OnlyReviews;
///
/// impl Pipelines for OnlyReviews {
///     fn start(&self, child: Child) -> Promise<'_, Result<ChildEnd, NotRun>> {
///         Box::pin(async move {
///             match child.pipeline.as_str() {
///                 "review" => Ok(ChildEnd {
///                     completed: true,
///                     what: "nothing to say".to_owned(),
///                     output: Some(json!({ "read": child.inputs.len() })),
///                 }),
///                 other => {
///                     let cause = format!("there is no pipeline `{other}`");
///                     Err(NotRun { cause, may_retry: false })
///                 }
///             }
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let ended = OnlyReviews.start(child_of_nobody("review")).await.expect("it is known");
/// assert_eq!(ended.output, Some(json!({ "read": 0 })));
/// let refused = OnlyReviews.start(child_of_nobody("deploy")).await.expect_err("unknown");
/// assert_eq!(refused.cause, "there is no pipeline `deploy`");
/// # }
/// ```
pub trait Pipelines: Send + Sync {
    /// Runs a child to its end and says what came of it; the error says why it did not run.
    fn start(&self, child: Child) -> Promise<'_, Result<ChildEnd, NotRun>>;
}

/// A pipeline to start.
#[derive(Debug, Clone)]
pub struct Child {
    /// Its name.
    pub pipeline: String,
    /// What it is given, secrets included that its author wrote there.
    pub inputs: Map<String, Value>,
    /// Where its agent works.
    pub working_dir: SpawnDir,
    /// Who starts it.
    pub started_by: StartedBy,
    /// By which it is asked to end.
    pub end: EndRequest,
}

/// The hook that starts a pipeline, and the firing that woke it.
#[derive(Debug, Clone)]
pub struct StartedBy {
    /// The hook's id.
    pub hook: String,
    /// Tells the hook from those of other files ([`Hook::key`](crate::Hook::key)).
    pub key: String,
    /// The file that the hook stands in: what it names is looked for beside that.
    pub file: Arc<Path>,
    /// The event.
    pub event: EventName,
    /// The event's iteration; 0 where it has none.
    pub iteration: u64,
    /// The number of the firing within its session.
    pub firing: u64,
    /// Whether the firing waits for the hook.
    pub awaited: bool,
    /// The marker of this attempt.
    pub run_id: String,
}

/// By which a child is asked to end. A handle: clones share everything.
#[derive(Debug, Clone, Default)]
pub struct EndRequest {
    asked: CancellationToken,
    why: Arc<OnceLock<String>>,
}

impl EndRequest {
    /// Asks for the end. The first reason counts.
    pub fn ask(&self, why: &str) {
        let _ = self.why.set(why.to_owned());
        self.asked.cancel();
    }

    /// Is cancelled when the end has been asked for.
    pub fn token(&self) -> &CancellationToken {
        &self.asked
    }

    /// Why the end was asked for, if it was.
    pub fn why(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }
}

/// How a child came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildEnd {
    /// It has done what it was to do.
    pub completed: bool,
    /// How it ended, as a clause: `session x completed after 2 iterations`.
    pub what: String,
    /// What it left.
    pub output: Option<Value>,
}

/// Why a child did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// As a clause: `there is no pipeline `x``.
    pub cause: String,
    /// Whether trying again could help.
    pub may_retry: bool,
}
