//! [`Hook`]: one configured and checked reaction; [`Terms`]: the rules under which it runs at one
//! event.
//!
//! A pattern may match events of different power, so everything that depends on the event is left
//! open in [`Hook`] and computed by [`Hook::terms`].

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

// Each type of action is public, so a new one needs no change here.
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
    /// The author's description.
    pub description: Option<String>,
    /// Where it is configured.
    pub source: HookSource,
    /// Where it came from; determines the order.
    pub layer: Layer,
    /// The event as written in the configuration.
    pub event: Arc<str>,
    /// The events that it matches.
    pub pattern: Pattern,
    /// The subjects that it matches.
    pub matcher: Matcher,
    /// The matcher as written.
    pub matcher_text: Option<Box<str>>,
    /// `enabled: false` disables it.
    pub enabled: bool,
    /// If not empty: runs only if one of these hosts fired the event, or the event names no host.
    pub hosts: Vec<Box<str>>,
    /// Runs only if this is true.
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
    /// Passes its output to the agent.
    pub pipe_output: bool,
    /// Runs at most once in a session.
    pub once: bool,
    /// Of the matching hooks with the same text here, only the strictest runs.
    pub twin: Option<Box<str>>,
    /// The dialect's rules for order and wire format.
    pub policy: &'static Policy,
}

/// Where a hook is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSource {
    /// The file's name for messages.
    pub file: Arc<Path>,
    /// The file's path, which tells hooks of the same id apart.
    pub path: Arc<Path>,
    /// The first line of its entry, from 1; 0 for a hook made by a program.
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
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The range in bytes of the file's text.
    pub range: Range<usize>,
}

impl FilePlace {
    /// The content of a line, counted from 1.
    pub fn of_line(text: &str, line: u32) -> Self {
        let before = text.split_inclusive('\n').take(line.saturating_sub(1) as usize);
        let start: usize = before.map(str::len).sum();
        let written = text[start..].lines().next().unwrap_or_default();
        let indent = written.len() - written.trim_start().len();
        let column = u32::try_from(indent + 1).unwrap_or(u32::MAX);
        Self { line, column, range: start + indent..start + written.trim_end().len().max(indent) }
    }
}

/// Identifies a hook and where it came from.
#[derive(Debug, Clone)]
pub struct HookOrigin {
    /// The hook's id.
    pub id: String,
    /// Where it is configured.
    pub source: HookSource,
    /// Where it came from.
    pub layer: Layer,
    /// The event as written in the configuration.
    pub event: Arc<str>,
}

/// Where a hook came from, in the order in which hooks run. At events that can be blocked, global
/// hooks run before those of the project's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The program that embeds the engine. Its hooks run first at every event: they start no
    /// process, so their denial saves the processes of the others. What a host wants to do after
    /// all hooks, it does with the decision.
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
    /// Record it and continue.
    Continue,
    /// End the pipeline.
    Abort,
    /// Retry, then do what `on_exhausted` says.
    Retry,
    /// Block what the event announced.
    Block,
}

impl OnFailure {
    /// The words in a configuration.
    pub const WORDS: &'static [&'static str] = &["continue", "abort", "retry", "block"];

    /// The values, in the order of [`Self::WORDS`].
    pub const ALL: [OnFailure; 4] =
        [OnFailure::Continue, OnFailure::Abort, OnFailure::Retry, OnFailure::Block];

    /// The word in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            OnFailure::Continue => "continue",
            OnFailure::Abort => "abort",
            OnFailure::Retry => "retry",
            OnFailure::Block => "block",
        }
    }
}

/// What a failure without further retries leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    /// Record it and continue.
    Continue,
    /// End the pipeline.
    Abort,
    /// Block what the event announced.
    Block,
}

impl Exhausted {
    /// The words in a configuration.
    pub const WORDS: &'static [&'static str] = &["continue", "abort", "block"];

    /// The values, in the order of [`Self::WORDS`].
    pub const ALL: [Exhausted; 3] = [Exhausted::Continue, Exhausted::Abort, Exhausted::Block];

    /// The word in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Exhausted::Continue => "continue",
            Exhausted::Abort => "abort",
            Exhausted::Block => "block",
        }
    }
}

/// The rules under which a hook runs at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The decision waits for it.
    pub awaited: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// Extra attempts after a failure.
    pub retries: u32,
    /// The delay between attempts.
    pub retry_delay: Duration,
    /// What a failure leads to in the end.
    pub on_failure: Exhausted,
    /// `on_failure` is the event's default, not configured.
    pub on_failure_by_default: bool,
    /// What follows if a person was asked and did not answer in time.
    pub on_timeout: Exhausted,
    /// What follows if a person rejects.
    pub on_reject: Exhausted,
}

impl Terms {
    /// From now on a failure blocks, whatever the hook is configured to do.
    pub(crate) fn fail_closed(&mut self) {
        if self.on_failure == Exhausted::Continue {
            self.on_failure = Exhausted::Block;
        }
        self.on_failure_by_default = false;
    }
}

impl Hook {
    /// A hook whose action is a function of this program: which events it matches, and what it
    /// does. See [`HookBuilder`] for further settings.
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

    /// A hook with these events and this action, and defaults for the rest.
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

    /// A name that is unique across files: what is remembered of one hook must not count for
    /// another.
    pub fn key(&self) -> String {
        format!("{}#{}", self.source.path.display(), self.id)
    }

    /// Distinguishes this hook from a later one of the same name: what it does, where and when.
    pub fn digest(&self) -> String {
        let when = self.when.as_ref().map_or("", |when| when.source());
        let matcher = self.matcher_text.as_deref().unwrap_or_default();
        let key = self.key();
        let mut parts =
            vec![&*key, &*self.event, matcher, when, self.action.kind(), self.action.summary()];
        parts.extend(self.hosts.iter().map(|host| &**host));
        // FNV-1a: the same in every version. It needs no protection against deliberate collisions.
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
            // A webhook's `await` means a person's answer; its HTTP response is awaited anyway.
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
