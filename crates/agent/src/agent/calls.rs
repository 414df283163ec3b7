//! The tool calls of one answer. Hooks and questions come in the order of the calls; then the tools
//! run at once, as many as the limit permits; results keep the order of the calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hookwright_events::{CallOutcome, TurnEvent};
use hookwright_process::faults;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{AgentNews, AgentStatus, CallQuestion, CallResult, Life, UserReply};
use crate::hooks::{CallFacts, CallVerdict, Next};
use crate::input_schema;
use crate::journal::{call_in_words, milliseconds, shortened};
use crate::limits::TOOLS_AT_ONCE_MAX;
use crate::message::Block;
use crate::model::ModelAnswer;
use crate::permissions::{JudgedCall, Judgement, PermissionLevel};
use crate::tool::{Tool, ToolCall, ToolEnd, Touches};

/// What the model reads of a call that was never started.
const NEVER_STARTED: &str = "This call was not started: the session ended before it.";

/// One call, as the model wrote it.
pub(super) struct ModelCall {
    id: String,
    tool: String,
    input: Map<String, Value>,
    /// Its input is no JSON object, and why.
    broken: Option<String>,
    /// The marker of its processes.
    run_id: String,
}

/// What a call needs to run.
struct Permit {
    tool: Arc<dyn Tool>,
    /// What the call would touch, as it was judged.
    touches: Touches,
}

/// A call after hooks and permissions.
enum Planned {
    /// It may run, with this input.
    Granted(ModelCall, Permit),
    /// It has its result already.
    Answered(CallResult, String),
}

