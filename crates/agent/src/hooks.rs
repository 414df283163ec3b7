//! [`AgentHooks`]: fires the events of an agent's life and says what the agent must do now.
//!
//! This is the obeying layer. A program with a loop of its own calls one method at each point of the
//! loop, and does what the returned value says; the built-in turn uses nothing else.
//!
//! ```text
//! start ─▶ prompt ─▶ message ─▶ request ─▶ stream_started … stream_ended ─▶ response
//!                       ▲                                                      │
//!                       │   tool ─▶ check ─▶ (permission) ─▶ granted │ denied ◀┤
//!                       └── tool_ended ◀── the tool runs ◀──────┘              │
//!                                                            end ◀── stop ◀────┘
//! ```
//!
//! Every value carries [`Said`]: contexts for the next request, messages for the user. Nothing of it
//! comes twice, so the caller has to pass it on.

use std::sync::{Arc, Mutex, PoisonError};

use hookwright_engine::ports::Promise;
use hookwright_engine::{Engine, Firing};
use hookwright_events::{Decision, Event, EventName, Verdict};
use serde_json::{Map, Value, json};

use crate::message::{Block, Role, Usage};
use crate::tool::ToolEnd;

/// Fires events: an [`Engine`], or a session in which the agent works.
pub trait FireEvents: Send + Sync {
    /// Whether anything comes of an event of this name that is fired now. If not, it is not fired: a
    /// call has ten events, most of which no hook hears, and each would need its data.
    fn hears(&self, event: &EventName) -> bool {
        let _ = event;
        true
    }

    /// Fires the event and returns what its hooks decide. Dropping the promise ends the hooks that it
    /// waits for.
    fn fire(&self, event: Event) -> Promise<'_, Decision>;
}

impl FireEvents for Engine {
    fn fire(&self, event: Event) -> Promise<'_, Decision> {
        Box::pin(async move { Engine::fire(self, event, Firing::default()).await.decision })
    }
}

/// What every event of a session carries.
#[derive(Debug, Clone, Default)]
pub struct SessionFacts {
    /// The session's id.
    pub session_id: String,
    /// Where the transcript is.
    pub transcript_path: String,
    /// Where the agent works.
    pub cwd: String,
    /// How permissions are judged: `default`, `plan`, …
    pub permission_mode: String,
}

/// A subagent: how its events, its messages and its questions name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentFacts {
    /// Its id within the session: `agent_id`.
    pub id: String,
    /// Its kind: `agent_type`. The model chooses it, so no guard may rely on it.
    pub kind: String,
    /// What it does, in a few words of the model.
    pub description: String,
    /// The call that started it.
    pub call: String,
    /// Where its transcript is: `agent_transcript_path`.
    pub transcript_path: String,
}

/// Fires the events of an agent's life. Clones share the permission mode.
#[derive(Clone)]
pub struct AgentHooks {
    port: Arc<dyn FireEvents>,
    facts: SessionFacts,
    /// The subagent whose life it is; `None` for the session's own agent.
    subagent: Option<Arc<SubagentFacts>>,
    mode: Arc<Mutex<String>>,
}

/// What hooks said beside their decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// For the model, in its next request.
    pub contexts: Vec<String>,
    /// For the user.
    pub messages: Vec<String>,
    /// The output that the event is about is not shown to the user.
    pub suppress_output: bool,
}

impl Said {
    /// Adds what other hooks said.
    pub fn add(&mut self, other: Said) {
        self.contexts.extend(other.contexts);
        self.messages.extend(other.messages);
    }

    /// The same with one more text for the model.
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.contexts.push(context.into());
        self
    }
}

/// What to do at a point that hooks can block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Go on.
    GoOn(Said),
    /// Do not do what the event announced.
    Blocked {
        /// Why.
        reason: String,
        /// What else was said.
        said: Said,
    },
    /// End the session.
    End {
        /// Why.
        reason: String,
        /// What else was said.
        said: Said,
    },
}

impl Next {
    /// What was said, and why the program must not go on, if it must not: for points at which a block and
    /// an end come to the same.
    pub fn into_parts(self) -> (Said, Option<String>) {
        match self {
            Next::GoOn(said) => (said, None),
            Next::Blocked { reason, said } | Next::End { reason, said } => (said, Some(reason)),
        }
    }
}

/// What to do at a point that hooks cannot block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Observed {
    /// What was said.
    pub said: Said,
    /// End the session, and why.
    pub end: Option<String>,
}

/// A call of a tool, for its hooks.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// The call's id.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Map<String, Value>,
}

