//! What hooks do. An action does one thing and decides nothing: it returns an [`Outcome`], and
//! `dispatch.rs` answers it.

mod callback;
mod cut;
mod from_within;
mod git;
mod git_commit;
mod git_push;
mod shell;
mod spawn;
mod telling;
#[cfg(feature = "http")]
mod webhook;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Answer, Event, EventName, FiringKey, Outcome, Power, RunEventKind};
use tokio_util::sync::CancellationToken;

use crate::Engine;
use crate::chain::Chain;
use crate::hook::{Action, Hook, Terms};
use crate::past::CutOff;
use crate::policy::{Policy, WireReader};
use crate::ports::{Pipelines, Waits};
use crate::secrets::Secrets;
use crate::slots::Slots;
use crate::template::Filling;
use crate::variables::{Carried, Environment, Variables};

pub use git::GIT_LOCATION_VARIABLES;
pub(crate) use shell::Shells;

/// All that one attempt of one hook needs.
#[derive(Clone)]
pub(crate) struct HookAttempt {
    pub(crate) hook: Arc<Hook>,
    pub(crate) event: Arc<Event>,
    pub(crate) carried: Carried,
    pub(crate) number: u32,
    pub(crate) terms: Terms,
    pub(crate) power: Power,
    pub(crate) policy: &'static Policy,
    pub(crate) chain: Chain,
    pub(crate) place: FiringPlace,
    /// Which try it is; one that a crash cut off and this one are the same.
    pub(crate) try_number: u32,
    /// What it had done when it was cut off, if that try goes on here.
    pub(crate) cut_off: Option<Box<CutOff>>,
    /// Asks people.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only webhooks need it"))]
    pub(crate) waits: Arc<dyn Waits>,
    /// Starts pipelines.
    pub(crate) pipelines: Arc<dyn Pipelines>,
    pub(crate) run_id: String,
    pub(crate) surroundings: Arc<ActionContext>,
    /// Nobody can be asked about what the action fires either.
    pub(crate) nobody_to_ask: bool,
    /// Fires what the action announces.
    pub(crate) engine: Engine,
    pub(crate) cancel: CancellationToken,
}

impl HookAttempt {
    /// Our variables as this attempt sees them.
    pub(crate) fn variables(&self) -> Variables<'_> {
        Variables {
            event: &self.event,
            carried: &self.carried,
            environment: &self.surroundings.environment,
        }
    }

    /// The way from this attempt to an event that it fires, if it can be found again after a crash.
    pub(crate) fn way_to(&self, event: &EventName) -> Option<String> {
        let (place, hook) = (&self.place, &self.hook.id);
        let way =
            || FiringKey::below(&place.firing, hook, self.try_number, event.as_str()).to_string();
        place.is_kept.then(way)
    }

    /// The firings above one that this attempt makes.
    pub(crate) fn chain_below(&self) -> Chain {
        self.chain.with(&self.event.name, &self.hook.id, &self.hook.source.path)
    }

    /// Where the values of its texts come from.
    pub(crate) fn filling(&self) -> Filling<'_> {
        Filling {
            variables: self.variables(),
            secrets: &self.surroundings.secrets,
            wire: self.policy.wire,
            has_callback: false,
        }
    }

    /// Who reads what the hook's wire writes.
    pub(crate) fn reader(&self) -> WireReader<'_> {
        WireReader {
            event: &self.event,
            hook: &self.hook,
            attempt: self.number,
            root: &self.surroundings.root,
        }
    }
}

/// Which firing of which session an attempt belongs to.
#[derive(Debug, Clone)]
pub(crate) struct FiringPlace {
    /// The session's name, empty if it has none.
    pub(crate) session: String,
    /// The firing's number within its session.
    pub(crate) number: u64,
    /// The firing within its session, or within the engine: its number, and for one that an action
    /// fired the way to it.
    pub(crate) firing: String,
    /// Whether it can be taken up again after a crash.
    pub(crate) is_kept: bool,
    /// Tells the engine from any other.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only webhooks need it"))]
    pub(crate) engine: u64,
}

/// What all actions of one engine share.
pub(crate) struct ActionContext {
    pub(crate) root: PathBuf,
    pub(crate) environment: Arc<Environment>,
    pub(crate) secrets: Secrets,
    pub(crate) slots: Slots,
    pub(crate) shells: Shells,
    #[cfg(feature = "http")]
    pub(crate) requests: Slots,
    #[cfg(feature = "http")]
    pub(crate) sender: crate::http::Sender,
}

/// News of an action while it runs.
pub(crate) trait ActionNews: Send {
    /// It has turned itself into a background one, with an answer or without.
    fn went_async(&mut self, answer: Option<Box<Answer>>);

    /// Whether anybody wants to know what becomes of it.
    fn is_watched(&self) -> bool;

    /// Its process runs, it waits for a person, or there is something to note.
    fn tells(&mut self, kind: RunEventKind);

    /// Whether anybody is shown its output while it comes.
    fn wants_output(&self) -> bool;

    /// It has printed something.
    fn prints(&mut self, hook: &str, stream: &'static str, text: String);
}

/// How an attempt ended, and how long the action itself took.
pub(crate) async fn run(attempt: HookAttempt, news: &mut dyn ActionNews) -> (Outcome, Duration) {
    match &attempt.hook.action {
        Action::Shell(shell) => shell::run(&attempt, shell, news).await,
        // In boxes, so that a shell hook does not carry their size.
        Action::GitCommit(commit) => Box::pin(git_commit::run(&attempt, commit, news)).await,
        Action::GitPush(push) => Box::pin(git_push::run(&attempt, push, news)).await,
        Action::Callback(callback) => Box::pin(callback::run(&attempt, callback, news)).await,
        #[cfg(feature = "http")]
        Action::Webhook(webhook) => Box::pin(webhook::run(&attempt, webhook, news)).await,
        // Dispatch refuses it before it starts.
        #[cfg(not(feature = "http"))]
        Action::Webhook(_) => (
            Outcome::Process(hookwright_events::ProcessOutcome::NotStarted {
                cause: "no HTTP".to_owned(),
            }),
            Duration::ZERO,
        ),
        Action::Spawn(spawn) => Box::pin(spawn::run(&attempt, spawn)).await,
    }
}