impl Life {
    /// The calls of an answer.
    pub(super) fn take_calls(&self, answer: &ModelAnswer) -> Vec<ModelCall> {
        let calls = answer.content.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input } => Some(ModelCall {
                id: id.clone(),
                tool: name.clone(),
                input: input.clone(),
                broken: answer
                    .broken_inputs
                    .iter()
                    .find(|(broken, _)| broken == id)
                    .map(|(_, why)| why.clone()),
                run_id: run_id(),
            }),
            _ => None,
        });
        calls.collect()
    }

    /// Gives every call of an answer the result that it was not started.
    pub(super) fn answer_unstarted_calls(&mut self, answer: &ModelAnswer) {
        let calls = self.take_calls(answer);
        if calls.is_empty() {
            return;
        }
        let results: Vec<CallResult> =
            calls.into_iter().map(|call| call.result(None, None)).collect();
        let blocks: Vec<Block> =
            results.iter().map(|result| error_block(&result.id, NEVER_STARTED)).collect();
        for (block, result) in blocks.iter().zip(&results) {
            self.agent.audience.see(AgentNews::CallResult { block, result });
        }
        let message = &self.conversation.add_user(blocks);
        self.agent.audience.see(AgentNews::UserMessage { message, results: &results });
    }

    /// Runs the calls of an answer and adds their results to the conversation.
    pub(super) async fn run_calls(&mut self, calls: Vec<ModelCall>) -> Result<(), AgentStatus> {
        self.calls_made += calls.len();
        let mut planned = Vec::new();
        let mut ended = None;
        for mut call in calls {
            if ended.is_some() {
                planned.push(Planned::Answered(call.result(None, None), NEVER_STARTED.to_owned()));
                continue;
            }
            match self.plan(&mut call).await {
                Ok(Ok(permit)) => {
                    if self.conversation.rewrite_input(&call.id, &call.input) {
                        // The answer is recorded as the model wrote it; this says what runs.
                        let text = call.rewritten();
                        let (call, input) = (&*call.id, &call.input);
                        let news = AgentNews::InputRewritten { call, input, text: &text };
                        self.agent.audience.see(news);
                    }
                    planned.push(Planned::Granted(call, permit));
                }
                Ok(Err(denial)) => {
                    let result = call.result(None, Some(denial.clone()));
                    self.totals.denials.push(result.clone());
                    planned.push(Planned::Answered(result, denial));
                }
                Err(end) => {
                    ended = Some(end);
                    planned
                        .push(Planned::Answered(call.result(None, None), NEVER_STARTED.to_owned()));
                }
            }
        }
        if ended.is_none() {
            ended = self.record_starts(&planned).err();
        }
        // A session that ends starts nothing any more.
        if ended.is_some() {
            for plan in &mut planned {
                if let Planned::Granted(call, _) = plan {
                    let call = std::mem::replace(call, ModelCall::empty());
                    *plan = Planned::Answered(call.result(None, None), NEVER_STARTED.to_owned());
                }
            }
        }
        let mut running = RunningTools::start(planned, &self.session.cancel);
        let mut results = Vec::new();
        let mut blocks = Vec::new();
        while let Some((mut result, end)) = running.next().await {
            let end = match end {
                Ok(end) => end,
                Err(text) => {
                    let block = error_block(&result.id, &text);
                    let told = self.tell_result(&block, &result, running.is_done());
                    ended = ended.or(told.err());
                    blocks.push(block);
                    results.push(result);
                    continue;
                }
            };
            let facts = CallFacts { id: &result.id, tool: &result.tool, input: &result.input };
            // After an interrupt too: the hook learns of it by `is_interrupt`.
            let answered = self.agent.hooks.tool_ended(facts, &end).await;
            result.is_suppressed = answered.said.suppress_output;
            for message in &answered.said.messages {
                self.agent.audience.see(AgentNews::HookMessage(message));
            }
            self.conversation.add_contexts(answered.said.contexts);
            let block = result_block(&result.id, &end, answered.updated_output);
            let told = self.tell_result(&block, &result, running.is_done());
            ended = ended.or(told.err());
            blocks.push(block);
            if let Some(reason) = answered.end {
                ended.get_or_insert(AgentStatus::EndedByHook(reason));
            }
            results.push(result);
        }
        let added = self.add_user_message(blocks, &results).await;
        if self.session.cancel.is_cancelled() {
            return Err(self.session.cut_off());
        }
        ended.map_or(added, Err)
    }

    /// Records that the calls that may run are about to.
    fn record_starts(&self, planned: &[Planned]) -> Result<(), AgentStatus> {
        let granted = planned.iter().filter_map(|plan| match plan {
            Planned::Granted(call, _) => Some(call.starting(self.agent_id())),
            Planned::Answered(..) => None,
        });
        let mut starts: Vec<TurnEvent> = granted.collect();
        let Some(last) = starts.pop() else { return Ok(()) };
        for start in starts {
            self.record_with_next(start)?;
        }
        self.record(last)
    }

    /// A call has its result. The audience keeps it before its end is recorded: a recorded end is never
    /// without its result. After the last one nothing is waited for until the next record.
    fn tell_result(
        &self,
        block: &Block,
        result: &CallResult,
        is_last: bool,
    ) -> Result<(), AgentStatus> {
        self.agent.audience.see(AgentNews::CallResult { block, result });
        let ended = ended_call(result, self.agent_id());
        if is_last { self.record_with_next(ended) } else { self.record(ended) }
    }

    /// Hooks, rules and questions of one call: the tool that may run, or why it may not.
    async fn plan(&mut self, call: &mut ModelCall) -> Result<Result<Permit, String>, AgentStatus> {
        let tools = self.agent.tools.iter();
        let found = tools.clone().find(|tool| tool.spec().name == call.tool).cloned();
        let Some(tool) = found else {
            let names: Vec<&str> = tools.map(|tool| tool.spec().name.as_str()).collect();
            let names = names.join(", ");
            return Ok(Err(format!("There is no tool `{}`. The tools are: {names}.", call.tool)));
        };
        if let Some(why) = &call.broken {
            return Ok(Err(format!(
                "The input of this call is no JSON object: {why}. Send it again."
            )));
        }
        if let Err(why) = input_schema::validate(tool.spec(), &Value::Object(call.input.clone())) {
            return Ok(Err(format!("The input of this call is invalid: {why}")));
        }
        let answer = self.unless_cancelled(self.agent.hooks.tool(call.facts())).await?;
        self.pass_on(answer.said);
        if let Some(rewritten) = answer.rewritten_input
            && let Err(why) = call.rewrite(&*tool, rewritten)
        {
            return Ok(Err(why));
        }
        if let CallVerdict::End(reason) = answer.verdict {
            return Err(AgentStatus::EndedByHook(reason));
        }
        let mut judged = self.judge(&*tool, call, &answer.verdict);
        let rule = judged.rule.clone();
        let checked = self.agent.hooks.check(call.facts(), judged.level.word(), rule.as_deref());
        match self.unless_cancelled(checked).await? {
            Next::GoOn(said) => self.pass_on(said),
            Next::Blocked { reason, said } => {
                self.pass_on(said);
                if judged.level != PermissionLevel::Deny {
                    judged = Judgement { level: PermissionLevel::Deny, rule: None, reason };
                }
            }
            Next::End { reason, said } => return Err(self.ended(reason, said)),
        }
        if judged.level == PermissionLevel::Ask {
            judged = self.question(&*tool, call, judged).await?;
        }
        let rule = judged.rule.as_deref();
        let observed = match judged.level {
            PermissionLevel::Allow => self.agent.hooks.granted(call.facts(), "allow", rule).await,
            PermissionLevel::Ask | PermissionLevel::Deny => {
                self.agent.hooks.denied(call.facts(), rule, &judged.reason).await
            }
        };
        self.heed(observed)?;
        match judged.level {
            PermissionLevel::Allow => {
                let touches = tool.touches(&call.input);
                Ok(Ok(Permit { tool, touches }))
            }
            PermissionLevel::Ask | PermissionLevel::Deny => {
                Ok(Err(format!("This call was denied: {}", judged.reason)))
            }
        }
    }

    fn judge(&self, tool: &dyn Tool, call: &ModelCall, hooks: &CallVerdict) -> Judgement {
        let touches = tool.touches(&call.input);
        let judged = JudgedCall { tool: &call.tool, touches: &touches };
        self.agent.permissions.judge(judged, hooks)
    }

    /// Asks the hooks that can answer in place of the user, then the user.
    async fn question(
        &mut self,
        tool: &dyn Tool,
        call: &mut ModelCall,
        judged: Judgement,
    ) -> Result<Judgement, AgentStatus> {
        let deny = |reason: String| Judgement {
            level: PermissionLevel::Deny,
            rule: judged.rule.clone(),
            reason,
        };
        let allow =
            |reason: String| Judgement { level: PermissionLevel::Allow, rule: None, reason };
        let asked = self.agent.hooks.permission(call.facts(), suggestions(call));
        let answer = self.unless_cancelled(asked).await?;
        self.pass_on(answer.said);
        if let Some(rewritten) = answer.rewritten_input
            && let Err(why) = call.rewrite(tool, rewritten)
        {
            return Ok(deny(why));
        }
        // What a hook wrote is judged again: the user's yes gets it past no deny rule either.
        let again = self.judge(tool, call, &CallVerdict::NoOpinion);
        if again.level == PermissionLevel::Deny {
            return Ok(again);
        }
        match answer.verdict {
            CallVerdict::Allow => {
                if let Some(updates) = &answer.updated_permissions {
                    for refused in self.agent.permissions.update(updates) {
                        self.agent.audience.see(AgentNews::Notice(&refused.to_string()));
                    }
                    self.agent.hooks.set_permission_mode(self.agent.permissions.mode().name());
                }
                // What the hook changed is judged again: no hook gets past a deny rule.
                let again = self.judge(tool, call, &CallVerdict::Allow);
                return Ok(match again.level {
                    PermissionLevel::Deny => again,
                    PermissionLevel::Allow | PermissionLevel::Ask => {
                        allow("a hook permits it".to_owned())
                    }
                });
            }
            CallVerdict::Deny(reason) => return Ok(deny(reason)),
            CallVerdict::End(reason) => return Err(AgentStatus::EndedByHook(reason)),
            CallVerdict::NoOpinion | CallVerdict::Ask(_) => {}
        }
        if !self.agent.user.is_there() {
            return Ok(deny(format!("{}; no one can be asked here", judged.reason)));
        }
        self.record_waiting()?;
        // One question at a time, also of several agents.
        let session = Arc::clone(&self.session);
        let _asking = self.unless_cancelled(session.questions.lock()).await?;
        // Rules may have changed while others were asked.
        let again = self.judge(tool, call, &CallVerdict::NoOpinion);
        if again.level == PermissionLevel::Deny {
            return Ok(again);
        }
        let message = format!("May {} run? {}", call.tool, judged.reason);
        let shown = self.agent.hooks.notification("permission_prompt", "Permission", &message);
        let observed = self.unless_cancelled(shown).await?;
        self.heed(observed)?;
        self.record(TurnEvent::QuestionAsked {
            call: call.id.clone(),
            tool: call.tool.clone(),
            what: call_in_words(&call.input),
            reason: shortened(&judged.reason),
            agent_id: self.agent_id(),
        })?;
        let user = Arc::clone(&self.agent.user);
        let question = CallQuestion {
            tool: &call.tool,
            input: &call.input,
            reason: &judged.reason,
            subagent: self.agent.hooks.subagent().map(|facts| &**facts),
        };
        faults::point("question is asked");
        let reply = self.unless_cancelled(user.may_run(question)).await?;
        faults::point("question answered");
        let words = match &reply {
            Some(UserReply::No(words)) => words.as_deref().map(shortened),
            Some(UserReply::Yes) | None => None,
        };
        self.record(TurnEvent::QuestionAnswered {
            call: call.id.clone(),
            allowed: reply == Some(UserReply::Yes),
            words,
            agent_id: self.agent_id(),
        })?;
        Ok(match reply {
            Some(UserReply::Yes) => allow("the user permits it".to_owned()),
            Some(UserReply::No(None)) => deny("the user does not permit it".to_owned()),
            Some(UserReply::No(Some(words))) => {
                deny(format!("the user does not permit it: {words}"))
            }
            None => deny(format!("{}; no one can be asked here", judged.reason)),
        })
    }
}

