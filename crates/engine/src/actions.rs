//! What hooks do. An action does one thing and decides nothing: it returns an [`Outcome`], and
//! `dispatch.rs` answers it.

mod callback;
mod git;
mod git_commit;
mod git_push;
mod shell;
mod telling;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Event, Outcome, Power, RunEventKind};
use tokio_util::sync::CancellationToken;

use crate::Engine;
use crate::chain::Chain;
use crate::hook::{Action, Hook, Terms};
use crate::policy::{Policy, Reader};
use crate::secrets::Secrets;
use crate::slots::Slots;
use crate::template::Filling;
use crate::variables::{Carried, Environment, Variables};

pub use git::GIT_LOCATION_VARIABLES;
pub(crate) use shell::Shells;

/// All that one attempt of one hook needs.
pub(crate) struct Attempt {
    pub(crate) hook: Arc<Hook>,
    pub(crate) event: Arc<Event>,
    pub(crate) carried: Carried,
    pub(crate) number: u32,
    pub(crate) terms: Terms,
    pub(crate) power: Power,
    pub(crate) policy: &'static Policy,
    pub(crate) chain: Chain,
    pub(crate) run_id: String,
    pub(crate) surroundings: Arc<Surroundings>,
    /// Nobody can be asked about what the action fires either.
    pub(crate) nobody_to_ask: bool,
    /// Fires what the action announces.
    pub(crate) engine: Engine,
    pub(crate) cancel: CancellationToken,
}

impl Attempt {
    /// Our variables as this attempt sees them.
    pub(crate) fn variables(&self) -> Variables<'_> {
        Variables {
            event: &self.event,
            carried: &self.carried,
            environment: &self.surroundings.environment,
        }
    }

    /// Where the values of its texts come from.
    pub(crate) fn filling(&self) -> Filling<'_> {
        Filling {
            variables: self.variables(),
            secrets: &self.surroundings.secrets,
            wire: self.policy.wire,
        }
    }

    /// Who reads what the hook's wire writes.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            event: &self.event,
            hook: &self.hook,
            attempt: self.number,
            root: &self.surroundings.root,
        }
    }
}

/// What all actions of one engine share.
pub(crate) struct Surroundings {
    pub(crate) root: PathBuf,
    pub(crate) environment: Arc<Environment>,
    pub(crate) secrets: Secrets,
    pub(crate) slots: Slots,
    pub(crate) shells: Shells,
}

/// News of an action while it runs.
pub(crate) trait News: Send {
    /// It has turned itself into a background one.
    fn went_async(&mut self);

    /// Whether anybody wants to know of its process.
    fn wants_process(&self) -> bool;

    /// Its process runs.
    fn runs(&mut self, kind: RunEventKind);

    /// Whether anybody is shown its output while it comes.
    fn wants_output(&self) -> bool;

    /// It has printed something.
    fn prints(&mut self, hook: &str, stream: &'static str, text: String);
}

/// How an attempt ended, and how long the action itself took.
pub(crate) async fn run(attempt: Attempt, news: &mut dyn News) -> (Outcome, Duration) {
    match &attempt.hook.action {
        Action::Shell(shell) => shell::run(&attempt, shell, news).await,
        // In boxes, so that a shell hook does not carry their size.
        Action::GitCommit(commit) => Box::pin(git_commit::run(&attempt, commit, news)).await,
        Action::GitPush(push) => Box::pin(git_push::run(&attempt, push, news)).await,
        Action::Callback(callback) => Box::pin(callback::run(&attempt, callback)).await,
        // Dispatch refuses these before they start.
        Action::Webhook(_) | Action::Spawn(_) => {
            let cause = format!("`type: {}` is not available", attempt.hook.action.kind());
            (Outcome::NotStarted { cause }, Duration::ZERO)
        }
    }
}
