//! [`CallTrace`]: what the hooks of a call did, for the trace of the agent's session.
//!
//! The engine's run events are collected while hooks run, and appended in one write before the reply
//! is printed. A call that no hook heard and that changes nothing is not recorded. If a trace cannot
//! be written, the call continues without it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_dialects::hosts::{Host, HostCall};
use hookwright_engine::ports::Clock;
use hookwright_engine::ports::memory::SystemClock;
use hookwright_engine::{Observer, Secrets};
use hookwright_events::run_event::VERSION;
use hookwright_events::{
    Decision, Event, EventName, FiringEvent, RunEvent, RunEventKind, SessionEvent, SessionStatus,
    TurnEvent, Verdict,
};
use hookwright_pipeline::trace::{OpenTrace, TraceFolder, TraceHead, TraceKey, trace_lines};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::start_environment::AgentProcess;

/// Collects the run events of a call.
pub(super) struct CallTrace {
    /// `None` if the call is not recorded.
    target: Option<TraceTarget>,
    events: Arc<Mutex<CollectedEvents>>,
}

/// The session's trace.
struct TraceTarget {
    folder: TraceFolder,
    host: &'static Host,
    session: String,
    process: Option<AgentProcess>,
    /// Opened when its number of firings is first needed.
    open: Mutex<Option<OpenTrace>>,
}

#[derive(Default)]
struct CollectedEvents {
    events: Vec<RunEvent>,
    /// The data of the event that is fired next.
    data: Option<Map<String, Value>>,
    /// The decisions of the hooks, with the numbers of their firings.
    decisions: Vec<(u64, Verdict)>,
}

/// Where a process with background hooks records their end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BackgroundTrace {
    session: String,
    /// Added to the numbers of the call's firings.
    firings: u64,
}

impl CallTrace {
    /// A call that is not recorded.
    pub(super) fn off() -> Self {
        Self { target: None, events: Arc::default() }
    }

    /// A call of a session. If the agent gives its session no id, its process identifies it.
    pub(super) fn new(
        folder: TraceFolder,
        host: &'static Host,
        session: &str,
        process: Option<AgentProcess>,
    ) -> Self {
        let session = match (session, process) {
            ("", None) => return Self::off(),
            ("", Some(AgentProcess { pid, start_time })) => format!("process {pid}, {start_time}"),
            (session, _) => session.to_owned(),
        };
        let target = TraceTarget { folder, host, session, process, open: Mutex::default() };
        Self { target: Some(target), events: Arc::default() }
    }

    /// Receives the run events of the engine; `None` if they are not recorded.
    pub(super) fn observer(&self) -> Option<Observer> {
        self.target.as_ref()?;
        let events = Arc::clone(&self.events);
        Some(Arc::new(move |event| lock(&events).see(event)))
    }

    /// Announces that the engine is about to fire an event.
    pub(super) fn fires(&self, event: &Event) {
        if self.target.is_some() {
            lock(&self.events).data = Some(event.data.clone());
        }
    }

    /// Where the background hooks of the call record their end.
    pub(super) fn of_background(&self) -> Option<BackgroundTrace> {
        let target = self.target.as_ref()?;
        let opened = target.opened()?;
        let firings = opened.as_ref()?.firings();
        Some(BackgroundTrace { session: target.session.clone(), firings })
    }

    /// Appends what happened. `secrets` is `None` if they are not known; then the event's data are
    /// left out.
    pub(super) fn write(
        self,
        call: &HostCall,
        decision: &Decision,
        project: String,
        secrets: Option<&Secrets>,
    ) {
        let Some(target) = self.target else { return };
        let CollectedEvents { mut events, decisions, .. } =
            std::mem::take(&mut *lock(&self.events));
        let event = &call.event;
        let is_end = event.name == EventName::SESSION_END;
        let is_quiet = events.is_empty() && decision.verdict == Decision::default().verdict;
        if is_quiet && !is_end {
            return;
        }
        let Some(open) = target.into_open() else { return };
        // A session of which nothing is recorded has no end worth recording.
        if is_quiet && !open.trace.exists() {
            return;
        }
        let at = SystemClock.now();
        if !is_quiet {
            if events.is_empty() {
                let data = secrets.map(|_| event.data.clone());
                events.push(run_event(1, &at, fired(event, data)));
            }
            // The decision of the call belongs to the operation that it is about.
            let of_verdict = decisions.iter().find(|(_, verdict)| *verdict == decision.verdict);
            let first = events.first().map_or(1, |event| event.firing);
            let number = of_verdict.map_or(first, |(number, _)| *number);
            let decided = FiringEvent::Decided { decision: decision.record(event, &[]) };
            events.push(run_event(number, &at, decided));
        }
        if is_end {
            let reason = event.text("reason").filter(|reason| !reason.is_empty());
            let reason = reason.unwrap_or(SessionStatus::Completed.as_str()).to_owned();
            let ended = SessionEvent::SessionEnded { status: SessionStatus::Completed, reason };
            events.push(run_event(0, &at, ended));
        }
        // Firings begin at 1 in every call.
        let before = open.trace.firings();
        for event in events.iter_mut().filter(|event| event.firing > 0) {
            event.firing += before;
        }
        open.append(events, project, at, secrets.unwrap_or(&Secrets::default()));
    }
}

