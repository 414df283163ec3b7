//! [`Waits`]: a person's answer, and the open questions.
//!
//! A wait outlives the program that made it. It is stored together with its request before anything
//! is sent, and a firing that is resumed after a crash finds it by its [`WaitKey`].

use std::io;
use std::time::Duration;

pub use hookwright_events::wait::{AnswerMeaning, WaitKey};
use serde_json::Value;

use super::Promise;

/// A person's answer.
///
/// Webhooks with `await: true` call it in this order:
///
/// 1. [`find`](Waits::find) if the firing may have been interrupted before, else
///    [`open`](Waits::open), which stores the wait together with the request.
/// 2. The request is sent, and [`sent`](Waits::sent) records that it has arrived.
///    [`decided`](Waits::decided) already waits by then, so that an answer that overtakes the
///    request counts too.
/// 3. [`abandon`](Waits::abandon) ends a wait that will not be resumed.
///
/// An implementation must keep across a crash what it answered with `Ok`, decide a wait only once,
/// and listen for the answer when `find` or `open` returns. Each error fails the hook.
///
/// ```
/// use hookwright_engine::ports::memory::InMemoryWaits;
/// use hookwright_engine::ports::{NewWait, WaitEnd, Waits, AnswerMeaning};
/// use hookwright_engine::serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let waits = InMemoryWaits::default();
/// let question = NewWait { hook: "deploy".into(), question: "deploy?".into(), ..NewWait::default() };
/// let wait = waits.open(question).await?;
/// assert_eq!(wait.callback_url, "http://localhost/callback/wait-1");
/// waits.sent(&wait.id).await?;
///
/// let answer = json!({ "action": "approve", "message": "go" });
/// waits.decide(&wait.id, answer.clone());
/// let WaitEnd::Decided { response, word, .. } = waits.decided(&wait.id).await? else {
///     panic!("somebody has answered")
/// };
/// assert_eq!((response, word), (answer, AnswerMeaning::Yes));
/// # Ok(())
/// # }
/// ```
pub trait Waits: Send + Sync {
    /// The wait stored under this key before a crash, decided or not. Starts listening for its
    /// answer again.
    fn find<'a>(&'a self, key: &'a WaitKey) -> Promise<'a, io::Result<Option<OpenWait>>>;

    /// Stores the wait with its request, synced, and starts listening for the answer. Returns
    /// before anything is sent. If there is a wait with the same key, returns that one; a wait
    /// without a key is always new.
    fn open(&self, wait: NewWait) -> Promise<'_, io::Result<OpenWait>>;

    /// Records (stored, synced) that the request has arrived at its receiver: it is not sent again
    /// after a crash.
    fn sent<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>>;

    /// Waits for the decision; [`WaitEnd::TimedOut`] when the time is over. The future may be
    /// dropped and the method called again.
    fn decided<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<WaitEnd>>;

    /// Ends the wait: later answers are refused. A decided wait stays decided.
    fn abandon<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>>;
}

/// A question to store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewWait {
    /// The key by which it is found again; `None` if it cannot be resumed and ends with the process
    /// that asks.
    pub key: Option<WaitKey>,
    /// The session's name, if there is one.
    pub session: Option<String>,
    /// The hook's id.
    pub hook: String,
    /// The event's canonical name.
    pub event: String,
    /// The event's subject, if it has one: a tool, a stage.
    pub subject: Option<String>,
    /// The stage, within a pipeline.
    pub stage: Option<String>,
    /// The iteration, within a stage.
    pub iteration: Option<u64>,
    /// The loop's or pipeline's name, if the event has it.
    pub pipeline: Option<String>,
    /// The question for people; without secrets.
    pub question: String,
    /// Words that the hook's own texts offer (`?action=word`), lower case.
    pub offered: Vec<String>,
    /// The paths of changed files; without secrets.
    pub changed_files: Vec<String>,
    /// The paths of the stage's outputs; without secrets.
    pub stage_outputs: Vec<String>,
    /// How long to wait.
    pub timeout: Duration,
    /// The port for the answer, if the hook is configured with one.
    pub port: Option<u16>,
    /// The rendered request. Secrets and the callback's address are references in it, filled in
    /// when it is sent. Opaque to the store.
    pub request: Value,
}

/// A stored question that can be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenWait {
    /// The wait's id.
    pub id: String,
    /// The address for the answer. It contains the token, so it is shown but not journalled.
    pub callback_url: String,
    /// The time it was opened, ISO 8601 in UTC.
    pub since: String,
    /// The deadline, ISO 8601 in UTC.
    pub until: String,
    /// The request as it was first stored; it is never rendered again.
    pub request: Value,
    /// Whether the request has already arrived at its receiver.
    pub was_sent: bool,
    /// What a person should know about the address, for example that its port differs.
    pub notes: Vec<String>,
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitEnd {
    /// A person has decided.
    Decided {
        /// The whole answer: `{"action": …, "message": …}`.
        response: Value,
        /// The meaning of its action.
        word: AnswerMeaning,
        /// Who decided, as far as known.
        by: String,
        /// The time, ISO 8601 in UTC.
        at: String,
    },
    /// No answer came in time.
    TimedOut,
    /// The wait was ended without an answer.
    Abandoned,
}