/// What hooks say about a call before it runs.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct ToolAnswer {
    /// Whether it may run, as far as hooks are concerned.
    pub verdict: CallVerdict,
    /// The input that replaces the call's own. The caller checks it against the tool's schema.
    pub rewritten_input: Option<Value>,
    /// What was said.
    pub said: Said,
}

/// What hooks think of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallVerdict {
    /// Nothing: rules and modes decide.
    NoOpinion,
    /// No question is needed.
    Allow,
    /// The user is asked, and why.
    Ask(Option<String>),
    /// It must not run, and why.
    Deny(String),
    /// It must not run, and the session ends.
    End(String),
}

/// What hooks answer in place of the user.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct PromptAnswer {
    /// Their answer; [`CallVerdict::NoOpinion`] and [`CallVerdict::Ask`] leave it to the user.
    pub verdict: CallVerdict,
    /// The input that replaces the call's own.
    pub rewritten_input: Option<Value>,
    /// Changes of the permission rules, as hooks wrote them.
    pub updated_permissions: Option<Value>,
    /// What was said.
    pub said: Said,
}

/// What hooks make of a call that has ended.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct EndedAnswer {
    /// Takes the place of the tool's output in the next request.
    pub updated_output: Option<Value>,
    /// What was said. The reason of a block is one of its contexts: it is added beside the result.
    pub said: Said,
    /// End the session, and why.
    pub end: Option<String>,
}

impl AgentHooks {
    /// Fires through `port`, with these facts in every event.
    pub fn new(port: impl FireEvents + 'static, facts: SessionFacts) -> Self {
        let mode = Arc::new(Mutex::new(facts.permission_mode.clone()));
        Self { port: Arc::new(port), facts, subagent: None, mode }
    }

    /// The same hooks for a subagent: its events also say which one it is.
    pub fn for_subagent(&self, subagent: Arc<SubagentFacts>) -> Self {
        Self { subagent: Some(subagent), ..self.clone() }
    }

    /// What every event carries.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// The subagent whose life it is.
    pub fn subagent(&self) -> Option<&Arc<SubagentFacts>> {
        self.subagent.as_ref()
    }