impl ModelCall {
    fn empty() -> Self {
        let (id, tool, run_id) = Default::default();
        Self { id, tool, input: Map::new(), broken: None, run_id }
    }

    fn facts(&self) -> CallFacts<'_> {
        CallFacts { id: &self.id, tool: &self.tool, input: &self.input }
    }

    fn result(&self, end: Option<ToolEnd>, denied: Option<String>) -> CallResult {
        CallResult {
            id: self.id.clone(),
            tool: self.tool.clone(),
            input: self.input.clone(),
            end,
            denied,
            is_suppressed: false,
        }
    }

    fn starting(&self, agent_id: Option<String>) -> TurnEvent {
        TurnEvent::CallStarting {
            call: self.id.clone(),
            tool: self.tool.clone(),
            what: call_in_words(&self.input),
            run_id: Some(self.run_id.clone()),
            agent_id,
        }
    }

    /// Says what runs in place of what the model wrote.
    fn rewritten(&self) -> String {
        let input = Value::Object(self.input.clone());
        format!("a hook rewrote the input of the call {} ({}): {input}", self.id, self.tool)
    }

    /// Replaces the input by what a hook wrote, if that fits the tool.
    fn rewrite(&mut self, tool: &dyn Tool, input: Value) -> Result<(), String> {
        input_schema::validate(tool.spec(), &input).map_err(|why| {
            format!("A hook rewrote the input of this call, and it is invalid now: {why}")
        })?;
        if let Value::Object(input) = input {
            self.input = input;
        }
        Ok(())
    }
}

