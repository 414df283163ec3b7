//! [`Group`]: functions of a Rust program as hooks of Claude Code's events, with typed input and
//! typed answers, and commands between them.
//!
//! - The members of a group run one by one. Groups of an event run at once.
//! - A member that goes to the background ([`Call::go_async`], or a command that prints `{"async":
//!   true}`) runs beside the others, and its answer comes late. A member that returns
//!   [`HookOutput::Async`] has ended, and the run events say that its work continues.
//! - `continue: false` ends the group. An error or a panic does not: the user gets a message, and
//!   the next member runs.
//! - All members share one time limit. A member that exceeds it blocks if a tool or a prompt is
//!   waiting, and earlier answers count.
//! - Of the members' decisions the first deny counts, else the first allow, else an ask. Between
//!   groups the strictest decision counts, as between all hooks.
//!
//! ```
//! use hookwright_dialects::claude::answer::{HookSpecificOutput, PermissionDecision, PreToolUseOutput};
//! use hookwright_dialects::claude::callbacks::{Call, Group};
//! use hookwright_dialects::claude::event::tool::PreToolUse;
//! use hookwright_engine::HookSet;
//! use hookwright_engine::{Engine, Event, Firing, Setup, Verdict, serde_json::json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let guard = Group::matching("Bash").then(|call: Call<PreToolUse>| async move {
//!     let command = call.input.tool_input["command"].as_str().ok_or("no command to look at")?;
//!     Ok(match command.contains("sudo") {
//!         false => Default::default(),
//!         true => HookSpecificOutput::PreToolUse(PreToolUseOutput {
//!             permission_decision: Some(PermissionDecision::Deny),
//!             permission_decision_reason: Some("sudo is not allowed here".into()),
//!             ..Default::default()
//!         })
//!         .into(),
//!     })
//! });
//! let mut hooks = HookSet::new();
//! hooks.add(guard.into_hook("no-sudo")?)?;
//! let engine = Engine::new(Setup::new(hooks, std::env::current_dir()?, Default::default()));
//! let call = json!({ "tool_name": "bash", "tool_input": { "command": "sudo reboot" } });
//! let fired = engine.fire(Event::named("PreToolUse", call)?, Firing::default()).await;
//! assert_eq!(
//!     fired.decision.verdict,
//!     Verdict::Block { reason: "sudo is not allowed here".into() }
//! );
//! # Ok(())
//! # }
//! ```

mod contained;
mod members;

use std::marker::PhantomData;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::hook::{
    Action, Callback, Hook, HookOrigin, HookSource, Layer, OnFailure, Shell,
};
use hookwright_engine::limits::CALLBACK_GRACE;
use hookwright_engine::matcher::{EventMatcher, Matcher};
use hookwright_engine::pattern::Pattern;
use hookwright_engine::template::CommandText;
use hookwright_engine::{CallbackFailure, CancellationToken};
use hookwright_events::Event;
use regex::Regex;

use super::answer::HookOutput;
pub use super::event::TypedInput;
use super::limits::{COMMAND_TIMEOUT, REGEX_BYTES_MAX};
use super::{POLICY, tool_name};
use members::{Leaving, Member, Members};

/// The argument of a group's member.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Call<T> {
    /// The event.
    pub input: T,
    /// The id of the event's tool call, if it has one.
    pub tool_use_id: Option<String>,
    /// Cancelled when the group's time is over, when the engine is interrupted and when the host
    /// drops the firing.
    pub cancelled: CancellationToken,
    leaving: Leaving,
}

impl<T> Call<T> {
    /// Goes to the background: the group continues with its next member, and this one gets the
    /// given time limit from now on, 30 s by default. It can no longer decide; its contexts and
    /// messages wait for the session's next event.
    pub fn go_async(&self, time: Option<Duration>) {
        self.leaving.go_async(time);
    }
}

/// Functions and commands for the same events, run one after the other.
#[derive(Debug)]
pub struct Group<T> {
    matcher: String,
    timeout: Option<Duration>,
    blocks_on_failure: bool,
    members: Vec<Member>,
    input: PhantomData<fn(T)>,
}

/// Why a group cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The matcher is neither a name nor a glob.
    #[error("`{matcher}` is not a name or a glob")]
    BadMatcher {
        /// The matcher's text.
        matcher: String,
    },
    /// The timeout is zero.
    #[error("expected a timeout longer than 0")]
    NoTime,
}