    /// From now on events carry this permission mode.
    pub fn set_permission_mode(&self, mode: &str) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode.to_owned();
    }

    /// The project is set up (`init`) or maintained (`maintenance`).
    pub async fn setup(&self, trigger: &str) -> Observed {
        self.observe(EventName::SESSION_SETUP, || json!({ "trigger": trigger })).await
    }

    /// The session begins.
    pub async fn start(&self, source: &str, model: &str) -> Observed {
        let data = || json!({ "source": source, "model": model });
        self.observe(EventName::SESSION_START, data).await
    }

    /// A subagent begins. Contexts are for its first request.
    pub async fn agent_start(&self) -> Observed {
        self.observe(EventName::AGENT_START, || json!({})).await
    }

    /// The user has submitted a prompt. [`Next::Blocked`]: it is not sent.
    pub async fn prompt(&self, prompt: &str) -> Next {
        let data = || self.with_mode(json!({ "prompt": prompt }));
        self.ask(EventName::USER_PROMPT_SUBMIT, data).await
    }

    /// A message was added to the conversation; it is the `count`th.
    pub async fn message(&self, role: Role, content: &[Block], count: usize) -> Observed {
        let data = || json!({ "role": role, "content": content, "message_count": count });
        self.observe(EventName::SESSION_MESSAGE, data).await
    }

    /// A request is about to be sent. [`Next::Blocked`]: it is not sent.
    pub async fn request(&self, model: &str, message_count: usize, attempt: u32) -> Next {
        let data = || json!({ "model": model, "message_count": message_count, "request_attempt": attempt });
        self.ask(EventName::LLM_PRE_REQUEST, data).await
    }

    /// The answer begins to arrive.
    pub async fn stream_started(&self, model: &str, attempt: u32) -> Observed {
        let data = || json!({ "model": model, "request_attempt": attempt });
        self.observe(EventName::LLM_STREAM_START, data).await
    }

    /// The answer has arrived.
    pub async fn stream_ended(&self, model: &str, attempt: u32, usage: &Usage) -> Observed {
        let data =
            || json!({ "model": model, "request_attempt": attempt, "tokens": usage.total() });
        self.observe(EventName::LLM_STREAM_END, data).await
    }

    /// The model has answered with this content.
    pub async fn response(
        &self,
        model: &str,
        attempt: u32,
        usage: &Usage,
        content: &[Block],
    ) -> Observed {
        let data = || {
            json!({
                "model": model, "request_attempt": attempt, "tokens": usage.total(),
                "usage": usage, "content": content,
            })
        };
        self.observe(EventName::LLM_POST_RESPONSE, data).await
    }

    /// A tool is about to run.
    pub async fn tool(&self, call: CallFacts<'_>) -> ToolAnswer {
        let decision = self.fire(EventName::TOOL_PRE_EXECUTE, || self.of_call(call)).await;
        let said = said(&decision);
        let (verdict, rewritten_input) = call_verdict(decision.verdict);
        ToolAnswer { verdict, rewritten_input, said }
    }

    /// The call's permission was judged; `level` is `allow`, `ask` or `deny`, `rule` the rule that
    /// decided. [`Next::Blocked`]: it is denied.
    pub async fn check(&self, call: CallFacts<'_>, level: &str, rule: Option<&str>) -> Next {
        let data = || self.of_judged_call(call, level, rule);
        self.ask(EventName::PERMISSION_CHECK, data).await
    }

    /// The user is about to be asked.
    pub async fn permission(&self, call: CallFacts<'_>, suggestions: Value) -> PromptAnswer {
        let data = || {
            let mut data = self.of_call(call);
            data["permission_suggestions"] = suggestions;
            data
        };
        let decision = self.fire(EventName::PERMISSION_PROMPT, data).await;
        let said = said(&decision);
        let updated_permissions = decision.updated_permissions;
        let (verdict, rewritten_input) = call_verdict(decision.verdict);
        PromptAnswer { verdict, rewritten_input, updated_permissions, said }
    }

    /// The call is permitted.
    pub async fn granted(&self, call: CallFacts<'_>, level: &str, rule: Option<&str>) -> Observed {
        let data = || self.of_judged_call(call, level, rule);
        self.observe(EventName::PERMISSION_GRANTED, data).await
    }

    /// The call is denied.
    pub async fn denied(&self, call: CallFacts<'_>, rule: Option<&str>, reason: &str) -> Observed {
        let data = || {
            let mut data = self.of_call(call);
            data["permission_rule"] = json!(rule);
            data["reason"] = reason.into();
            data
        };
        self.observe(EventName::PERMISSION_DENIED, data).await
    }

    /// The tool has run, or could not do its work.
    pub async fn tool_ended(&self, call: CallFacts<'_>, end: &ToolEnd) -> EndedAnswer {
        let event = match end {
            ToolEnd::Ran { .. } => EventName::TOOL_POST_EXECUTE,
            ToolEnd::Failed { .. } => EventName::TOOL_ERROR,
        };
        let data = || self.of_ended_call(call, end);
        let decision = self.fire(event, data).await;
        let said = said(&decision);
        let updated_output = decision.updated_output;
        EndedAnswer { updated_output, said, end: end_of(decision.verdict) }
    }

    /// The user is shown a question or the end.
    pub async fn notification(&self, kind: &str, title: &str, message: &str) -> Observed {
        let data = || json!({ "notification_type": kind, "title": title, "message": message });
        self.observe(EventName::SESSION_NOTIFICATION, data).await
    }

    /// The agent is about to end: `session:stop`, or `agent:stop` of a subagent. [`Next::Blocked`]: it
    /// goes on, and the model reads the reason. After an interrupt or an error (`reason`) a block has no
    /// effect.
    pub async fn stop(&self, reason: &str, last_assistant_message: &str) -> Next {
        let event = match &self.subagent {
            None => EventName::SESSION_STOP,
            Some(_) => EventName::AGENT_STOP,
        };
        let data = || {
            let mut data =
                json!({ "reason": reason, "last_assistant_message": last_assistant_message });
            if let Some(subagent) = &self.subagent {
                data["agent_transcript_path"] = subagent.transcript_path.as_str().into();
            }
            self.with_mode(data)
        };
        match self.ask(event, data).await {
            Next::Blocked { said, .. } | Next::End { said, .. } if reason != "completed" => {
                Next::GoOn(said)
            }
            next => next,
        }
    }

    /// The conversation is about to be compacted; `trigger` is `manual` or `auto`. [`Next::Blocked`]: it
    /// stays. Contexts are instructions for the summary.
    pub async fn pre_compact(&self, trigger: &str, custom_instructions: Option<&str>) -> Next {
        let data = || json!({ "trigger": trigger, "custom_instructions": custom_instructions });
        self.ask(EventName::SESSION_PRE_COMPACT, data).await
    }

    /// The user has interrupted.
    pub async fn interrupt(&self) -> Observed {
        self.observe(EventName::USER_INTERRUPT, || json!({})).await
    }

    /// The session has ended. What hooks say now reaches the user only.
    pub async fn end(&self, reason: &str, error: Option<&str>) -> Observed {
        let data = || {
            let mut data = json!({ "reason": reason });
            if let Some(error) = error {
                data["error"] = error.into();
            }
            data
        };
        self.observe(EventName::SESSION_END, data).await
    }

    /// Fires an event that hooks can block.
    async fn ask(&self, event: EventName, data: impl FnOnce() -> Value) -> Next {
        let decision = self.fire(event, data).await;
        let said = said(&decision);
        match decision.verdict {
            Verdict::Block { reason } => Next::Blocked { reason, said },
            Verdict::Stop { reason } | Verdict::Abort { reason } => Next::End { reason, said },
            // No user is asked at these points: whatever needs a question is denied.
            Verdict::Ask { reason, .. } => {
                let reason =
                    reason.unwrap_or_else(|| "a hook wants the user to be asked".to_owned());
                Next::Blocked { reason, said }
            }
            Verdict::Proceed { .. } | Verdict::Allow { .. } => Next::GoOn(said),
        }
    }

    /// Fires an event that hooks observe.
    async fn observe(&self, event: EventName, data: impl FnOnce() -> Value) -> Observed {
        let decision = self.fire(event, data).await;
        let said = said(&decision);
        Observed { said, end: end_of(decision.verdict) }
    }

    async fn fire(&self, name: EventName, data: impl FnOnce() -> Value) -> Decision {
        if !self.port.hears(&name) {
            return Decision::default();
        }
        let mut all = Map::new();
        for (field, value) in [
            ("session_id", &self.facts.session_id),
            ("transcript_path", &self.facts.transcript_path),
            ("cwd", &self.facts.cwd),
        ] {
            all.insert(field.to_owned(), value.as_str().into());
        }
        if let Some(subagent) = &self.subagent {
            all.insert("agent_id".to_owned(), subagent.id.as_str().into());
            all.insert("agent_type".to_owned(), subagent.kind.as_str().into());
        }
        if let Value::Object(data) = data() {
            all.extend(data);
        }
        self.port.fire(Event::new(name, all)).await
    }

    fn of_call(&self, call: CallFacts<'_>) -> Value {
        self.with_mode(json!({
            "tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id,
        }))
    }

    fn of_judged_call(&self, call: CallFacts<'_>, level: &str, rule: Option<&str>) -> Value {
        let mut data = self.of_call(call);
        data["permission_level"] = level.into();
        data["permission_rule"] = json!(rule);
        data
    }

    fn of_ended_call(&self, call: CallFacts<'_>, end: &ToolEnd) -> Value {
        let mut data = self.of_call(call);
        let took = match end {
            ToolEnd::Ran { response, took, .. } => {
                data["tool_response"] = response.clone();
                took
            }
            ToolEnd::Failed { error, is_interrupt, took } => {
                data["error"] = error.as_str().into();
                data["is_interrupt"] = (*is_interrupt).into();
                took
            }
        };
        data["duration_ms"] = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into();
        data
    }

    fn with_mode(&self, mut data: Value) -> Value {
        let mode = self.mode.lock().unwrap_or_else(PoisonError::into_inner);
        data["permission_mode"] = mode.as_str().into();
        data
    }
}