/// No other run of this machine has it: processes are found by it when they have to be ended.
fn run_id() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let moment = since.unwrap_or_default().as_nanos();
    format!("tool-{}-{moment:x}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))
}

/// How a call ended, for the journal.
fn ended_call(result: &CallResult, agent_id: Option<String>) -> TurnEvent {
    let (outcome, reason, took) = match (&result.end, &result.denied) {
        (Some(ToolEnd::Ran { took, .. }), _) => (CallOutcome::Ran, None, *took),
        (Some(ToolEnd::Failed { error, is_interrupt, took }), _) => {
            let outcome =
                if *is_interrupt { CallOutcome::Interrupted } else { CallOutcome::Failed };
            (outcome, Some(shortened(error)), *took)
        }
        (None, Some(reason)) => (CallOutcome::Denied, Some(shortened(reason)), Duration::ZERO),
        (None, None) => (CallOutcome::NotStarted, None, Duration::ZERO),
    };
    TurnEvent::CallEnded {
        call: result.id.clone(),
        tool: result.tool.clone(),
        what: call_in_words(&result.input),
        outcome,
        reason,
        duration_ms: milliseconds(took),
        agent_id,
    }
}

/// Rules that would permit the call from now on, for hooks that answer in place of the user.
fn suggestions(call: &ModelCall) -> Value {
    let mut rule = json!({ "toolName": call.tool });
    if let Some(command) = call.input.get("command").and_then(Value::as_str) {
        rule["ruleContent"] = command.into();
    }
    json!([{ "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session" }])
}

