//! [`AgentOutput`]: what leaves on standard output while the agent works and at its end, and the
//! transcript beside it.
//!
//! Nothing that a model, a tool or a hook wrote reaches a terminal raw. A thread of its own writes the
//! lines (`stream_lines.rs`): a reader that is slow or gone holds up no hook.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hookwright_agent::agent::{AgentEnd, AgentNews, AgentStatus, Audience};
use hookwright_agent::hook_stream::HookStream;
use hookwright_agent::hooks::SubagentFacts;
use hookwright_agent::mcp::ServerReport;
use hookwright_agent::message::{Block, Message};
use hookwright_agent::tool::{Tool, ToolEnd};
use hookwright_agent::transcript::{
    Transcript, TranscriptFacts, TranscriptMark, assistant_message,
};
use hookwright_engine::ports::Clock;
use hookwright_events::{RunEvent, TurnEvent};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::OutputFormat;
use super::files_at_start::FilesAtStart;
use super::stream_lines::StreamLines;
use crate::error::Failure;
use crate::screen::Screen;
use crate::text::{escaped, visible};

/// What every line of the stream says about the session.
#[derive(Debug, Clone)]
pub(super) struct StreamFacts {
    pub(super) session_id: String,
    pub(super) cwd: String,
    pub(super) model: String,
    pub(super) permission_mode: &'static str,
    pub(super) tools: Vec<String>,
    /// Each MCP server, and whether it runs.
    pub(super) mcp_servers: Vec<ServerReport>,
    pub(super) transcript_path: String,
}

/// Standard output, the transcript, and who else looks on.
#[derive(Clone)]
pub(super) struct AgentOutput {
    shared: Arc<Mutex<OutputState>>,
    /// The subagent whose news it is shown; `None` for the session's own agent.
    subagent: Option<Arc<SubagentOutput>>,
}

/// What leaves of a subagent: the same stream, and a transcript of its own.
struct SubagentOutput {
    facts: Arc<SubagentFacts>,
    /// `None` if it could not be created, or a line could not be written.
    transcript: Mutex<Option<Transcript>>,
}

struct OutputState {
    format: OutputFormat,
    facts: StreamFacts,
    lines: Option<StreamLines>,
    /// Messages that wait until the stream has begun, while servers start.
    early: Option<Vec<Value>>,
    hooks: HookStream,
    /// The call of each subagent, by the subagent's id.
    calls_of_subagents: HashMap<String, String>,
    transcript: Transcript,
    transcript_failed: bool,
    files: FilesAtStart,
    clock: Arc<dyn Clock>,
    began: Instant,
    messages: u64,
}

