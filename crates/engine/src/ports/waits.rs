//! [`Waits`]: a person's answer, and the questions that wait for one.
//!
//! A wait outlives the program that made it: it is stored with the request that asks for it before
//! anything is sent, and a firing that is taken up after a crash finds it by its [`WaitKey`].

use std::io;
use std::time::Duration;

pub use hookwright_events::wait::{WaitKey, Word};
use serde_json::Value;

use super::Promise;

/// A person's answer.
///
/// Asked by webhooks with `await: true`, in this order: [`find`](Waits::find) where the firing may
/// have been cut off before, else [`open`](Waits::open), which stores the wait together with the
/// request; then the request is sent, and [`sent`](Waits::sent) says that it has arrived;
/// [`decided`](Waits::decided) waits from before the sending on, so that an answer that is quicker than
/// the request counts too. [`abandon`](Waits::abandon) ends a wait that nobody will take up.
///
/// It must promise that what it has answered `Ok` to is still there after a crash, that a wait is
/// decided once, and that somebody listens for the answer when `find` or `open` returns. Each error
/// is the hook's failure.
///
/// ```
/// use hookwright_engine::ports::memory::InMemoryWaits;
/// use hookwright_engine::ports::{NewWait, WaitEnd, Waits, Word};
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
/// assert_eq!((response, word), (answer, Word::Yes));
/// # Ok(())
/// # }
/// ```
pub trait Waits: Send + Sync {
    /// The wait that was stored under this key before a crash, whether it has been decided or not;
    /// somebody listens for its answer again.
    fn find<'a>(&'a self, key: &'a WaitKey) -> Promise<'a, io::Result<Option<OpenWait>>>;

    /// Stores the wait with its request, synced, and makes sure that somebody listens for the answer.
    /// Returns before anything is sent. Where a wait with the same key is there already, that one is
    /// given instead; a wait without a key is always a new one.
    fn open(&self, wait: NewWait) -> Promise<'_, io::Result<OpenWait>>;

    /// The request has arrived at its receiver (stored, synced): it is not sent again after a crash.
    fn sent<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>>;

    /// Waits for the decision; [`WaitEnd::TimedOut`] when the time is over. It may be dropped and
    /// called again.
    fn decided<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<WaitEnd>>;

    /// Nobody waits any more: whoever answers is told so. A wait that has been decided stays so.
    fn abandon<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>>;
}

/// A question that is to be stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewWait {
    /// By what it is found again; `None` where nobody will take it up, so that it ends with whoever
    /// asks.
    pub key: Option<WaitKey>,
    /// The session's name, if there is one.
    pub session: Option<String>,
    /// The hook's id.
    pub hook: String,
    /// The event's canonical name.
    pub event: String,
    /// What the event is about, where it says so: a tool, a stage.
    pub subject: Option<String>,
    /// The stage, within a pipeline.
    pub stage: Option<String>,
    /// The iteration, within a stage.
    pub iteration: Option<u64>,
    /// The loop's or pipeline's name, where the event says it.
    pub pipeline: Option<String>,
    /// What is asked, in words for people; without secrets.
    pub question: String,
    /// Words that the hook's own texts offer (`?action=word`), lower case.
    pub offered: Vec<String>,
    /// What changed, one path each; without secrets.
    pub changed_files: Vec<String>,
    /// What the stage has put out, one path each; without secrets.
    pub stage_outputs: Vec<String>,
    /// How long to wait.
    pub timeout: Duration,
    /// The port that the hook wants to be answered at.
    pub port: Option<u16>,
    /// The rendered request: secrets and the callback's address stand in it as references, which
    /// are filled in when it is sent. Opaque to whoever stores it.
    pub request: Value,
}

/// A question that is stored and listened for.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenWait {
    /// Names it.
    pub id: String,
    /// Where it can be answered; holds the token, and so is shown but not journalled.
    pub callback_url: String,
    /// Since when it waits, ISO 8601 in UTC.
    pub since: String,
    /// Until when, ISO 8601 in UTC.
    pub until: String,
    /// The request as it was stored first; it is never rendered again.
    pub request: Value,
    /// The request has arrived at its receiver before.
    pub was_sent: bool,
    /// What a person should know about the address: that its port is another, for example.
    pub notes: Vec<String>,
}

/// How a wait came to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitEnd {
    /// Somebody has decided.
    Decided {
        /// The whole answer: `{"action": …, "message": …}`.
        response: Value,
        /// What its action means.
        word: Word,
        /// Who, as far as that is known.
        by: String,
        /// When, ISO 8601 in UTC.
        at: String,
    },
    /// Nobody answered in time.
    TimedOut,
    /// Nobody may answer any more.
    Abandoned,
}