impl<T: TypedInput> Group<T> {
    /// Matches every tool, and events without a tool.
    pub fn all() -> Self {
        Self::matching("")
    }

    /// Matches tools by name (`Bash`) or glob (`mcp__*`). Case matters.
    pub fn matching(matcher: impl Into<String>) -> Self {
        Self {
            matcher: matcher.into(),
            timeout: None,
            blocks_on_failure: false,
            members: Vec::new(),
            input: PhantomData,
        }
    }

    /// The time limit of all members together; 600 s by default.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Makes a failing member block, at events that can be blocked.
    #[must_use]
    pub fn blocking_on_failure(self) -> Self {
        Self { blocks_on_failure: true, ..self }
    }

    /// Appends a function.
    #[must_use]
    pub fn then<F, R>(mut self, function: F) -> Self
    where
        F: Fn(Call<T>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<HookOutput, CallbackFailure>> + Send + 'static,
    {
        self.members.push(Member::function(function));
        self
    }

    /// Appends a command. It gets the event as JSON on standard input, its exit code and output
    /// mean the same as in Claude Code's settings, and its time limit is the rest of the group's.
    #[must_use]
    pub fn then_command(mut self, command: &str) -> Self {
        self.members.push(Member::command(Shell::new(CommandText::literal(command))));
        self
    }

    /// The hook that runs the group.
    #[track_caller]
    pub fn into_hook(self, id: impl Into<String>) -> Result<Hook, GroupError> {
        let looks = ToolMatcher::parse(&self.matcher)?;
        let timeout = self.timeout.unwrap_or(COMMAND_TIMEOUT);
        if timeout.is_zero() {
            return Err(GroupError::NoTime);
        }
        let members = Arc::new(Members {
            all: self.members,
            timeout,
            blocks_on_failure: self.blocks_on_failure,
        });
        let run = move |call| Arc::clone(&members).answer(call);
        let at = Location::caller();
        let origin = HookOrigin {
            id: id.into(),
            source: HookSource {
                file: Path::new(at.file()).into(),
                path: Path::new("program").into(),
                line: at.line(),
            },
            layer: Layer::Program,
            event: T::NAME.into(),
        };
        let pattern = Pattern::parse(T::NAME).expect("it is a name of the table");
        let action = Action::Callback(Callback::new(run));
        Ok(Hook {
            matcher: looks.map_or(Matcher::All, |looks| Matcher::Foreign(Arc::new(looks))),
            matcher_text: (!self.matcher.is_empty()).then(|| self.matcher.into()),
            awaits: Some(true),
            // The group keeps its own time limit; this one is for a member that never yields.
            timeout: Some(timeout + CALLBACK_GRACE),
            on_failure: self.blocks_on_failure.then_some(OnFailure::Block),
            ..Hook::new(origin, pattern, action, &POLICY)
        })
    }
}

/// A name or a glob that matches tools.
#[derive(Debug)]
struct ToolMatcher(Regex);

impl ToolMatcher {
    /// `None` matches everything.
    fn parse(text: &str) -> Result<Option<Self>, GroupError> {
        if text.is_empty() {
            return Ok(None);
        }
        let bad = || GroupError::BadMatcher { matcher: text.to_owned() };
        let pattern = format!("^{}$", glob_regex(text).ok_or_else(bad)?);
        let regex = regex::RegexBuilder::new(&pattern).size_limit(REGEX_BYTES_MAX).build();
        regex.map(|regex| Some(Self(regex))).map_err(|_| bad())
    }
}

impl EventMatcher for ToolMatcher {
    fn wakes(&self, event: &Event) -> bool {
        // An event without a tool matches.
        event.text("tool_name").is_none_or(|tool| {
            [tool, tool_name::claudes(tool)].into_iter().any(|name| self.0.is_match(name))
        })
    }
}

/// A glob as in paths: `*` and `?` stay within a segment, `[…]` is a character class, `\` escapes.
fn glob_regex(glob: &str) -> Option<String> {
    let mut regex = String::new();
    let mut letters = glob.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => {
                let class: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                let (not, class) = match class.strip_prefix('^') {
                    Some(class) => ("^", class),
                    None => ("", &*class),
                };
                if class.is_empty() || class.contains(['[', '\\', '&', '~']) {
                    return None;
                }
                regex.push_str(&format!("[{not}{class}]"));
            }
            '\\' => regex.push_str(&regex::escape(letters.next()?.encode_utf8(&mut [0; 4]))),
            letter => regex.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    Some(regex)
}

#[cfg(test)]
mod tests;