/// What is passed on, whatever was decided.
fn said(decision: &Decision) -> Said {
    let mut contexts = decision.additional_context.clone();
    contexts.extend(Some(decision.piped_output.clone()).filter(|output| !output.is_empty()));
    Said {
        contexts,
        messages: decision.system_messages.clone(),
        suppress_output: decision.suppress_output,
    }
}

/// Why the session has to end, if it has to.
fn end_of(verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Stop { reason } | Verdict::Abort { reason } => Some(reason),
        Verdict::Proceed { .. }
        | Verdict::Allow { .. }
        | Verdict::Ask { .. }
        | Verdict::Block { .. } => None,
    }
}

fn call_verdict(verdict: Verdict) -> (CallVerdict, Option<Value>) {
    match verdict {
        Verdict::Proceed { rewritten_input } => (CallVerdict::NoOpinion, rewritten_input),
        Verdict::Allow { rewritten_input, .. } => (CallVerdict::Allow, rewritten_input),
        Verdict::Ask { reason, rewritten_input } => (CallVerdict::Ask(reason), rewritten_input),
        Verdict::Block { reason } => (CallVerdict::Deny(reason), None),
        Verdict::Stop { reason } | Verdict::Abort { reason } => (CallVerdict::End(reason), None),
    }
}