impl AgentOutput {
    pub(super) fn new(
        format: OutputFormat,
        facts: StreamFacts,
        transcript: Transcript,
        files: FilesAtStart,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let hooks = HookStream::new(&facts.session_id);
        let lines = (format == OutputFormat::StreamJson).then(StreamLines::start);
        let (transcript_failed, messages) = (false, 0);
        let began = Instant::now();
        let shared = OutputState {
            format,
            facts,
            lines,
            early: Some(Vec::new()),
            hooks,
            calls_of_subagents: HashMap::new(),
            transcript,
            transcript_failed,
            files,
            clock,
            began,
            messages,
        };
        Self { shared: Arc::new(Mutex::new(shared)), subagent: None }
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, OutputState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what servers brought, before the stream begins.
    pub(super) fn add_servers(&self, tools: &[Arc<dyn Tool>], servers: &[ServerReport]) {
        let mut shared = self.shared();
        let names = tools.iter().map(|tool| tool.spec().name.clone());
        shared.facts.tools.extend(names);
        shared.facts.mcp_servers = servers.to_vec();
    }

    /// The first line of the stream.
    pub(super) fn begin(&self) {
        let mut shared = self.shared();
        let waiting = shared.early.take();
        let facts = shared.facts.clone();
        let servers = facts.mcp_servers.iter().map(|server| {
            let status = if server.is_connected { "connected" } else { "failed" };
            json!({ "name": server.name, "status": status })
        });
        let first = json!({
            "type": "system",
            "subtype": "init",
            "cwd": facts.cwd,
            "session_id": facts.session_id,
            "tools": facts.tools,
            "mcp_servers": servers.collect::<Vec<_>>(),
            "model": facts.model,
            "permissionMode": facts.permission_mode,
            "transcript_path": facts.transcript_path,
        });
        shared.emit(|| first);
        for message in waiting.into_iter().flatten() {
            shared.emit(|| message);
        }
    }

    /// Is shown the run events of hooks.
    pub(super) fn see_run_event(&self, event: &RunEvent) {
        let mut shared = self.shared();
        if shared.lines.is_none() {
            return;
        }
        let elapsed = shared.began.elapsed();
        for mut message in shared.hooks.messages(event, elapsed) {
            let agent_id = message["agent_id"].as_str().unwrap_or_default();
            if let Some(call) = shared.calls_of_subagents.get(agent_id) {
                message["parent_tool_use_id"] = call.as_str().into();
            }
            shared.emit(|| message);
        }
    }

    /// How far the transcript is, for the journal.
    pub(super) fn transcript_written(&self) -> TurnEvent {
        let TranscriptMark { bytes, digest } = self.shared().transcript.mark();
        TurnEvent::TranscriptWritten { bytes, digest }
    }

    /// Tells the user of hook files that are no longer as they were read.
    pub(super) fn compare_files(&self) {
        self.shared().compare_files();
    }

    /// Prints the result, and waits for the reader; see [`StreamLines::finish`].
    pub(super) async fn end(
        &self,
        end: &AgentEnd,
        given_up: &CancellationToken,
    ) -> Result<(), Failure> {
        let (lines, last) = {
            let mut shared = self.shared();
            let record = shared.result(end);
            let last = match shared.format {
                OutputFormat::Text if end.text.is_empty() => return Ok(()),
                OutputFormat::Text => format!("{}\n", visible(&end.text)),
                OutputFormat::Json => json_line(&record),
                OutputFormat::StreamJson => json_line(&shared.with_ids(record)),
            };
            (shared.lines.take(), last)
        };
        lines.unwrap_or_else(StreamLines::start).finish(last, given_up).await
    }
}

fn json_line(message: &Value) -> String {
    format!("{}\n", escaped(&message.to_string()))
}

impl OutputState {
    /// Prints a message. It is made only for a stream.
    fn emit(&mut self, message: impl FnOnce() -> Value) {
        if self.lines.is_none() {
            return;
        }
        let message = message();
        if let Some(early) = &mut self.early {
            return early.push(message);
        }
        let line = json_line(&self.with_ids(message));
        if let Some(lines) = &mut self.lines {
            lines.push(line);
        }
    }

    /// The next message of the stream, with the session's id and its own.
    fn with_ids(&mut self, mut message: Value) -> Value {
        self.messages += 1;
        if message["session_id"].is_null() {
            message["session_id"] = self.facts.session_id.as_str().into();
        }
        if message["uuid"].is_null() {
            let id = hookwright_agent::hook_stream::uuid(&(
                &self.facts.session_id,
                "stream",
                self.messages,
            ));
            message["uuid"] = id.into();
        }
        message
    }

    fn record(&mut self, write: impl FnOnce(&mut Transcript, &str) -> io::Result<()>) {
        let now = self.clock.now();
        if let Err(error) = write(&mut self.transcript, &now)
            && !std::mem::replace(&mut self.transcript_failed, true)
        {
            let place = self.transcript.path().display().to_string();
            self.transcript_lacks_lines(&place, &error);
        }
    }

    fn transcript_lacks_lines(&mut self, place: &str, error: &io::Error) {
        Screen.talk(&format!(
            "warning: {}: the transcript cannot be written, and lacks lines: {error}\n",
            visible(place)
        ));
    }

