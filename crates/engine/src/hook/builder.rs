//! [`HookBuilder`]: a hook of the host's own program, in Rust instead of YAML. The fields have the
//! same meaning, defaults and checks as in a file.

use std::panic::Location;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::fault::{HookFault, HookFaultKind, RETRIES_EXPECTED};
use super::{Action, Callback, Exhausted, Hook, HookSource, Layer, OnFailure};
use crate::limits::{RETRIES_MAX, WAIT_MAX};
use crate::matcher::{Matcher, SubjectOf};
use crate::native::NATIVE;
use crate::pattern::Pattern;

/// The path that all hooks of a program share. What is remembered of a hook by its id then does not
/// depend on the source file that builds it.
const PROGRAM: &str = "program";

/// A hook of the host's own program. Created by [`Hook::on`]. Pass it to
/// [`EngineBuilder::hook`](crate::EngineBuilder::hook), or turn it into a [`Hook`] for a
/// [`HookSet`](crate::hook_set::HookSet) with [`HookBuilder::build`].
#[derive(Debug, Clone)]
pub struct HookBuilder {
    event: Arc<str>,
    callback: Callback,
    at: &'static Location<'static>,
    id: Option<String>,
    description: Option<String>,
    matcher: Option<Box<str>>,
    enabled: bool,
    awaits: Option<bool>,
    timeout: Option<Duration>,
    on_failure: Option<OnFailure>,
    retries: Option<u32>,
    retry_delay: Option<Duration>,
    on_exhausted: Option<Exhausted>,
    once: bool,
}

impl HookBuilder {
    #[track_caller]
    pub(super) fn new(event: &str, callback: Callback) -> Self {
        Self {
            event: event.into(),
            callback,
            at: Location::caller(),
            id: None,
            description: None,
            matcher: None,
            enabled: true,
            awaits: None,
            timeout: None,
            on_failure: None,
            retries: None,
            retry_delay: None,
            on_exhausted: None,
            once: false,
        }
    }

