//! [`Hook`]: one configured reaction, once it has been checked; [`Terms`]: under which rules it
//! runs at one event.
//!
//! A pattern may wake a hook at events of different power, so whatever depends on the event stays
//! open in [`Hook`] and is settled by [`Hook::terms`].

mod action;
mod action_type;
mod builder;
mod callback;
mod fault;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{Answer, Power};

// Each type of action is public, and a new one is so without a word here.
pub use action::*;
pub use action_type::{ActionKey, ActionType, KeyValue};
pub use builder::HookBuilder;
pub use callback::{Call, Callback, CallbackFailure};
pub(crate) use callback::{CallbackFuture, WithinFiring};
pub use fault::{HookConflict, HookFault, HookFaultKind, RETRIES_EXPECTED};

use crate::condition::Condition;
use crate::limits::RETRY_DELAY;
use crate::matcher::Matcher;
use crate::pattern::Pattern;
use crate::policy::Policy;

/// One configured reaction.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Names the hook in reports, journal and `--skip`.
    pub id: String,
    /// What it is for, in its author's words.
    pub description: Option<String>,
    /// Where it was written.
    pub source: HookSource,
    /// Where it came from; decides the order.
    pub layer: Layer,
    /// The key under which it was written.
    pub event: Arc<str>,
    /// Where it listens.
    pub pattern: Pattern,
    /// Narrows that by subject.
    pub matcher: Matcher,
    /// The same as it was written.
    pub matcher_text: Option<Box<str>>,
    /// `enabled: false` skips it.
    pub enabled: bool,
    /// Runs only when one of these fired the event, or the event names no host; anywhere if empty.
    pub hosts: Vec<Box<str>>,
    /// Runs only when this holds.
    pub when: Option<Condition>,
    /// What it does.
    pub action: Action,
    /// `await`, if written.
    pub awaits: Option<bool>,
    /// `timeout`, if written.
    pub timeout: Option<Duration>,
    /// `on_failure`, if written.
    pub on_failure: Option<OnFailure>,
    /// `retries`, if written.
    pub retries: Option<u32>,
    /// `retry_delay`, if written.
    pub retry_delay: Option<Duration>,
    /// `on_exhausted`, if written.
    pub on_exhausted: Option<Exhausted>,
    /// Its output goes to the agent.
    pub pipe_output: bool,
    /// Runs at most once in a session.
    pub once: bool,
    /// Of hooks with the same text here, only the strictest runs at an event that wakes several.
    pub twin: Option<Box<str>>,
    /// Whose order and wire apply.
    pub policy: &'static Policy,
}

/// Where a hook was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSource {
    /// The file as messages name it.
    pub file: Arc<Path>,
    /// The file itself, which tells hooks of the same id apart.
    pub path: Arc<Path>,
    /// The line its entry begins on, from 1; 0 for a hook that was made by a program.
    pub line: u32,
}

impl std::fmt::Display for HookSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// In bytes of the file's text.
    pub range: Range<usize>,
}

impl FilePlace {
    /// What is written in a line, from 1.
    pub fn of_line(text: &str, line: u32) -> Self {
        let before = text.split_inclusive('\n').take(line.saturating_sub(1) as usize);
        let start: usize = before.map(str::len).sum();
        let written = text[start..].lines().next().unwrap_or_default();
        let indent = written.len() - written.trim_start().len();
        let column = u32::try_from(indent + 1).unwrap_or(u32::MAX);
        Self { line, column, range: start + indent..start + written.trim_end().len().max(indent) }
    }
}

/// What a hook is known by.
#[derive(Debug, Clone)]
pub struct HookOrigin {
    /// Its id.
    pub id: String,
    /// Where it was written.
    pub source: HookSource,
    /// Where it came from.
    pub layer: Layer,
    /// The key under which it was written.
    pub event: Arc<str>,
}

/// Where a hook came from, in the order in which hooks run. At points that can block, those for all
/// projects run before those of the project's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The program that embeds the engine. Its hooks run before those of all files, everywhere: they
    /// start no process, so that a denial of theirs spares the processes of the others. Whatever a
    /// host wants to do after all hooks, it does with the decision.
    Program,
    /// A loop's own file.
    Loop,
    /// A pipeline's own file.
    Pipeline,
    /// The project's file.
    Project,
    /// The user's file for all projects.
    Global,
}

/// What a failure leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Record it and go on.
    Continue,
    /// End the pipeline.
    Abort,
    /// Try again, then do what `on_exhausted` says.
    Retry,
    /// Block what the event announced.
    Block,
}

impl OnFailure {
    /// The words for these in a configuration.
    pub const WORDS: &'static [&'static str] = &["continue", "abort", "retry", "block"];

    /// What the words mean, in their order.
    pub const ALL: [OnFailure; 4] =
        [OnFailure::Continue, OnFailure::Abort, OnFailure::Retry, OnFailure::Block];

    /// The word for it in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            OnFailure::Continue => "continue",
            OnFailure::Abort => "abort",
            OnFailure::Retry => "retry",
            OnFailure::Block => "block",
        }
    }
}

/// What a failure leads to when it is not tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    /// Record it and go on.
    Continue,
    /// End the pipeline.
    Abort,
    /// Block what the event announced.
    Block,
}

impl Exhausted {
    /// The words for these in a configuration.
    pub const WORDS: &'static [&'static str] = &["continue", "abort", "block"];

    /// What the words mean, in their order.
    pub const ALL: [Exhausted; 3] = [Exhausted::Continue, Exhausted::Abort, Exhausted::Block];

    /// The word for it in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Exhausted::Continue => "continue",
            Exhausted::Abort => "abort",
            Exhausted::Block => "block",
        }
    }
}