    fn result(&self, end: &AgentEnd) -> Value {
        let subtype = match end.status {
            AgentStatus::Completed => "success",
            AgentStatus::MaxTurns => "error_max_turns",
            _ => "error_during_execution",
        };
        let denials = end.denials.iter().map(|call| {
            json!({ "tool_name": call.tool, "tool_use_id": call.id, "tool_input": call.input })
        });
        json!({
            "type": "result",
            "subtype": subtype,
            "is_error": end.status != AgentStatus::Completed,
            "duration_ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "num_turns": end.turns,
            "result": end.text,
            "stop_reason": end.status.reason(),
            "error": end.status.error(),
            "session_id": self.facts.session_id,
            "usage": end.usage,
            "permission_denials": denials.collect::<Vec<_>>(),
            "transcript_path": self.facts.transcript_path,
        })
    }

    /// Tells the user of hook files that are no longer as they were read.
    fn compare_files(&mut self) {
        for notice in self.files.notices() {
            self.notice(&notice);
        }
    }

    fn emit_notice(&mut self, text: &str) {
        self.emit(|| {
            json!({
                "type": "system", "subtype": "informational", "content": text, "level": "warning",
            })
        });
    }

    fn notice(&mut self, text: &str) {
        self.emit_notice(text);
        self.record(|transcript, at| transcript.notice(text, at));
        self.talk(&format!("note: {text}"));
    }

    fn talk(&mut self, text: &str) {
        Screen.talk(&format!("{}\n", visible(text)));
    }
}

impl AgentOutput {
    /// Prints a message of this agent.
    fn emit(&self, shared: &mut OutputState, message: impl FnOnce() -> Value) {
        shared.emit(|| {
            let mut message = message();
            if let Some(subagent) = &self.subagent {
                message["parent_tool_use_id"] = subagent.facts.call.as_str().into();
            }
            message
        });
    }

    /// Writes to the transcript of this agent.
    fn record(
        &self,
        shared: &mut OutputState,
        write: impl FnOnce(&mut Transcript, &str) -> io::Result<()>,
    ) {
        let Some(subagent) = &self.subagent else { return shared.record(write) };
        let mut transcript = subagent.transcript();
        let now = shared.clock.now();
        if let Some(Err(error)) = transcript.as_mut().map(|transcript| write(transcript, &now)) {
            *transcript = None;
            shared.transcript_lacks_lines(&subagent.facts.transcript_path, &error);
        }
    }