    /// Names the hook in reports, run events and
    /// [`EngineBuilder::skip`](crate::EngineBuilder::skip). The default is `callback/<event>#<n>`.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Describes what the hook is for.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        Self { description: Some(text.into()), ..self }
    }

    /// Restricts the subjects: a name, `A|B`, globs (`mcp__*`), or `/…/` for a regular expression.
    /// The default is every subject.
    #[must_use]
    pub fn matcher(self, matcher: &str) -> Self {
        Self { matcher: Some(matcher.into()), ..self }
    }

    /// `false` disables it; its report says so. The default is `true`.
    #[must_use]
    pub fn enabled(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }

    /// Whether the decision waits for it. By default it does if something depends on the result: at
    /// events that can be blocked, after a tool has run, and with `abort` or `block` on failure.
    #[must_use]
    pub fn awaits(self, awaits: bool) -> Self {
        Self { awaits: Some(awaits), ..self }
    }

    /// How long one attempt may take; [`COMMAND_TIMEOUT`](crate::limits::COMMAND_TIMEOUT) by
    /// default.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// What follows a failure, a timeout or a panic. By default it blocks at events that can be
    /// blocked, except at stops; elsewhere it is only recorded.
    #[must_use]
    pub fn on_failure(self, on_failure: OnFailure) -> Self {
        Self { on_failure: Some(on_failure), ..self }
    }

    /// Extra attempts with [`OnFailure::Retry`]; [`RETRIES`](crate::limits::RETRIES) by default.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        Self { retries: Some(retries), ..self }
    }

    /// The delay between attempts; [`RETRY_DELAY`](crate::limits::RETRY_DELAY) by default.
    #[must_use]
    pub fn retry_delay(self, delay: Duration) -> Self {
        Self { retry_delay: Some(delay), ..self }
    }

    /// What follows if all attempts have failed; by default what the event prescribes.
    #[must_use]
    pub fn on_exhausted(self, exhausted: Exhausted) -> Self {
        Self { on_exhausted: Some(exhausted), ..self }
    }

    /// Runs it at most once in a session.
    #[must_use]
    pub fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// The hook, or all its faults, with the line of the program that built it.
    pub fn build(self) -> Result<Hook, Vec<HookFault>> {
        let mut faults = Vec::new();
        let mut note = |kind: HookFaultKind| faults.push(self.fault(kind));
        let pattern = Pattern::parse(&self.event)
            .map_err(|error| note(HookFaultKind::Pattern(error)))
            .unwrap_or_default();
        let matcher = self.read_matcher(&pattern, &mut note);
        self.check_values(&mut note);
        let hook = Hook {
            id: self.id.clone().unwrap_or_else(|| self.default_id(0)),
            description: self.description.clone(),
            source: HookSource {
                file: Path::new(self.at.file()).into(),
                path: Path::new(PROGRAM).into(),
                line: self.at.line(),
            },
            layer: Layer::Program,
            event: Arc::clone(&self.event),
            pattern,
            matcher,
            matcher_text: self.matcher.clone(),
            enabled: self.enabled,
            hosts: Vec::new(),
            when: None,
            action: Action::Callback(self.callback.clone()),
            awaits: self.awaits,
            timeout: self.timeout,
            on_failure: self.on_failure,
            retries: self.retries,
            retry_delay: self.retry_delay,
            on_exhausted: self.on_exhausted,
            pipe_output: false,
            once: self.once,
            twin: None,
            policy: &NATIVE,
        };
        // The other rules depend on the pattern, so they need a valid one.
        if faults.is_empty() {
            let found = hook.conflicts().into_iter();
            faults.extend(found.map(|(_, conflict)| self.fault(HookFaultKind::Conflict(conflict))));
        }
        if faults.is_empty() { Ok(hook) } else { Err(faults) }
    }

    /// The event as written.
    pub(crate) fn event(&self) -> &Arc<str> {
        &self.event
    }

    /// Gives the hook an id if it has none: the first free one from this number on.
    pub(crate) fn named(self, number: &mut usize, is_free: impl Fn(&str) -> bool) -> Self {
        if self.id.is_some() {
            return self;
        }
        let mut id = self.default_id(*number);
        while !is_free(&id) {
            *number += 1;
            id = self.default_id(*number);
        }
        *number += 1;
        Self { id: Some(id), ..self }
    }

    /// A fault at the place where the hook was built.
    pub(crate) fn fault(&self, kind: HookFaultKind) -> HookFault {
        let (line, column) = (self.at.line(), self.at.column());
        HookFault { file: self.at.file().into(), line, column, kind }
    }

    fn default_id(&self, number: usize) -> String {
        format!("callback/{}#{number}", self.event)
    }

    fn read_matcher(&self, pattern: &Pattern, note: &mut impl FnMut(HookFaultKind)) -> Matcher {
        let Some(text) = &self.matcher else { return Matcher::All };
        let events = pattern.points.iter().map(|point| point.event);
        Matcher::parse(text, SubjectOf::events(events))
            .map_err(|error| note(HookFaultKind::Matcher(error)))
            .unwrap_or(Matcher::All)
    }

    fn check_values(&self, note: &mut impl FnMut(HookFaultKind)) {
        let mut bad = |found: String, expected| note(HookFaultKind::BadValue { found, expected });
        if let Some(id) = self.id.as_ref().filter(|id| id.trim().is_empty()) {
            bad(id.clone(), "an id");
        }
        match self.timeout {
            Some(Duration::ZERO) => bad("0".into(), "a timeout longer than 0"),
            Some(long) if long > WAIT_MAX => bad(format!("{long:?}"), "at most 30 days"),
            Some(_) | None => {}
        }
        if let Some(long) = self.retry_delay.filter(|delay| *delay > WAIT_MAX) {
            bad(format!("{long:?}"), "at most 30 days");
        }
        if let Some(many) = self.retries.filter(|retries| *retries > RETRIES_MAX) {
            bad(many.to_string(), RETRIES_EXPECTED);
        }
    }
}
