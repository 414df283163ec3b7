//! [`HookStream`]: from run events to the messages `hook_started`, `hook_progress` and `hook_response`
//! that programs read from the stream of an agent.
//!
//! It does no IO and knows no clock, so that any host can use it: run events and the time that has
//! passed go in, messages come out. They have the field names of the Agent SDK's stream.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use hookwright_events::{EventName, FiringEvent, Report, RunEvent, RunEventKind, Status};
use serde_json::{Map, Value, json};

use crate::limits::{HOOK_PROGRESS_BYTES_MAX, HOOK_PROGRESS_EVERY};

/// Turns the run events of a session into messages for programs.
#[derive(Debug)]
pub struct HookStream {
    session_id: String,
    messages: u64,
    /// Event and subject of each firing that has hooks running.
    firings: HashMap<u64, FiringName>,
    running: HashMap<(u64, String), StreamedHook>,
}

#[derive(Debug)]
struct FiringName {
    /// The event, as hooks read it in `hook_event_name`.
    event: String,
    /// Event and subject.
    name: String,
    /// `agent_id` and `agent_type` of the subagent in which it was fired.
    subagent: Map<String, Value>,
    /// Its hooks that run.
    hooks: usize,
    /// No further hook of it starts.
    is_decided: bool,
}

impl FiringName {
    fn new(event: &EventName, subject: Option<&str>, data: Option<&Map<String, Value>>) -> Self {
        let event = event.hook_event_name().into_owned();
        let name = match subject {
            Some(subject) => format!("{event}:{subject}"),
            None => event.clone(),
        };
        let fields = ["agent_id", "agent_type"].into_iter();
        let subagent = fields.filter_map(|field| {
            let value = data?.get(field)?;
            Some((field.to_owned(), value.clone()))
        });
        Self { event, name, subagent: subagent.collect(), hooks: 0, is_decided: false }
    }
}

/// What is known of a hook that runs.
#[derive(Debug, Default)]
struct StreamedHook {
    stdout: String,
    stderr: String,
    output: String,
    told_at: Duration,
}

impl HookStream {
    /// The messages of a session.
    pub fn new(session_id: impl Into<String>) -> Self {
        let session_id = session_id.into();
        Self { session_id, messages: 0, firings: HashMap::new(), running: HashMap::new() }
    }

    /// The messages that follow from a run event. `elapsed` is the time since the session began: while
    /// a hook prints, a message comes about once a second.
    pub fn messages(&mut self, event: &RunEvent, elapsed: Duration) -> Vec<Value> {
        let RunEventKind::Firing(kind) = &event.kind else { return Vec::new() };
        let firing = event.firing;
        match kind {
            FiringEvent::Fired { event, subject, data, .. } => {
                let name = FiringName::new(event, subject.as_deref(), data.as_ref());
                self.firings.insert(firing, name);
                Vec::new()
            }
            FiringEvent::TakenUp { event, subject } => {
                let name = FiringName::new(event, subject.as_deref(), None);
                self.firings.insert(firing, name);
                Vec::new()
            }
            FiringEvent::HookStarting { hook, attempt: 1, .. } => {
                let running = StreamedHook { told_at: elapsed, ..StreamedHook::default() };
                self.running.insert((firing, hook.clone()), running);
                if let Some(name) = self.firings.get_mut(&firing) {
                    name.hooks += 1;
                }
                vec![self.message("hook_started", firing, hook, Map::new())]
            }
            FiringEvent::HookOutput { hook, stream, text, .. } => {
                let Some(running) = self.running.get_mut(&(firing, hook.clone())) else {
                    return Vec::new();
                };
                let own =
                    if stream == "stderr" { &mut running.stderr } else { &mut running.stdout };
                keep(own, text);
                keep(&mut running.output, text);
                if elapsed.saturating_sub(running.told_at) < HOOK_PROGRESS_EVERY {
                    return Vec::new();
                }
                running.told_at = elapsed;
                let (stdout, stderr) = (running.stdout.clone(), running.stderr.clone());
                let output = running.output.clone();
                let more = fields(json!({ "stdout": stdout, "stderr": stderr, "output": output }));
                vec![self.message("hook_progress", firing, hook, more)]
            }
            FiringEvent::HookReported { report } => {
                self.response(firing, report).into_iter().collect()
            }
            FiringEvent::Decided { .. } => {
                if let Some(name) = self.firings.get_mut(&firing) {
                    name.is_decided = true;
                }
                self.forget_if_done(firing);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The last message of a hook; `None` for one that did not run, or still does.
    fn response(&mut self, firing: u64, report: &Report) -> Option<Value> {
        let outcome = match report.status {
            Status::Skipped | Status::Started => return None,
            _ if report.interrupted => "cancelled",
            Status::TimedOut => "cancelled",
            Status::Failed => "error",
            Status::Blocked if report.exit_code.is_some_and(|code| code != 0) => "error",
            Status::Blocked | Status::Success => "success",
        };
        let running = self.running.remove(&(firing, report.id.clone()))?;
        let whole = format!("{}{}", report.stdout, report.stderr);
        // The report of a hook whose host dropped the firing has no output.
        let is_cut_off = report.interrupted && whole.is_empty();
        let (stdout, stderr) = match is_cut_off {
            true => (&running.stdout, &running.stderr),
            false => (&report.stdout, &report.stderr),
        };
        let is_as_streamed = is_cut_off || running.output.len() == whole.len();
        let output = if is_as_streamed { &running.output } else { &whole };
        let mut more = fields(json!({
            "output": output, "stdout": stdout, "stderr": stderr, "outcome": outcome,
        }));
        if let Some(code) = report.exit_code {
            more.insert("exit_code".to_owned(), code.into());
        }
        let message = self.message("hook_response", firing, &report.id, more);
        if let Some(name) = self.firings.get_mut(&firing) {
            name.hooks -= 1;
        }
        self.forget_if_done(firing);
        Some(message)
    }

    fn forget_if_done(&mut self, firing: u64) {
        if self.firings.get(&firing).is_some_and(|name| name.is_decided && name.hooks == 0) {
            self.firings.remove(&firing);
        }
    }

    fn message(
        &mut self,
        subtype: &str,
        firing: u64,
        hook: &str,
        more: Map<String, Value>,
    ) -> Value {
        let (event, name, subagent) = match self.firings.get(&firing) {
            Some(firing) => (firing.event.clone(), firing.name.clone(), firing.subagent.clone()),
            None => Default::default(),
        };
        self.messages += 1;
        let mut message = fields(json!({
            "type": "system",
            "subtype": subtype,
            "hook_id": uuid(&(&self.session_id, firing, hook)),
            "hook_name": name,
            "hook_event": event,
            "uuid": uuid(&(&self.session_id, self.messages)),
            "session_id": self.session_id,
            "hook": hook,
        }));
        message.extend(subagent);
        message.extend(more);
        Value::Object(message)
    }
}

/// Appends, and forgets the beginning of what is too long.
fn keep(kept: &mut String, text: &str) {
    kept.push_str(text);
    if kept.len() > HOOK_PROGRESS_BYTES_MAX {
        let cut = kept.ceil_char_boundary(kept.len() - HOOK_PROGRESS_BYTES_MAX);
        kept.drain(..cut);
    }
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The same text for the same thing, in the form of a UUID.
pub fn uuid(of: &impl Hash) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        of.hash(&mut hasher);
        hasher.finish()
    };
    let (high, low) = (half(0), half(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests;