impl TraceTarget {
    /// The open trace; `None` if it cannot be opened.
    fn opened(&self) -> Option<MutexGuard<'_, Option<OpenTrace>>> {
        let mut open = lock(&self.open);
        if open.is_none() {
            let key = TraceKey::new(self.host.name, &self.session);
            *open = Some(self.folder.open(key).ok()?);
        }
        Some(open)
    }

    fn into_open(self) -> Option<TraceInUse> {
        let trace = self.opened()?.take()?;
        let Self { host, session, process, .. } = self;
        Some(TraceInUse { trace, host, session, process })
    }
}

/// An open trace, and what its lines say about the session.
struct TraceInUse {
    trace: OpenTrace,
    host: &'static Host,
    session: String,
    process: Option<AgentProcess>,
}

impl TraceInUse {
    fn append(self, mut events: Vec<RunEvent>, project: String, at: String, secrets: &Secrets) {
        let began = events.first().map_or_else(|| at.clone(), |first| first.at.clone());
        if let Some(AgentProcess { pid, start_time }) = self.process {
            let start_time = Some(start_time);
            events.insert(0, run_event(0, &at, TurnEvent::AgentRunning { pid, start_time }));
        }
        let lines = trace_lines(events, &self.trace.name(), secrets);
        let session = secrets.hide(&self.session);
        let head = TraceHead::new(self.host.display_name, &session, project, began);
        // The call continues without it.
        let _ = self.trace.append(&lines, &head);
    }
}

impl CollectedEvents {
    fn see(&mut self, event: &RunEvent) {
        let RunEventKind::Firing(happened) = &event.kind else { return };
        let mut event = event.clone();
        match happened {
            FiringEvent::Fired { .. } => {
                if let RunEventKind::Firing(FiringEvent::Fired { data, .. }) = &mut event.kind {
                    *data = self.data.take();
                }
            }
            // The decision of all hooks of the call is recorded at its end.
            FiringEvent::Decided { decision } => {
                let verdict = Decision::from_record(decision).verdict;
                return self.decisions.push((event.firing, verdict));
            }
            FiringEvent::HookRunning { .. }
            | FiringEvent::HookOutput { .. }
            | FiringEvent::TakenUp { .. }
            | FiringEvent::Remembered { .. } => return,
            FiringEvent::HookSkipped { .. }
            | FiringEvent::HookStarting { .. }
            | FiringEvent::HookWaiting { .. }
            | FiringEvent::HookEnded { .. }
            | FiringEvent::HookRetrying { .. }
            | FiringEvent::HookWentAsync { .. }
            | FiringEvent::LateAnswer { .. }
            | FiringEvent::HookReported { .. }
            | FiringEvent::HookSpawned { .. }
            | FiringEvent::HookCommitting { .. }
            | FiringEvent::ChildUsed { .. } => {}
        }
        self.events.push(event);
    }
}

impl BackgroundTrace {
    /// Appends what background hooks did. `firings` has, for the numbers of firings in this process,
    /// those in the call.
    pub(super) fn write(
        self,
        collected: &CallTrace,
        (folder, host): (TraceFolder, &'static Host),
        firings: &[(u64, u64)],
        project: String,
        secrets: &Secrets,
    ) {
        let Self { session, firings: before } = self;
        let target = TraceTarget { folder, host, session, process: None, open: Mutex::default() };
        let Some(open) = target.into_open() else { return };
        let mut events = std::mem::take(&mut lock(&collected.events).events);
        let is_told = |event: &RunEvent| {
            let RunEventKind::Firing(happened) = &event.kind else { return false };
            matches!(
                happened,
                FiringEvent::Fired { .. } | FiringEvent::HookStarting { attempt: 1, .. }
            )
        };
        let in_call = |number: u64| {
            firings.iter().find(|(here, _)| *here == number).map(|(_, in_call)| in_call + before)
        };
        // The call has recorded that these events were fired and their hooks started.
        events.retain(|event| !(is_told(event) && in_call(event.firing).is_some()));
        if events.is_empty() {
            return;
        }
        let last = open.trace.firings();
        for event in &mut events {
            event.firing = in_call(event.firing).unwrap_or(last + event.firing);
        }
        open.append(events, project, SystemClock.now(), secrets);
    }

    /// Collects the events for [`BackgroundTrace::write`].
    pub(super) fn collector(&self, folder: TraceFolder, host: &'static Host) -> CallTrace {
        CallTrace::new(folder, host, &self.session, None)
    }
}

fn fired(event: &Event, data: Option<Map<String, Value>>) -> FiringEvent {
    FiringEvent::Fired {
        event: event.name.clone(),
        subject: event.subject().map(str::to_owned),
        key: None,
        data,
        late_answers: Vec::new(),
    }
}

fn run_event(firing: u64, at: &str, kind: impl Into<RunEventKind>) -> RunEvent {
    RunEvent { version: VERSION, firing, at: at.to_owned(), session: None, kind: kind.into() }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