/// Under which rules a hook runs at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The decision waits for it.
    pub awaited: bool,
    /// How long it may take.
    pub timeout: Duration,
    /// Extra attempts after a failure.
    pub retries: u32,
    /// Between attempts.
    pub retry_delay: Duration,
    /// What a failure leads to in the end.
    pub on_failure: Exhausted,
    /// What a failure leads to is this event's own default, which nobody wrote down.
    pub on_failure_by_default: bool,
    /// What it leads to when a person was asked and nobody answered in time.
    pub on_timeout: Exhausted,
    /// What a person's no leads to.
    pub on_reject: Exhausted,
}

impl Terms {
    /// From now on a failure blocks, whatever the hook says about failures.
    pub(crate) fn fail_closed(&mut self) {
        if self.on_failure == Exhausted::Continue {
            self.on_failure = Exhausted::Block;
        }
        self.on_failure_by_default = false;
    }
}

impl Hook {
    /// A hook whose action is a function of this program: where it listens, and what it does. See
    /// [`HookBuilder`] for what else can be said.
    ///
    /// ```
    /// use hookwright_engine::{Answer, Hook};
    ///
    /// let no_sudo = Hook::on("tool:pre_execute:bash", |call| async move {
    ///     let command = call.event.text_at("/tool_input/command").ok_or("no command to look at")?;
    ///     Ok(match command.contains("sudo") {
    ///         true => Answer::deny("sudo is not allowed here"),
    ///         false => Answer::default(),
    ///     })
    /// })
    /// .id("no-sudo");
    /// ```
    #[track_caller]
    pub fn on<F, R>(event: &str, function: F) -> HookBuilder
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Answer, CallbackFailure>> + Send + 'static,
    {
        HookBuilder::new(event, Callback::new(function))
    }

    /// A hook of which nothing more is said than where it listens and what it does.
    pub fn new(
        origin: HookOrigin,
        pattern: Pattern,
        action: Action,
        policy: &'static Policy,
    ) -> Self {
        let HookOrigin { id, source, layer, event } = origin;
        Self {
            id,
            description: None,
            source,
            layer,
            event,
            pattern,
            matcher: Matcher::All,
            matcher_text: None,
            enabled: true,
            hosts: Vec::new(),
            when: None,
            action,
            awaits: None,
            timeout: None,
            on_failure: None,
            retries: None,
            retry_delay: None,
            on_exhausted: None,
            pipe_output: false,
            once: false,
            twin: None,
            policy,
        }
    }

    /// A name that no hook of another file has: what is remembered of one must not count for the
    /// other.
    pub fn key(&self) -> String {
        format!("{}#{}", self.source.path.display(), self.id)
    }

    /// Tells this hook from another that later has its name: what it does, where and when.
    pub fn digest(&self) -> String {
        let when = self.when.as_ref().map_or("", |when| when.source());
        let matcher = self.matcher_text.as_deref().unwrap_or_default();
        let key = self.key();
        let mut parts =
            vec![&*key, &*self.event, matcher, when, self.action.kind(), self.action.summary()];
        parts.extend(self.hosts.iter().map(|host| &**host));
        // FNV-1a: the same in every version, and nobody has to be kept from finding a second.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("{hash:016x}")
    }

    /// The rules under which it runs at an event of this power.
    pub fn terms(&self, power: Power) -> Terms {
        let by_default = self.policy.on_failure.unwrap_or(match power {
            Power::Blocks => Exhausted::Block,
            Power::BlocksOnPurpose | Power::Annotates | Power::Observes => Exhausted::Continue,
        });
        let (retries, written) = match self.on_failure {
            None => (0, None),
            Some(OnFailure::Continue) => (0, Some(Exhausted::Continue)),
            Some(OnFailure::Abort) => (0, Some(Exhausted::Abort)),
            Some(OnFailure::Block) => (0, Some(Exhausted::Block)),
            Some(OnFailure::Retry) => (self.retries_or_default(), self.on_exhausted),
        };
        let on_failure = written.unwrap_or(by_default);
        let refused = if power.can_block() { Exhausted::Block } else { Exhausted::Abort };
        let (on_timeout, on_reject) = match &self.action {
            Action::Webhook(webhook) => {
                (webhook.on_timeout.unwrap_or(refused), webhook.on_reject.unwrap_or(refused))
            }
            _ => (refused, refused),
        };
        let is_request = self.action.action_type().is_request;
        let retries = if is_request { self.retries_or_default() } else { retries };
        Terms {
            awaited: self.awaited(power, on_failure),
            timeout: self.timeout.or(self.policy.timeout).unwrap_or(self.default_timeout()),
            retries,
            retry_delay: self.retry_delay.unwrap_or(RETRY_DELAY),
            on_failure,
            on_failure_by_default: written.is_none(),
            on_timeout,
            on_reject,
        }
    }

    fn awaited(&self, power: Power, on_failure: Exhausted) -> bool {
        let action_type = self.action.action_type();
        let something_depends_on_it = power != Power::Observes
            || self.pipe_output
            || on_failure != Exhausted::Continue
            || action_type.starts_session;
        match (action_type.is_request, self.policy.awaits) {
            // A webhook's `await` means a person; its response is waited for all the same.
            (true, None) => self.awaits == Some(true) || something_depends_on_it,
            (true, Some(by_policy)) => self.awaits.unwrap_or(by_policy),
            (false, by_policy) => self.awaits.or(by_policy).unwrap_or(something_depends_on_it),
        }
    }

    fn retries_or_default(&self) -> u32 {
        self.retries.unwrap_or(self.action.action_type().retries)
    }

    fn default_timeout(&self) -> Duration {
        let action_type = self.action.action_type();
        match self.awaits {
            Some(true) => action_type.awaited_timeout,
            Some(false) | None => action_type.timeout,
        }
    }
}