    /// Shows a line to the user, with the subagent that it is about.
    fn talk(&self, shared: &mut OutputState, text: &str) {
        match &self.subagent {
            None => shared.talk(text),
            Some(subagent) => shared.talk(&format!("[{}] {text}", subagent.facts.kind)),
        }
    }
}

impl SubagentOutput {
    fn transcript(&self) -> std::sync::MutexGuard<'_, Option<Transcript>> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audience for AgentOutput {
    fn see(&self, news: AgentNews<'_>) {
        let shared = &mut *self.shared();
        match news {
            AgentNews::Stream(event) => {
                self.emit(shared, || json!({ "type": "stream_event", "event": event }))
            }
            AgentNews::Answer { answer, message } => {
                let news = || {
                    json!({
                        "type": "assistant", "message": assistant_message(answer, message),
                        "parent_tool_use_id": null,
                    })
                };
                self.emit(shared, news);
                self.record(shared, |transcript, at| transcript.assistant(answer, message, at));
            }
            AgentNews::UserMessage { message, results } => {
                let news =
                    || json!({ "type": "user", "message": message, "parent_tool_use_id": null });
                self.emit(shared, news);
                // Results are in the transcript already.
                let is_new = |block: &&Block| {
                    results.is_empty() || !matches!(block, Block::ToolResult { .. })
                };
                let content: Vec<Block> = message.content.iter().filter(is_new).cloned().collect();
                if !content.is_empty() {
                    let message = Message::user(content);
                    self.record(shared, |transcript, at| transcript.user(&message, at));
                }
                if shared.format == OutputFormat::Text {
                    for result in results.iter().filter(|result| !result.is_suppressed) {
                        self.talk(shared, &one_line(result));
                    }
                }
                shared.compare_files();
            }
            AgentNews::HookMessage(text) => {
                let news = || {
                    json!({
                        "type": "system", "subtype": "informational", "content": text,
                        "level": "notice",
                    })
                };
                self.emit(shared, news);
                self.record(shared, |transcript, at| transcript.notice(text, at));
                self.talk(shared, text);
            }
            AgentNews::Notice(text) => {
                let news = || {
                    json!({
                        "type": "system", "subtype": "informational", "content": text,
                        "level": "warning",
                    })
                };
                self.emit(shared, news);
                self.record(shared, |transcript, at| transcript.notice(text, at));
                self.talk(shared, &format!("note: {text}"));
            }
            AgentNews::CallResult { block, result } => {
                self.record(shared, |transcript, at| transcript.result(block, result, at));
            }
            AgentNews::InputRewritten { call, input, text } => {
                let news = || {
                    json!({
                        "type": "system", "subtype": "informational", "content": text,
                        "level": "warning",
                    })
                };
                self.emit(shared, news);
                self.record(shared, |transcript, at| transcript.rewritten(call, input, text, at));
                self.talk(shared, &format!("note: {text}"));
            }
            AgentNews::Compacted { trigger, tokens, messages } => {
                let metadata = json!({ "trigger": trigger.word(), "pre_tokens": tokens });
                let news = || {
                    json!({
                        "type": "system", "subtype": "compact_boundary", "compact_metadata": metadata,
                    })
                };
                self.emit(shared, news);
                let summary = || {
                    json!({
                        "type": "user", "message": messages.first(), "parent_tool_use_id": null,
                        "isSynthetic": true,
                    })
                };
                self.emit(shared, summary);
                self.record(shared, |transcript, at| {
                    transcript.compacted(trigger, tokens, messages, at)
                });
                let text = format!("the conversation was compacted; it had about {tokens} tokens");
                self.talk(shared, &text);
            }
            AgentNews::Retry { error, attempt, after } => {
                let text = format!(
                    "attempt {attempt} failed: {}; the next one comes in {:.1} s",
                    error.reason,
                    after.as_secs_f64()
                );
                let news = || {
                    json!({
                        "type": "system", "subtype": "api_retry", "attempt": attempt,
                        "retry_delay_ms": u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                        "error_status": error.status, "error": error.reason,
                    })
                };
                self.emit(shared, news);
                self.talk(shared, &text);
            }
        }
    }

    fn for_subagent(&self, facts: &Arc<SubagentFacts>) -> Arc<dyn Audience> {
        let mut shared = self.shared();
        shared.calls_of_subagents.insert(facts.id.clone(), facts.call.clone());
        let of_session = shared.transcript.facts().clone();
        let transcript_facts = TranscriptFacts { agent_id: Some(facts.id.clone()), ..of_session };
        let path = Path::new(&facts.transcript_path);
        let transcript = match Transcript::create_beside(path, transcript_facts) {
            Ok(transcript) => Some(transcript),
            Err(error) => {
                shared.transcript_lacks_lines(&facts.transcript_path, &error);
                None
            }
        };
        let subagent =
            SubagentOutput { facts: Arc::clone(facts), transcript: Mutex::new(transcript) };
        Arc::new(Self { shared: Arc::clone(&self.shared), subagent: Some(Arc::new(subagent)) })
    }
}

/// A call, for a person who looks on.
fn one_line(result: &hookwright_agent::agent::CallResult) -> String {
    let what = result.input.get("command").or_else(|| result.input.get("file_path"));
    let what = what.or_else(|| result.input.get("pattern"));
    let what = what.or_else(|| result.input.get("description")).and_then(Value::as_str);
    let what = what.unwrap_or_default().lines().next().unwrap_or_default();
    let how = match (&result.end, &result.denied) {
        (Some(ToolEnd::Ran { .. }), _) => "ran".to_owned(),
        (Some(ToolEnd::Failed { error, .. }), _) => {
            format!("failed: {}", error.lines().next().unwrap_or_default())
        }
        (None, Some(reason)) => reason.lines().next().unwrap_or_default().to_owned(),
        (None, None) => "not started".to_owned(),
    };
    format!("{}: {what}: {how}", result.tool)
}
