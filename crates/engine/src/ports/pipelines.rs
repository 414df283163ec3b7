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
/// Called by every attempt of a hook that starts one. The attempt waits for the end, even if the
/// hook runs in the background.
///
/// An implementation must run the child to its end and return the result, or why it did not run.
/// When the child is asked to end ([`Child::end`]), it must end soon; when the promise is dropped,
/// it must end at once, with all that it has started. Everything that it starts carries
/// [`StartedBy::run_id`] in its marker. A child that an earlier process began for the same hook in
/// the same firing is resumed, not started again.
///
/// ```
/// use hookwright_engine::ports::memory::sample_child;
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
/// let ended = OnlyReviews.start(sample_child("review")).await.expect("it is known");
/// assert_eq!(ended.output, Some(json!({ "read": 0 })));
/// let refused = OnlyReviews.start(sample_child("deploy")).await.expect_err("unknown");
/// assert_eq!(refused.cause, "there is no pipeline `deploy`");
/// # }
/// ```
pub trait Pipelines: Send + Sync {
    /// Runs a child to its end and returns the result; the error says why it did not run.
    fn start(&self, child: Child) -> Promise<'_, Result<ChildEnd, NotRun>>;
}

/// A pipeline to start.
#[derive(Debug, Clone)]
pub struct Child {
    /// The pipeline's name.
    pub pipeline: String,
    /// The inputs, including secrets that the configuration puts there.
    pub inputs: Map<String, Value>,
    /// Where its agent works.
    pub working_dir: SpawnDir,
    /// The hook that starts it.
    pub started_by: StartedBy,
    /// Requests an early end.
    pub end: EndRequest,
}

/// The hook that starts a pipeline, and its firing.
#[derive(Debug, Clone)]
pub struct StartedBy {
    /// The hook's id.
    pub hook: String,
    /// Distinguishes the hook from those of other files ([`Hook::key`](crate::Hook::key)).
    pub key: String,
    /// The hook's file: pipelines that it names are searched beside it.
    pub file: Arc<Path>,
    /// The fired event.
    pub event: EventName,
    /// The event's iteration; 0 if it has none.
    pub iteration: u64,
    /// The number of the firing within its session.
    pub firing: u64,
    /// Whether the decision waits for the hook.
    pub awaited: bool,
    /// The marker of this attempt.
    pub run_id: String,
}

/// Requests a child's early end. Clones share everything.
#[derive(Debug, Clone, Default)]
pub struct EndRequest {
    asked: CancellationToken,
    why: Arc<OnceLock<String>>,
}

impl EndRequest {
    /// Requests the end. The first reason counts.
    pub fn ask(&self, why: &str) {
        let _ = self.why.set(why.to_owned());
        self.asked.cancel();
    }

    /// A request that is made with this one, and can also be made without it.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { asked: self.asked.child_token(), why: Arc::clone(&self.why) }
    }

    /// Cancelled when the end is requested.
    pub fn token(&self) -> &CancellationToken {
        &self.asked
    }

    /// The reason, if the end was requested.
    pub fn why(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildEnd {
    /// Whether it completed.
    pub completed: bool,
    /// How it ended, as a clause: `session x completed after 2 iterations`.
    pub what: String,
    /// The child's output.
    pub output: Option<Value>,
}

/// Why a child did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// As a clause: `there is no pipeline `x``.
    pub cause: String,
    /// Whether a retry could help.
    pub may_retry: bool,
}
