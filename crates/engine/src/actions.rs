//! What hooks do. An action does one thing and decides nothing: it returns an [`Outcome`], and
//! `dispatch.rs` decides what follows.

mod callback;
mod child_news;
mod cut;
mod from_within;
mod git;
mod git_commit;
mod git_push;
mod shell;
mod spawn;
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

/// The input of one attempt of one hook.
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
    /// The number of the try. A try that a crash interrupted keeps its number when it is repeated.
    pub(crate) try_number: u32,
    /// What the interrupted try had done, if this attempt continues it.
    pub(crate) cut_off: Option<Box<CutOff>>,
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only webhooks need it"))]
    pub(crate) waits: Arc<dyn Waits>,
    pub(crate) pipelines: Arc<dyn Pipelines>,
    pub(crate) run_id: String,
    pub(crate) surroundings: Arc<ActionContext>,
    /// No person can approve anything, including for events that the action fires.
    pub(crate) no_approver: bool,
    /// Fires the events of the action.
    pub(crate) engine: Engine,
    pub(crate) cancel: CancellationToken,
}

impl HookAttempt {
    /// The built-in variables, as this attempt sees them.
    pub(crate) fn variables(&self) -> Variables<'_> {
        Variables {
            event: &self.event,
            carried: &self.carried,
            environment: &self.surroundings.environment,
        }
    }

    /// The key path from this attempt to an event that it fires; `None` if the firing is not
    /// resumable.
    pub(crate) fn key_path_to(&self, event: &EventName) -> Option<String> {
        let (place, hook) = (&self.place, &self.hook.id);
        let way =
            || FiringKey::below(&place.firing, hook, self.try_number, event.as_str()).to_string();
        place.is_kept.then(way)
    }

    /// The chain for events that this attempt fires.
    pub(crate) fn chain_below(&self) -> Chain {
        self.chain.with(&self.event.name, &self.hook.id, &self.hook.source.path)
    }

    /// The values for the hook's texts.
    pub(crate) fn filling(&self) -> Filling<'_> {
        Filling {
            variables: self.variables(),
            secrets: &self.surroundings.secrets,
            wire: self.policy.wire,
            has_callback: false,
        }
    }

    /// Reads the output of the hook's wire format.
    pub(crate) fn reader(&self) -> WireReader<'_> {
        WireReader {
            event: &self.event,
            hook: &self.hook,
            attempt: self.number,
            root: &self.surroundings.root,
        }
    }
}

/// The firing and the session that an attempt belongs to.
#[derive(Debug, Clone)]
pub(crate) struct FiringPlace {
    /// The session's name, empty if it has none.
    pub(crate) session: String,
    pub(crate) number: u64,
    /// Identifies the firing within its session, or within the engine: its number, and the key path
    /// if an action fired it.
    pub(crate) firing: String,
    /// Whether it can be resumed after a crash.
    pub(crate) is_kept: bool,
    /// Identifies the engine.
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

/// Receives news of a running action.
pub(crate) trait ActionNews: Send {
    /// The action moved itself to the background, with an answer or without.
    fn went_async(&mut self, answer: Option<Box<Answer>>);

    /// Whether anything reads the run events of this action.
    #[cfg(feature = "http")]
    fn is_watched(&self) -> bool;

    /// Whether anything reads the ids of its processes.
    fn wants_processes(&self) -> bool;

    /// Its process started, it waits for a person, or it has a note.
    fn report(&mut self, kind: RunEventKind);

    /// Whether anything shows its output while it runs.
    fn wants_output(&self) -> bool;

    fn prints(&mut self, hook: &str, stream: &'static str, text: String);
}

/// Runs the attempt. Returns its outcome and how long the action itself took.
pub(crate) async fn run(attempt: HookAttempt, news: &mut dyn ActionNews) -> (Outcome, Duration) {
    match &attempt.hook.action {
        Action::Shell(shell) => shell::run(&attempt, shell, news).await,
        // Boxed, so that a shell hook does not carry their size.
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