fn error_block(id: &str, text: &str) -> Block {
    Block::ToolResult { tool_use_id: id.to_owned(), content: text.to_owned(), is_error: true }
}

fn result_block(id: &str, end: &ToolEnd, updated: Option<Value>) -> Block {
    let (text, is_error) = match end {
        ToolEnd::Ran { text, .. } => (text, false),
        ToolEnd::Failed { error, .. } => (error, true),
    };
    let content = match updated {
        Some(updated) => updated_text(updated),
        None => text.clone(),
    };
    Block::ToolResult { tool_use_id: id.to_owned(), content, is_error }
}

/// What a model reads of an output that a hook wrote: a text, or blocks of text as a server's tool has
/// them.
fn updated_text(updated: Value) -> String {
    let text_of = |block: &Value| match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let texts = match &updated {
        Value::String(text) => return text.clone(),
        Value::Array(blocks) if !blocks.is_empty() => {
            blocks.iter().map(text_of).collect::<Option<Vec<String>>>()
        }
        _ => None,
    };
    texts.map_or_else(|| updated.to_string(), |texts| texts.join("\n"))
}

/// Calls that run at once. Their ends come in the order of the calls. Dropping it ends them.
struct RunningTools {
    tasks: JoinSet<(usize, ToolEnd)>,
    /// Each call with its end, as far as it has one.
    calls: std::vec::IntoIter<(CallResult, Option<Result<ToolEnd, String>>)>,
    ends: Vec<Option<ToolEnd>>,
    next: usize,
}

impl RunningTools {
    fn start(planned: Vec<Planned>, cancel: &CancellationToken) -> Self {
        let slots = Arc::new(Semaphore::new(TOOLS_AT_ONCE_MAX));
        let mut tasks = JoinSet::new();
        let mut calls = Vec::new();
        for (number, plan) in planned.into_iter().enumerate() {
            let (call, permit) = match plan {
                Planned::Answered(result, text) => {
                    calls.push((result, Some(Err(text))));
                    continue;
                }
                Planned::Granted(call, permit) => (call, permit),
            };
            calls.push((call.result(None, None), None));
            let (slots, cancel) = (Arc::clone(&slots), cancel.clone());
            tasks.spawn(async move {
                let _slot = slots.acquire().await;
                let (id, input, judged) = (&*call.id, &call.input, &permit.touches);
                let run_id = &*call.run_id;
                let call = ToolCall { id, input, judged, run_id, cancel: &cancel };
                faults::point("call starts");
                let end = permit.tool.run(call).await;
                faults::point("call ended");
                (number, end)
            });
        }
        let ends = vec![None; calls.len()];
        Self { tasks, calls: calls.into_iter(), ends, next: 0 }
    }

    /// Whether every call has been returned.
    fn is_done(&self) -> bool {
        self.calls.len() == 0
    }

    /// The next call in order, when it has ended: how, or what the model reads of one that did not run.
    async fn next(&mut self) -> Option<(CallResult, Result<ToolEnd, String>)> {
        let (mut result, known) = self.calls.next()?;
        let number = self.next;
        self.next += 1;
        if let Some(known) = known {
            return Some((result, known));
        }
        let began = Instant::now();
        while self.ends[number].is_none() {
            match self.tasks.join_next().await {
                Some(Ok((ended, end))) => self.ends[ended] = Some(end),
                // A tool that panics has failed; the session goes on.
                Some(Err(_)) => {}
                None => break,
            }
        }
        let end = self.ends[number].take().unwrap_or_else(|| ToolEnd::Failed {
            error: "The tool failed: it panicked. This is a defect of hookwright.".to_owned(),
            is_interrupt: false,
            took: began.elapsed(),
        });
        result.end = Some(end.clone());
        Some((result, Ok(end)))
    }
}
